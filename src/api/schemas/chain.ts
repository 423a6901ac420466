// The chain as the API shows it: where it is, its epochs and their windows, reports and weights with the
// transactions that made them, accounts. Page: docs/chain.md. Amounts are the token's smallest unit, as
// decimal text: they pass 2^53. Everything here can be read from any node as well; a validator only saves the
// asking.
import * as z from "zod";
import { atMs, chainHex, count, cursor, epochNumber, MAX_PAGE, paging, ppm, providerId, said } from "./primitives.ts";
import { attested } from "./verdict.ts";

export const account = chainHex(20, "Account on the chain");
const bytes32 = chainHex(32, "32 bytes");
const amount = z
	.string()
	.regex(/^\d{1,39}$/)
	.describe("In the token's smallest unit");
const seconds = count.describe("Seconds");

export const phase = z
	.enum(["open", "commit", "reveal", "sign", "challenge", "final", "lapsed"])
	.describe("lapsed: it has no weights and can have none any more; docs/epochs.md §1");

const windows = {
	number: epochNumber,
	phase,
	startsAtMs: atMs,
	endsAtMs: atMs.describe("Commits from here"),
	revealsAtMs: atMs,
	signsAtMs: atMs.describe("Reveals are over: weights can be signed and posted from here"),
	signsUntilMs: atMs.describe("Weights can be posted before this"),
	postedAtMs: atMs.nullable(),
	finalAtMs: atMs.nullable().describe("Of the posted weights: until then they can be proven wrong"),
	nextAtMs: atMs.nullable().describe("When the phase ends by itself; null when nothing ends it"),
};

const chainParams = z.object({
	genesis: seconds.describe("When the first epoch began, in seconds since 1970"),
	epochSeconds: seconds,
	commitSeconds: seconds,
	revealSeconds: seconds,
	signSeconds: seconds,
	challengeSeconds: seconds,
	unbondingSeconds: seconds,
	deviceSeconds: seconds,
	quorumPpm: ppm,
	signerSlashPpm: ppm,
	validatorPpm: ppm,
	accuserPpm: ppm,
	targetWeight: amount,
	stakePerWeight: amount,
	minProviderStake: amount,
	minValidatorStake: amount,
	emissionPerEpoch: amount,
});

export const chain = z.object({
	nowMs: atMs.describe("The validator's clock: phases are by it"),
	chainId: count,
	isEmbedded: z.boolean(),
	rpcUrl: said
		.nullable()
		.describe(
			"A node to read the chain at: the embedded one's is on the validator's machine; null: the operator named none",
		),
	trialAccounts: z
		.boolean()
		.describe("The caller's browser may have an account funded (a trial network, on its own machine)"),
	confirmations: count,
	activity: count.describe("Grows with whatever happens in the contracts: a page that shows an epoch reloads it then"),
	head: z.object({ number: count, hash: bytes32, atMs }),
	contracts: z.object({
		token: account,
		registry: account,
		scoreboard: account,
		rewards: account,
		slashing: account,
		rollCall: account,
		rentalEscrow: account,
		jobEscrow: account,
		disputes: account,
		judge: account,
		wireJudge: account,
		attestations: account,
		zkPlans: account,
		zkVerifier: account,
		zkKeys: account,
		zkRunVerifier: account,
		zkTraining: account,
		twinJudge: account,
		twinPosts: account,
		zkJobs: account,
		weightJudge: account,
		segmentProofs: account,
		deployedAtBlock: count,
	}),
	token: z.object({ symbol: said, decimals: count }),
	validator: z
		.object({ account, signer: account, stake: amount, unbonding: amount, isValidator: z.boolean() })
		.describe("This validator's account, and the key that signs for it"),
	validators: count.describe("That ever registered"),
	totalStake: amount.describe("Of all validators, now"),
	params: chainParams,
	reserve: amount.describe("Funded, and earned by nobody yet"),
	earned: amount.describe("By all, in all epochs"),
	claimed: amount.describe("Of that, what was paid"),
	nextPot: amount.describe("What the epoch that runs may pay, if its weights follow those that stand now"),
	epoch: epochNumber.nullable().describe("That runs now; null before the first"),
	inFlight: z.array(z.object(windows)).describe("Epochs that are neither final nor lapsed, newest first"),
});
/** Null for a validator without a chain: a page may ask without a failure. */
export const chainReply = z.object({ chain: chain.nullable() });

export const chainEpochSummary = z.object({
	...windows,
	reports: count.describe("Revealed"),
	accounts: count.nullable().describe("Listed in the posted weights; null without any"),
	earned: amount.nullable().describe("By all in this epoch; null without posted weights"),
});

const where = z.object({ hash: bytes32, block: count });
const leafState = z.enum(["none", "right", "wrong"]).describe("Whether the leaves here give the root");
const bits = amount.describe("Bit i stands for seat i");
const report = z.object({
	account,
	signer: account,
	isSelf: z.boolean(),
	endpoint: said,
	stake: amount.describe("At the epoch's end"),
	seat: count.nullable().describe("Its place among the revealed reports"),
	state: z.enum(["none", "committed", "revealed"]),
	isCounted: z.boolean().nullable().describe("Its report is in the set of the posted weights; null without any"),
	hasSigned: z.boolean().nullable().describe("The posted weights; null without any"),
	root: bytes32.nullable(),
	committed: where.nullable(),
	revealed: where.nullable(),
	scores: count.nullable().describe("Leaves that this validator has; null when it has none"),
	leaves: leafState,
	leavesPath: said.nullable(),
	reasonsPath: said.nullable().describe("What its scores multiply out from, gzipped JSON; null when it is not here"),
	reasonsBytes: count.nullable(),
});
const statement = z.object({
	epoch: epochNumber,
	base: bytes32.describe("Id of the weights that these continue; zeros: the first"),
	set: bits,
	count,
	totalWeight: amount,
	paid: amount,
	root: bytes32,
});
const posted = z.object({
	id: bytes32,
	sender: account,
	weights: statement,
	signers: bits,
	signatures: z
		.array(z.object({ signer: account, signature: z.string().regex(/^0x[0-9a-f]{130}$/) }))
		.nullable()
		.describe("As they were posted; null when the node does not tell the transaction"),
	setStake: amount,
	signedStake: amount,
	total: amount.describe("Earned by all in all epochs up to this one"),
	finalAtMs: atMs,
	at: where,
	leaves: leafState,
	leavesPath: said,
});
const base = z.object({
	id: bytes32,
	weights: statement,
	total: amount.describe("Earned by all in all epochs up to it"),
	leaves: leafState,
	leavesPath: said,
});
const wrong = z.object({
	id: bytes32,
	reason: said.describe("What was proven wrong: weight, shape, earned, total or set"),
	isPosted: z.boolean(),
	by: account,
	punished: z.array(z.object({ account, amount })).describe("Signers of it, and what each lost"),
	at: where,
});
export const chainEpoch = z.object({
	...chainEpochSummary.shape,
	pot: amount.describe("What the epoch may pay at most; foreseen before weights are posted"),
	funded: amount.describe("Of Rewards at the epoch's end"),
	reportedStake: amount,
	totalStake: amount,
	hasQuorum: z.boolean().describe("Enough stake has revealed"),
	reportsOf: z.array(report).describe("Of every validator with stake, seats first"),
	posted: posted.nullable().describe("The weights that stand"),
	base: base.nullable().describe("The weights that these continue, or would; null when none stand before"),
	statementsPath: said.describe("What validators have signed, as far as it is here"),
	wrong: z.array(wrong).describe("Statements that were proven wrong, posted or only signed"),
	dropped: z.array(z.object({ id: bytes32, at: where })).describe("Posted once, and no longer"),
});

export const chainWeight = z.object({
	account,
	isValidator: z.boolean().describe("It earns for its report, not for hosts"),
	providerId: providerId.nullable().describe("Where this validator knows it"),
	name: said.nullable(),
	attestation: attested.nullable().describe("Of the host's last valid probe"),
	scores: z.array(ppm.nullable()).describe("In the order of `validators`; null where a report leaves it out"),
	medianPpm: ppm.nullable().describe("Of the reports that count; null when the leaves of one are not here"),
	weightPpm: ppm.nullable().describe("As posted; null without posted weights"),
	earned: amount.nullable().describe("In this epoch"),
	total: amount.nullable().describe("In all epochs up to this one"),
	claimed: amount.describe("What it was paid, before the weights that follow these were posted"),
});
export const chainWeights = z.object({
	validators: z.array(account),
	rows: z.array(chainWeight).max(MAX_PAGE),
	cursor: cursor.nullable(),
});

export const chainTransaction = z.object({
	hash: bytes32,
	block: count,
	logIndex: count,
	atMs: atMs.nullable(),
	what: z.enum(["commit", "reveal", "post", "wrong", "drop", "punish"]),
	about: account.nullable().describe("Whom it concerns"),
	from: account.nullable().describe("Who sent it"),
	amount: amount.nullable(),
	gasUsed: count.nullable().describe("Of the whole transaction; null when the node does not tell"),
});

export const chainAccount = z.object({
	account,
	signer: account.describe("The key of its running program"),
	payout: account.describe("Where its rewards go"),
	providerId: providerId.nullable(),
	isKept: z.boolean().describe("The embedded chain's owner keeps it for a provider that has none of its own"),
	role: z.enum(["none", "provider", "validator"]),
	stake: amount,
	unbonding: amount,
	locked: amount,
	unlockAtMs: atMs.nullable(),
	slashed: amount.describe("Taken from its stake for proven fraud"),
	earned: amount.nullable().describe("By the newest final weights, in all epochs; null when their leaves are not here"),
	pending: amount.describe("Earned by weights that are posted and not final yet"),
	claimed: amount.describe("Paid so far"),
	claimable: amount.describe("Earned and not paid yet: one claim pays all of it"),
	finalEpoch: epochNumber.nullable().describe("Whose weights a claim would use; null before the first"),
	claims: z.array(z.object({ to: account, amount, total: amount, at: where })).describe("The newest"),
	devices: z.array(z.object({ device: bytes32, evidenceSha256: bytes32, untilMs: atMs, at: where })),
});

export const chainQuery = z.strictObject({ ...paging });

export const trialFunds = z.object({
	nonce: count.describe("Of its next transaction"),
	gas: count.describe("The most that a transaction of it may ask for"),
	maxFeePerGas: amount,
	maxPriorityFeePerGas: amount,
});
export const trialTransaction = z.strictObject({ raw: z.string().regex(/^0x([0-9a-f]{2}){1,8192}$/) });
export const trialReceipt = z.object({ hash: bytes32, isDone: z.boolean().describe("false: it failed") });

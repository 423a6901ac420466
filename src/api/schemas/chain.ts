// The chain as the API shows it: where it is, its epochs and their windows, reports and weights with the
// transactions that made them, accounts. Page: docs/chain.md. Amounts are the token's smallest unit, as
// decimal text: they pass 2^53. Everything here can be read from any node as well; a validator only saves the
// asking.
import * as z from "zod/mini";
import { matching, note } from "./base.ts";
import { atMs, chainHex, count, cursor, epochNumber, MAX_PAGE, paging, ppm, providerId, said } from "./primitives.ts";
import { attested } from "./verdict.ts";

export const account = chainHex(20, "Account on the chain");
const bytes32 = chainHex(32, "32 bytes");
const amount = note(matching(/^\d{1,39}$/), "In the token's smallest unit");
const seconds = note(count, "Seconds");

export const phase = note(
	z.enum(["open", "commit", "reveal", "sign", "challenge", "final", "lapsed"]),
	"lapsed: it has no weights and can have none any more; docs/epochs.md §1",
);

const windows = {
	number: epochNumber,
	phase,
	startsAtMs: atMs,
	endsAtMs: note(atMs, "Commits from here"),
	revealsAtMs: atMs,
	signsAtMs: note(atMs, "Reveals are over: weights can be signed and posted from here"),
	signsUntilMs: note(atMs, "Weights can be posted before this"),
	postedAtMs: z.nullable(atMs),
	finalAtMs: note(z.nullable(atMs), "Of the posted weights: until then they can be proven wrong"),
	nextAtMs: note(z.nullable(atMs), "When the phase ends by itself; null when nothing ends it"),
};

const chainParams = z.object({
	genesis: note(seconds, "When the first epoch began, in seconds since 1970"),
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
	nowMs: note(atMs, "The validator's clock: phases are by it"),
	chainId: count,
	isEmbedded: z.boolean(),
	rpcUrl: note(
		z.nullable(said),
		"A node to read the chain at: the embedded one's is on the validator's machine; null: the operator named none",
	),
	trialAccounts: note(
		z.boolean(),
		"The caller's browser may have an account funded (a trial network, on its own machine)",
	),
	confirmations: count,
	behindSinceMs: note(z.nullable(atMs), "Since then the validator waits for a node that is behind what it saw before"),
	activity: note(count, "Grows with whatever happens in the contracts: a page that shows an epoch reloads it then"),
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
		twinJudge: account,
		twinPosts: account,
		zkJobs: account,
		weightJudge: account,
		segmentProofs: account,
		deployedAtBlock: count,
	}),
	token: z.object({ symbol: said, decimals: count }),
	validator: note(
		z.object({ account, signer: account, stake: amount, unbonding: amount, isValidator: z.boolean() }),
		"This validator's account, and the key that signs for it",
	),
	validators: note(count, "That ever registered"),
	totalStake: note(amount, "Of all validators, now"),
	params: chainParams,
	reserve: note(amount, "Funded, and earned by nobody yet"),
	earned: note(amount, "By all, in all epochs"),
	claimed: note(amount, "Of that, what was paid"),
	nextPot: note(amount, "What the epoch that runs may pay, if its weights follow those that stand now"),
	epoch: note(z.nullable(epochNumber), "That runs now; null before the first"),
	inFlight: note(z.array(z.object(windows)), "Epochs that are neither final nor lapsed, newest first"),
});
/** Null for a validator without a chain: a page may ask without a failure. */
export const chainReply = z.object({ chain: z.nullable(chain) });

export const chainEpochSummary = z.object({
	...windows,
	reports: note(count, "Revealed"),
	accounts: note(z.nullable(count), "Listed in the posted weights; null without any"),
	earned: note(z.nullable(amount), "By all in this epoch; null without posted weights"),
});

const where = z.object({ hash: bytes32, block: count });
const leafState = note(z.enum(["none", "right", "wrong"]), "Whether the leaves here give the root");
const bits = note(amount, "Bit i stands for seat i");
const report = z.object({
	account,
	signer: account,
	isSelf: z.boolean(),
	endpoint: said,
	stake: note(amount, "At the epoch's end"),
	seat: note(z.nullable(count), "Its place among the revealed reports"),
	state: z.enum(["none", "committed", "revealed"]),
	isCounted: note(z.nullable(z.boolean()), "Its report is in the set of the posted weights; null without any"),
	hasSigned: note(z.nullable(z.boolean()), "The posted weights; null without any"),
	root: z.nullable(bytes32),
	committed: z.nullable(where),
	revealed: z.nullable(where),
	scores: note(z.nullable(count), "Leaves that this validator has; null when it has none"),
	leaves: leafState,
	leavesPath: z.nullable(said),
	reasonsPath: note(z.nullable(said), "What its scores multiply out from, gzipped JSON; null when it is not here"),
	reasonsBytes: z.nullable(count),
});
const statement = z.object({
	epoch: epochNumber,
	base: note(bytes32, "Id of the weights that these continue; zeros: the first"),
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
	signatures: note(
		z.nullable(z.array(z.object({ signer: account, signature: matching(/^0x[0-9a-f]{130}$/) }))),
		"As they were posted; null when the node does not tell the transaction",
	),
	setStake: amount,
	signedStake: amount,
	total: note(amount, "Earned by all in all epochs up to this one"),
	finalAtMs: atMs,
	at: where,
	leaves: leafState,
	leavesPath: said,
});
const base = z.object({
	id: bytes32,
	weights: statement,
	total: note(amount, "Earned by all in all epochs up to it"),
	leaves: leafState,
	leavesPath: said,
});
const wrong = z.object({
	id: bytes32,
	reason: note(said, "What was proven wrong: weight, shape, earned, total or set"),
	isPosted: z.boolean(),
	by: account,
	punished: note(z.array(z.object({ account, amount })), "Signers of it, and what each lost"),
	at: where,
});
export const chainEpoch = z.object({
	...chainEpochSummary.shape,
	pot: note(amount, "What the epoch may pay at most; foreseen before weights are posted"),
	funded: note(amount, "Of Rewards at the epoch's end"),
	reportedStake: amount,
	totalStake: amount,
	hasQuorum: note(z.boolean(), "Enough stake has revealed"),
	reportsOf: note(z.array(report), "Of every validator with stake, seats first"),
	posted: note(z.nullable(posted), "The weights that stand"),
	base: note(z.nullable(base), "The weights that these continue, or would; null when none stand before"),
	statementsPath: note(said, "What validators have signed, as far as it is here"),
	wrong: note(z.array(wrong), "Statements that were proven wrong, posted or only signed"),
	dropped: note(z.array(z.object({ id: bytes32, at: where })), "Posted once, and no longer"),
});

export const chainWeight = z.object({
	account,
	isValidator: note(z.boolean(), "It earns for its report, not for hosts"),
	providerId: note(z.nullable(providerId), "Where this validator knows it"),
	name: z.nullable(said),
	attestation: note(z.nullable(attested), "Of the host's last valid probe"),
	scores: note(z.array(z.nullable(ppm)), "In the order of `validators`; null where a report leaves it out"),
	medianPpm: note(z.nullable(ppm), "Of the reports that count; null when the leaves of one are not here"),
	weightPpm: note(z.nullable(ppm), "As posted; null without posted weights"),
	earned: note(z.nullable(amount), "In this epoch"),
	total: note(z.nullable(amount), "In all epochs up to this one"),
	claimed: note(amount, "What it was paid, before the weights that follow these were posted"),
});
export const chainWeights = z.object({
	validators: z.array(account),
	rows: z.array(chainWeight).check(z.maxLength(MAX_PAGE)),
	cursor: z.nullable(cursor),
});

export const chainTransaction = z.object({
	hash: bytes32,
	block: count,
	logIndex: count,
	atMs: z.nullable(atMs),
	what: z.enum(["commit", "reveal", "post", "wrong", "drop", "punish"]),
	about: note(z.nullable(account), "Whom it concerns"),
	from: note(z.nullable(account), "Who sent it"),
	amount: z.nullable(amount),
	gasUsed: note(z.nullable(count), "Of the whole transaction; null when the node does not tell"),
});

export const chainAccount = z.object({
	account,
	signer: note(account, "The key of its running program"),
	payout: note(account, "Where its rewards go"),
	providerId: z.nullable(providerId),
	isKept: note(z.boolean(), "The embedded chain's owner keeps it for a provider that has none of its own"),
	role: z.enum(["none", "provider", "validator"]),
	stake: amount,
	unbonding: amount,
	locked: amount,
	unlockAtMs: z.nullable(atMs),
	slashed: note(amount, "Taken from its stake for proven fraud"),
	earned: note(z.nullable(amount), "By the newest final weights, in all epochs; null when their leaves are not here"),
	pending: note(amount, "Earned by weights that are posted and not final yet"),
	claimed: note(amount, "Paid so far"),
	claimable: note(amount, "Earned and not paid yet: one claim pays all of it"),
	finalEpoch: note(z.nullable(epochNumber), "Whose weights a claim would use; null before the first"),
	claims: note(z.array(z.object({ to: account, amount, total: amount, at: where })), "The newest"),
	devices: z.array(z.object({ device: bytes32, evidenceSha256: bytes32, untilMs: atMs, at: where })),
});

export const chainQuery = z.strictObject({ ...paging });

export const trialFunds = z.object({
	nonce: note(count, "Of its next transaction"),
	gas: note(count, "The most that a transaction of it may ask for"),
	maxFeePerGas: amount,
	maxPriorityFeePerGas: amount,
});
export const trialTransaction = z.strictObject({ raw: matching(/^0x([0-9a-f]{2}){1,8192}$/) });
export const trialReceipt = z.object({ hash: bytes32, isDone: note(z.boolean(), "false: it failed") });

// The chain as the API shows it: where it is, its epochs and their windows, reports and weights with the
// transactions that made them, accounts. Page: docs/chain.md. Amounts are the token's smallest unit, as
// decimal text: they pass 2^53. Everything here can be read from any node as well; a validator only saves the
// asking.
import * as z from "zod";
import { atMs, chainHex, count, cursor, epochNumber, MAX_PAGE, paging, ppm, providerId, said } from "./primitives.ts";

export const account = chainHex(20, "Account on the chain");
const bytes32 = chainHex(32, "32 bytes");
const amount = z
	.string()
	.regex(/^\d{1,39}$/)
	.describe("In the token's smallest unit");
const seconds = count.describe("Seconds");

export const phase = z
	.enum(["running", "commit", "reveal", "void", "proposable", "challenge", "final", "lapsed"])
	.describe("lapsed: it has no weights and can have none any more; docs/epochs.md §1");

const windows = {
	number: epochNumber,
	phase,
	startsAtMs: atMs,
	endsAtMs: atMs.describe("Commits from here"),
	revealsAtMs: atMs,
	voidsAtMs: atMs,
	proposesAtMs: atMs,
	finalAtMs: atMs.nullable().describe("Of the proposal that stands"),
	nextAtMs: atMs.nullable().describe("When the phase ends by itself; null when only an act or nothing ends it"),
};

const chainParams = z.object({
	epochSeconds: seconds,
	commitSeconds: seconds,
	revealSeconds: seconds,
	voidSeconds: seconds,
	challengeSeconds: seconds,
	claimSeconds: seconds,
	unbondingSeconds: seconds,
	deviceSeconds: seconds,
	quorumPpm: ppm,
	proposerSlashPpm: ppm,
	accuserPpm: ppm,
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
		.describe("Of the embedded chain, on the validator's machine; null elsewhere: any node of that chain will do"),
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
		deployedAtBlock: count,
	}),
	token: z.object({ symbol: said, decimals: count }),
	validator: z
		.object({ account, stake: amount, unbonding: amount, isValidator: z.boolean() })
		.describe("This validator's account"),
	validators: count.describe("That ever registered"),
	totalStake: amount.describe("Of all validators, now"),
	params: chainParams,
	reserve: amount,
	nextPot: amount.describe("What the next epoch that is proposed will pay"),
	epoch: epochNumber.nullable().describe("That runs now; null before the first"),
	inFlight: z.array(z.object(windows)).describe("Epochs that are neither final nor lapsed, newest first"),
});
/** Null for a validator without a chain: a page may ask without a failure. */
export const chainReply = z.object({ chain: chain.nullable() });

export const chainEpochSummary = z.object({
	...windows,
	reports: count.describe("Revealed and not voided"),
	providers: count.nullable().describe("With a weight; null without a proposal"),
	pot: amount.nullable(),
	paid: amount,
	claims: count,
});

const where = z.object({ hash: bytes32, block: count });
const report = z.object({
	account,
	isSelf: z.boolean(),
	endpoint: said,
	stake: amount.describe("At the epoch's end"),
	state: z.enum(["none", "committed", "revealed", "voided"]),
	root: bytes32.nullable(),
	committed: where.nullable(),
	revealed: where.nullable(),
	voided: where.nullable(),
	scores: count.nullable().describe("Leaves that this validator has; null when it has none"),
	leaves: z.enum(["none", "right", "wrong"]).describe("Whether the leaves here give the root"),
	leavesPath: said.nullable(),
	reasonsPath: said.nullable().describe("What its scores multiply out from, gzipped JSON; null when it is not here"),
	reasonsBytes: count.nullable(),
});
const proposal = z.object({
	proposer: account,
	digest: bytes32,
	root: bytes32,
	count,
	totalWeight: amount,
	emission: amount,
	thresholdRemainder: amount,
	thresholdProvider: account,
	finalAtMs: atMs,
	proposed: where,
	leaves: z.enum(["none", "right", "wrong"]),
	leavesPath: said,
});
export const chainEpoch = z.object({
	...chainEpochSummary.shape,
	countedStake: amount,
	totalStake: amount,
	hasQuorum: z.boolean(),
	reportsOf: z.array(report).describe("Of every validator with stake"),
	proposal: proposal.nullable(),
	rejected: z.array(z.object({ proposer: account, digest: bytes32, by: account, slashed: amount, at: where })),
	claimsUntilMs: atMs.nullable(),
	isSwept: z.boolean(),
});

export const chainWeight = z.object({
	account,
	providerId: providerId.nullable().describe("Where this validator knows it"),
	name: said.nullable(),
	scores: z.array(ppm.nullable()).describe("In the order of `validators`; null where a report leaves it out"),
	medianPpm: ppm.nullable().describe("Of the reports whose leaves are here; null when one is missing"),
	weightPpm: ppm.nullable().describe("As proposed; null without a proposal"),
	share: amount.nullable(),
	claimed: z.object({ amount, hash: bytes32, block: count }).nullable(),
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
	what: z.enum(["commit", "reveal", "vote", "void", "propose", "reject", "claim", "carry-over", "fraud"]),
	about: account.nullable().describe("Whom it concerns"),
	from: account.nullable().describe("Who sent it"),
	amount: amount.nullable(),
	isPaid: z.boolean().describe("A claim that the same transaction also collected"),
	gasUsed: count.nullable().describe("Of the whole transaction; null when the node does not tell"),
});

export const chainAccount = z.object({
	account,
	providerId: providerId.nullable(),
	isKept: z.boolean().describe("The embedded chain's owner keeps it for a provider that has none of its own"),
	role: z.enum(["none", "provider", "validator"]),
	stake: amount,
	unbonding: amount,
	unlockAtMs: atMs.nullable(),
	slashed: amount.describe("Taken from its stake for proven fraud"),
	claimed: amount.describe("Rewards claimed so far"),
	owed: amount.describe("Of these, what was not collected yet"),
	claimable: amount.describe("Shares of final epochs that nobody has claimed yet"),
	claimableEpochs: z.array(epochNumber),
	claims: z.array(z.object({ epoch: epochNumber, amount, at: where })).describe("The newest"),
	devices: z.array(
		z.object({ device: bytes32, validator: account, evidenceSha256: bytes32, untilMs: atMs, at: where }),
	),
});

export const chainQuery = z.strictObject({ ...paging });

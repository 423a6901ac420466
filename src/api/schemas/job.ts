// Jobs in the API: what a customer asks for, what it is offered, what its provider hands in, and what
// everybody may read. docs/jobs.md §13. Shapes only: whether a program is sound or a claim right is found out
// from the bytes.
import * as z from "zod/mini";
import { METHOD_NAMES } from "../../protocol/network/job.ts";
import { MAX_DEVICES } from "../../protocol/probe/limits.ts";
import { decimal, integer, matching, note } from "./base.ts";
import { atMs, chainHex, count, cursor, hex32, micros, paging, ppm, providerId, said, text } from "./primitives.ts";
import { searchText } from "./provider.ts";
import { attestedLevel } from "./verdict.ts";

/** With a chain the escrow's number of the job. */
export const jobId = hex32("Name of a job");
const partNumber = integer(0, 0xffff_ffff);
const attempt = note(integer(1, 0xffff), "Of the part: a word about an earlier one is refused");
const blobSize = integer(1, 2 ** 35);
const blobName = z.strictObject({ root: hex32("Root of its tree"), size: blobSize });
const tensorNumber = integer(0, 0xffff);
const tensorBlob = z.strictObject({ tensor: tensorNumber, root: hex32("Root of its tree"), size: blobSize });

const jobMethod = z.strictObject({
	name: z.enum(METHOD_NAMES),
	count: integer(0, 64),
});

/** As `jobSpec` in src/protocol/network/job-spec.ts. */
export const jobSpec = z.strictObject({
	format: z.literal("assay-job"),
	version: z.literal(1),
	title: text(100),
	kind: text(32),
	program: blobName,
	seed: hex32("Of the randomness in the program"),
	given: note(
		z.array(tensorBlob).check(z.maxLength(4096)),
		"Every constant and input, ascending by the tensor's number",
	),
	segments: integer(1, 2 ** 31),
	metrics: z
		.array(z.strictObject({ tensor: text(64), label: text(40), unit: text(16), scale: text(32) }))
		.check(z.maxLength(32)),
	previews: z.array(tensorNumber).check(z.maxLength(8)),
	method: jobMethod,
	generation: note(z.optional(blobName), "Of generated text: generation.json, docs/inference.md §10"),
});

export const jobTerms = z.strictObject({
	customer: text(200),
	program: hex32("Root of the program"),
	inputs: hex32("Hash of seed and inputs"),
	method: jobMethod,
	segments: integer(1),
	parts: integer(1),
	priceMicros: note(micros, "A part, each: to the provider"),
	feeMicros: micros,
	auditMicros: micros,
	bondMicros: micros,
	startByMs: atMs,
	workMs: integer(1),
	windowMs: integer(1),
	checkedMs: integer(0),
});

/** As JobEscrow.sol has them, docs/chain.md §11; numbers of more than 53 bits as text. */
const escrowTerms = z.strictObject({
	customer: chainHex(20, "Who funds it"),
	salt: chainHex(32, "The customer's own"),
	program: chainHex(32, "Root of the program"),
	inputs: chainHex(32, "Hash of seed and inputs"),
	spec: chainHex(32, "Hash of what is computed, with the commitment to the draws' secret"),
	seed: chainHex(32, "The one in inputs"),
	start: chainHex(32, "S₀"),
	segments: decimal,
	parts: integer(1),
	price: decimal,
	fee: decimal,
	audit: decimal,
	bond: decimal,
	startBy: decimal,
	workSeconds: integer(1),
	windowSeconds: integer(1),
	checkedSeconds: integer(0),
	method: integer(0, 255),
	quorum: integer(1, 5),
	validators: z.array(chainHex(20, "A validator's account")).check(z.minLength(1), z.maxLength(5)),
});

export const jobEscrow = z.strictObject({
	chainId: integer(1),
	contract: chainHex(20, "JobEscrow"),
	terms: escrowTerms,
});

/** Signed by the validator, which keeps nothing of it: whoever brings it back in time has what it says. */
const jobOffer = z.strictObject({
	id: jobId,
	terms: jobTerms,
	escrow: note(z.nullable(jobEscrow), "Null: nothing is paid on a chain, a record is kept of what is owed"),
	salt: hex32("The customer's own"),
	perWindow: note(integer(1), "Segments from one kept state to the next"),
	secretCommitment: hex32("Of the secret in this job's draws, which is told when the job is over"),
	untilMs: atMs,
	signature: note(
		matching(/^[0-9a-f]{128}$/),
		"The validator's, of the tagged hash assay/job-offer/1 of the rest as canonical JSON",
	),
});

const deviceNumber = integer(0, MAX_DEVICES - 1);
const jobDevice = z.object({
	device: note(deviceNumber, "As its host numbers them"),
	isFree: z.boolean(),
	memoryBytes: note(count, "Proven, and allowed by its owner; 0: none was proven"),
	int8OpsPerS: count,
	bytesPerS: count,
	int32OpsPerS: note(count, "0: none was proven; then its int8 figure tells"),
});
export const jobHostsQuery = z.strictObject({ ...paging });
export const jobHost = z.object({
	provider: providerId,
	isFree: note(z.boolean(), "One of its devices is"),
	devices: note(z.array(jobDevice), "Each takes a part of its own"),
	pricePerHourMicros: note(micros, "The least that an hour of work must bring, by proven speed"),
	reliabilityPpm: ppm,
	freeBondMicros: note(micros, "What it can lock for a part now"),
	mostWorkMs: note(count, "Longest time limit of a part"),
	methods: z.array(jobMethod.shape.name),
	attested: note(attestedLevel, "What its devices signed in its last valid probe, as it counts for attested jobs here"),
	isSimulated: note(z.boolean(), "Under roots of our own mint: it shows nothing, and counts on trial networks alone"),
});
export const quoteBody = z.strictObject({
	spec: jobSpec,
	mostMicros: note(z.nullable(micros), "Of the whole job; null: no limit"),
	hourMicros: note(
		z.optional(micros),
		"What an hour of this work on an H200 is paid, by the model of docs/workloads.md; absent: what hosts ask",
	),
	account: note(z.nullable(chainHex(20, "Who will fund it")), "Null: without a chain"),
	salt: hex32("The customer's own: two jobs of the same terms need two"),
});
export const quote = z.object({
	offer: jobOffer,
	totalMicros: micros,
	estimatedMs: note(integer(0), "Modelled time of one part on the slowest host that may be drawn"),
	referenceMs: note(integer(0), "The same on an H200: what is paid for, however slowly it is done"),
	hosts: note(count, "How many may be drawn"),
	tenthFoundPpm: note(
		ppm,
		"Chance that a provider which skips a tenth is found; of attested: one that broke its guest",
	),
	isSimulated: note(z.boolean(), "Attested by hosts under roots that anybody can sign under: it shows nothing"),
});
export const submitBody = z.strictObject({ spec: jobSpec, offer: jobOffer });

const partState = z.enum(["open", "assigned", "running", "claimed", "paid", "refunded"]);
const jobAudit = z.object({
	auditor: note(z.nullable(providerId), "Null: the validator itself"),
	device: note(z.optional(deviceNumber), "The device of that host that audits"),
	first: note(count, "Counted from the part's first segment"),
	count,
	untilMs: count,
	tried: z.array(providerId),
	answer: z.nullable(said),
	answeredAtMs: note(z.optional(count), "Absent: it has no answer, or it was read off another audit"),
	agrees: z.nullable(z.boolean()),
	inside: note(z.optional(count), "The states agree, and what is said of the inside of this segment does not"),
});
const jobPart = z.object({
	part: partNumber,
	attempt: count,
	state: partState,
	provider: z.nullable(providerId),
	device: note(z.optional(deviceNumber), "The device of that host that runs it"),
	base: count,
	isAlone: z.boolean(),
	untilMs: count,
	lastBeatMs: count,
	done: count,
	lastProgressMs: note(count, "When `done` last grew, or the part began to run"),
	claim: z.nullable(hex32("Hash of the claim")),
	claimedAtMs: count,
	assignedAtMs: count,
	isChecked: z.boolean(),
	proven: note(z.optional(count), "Of a zk job: its segments that are proven and paid"),
	isDisputed: z.boolean(),
	disputedAtMs: note(z.optional(count), "When it was found false or silent; it stays when that lapses"),
	audits: z.array(jobAudit),
	excluded: z.array(providerId),
});

const summary = {
	id: jobId,
	customer: said,
	createdAtMs: atMs,
	isOver: z.boolean(),
};
export const jobSummary = z.object({
	...summary,
	title: said,
	kind: said,
	method: jobMethod,
	segments: count,
	done: note(count, "Segments, as providers say"),
	parts: z.array(z.object({ state: partState, provider: z.nullable(providerId), isChecked: z.boolean() })),
	totalMicros: micros,
});
export const job = z.object({
	...summary,
	spec: jobSpec,
	offer: jobOffer,
	record: z.object({ id: jobId, terms: jobTerms, parts: z.array(jobPart) }),
});
export const jobsQuery = z.strictObject({
	open: z.optional(z.boolean()),
	kind: note(z.optional(text(32).check(z.minLength(1))), "Workload of its job file"),
	q: note(z.optional(searchText), "In its title, or the beginning of its number"),
	...paging,
});
export const jobEventsQuery = z.strictObject({ after: note(z.optional(cursor), "Like Last-Event-ID") });

export const jobResult = z.object({
	parts: z.array(z.object({ part: partNumber, claim: hex32("Hash of the claim"), states: blobName })),
	state: z.array(tensorBlob),
	results: z.array(tensorBlob),
});

const drawn = z.object({
	part: partNumber,
	attempt,
	role: note(integer(0, 2), "0: the provider, 1: auditors, 2: what is run again"),
	atMs: note(atMs, "When the list was published"),
	list: z.array(z.object({ provider: providerId, weightPpm: ppm })),
	listHash: hex32("Hash of the list"),
	afterBlock: note(z.nullable(count), "Newest block when the list was published; the draw takes the next one"),
	block: z.nullable(hex32("Hash of the block")),
	drawn: z.array(providerId),
});
export const jobDraws = z.object({
	id: jobId,
	offer: note(jobOffer, "As its validator signed it: what binds the draws"),
	secretCommitment: hex32("Commitment to the secret"),
	secret: note(z.nullable(hex32("The secret")), "Null until the job is over"),
	perWindow: integer(1),
	draws: z.array(drawn),
	parts: z.array(jobPart),
});

export const jobProofs = z.object({
	segments: note(count, "Of the job, segment 0 not counted: it has no steps"),
	proofs: z.array(
		z.object({
			segment: count,
			prover: chainHex(20, "Account that was paid"),
			transaction: chainHex(32, "Hash of its transaction"),
			gas: count,
			amount: note(decimal, "Of the token's smallest unit"),
		}),
	),
});

// How large bodies may be: lists of 4,096 tensors, and of 200 steps' metrics, as JSON writes them.
export const MAX_SPEC_BYTES = 1 << 20;
export const MAX_KEPT_BYTES = 1 << 20;
export const MAX_BEAT_BYTES = 256 << 10;

// The provider's side.
export const kept = z.strictObject({
	state: z.array(blobName).check(z.maxLength(4096)),
	results: z.array(blobName).check(z.maxLength(4096)),
});
const auditNumber = integer(0, 1000);
export const offerQuery = z.strictObject({ audit: z.optional(auditNumber) });
const assignment = z.object({
	part: partNumber,
	attempt: note(integer(1), "As the escrow counts: assignments that were taken"),
	until: note(decimal, "Seconds: last moment to take it"),
	draw: chainHex(32, "Hash of the draw's record"),
	provider: chainHex(20, "The drawn provider's account"),
	signatures: z.array(chainHex(65, "EIP-712 Assignment, in the order of the terms' validators")),
});
export const partOffer = z.object({
	id: jobId,
	part: partNumber,
	attempt,
	audit: note(z.nullable(auditNumber), "Null: the part itself is to be run and claimed"),
	device: note(deviceNumber, "The device that is to run it: drawn, quoted and judged by what this one proved"),
	spec: jobSpec,
	terms: jobTerms,
	escrow: z.nullable(jobEscrow),
	assignment: note(z.nullable(assignment), "Null for audits, without a chain, and once it was taken"),
	first: note(count, "First segment to run, counted over the whole job"),
	count: integer(1),
	start: hex32("S of the state before it"),
	begin: note(z.nullable(kept), "The state before it, in the program's order; null: zeros, segment 0"),
	previous: z.nullable(hex32("Hash of the claim of the part before")),
	perWindow: integer(1),
	beatMs: note(integer(1), "A sign of life is wanted at least so often"),
	untilMs: note(atMs, "Assigned: to accept. Running: to claim. Of an audit: to answer"),
	nowMs: note(atMs, "The validator's clock, by which untilMs is meant"),
});
export const acceptBody = z.strictObject({ attempt });
export const declineBody = z.strictObject({ attempt, why: text(200) });
export const beatBody = z.strictObject({
	attempt,
	done: count,
	metrics: note(
		z
			.array(z.strictObject({ step: integer(0), values: z.array(z.number()).check(z.maxLength(32)) }))
			.check(z.maxLength(200)),
		"Read as the spec's metrics, in their order",
	),
	previews: z.array(tensorBlob).check(z.maxLength(8)),
});
export const beatReply = z.object({ go: note(z.boolean(), "False: stop, it is somebody else's") });
export const partReply = z.object({
	state: partState,
	untilMs: count,
	nowMs: note(atMs, "The validator's clock, by which untilMs is meant"),
});
export const claimBody = z.strictObject({
	attempt,
	segmentRoot: hex32("Segment root"),
	resultRoot: hex32("Result root"),
	states: note(blobName, "S_first … S_{first+T}, 32 bytes each"),
	...kept.shape,
	rounds: note(z.optional(blobName), "Signed reports of its devices at both ends: docs/attestation.md"),
});
export const claimReply = z.object({
	claim: hex32("Hash of the claim"),
	stored: note(z.nullable(z.array(chainHex(65, "EIP-712 Stored"))), "Null without a chain"),
	state: partState,
	untilMs: count,
});
export const auditBody = z.strictObject({
	attempt,
	states: note(blobName, "S of the state before the first segment and after each, 32 bytes each"),
});
export const auditReply = z.object({ stored: z.boolean() });
export const bySegment = z.strictObject({
	id: jobId,
	segment: z.coerce.number().check(z.int(), z.minimum(1), z.maximum(2 ** 31)),
});
export const byPart = z.strictObject({ id: jobId, part: partNumber });
export const byAudit = z.strictObject({ id: jobId, part: partNumber, at: auditNumber });

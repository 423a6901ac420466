// `verifyRun`: do these commitments belong to segments of one run, one after the other? docs/zk.md §13. One
// proof for all of them, with one opening.
import { concatBytes, hexToBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import {
	bytesOf,
	type G1,
	type G2,
	g1Of,
	mod,
	type NoPoint,
	POINTS,
	R,
	wordsOf,
} from "../../../protocol/maths/bn254.ts";
import type { ZkPlan } from "../../../work/plan/compile-plan.ts";
import { NUMBERS } from "../field.ts";
import { isLine } from "../opening.ts";
import { inconclusive, invalid, type Refused } from "../refused.ts";
import { cornerOf } from "../scalars.ts";
import { rowAt, rowOrder } from "../segment-run.ts";
import { tauOf } from "../srs.ts";
import { gapInRun, type SegmentStatement, statementHash, unfit } from "../statement.ts";
import { createTranscript } from "../transcript.ts";
import { pointsOf, proofSizes } from "../verify-segment.ts";
import { checkRun, type RunClaim, type RunTold, type SegmentTold } from "./check-run.ts";

export type RunVerdict = { readonly status: "valid" } | Refused;

/** W and W′. */
export const LINE_BYTES = 2 * 64;
/** f(r), f(1/r), S(1/r), 1/r, b. */
const CROSS_SCALARS = 5;
/** The message of the opening's transcript: what is opened, and W. */
const KIND_LINE = 22;

/**
 * Points and scalars of each segment, its nonce the first of them; the mask; rounds and values of the fold;
 * S, its scalars; the opening.
 */
function runSizes(plan: ZkPlan, segments: number) {
	const { points, scalars } = proofSizes(plan);
	const segment = 64 * points + 32 * (1 + scalars);
	const fold = 2 * plan.chunkBits + segments + 1;
	const cross = segments * segment + 64 + 32 * fold;
	return { points, segment, cross, bytes: cross + 64 + 32 * CROSS_SCALARS + LINE_BYTES };
}

const halvesOf = (bytes: Uint8Array): bigint[] =>
	wordsOf(bytes).flatMap((one) => [one >> 128n, one & (2n ** 128n - 1n)]);

/** A point of rows is this matrix, row by row, times a point of (step, place) and 1. */
function rowMatrix(plan: ZkPlan, { seed, firstStep }: SegmentStatement): bigint[] {
	const order = rowOrder(plan, hexToBytes(seed)!, firstStep);
	const own = plan.stepBits + plan.batchBits;
	const at = (place: number) => rowAt(NUMBERS, plan, order, cornerOf(NUMBERS, place, own));
	const [zero, units] = [at(0), Array.from({ length: own }, (_, i) => at(2 ** (own - 1 - i)))];
	return zero.flatMap((constant, i) => [...units.map((one) => mod(one[i]! - constant)), constant]);
}

/** What a verifier tells the checks of a segment; `proven`: its commitments in the proof. */
function segmentTold(plan: ZkPlan, statement: SegmentStatement, proven: Uint8Array): SegmentTold<bigint> {
	const middle = 64 * plan.groups[4]!.chunks;
	return {
		...{ statement: halvesOf(statementHash(statement)), order: rowMatrix(plan, statement) },
		...{ values: halvesOf(proven.subarray(0, middle)), helpers: halvesOf(proven.subarray(middle)) },
	};
}

/** Of all segments; `mask`, `cross`: the commitments to the mask and to S. */
export const toldOf = (
	plan: ZkPlan,
	statements: readonly SegmentStatement[],
	proven: readonly Uint8Array[],
	{ mask, cross }: Pick<ReadRun, "mask" | "cross">,
): RunTold<bigint> => ({
	segments: statements.map((statement, i) => segmentTold(plan, statement, proven[i]!)),
	...{ mask: halvesOf(mask), cross: halvesOf(cross) },
});

/** What stands in a proof, before any of it is checked. */
export interface ReadRun {
	/**
	 * By segment: commitments of its statement, then of the proof. At the end that of the mask, and that of S.
	 */
	readonly points: readonly (readonly G1[])[];
	/** Those of the proof as bytes. */
	readonly proven: readonly Uint8Array[];
	readonly mask: Uint8Array;
	readonly cross: Uint8Array;
	readonly told: RunTold<bigint>;
	readonly scalars: readonly bigint[];
	readonly opening: Uint8Array;
}

/** Null: the statements are of segments of the plan that follow each other. */
export function unfollowed(plan: ZkPlan, statements: readonly SegmentStatement[]): Refused | null {
	if (statements.length === 0) return invalid("PROOF_STATEMENT", "a run has a segment");
	for (const [i, statement] of statements.entries()) {
		const misfit = unfit(statement, plan);
		if (misfit !== null) return invalid("PROOF_STATEMENT", misfit);
		const gap = i === 0 ? null : gapInRun(statements[i - 1]!, statement);
		if (gap !== null) return invalid("PROOF_CHAIN", gap);
	}
	return null;
}

/**
 * By segment: those of its statement, then those of the proof. At the end that of the mask, and that of S.
 */
export function commitmentsOf(
	statements: readonly SegmentStatement[],
	proven: readonly Uint8Array[],
	{ mask, cross }: Pick<ReadRun, "mask" | "cross">,
): readonly (readonly G1[])[] | NoPoint {
	const last = [mask, cross].map((one) => g1Of(...(wordsOf(one) as [bigint, bigint])));
	const all = [
		...statements.map((statement, i) => pointsOf(statement, proven[i]!)),
		...last.map((one) => (typeof one === "string" ? one : [one])),
	];
	const wrong = all.find((one) => typeof one === "string");
	return wrong === undefined ? (all as (readonly G1[])[]) : (wrong as NoPoint);
}

/** Of statements that follow each other. */
export function readRun(plan: ZkPlan, statements: readonly SegmentStatement[], proof: Uint8Array): ReadRun | Refused {
	const gap = unfollowed(plan, statements);
	if (gap !== null) return gap;
	const sizes = runSizes(plan, statements.length);
	if (proof.length !== sizes.bytes)
		return invalid("PROOF_FORM", `it has ${proof.length} bytes; such proofs have ${sizes.bytes}`);
	const segments = statements.map((_, i) => proof.subarray(i * sizes.segment, (i + 1) * sizes.segment));
	const proven = segments.map((one) => one.subarray(0, 64 * sizes.points));
	const at = segments.length * sizes.segment;
	const mask = proof.subarray(at, at + 64);
	const cross = proof.subarray(sizes.cross, sizes.cross + 64);
	const points = commitmentsOf(statements, proven, { mask, cross });
	if (typeof points === "string") return invalid("PROOF_FORM", POINTS[points]);
	const end = proof.length - LINE_BYTES;
	const said = segments.map((one) => one.subarray(64 * sizes.points));
	const folded = [proof.subarray(at + 64, sizes.cross), proof.subarray(sizes.cross + 64, end)];
	const scalars = [...said, ...folded].flatMap(wordsOf);
	if (scalars.some((one) => one >= R)) return invalid("PROOF_FORM", POINTS.spelling);
	const told = toldOf(plan, statements, proven, { mask, cross });
	return { points, proven, mask, cross, told, scalars, opening: proof.subarray(end) };
}

/** As verifySegment, of segments that follow each other. */
export function verifyRun(
	plan: ZkPlan,
	statements: readonly SegmentStatement[],
	proof: Uint8Array,
	{ isDevAllowed }: { readonly isDevAllowed: boolean },
): RunVerdict {
	const read = readRun(plan, statements, proof);
	if ("code" in read) return read;
	const tau = tauOf(statements[0]!.srs, { isDevAllowed });
	if ("code" in tau) return inconclusive(tau.code, tau.detail);
	const claim = claimOf(plan, read);
	if (claim === null)
		return invalid("PROOF_CLAIMS", "a sum of a segment is false, or what the segments say of their commitments");
	return opened(read, claim, tau);
}

/** Null: a check is false. */
export function claimOf(plan: ZkPlan, { told, scalars }: ReadRun): RunClaim<bigint> | null {
	let at = 0;
	return checkRun(NUMBERS, plan, told, () => scalars[at++]!);
}

/** Whether the commitments, each as often as it counts, are a + b·X where X² - t·X + 1 is 0. */
export function opened(
	{ points, opening }: Pick<ReadRun, "points" | "opening">,
	{ weights, eta, t, a, b, digest }: RunClaim<bigint>,
	tau: G2,
): RunVerdict {
	const words = wordsOf(opening) as [bigint, bigint, bigint, bigint];
	const [w, last] = [g1Of(words[0], words[1]), g1Of(words[2], words[3])];
	if (typeof w === "string") return invalid("PROOF_FORM", POINTS[w]);
	if (typeof last === "string") return invalid("PROOF_FORM", POINTS[last]);
	const transcript = createTranscript(keccak(utf8ToBytes("assay/zk/run/2"), bytesOf(digest)));
	transcript.absorb(KIND_LINE, concatBytes(...[eta, t, a, b].map(bytesOf), opening.subarray(0, 64)));
	const z = transcript.challenge();
	if (isLine(points.flat(), [...weights.flat(), eta], { t, a, b }, { z, w, last, tau })) return { status: "valid" };
	return invalid("PROOF_OPENING", "the commitments do not open to what the proof says");
}

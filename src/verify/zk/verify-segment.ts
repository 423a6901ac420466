// `verifySegment`: do these commitments belong to a run of the program, step by step? docs/zk.md §5. Pure,
// the same in a browser. What it does not say: that the commitments are those of bytes that anybody holds
// (bind-bytes.ts), or that segments follow each other (statement.ts).
import { concatBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { Code } from "../../protocol/codes.ts";
import { bytesOf, type G1, g1Of, POINTS, R, sumOfMultiples, wordsOf } from "../../protocol/maths/bn254.ts";
import type { ZkPlan } from "../../work/plan/compile-plan.ts";
import { checkLookups, lookupScalars } from "./check-lookups.ts";
import { checkProducts, checkWeights, productScalars } from "./check-products.ts";
import { type Field, NUMBERS } from "./field.ts";
import { OPENING_BYTES, verifyOpening } from "./opening.ts";
import { inconclusive, invalid, type Refused } from "./refused.ts";
import { cornerOf, eqAt, eqsAt, innerProduct, powers } from "./scalars.ts";
import { type ClaimTerm, KIND, rowAt, rowOrder, SegmentRun } from "./segment-run.ts";
import { tauOf } from "./srs.ts";
import { type SegmentStatement, statementHash, unfit } from "./statement.ts";
import { type Dialogue, reduceSum } from "./sumcheck.ts";
import { createTranscript, type Transcript } from "./transcript.ts";

/** What four groups of the statement have at random points: whoever holds the bytes compares. */
export interface ByteClaims {
	/** Of the largest group; a smaller one has its last variables. */
	readonly point: readonly bigint[];
	/** features, labels, before, after. */
	readonly values: readonly bigint[];
}

export type SegmentVerdict = { readonly status: "valid"; readonly bytes: ByteClaims } | Refused;

const BOUND = 4;

/** A proof's size follows from the plan: points, scalars, the opening. */
export function proofSizes(plan: ZkPlan): {
	readonly points: number;
	readonly scalars: number;
	readonly bytes: number;
} {
	const [, , , , values, helpers] = plan.groups;
	const points = values!.chunks + helpers!.chunks;
	const scalars = lookupScalars(plan) + productScalars(plan) + BOUND + 2 * plan.bits + 1;
	return { points, scalars, bytes: 64 * points + 32 * scalars + OPENING_BYTES };
}

/** Every commitment of statement and proof, in the order of the plan's groups; or why one is none. */
export function pointsOf(statement: SegmentStatement, proven: Uint8Array): readonly G1[] | "spelling" | "nowhere" {
	const { featurePoints, labelPoints, pointsBefore, pointsAfter } = statement;
	const said = [featurePoints, labelPoints, pointsBefore, pointsAfter].flat().map((one) => hexToBytes(one)!);
	const words = wordsOf(concatBytes(...said, proven));
	const points: G1[] = [];
	for (let i = 0; i < words.length; i += 2) {
		const point = g1Of(words[i]!, words[i + 1]!);
		if (typeof point === "string") return point;
		points.push(point);
	}
	return points;
}

/**
 * `isDevAllowed`: test parameters, over which anybody can prove anything. Never throws for what a
 * statement or proof says.
 */
export function verifySegment(
	plan: ZkPlan,
	statement: SegmentStatement,
	proof: Uint8Array,
	{ isDevAllowed }: { readonly isDevAllowed: boolean },
): SegmentVerdict {
	const misfit = unfit(statement, plan);
	if (misfit !== null) return invalid("PROOF_STATEMENT", misfit);
	const tau = tauOf(statement.srs, { isDevAllowed });
	if ("code" in tau) return inconclusive(tau.code, tau.detail);
	const sizes = proofSizes(plan);
	if (proof.length !== sizes.bytes)
		return invalid("PROOF_FORM", `it has ${proof.length} bytes; the plan's proofs have ${sizes.bytes}`);
	const proven = proof.subarray(0, 64 * sizes.points);
	const opening = proof.subarray(proof.length - OPENING_BYTES);
	const scalars = wordsOf(proof.subarray(proven.length, proof.length - OPENING_BYTES));
	if (scalars.some((one) => one >= R)) return invalid("PROOF_FORM", POINTS.spelling);
	const points = pointsOf(statement, proven);
	if (typeof points === "string") return invalid("PROOF_FORM", POINTS[points]);

	const transcript = createTranscript(statementHash(statement));
	const dialogue = spoken(transcript, scalars);
	const order = rowOrder(plan, hexToBytes(statement.seed)!, statement.firstStep);
	const run = new SegmentRun(plan, dialogue, (place) => rowAt(NUMBERS, plan, order, place));
	const middle = 64 * plan.groups[4]!.chunks;
	transcript.absorb(KIND.values, proven.subarray(0, middle));
	const [alpha, beta] = run.draw(2) as [bigint, bigint];
	transcript.absorb(KIND.helpers, proven.subarray(middle));
	const checked = checkSums(run, alpha, beta);
	if ("code" in checked) return invalid(checked.code, checked.detail);
	const { bytes, left } = checked;
	const claim = { ...left, commitment: combined(plan, points, left.chunkPoint) };
	const opened = verifyOpening(transcript, tau, claim, opening);
	if (opened === "spelling" || opened === "nowhere") return invalid("PROOF_FORM", POINTS[opened]);
	if (opened === "false") return invalid("PROOF_OPENING", "the commitments do not open to what the proof says");
	return { status: "valid", bytes };
}

/** The proof's scalars one after the other, each message told to the transcript. */
function spoken(transcript: Transcript, scalars: readonly bigint[]): Dialogue<bigint> {
	let at = 0;
	return {
		field: NUMBERS,
		message(kind, count) {
			const list = scalars.slice(at, at + count);
			at += count;
			transcript.absorb(kind, concatBytes(...list.map(bytesOf)));
			return list;
		},
		challenge: () => transcript.challenge(),
	};
}

/**
 * All sums of a segment, once its helpers are committed: what they say of bytes, and the one claim that is
 * left about the commitments.
 */
export function checkSums<F>(
	run: SegmentRun<F>,
	alpha: F,
	beta: F,
): Sums<F> | { readonly code: Code; readonly detail: string } {
	const ends = checkLookups(run, alpha, beta);
	if (ends === null) return { code: "PROOF_LOOKUPS", detail: "what is counted of tables is not what the lookups give" };
	const uses = checkProducts(run, ends);
	if (uses === null)
		return { code: "PROOF_PRODUCTS", detail: "a sum is not the product of activations or gradients and weights" };
	if (!checkWeights(run, ends, uses))
		return { code: "PROOF_WEIGHTS", detail: "weights did not change by what the steps took away" };
	const bytes = byteClaims(run);
	const left = joinClaims(run);
	if (left !== null) return { bytes, left };
	return {
		code: "PROOF_CLAIMS",
		detail: "what the sums say of the columns is not what was committed, or a value lies in no table",
	};
}

interface Sums<F> {
	readonly bytes: { readonly point: readonly F[]; readonly values: readonly F[] };
	readonly left: { readonly chunkPoint: readonly F[]; readonly point: readonly F[]; readonly value: F };
}

/** Random points of the statement's groups, drawn after everything that they are about. */
function byteClaims<F>(run: SegmentRun<F>): Sums<F>["bytes"] {
	const groups = run.plan.groups.slice(0, BOUND);
	const point = run.draw(Math.max(...groups.map(({ bits }) => bits)));
	const values = run.dialogue.message(KIND.bytes, BOUND);
	const factor = run.field.of(1n);
	for (const [i, { firstChunk, bits }] of groups.entries()) {
		const own = point.slice(point.length - bits);
		run.claim(values[i]!, [{ at: firstChunk * 2 ** run.plan.chunkBits, bits, point: own, factor, more: null }]);
	}
	return { point, values };
}

/** All claims become one, about all values at one point. Null: they are false. */
function joinClaims<F>({ plan, field, dialogue, claims }: SegmentRun<F>): Sums<F>["left"] | null {
	const etas = powers(field, dialogue.challenge(), claims.length);
	const { point, claim } = reduceSum(dialogue, {
		...{ kind: KIND.claimRound, rounds: plan.bits, degree: 2 },
		claim: innerProduct(
			field,
			claims.map(({ value }) => value),
			etas,
		),
	});
	const [value] = dialogue.message(KIND.claimValue, 1) as [F];
	const kernels = claims.map(({ terms }) => field.sum(terms.map((one) => kernelAt(field, one, point))));
	if (!field.areSame(field.times(innerProduct(field, kernels, etas), value), claim)) return null;
	const high = plan.bits - plan.chunkBits;
	return { chunkPoint: point.slice(0, high), point: point.slice(high), value };
}

function kernelAt<F>(field: Field<F>, { at, bits, point: own, factor, axis }: ClaimTerm<F>, point: readonly F[]): F {
	const high = point.length - bits;
	const there = eqAt(field, cornerOf(field, at / 2 ** bits, high), point.slice(0, high));
	const inside = point.slice(high);
	if (axis === undefined) return field.times(factor, field.times(there, eqAt(field, own, inside)));
	const end = axis.after + bits - own.length;
	const others = eqAt(field, own, [...inside.slice(0, axis.after), ...inside.slice(end)]);
	const weighted = innerProduct(field, axis.weights, eqsAt(field, inside.slice(axis.after, end)));
	return field.times(factor, field.times(there, field.times(others, weighted)));
}

/** Σ eq(ρ, chunk)·commitment; chunks that no group has are zeros. */
function combined(plan: ZkPlan, points: readonly G1[], rho: readonly bigint[]): Uint8Array {
	const counts = plan.groups.flatMap(({ firstChunk, chunks }) =>
		Array.from({ length: chunks }, (_, i) => eqAt(NUMBERS, cornerOf(NUMBERS, firstChunk + i, rho.length), rho)),
	);
	const sum = sumOfMultiples(points, counts);
	if (sum.is0()) return new Uint8Array(64);
	const { x, y } = sum.toAffine();
	return concatBytes(bytesOf(x), bytesOf(y));
}

// `verifySegment`: do these commitments belong to a run of the program, step by step? docs/zk.md §5. Pure, the same in a browser. What it does not say: that the commitments
// are those of bytes that anybody holds (bind-bytes.ts), or that segments follow each other (statement.ts).
import { concatBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { Code } from "../../protocol/codes.ts";
import { bytesOf, type G1, G1_ONE, g1Of, POINTS, R, times, wordsOf } from "../../protocol/maths/bn254.ts";
import type { ZkPlan } from "../../work/plan/compile-plan.ts";
import { checkLookups, lookupScalars } from "./check-lookups.ts";
import { checkProducts, checkWeights, productScalars } from "./check-products.ts";
import { MERCURY_BYTES, verifyMercury } from "./mercury.ts";
import { cornerOf, eqAt, mod, powers } from "./scalars.ts";
import { type ClaimTerm, KIND, rowOrder, SegmentRun } from "./segment-run.ts";
import { tauOf } from "./srs.ts";
import { type SegmentStatement, statementHash, unfit } from "./statement.ts";
import { createScalarReader, reduceSum } from "./sumcheck.ts";
import { createTranscript } from "./transcript.ts";

/** What four groups of the statement have at random points: whoever holds the bytes compares. */
export interface ByteClaims {
	/** Of the largest group; a smaller one has its last variables. */
	readonly point: readonly bigint[];
	/** features, labels, before, after. */
	readonly values: readonly bigint[];
}

export type SegmentVerdict =
	| { readonly status: "valid"; readonly bytes: ByteClaims }
	| { readonly status: "invalid"; readonly code: Code; readonly detail: string };

const invalid = (code: Code, detail: string): SegmentVerdict => ({ status: "invalid", code, detail });

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
	return { points, scalars, bytes: 64 * points + 32 * scalars + MERCURY_BYTES };
}

/** Every commitment of statement and proof, in the order of the plan's groups; or why one is none. */
function pointsOf(statement: SegmentStatement, proven: Uint8Array): readonly G1[] | "spelling" | "nowhere" {
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

/** `isDevAllowed`: powers of a known τ, over which anybody can prove anything. Never throws for what a statement or proof says. */
export function verifySegment(
	plan: ZkPlan,
	statement: SegmentStatement,
	proof: Uint8Array,
	{ isDevAllowed }: { readonly isDevAllowed: boolean },
): SegmentVerdict {
	const misfit = unfit(statement, plan);
	if (misfit !== null) return invalid("PROOF_STATEMENT", misfit);
	const tau = tauOf(statement.srs, { isDevAllowed });
	if ("code" in tau) return invalid(tau.code, tau.detail);
	const sizes = proofSizes(plan);
	if (proof.length !== sizes.bytes)
		return invalid("PROOF_FORM", `it has ${proof.length} bytes; the plan's proofs have ${sizes.bytes}`);
	const proven = proof.subarray(0, 64 * sizes.points);
	const opening = proof.subarray(proof.length - MERCURY_BYTES);
	const scalars = wordsOf(proof.subarray(proven.length, proof.length - MERCURY_BYTES));
	if (scalars.some((one) => one >= R)) return invalid("PROOF_FORM", POINTS.spelling);
	const points = pointsOf(statement, proven);
	if (typeof points === "string") return invalid("PROOF_FORM", POINTS[points]);

	const transcript = createTranscript(statementHash(statement));
	const reader = createScalarReader(transcript, scalars);
	const seed = hexToBytes(statement.seed)!;
	const run = new SegmentRun(plan, transcript, reader, rowOrder(plan, seed, statement.firstStep));
	const middle = 64 * plan.groups[4]!.chunks;
	transcript.absorb(KIND.values, proven.subarray(0, middle));
	const [alpha, beta] = run.draw(2) as [bigint, bigint];
	transcript.absorb(KIND.helpers, proven.subarray(middle));
	const ends = checkLookups(run, alpha, beta);
	if (ends === null) return invalid("PROOF_LOOKUPS", "what is counted of tables is not what the lookups give");
	const uses = checkProducts(run, ends);
	if (uses === null)
		return invalid("PROOF_PRODUCTS", "a sum is not the product of activations or gradients and weights");
	if (!checkWeights(run, ends, uses))
		return invalid("PROOF_WEIGHTS", "weights did not change by what the steps took away");
	const bytes = byteClaims(run);
	const left = joinClaims(run);
	if (left === null)
		return invalid(
			"PROOF_CLAIMS",
			"what the sums say of the columns is not what was committed, or a value lies in no table",
		);
	const claim = { ...left, commitment: combined(plan, points, left.chunkPoint) };
	const opened = verifyMercury(transcript, tau, claim, opening);
	if (opened === "spelling" || opened === "nowhere") return invalid("PROOF_FORM", POINTS[opened]);
	if (opened === "false") return invalid("PROOF_OPENING", "the commitments do not open to what the proof says");
	return { status: "valid", bytes };
}

/** Random points of the statement's groups, drawn after everything that they are about. */
function byteClaims(run: SegmentRun): ByteClaims {
	const groups = run.plan.groups.slice(0, BOUND);
	const point = run.draw(Math.max(...groups.map(({ bits }) => bits)));
	const values = run.reader.message(KIND.bytes, BOUND);
	for (const [i, { firstChunk, bits }] of groups.entries()) {
		const own = point.slice(point.length - bits);
		run.claim(values[i]!, [{ at: firstChunk * 2 ** run.plan.chunkBits, bits, point: own, factor: 1n, more: 0n }]);
	}
	return { point, values };
}

/** All claims become one, about all values at one point. Null: they are false. */
function joinClaims({ plan, transcript, reader, claims }: SegmentRun) {
	const etas = powers(transcript.challenge(), claims.length);
	const { point, claim } = reduceSum(transcript, reader, {
		...{ kind: KIND.claimRound, rounds: plan.bits, degree: 2 },
		claim: claims.reduce((sum, { value }, i) => mod(sum + etas[i]! * value), 0n),
	});
	const [value] = reader.message(KIND.claimValue, 1) as [bigint];
	const kernelOf = (terms: readonly ClaimTerm[]) => terms.reduce((sum, one) => sum + kernelAt(one, point), 0n);
	const kernel = claims.reduce((sum, { terms }, i) => mod(sum + etas[i]! * kernelOf(terms)), 0n);
	if (mod(kernel * value) !== claim) return null;
	const high = plan.bits - plan.chunkBits;
	return { chunkPoint: point.slice(0, high), point: point.slice(high), value };
}

function kernelAt({ at, bits, point: own, factor }: ClaimTerm, point: readonly bigint[]): bigint {
	const high = point.length - bits;
	const there = eqAt(cornerOf(at / 2 ** bits, high), point.slice(0, high));
	return mod(factor * mod(there * eqAt(own, point.slice(high))));
}

/** Σ eq(ρ, chunk)·commitment; chunks that no group has are zeros. */
function combined(plan: ZkPlan, points: readonly G1[], rho: readonly bigint[]): Uint8Array {
	let sum = times(G1_ONE, 0n);
	let i = 0;
	for (const { firstChunk, chunks } of plan.groups)
		for (let chunk = firstChunk; chunk < firstChunk + chunks; chunk++)
			sum = sum.add(times(points[i++]!, eqAt(cornerOf(chunk, rho.length), rho)));
	if (sum.is0()) return new Uint8Array(64);
	const { x, y } = sum.toAffine();
	return concatBytes(bytesOf(x), bytesOf(y));
}

// Sizes that follow from a challenge's parameters: leaves, groups, bytes. docs/hardware-proof.md §4 to §6.
import type { FmaPrecision } from "../maths/precision.ts";
import type { ChallengeSpec, FmaSpec, GemmSpec, KeptSpec, OpenedWhat } from "./evidence.ts";

export const LEAF_BYTES = 1024;
export const LEAF_ELEMENTS = 512;
export const GROUP_DIGESTS = 128;
export const DIGEST_BYTES = 8;

export function gemmLeaves(spec: Pick<GemmSpec, "m" | "n">): number {
	return spec.m * (spec.n / LEAF_ELEMENTS);
}

/** Row and first column of a leaf of C. */
export function gemmLeafPlace(spec: Pick<GemmSpec, "n">, leaf: number): { row: number; column: number } {
	const perRow = spec.n / LEAF_ELEMENTS;
	return { row: Math.floor(leaf / perRow), column: LEAF_ELEMENTS * (leaf % perRow) };
}

export function lanesPerLeaf(precision: FmaPrecision): number {
	return precision === "fp64" ? 128 : 256;
}

export function fmaLeaves(spec: Pick<FmaSpec, "precision" | "lanes">): number {
	return spec.lanes / lanesPerLeaf(spec.precision);
}

/** Rounds still in device memory once `rounds` were run. */
function keptRounds(spec: Pick<GemmSpec, "keep">, rounds: number): number {
	return Math.min(spec.keep, rounds);
}

type Kept = Pick<GemmSpec, "m" | "n" | "keep">;

/** Rounds that a stream or copy of the `newest` covers; 0 is all that are kept. */
export function coveredRounds(spec: Pick<GemmSpec, "keep">, rounds: number, newest: number): number {
	const kept = keptRounds(spec, rounds);
	return newest > 0 ? Math.min(newest, kept) : kept;
}

/** Bytes of one pass over the covered rounds. */
export function coveredBytes(spec: Kept, rounds: number, newest: number): number {
	return coveredRounds(spec, rounds, newest) * gemmLeaves(spec) * LEAF_BYTES;
}

/** Digest groups of one pass over the covered rounds. */
export function streamGroups(spec: Kept, rounds: number, newest: number): number {
	return (coveredRounds(spec, rounds, newest) * gemmLeaves(spec)) / GROUP_DIGESTS;
}

/** Where covered leaf q lies: oldest covered round first. */
export function keptLeafPlace(
	spec: Kept,
	rounds: number,
	newest: number,
	keptLeaf: number,
): { round: number; leaf: number } {
	const leaves = gemmLeaves(spec);
	const first = rounds - coveredRounds(spec, rounds, newest);
	return { round: first + Math.floor(keptLeaf / leaves), leaf: keptLeaf % leaves };
}

/** Covered leaves, over which a chase goes. */
export function coveredLeaves(spec: Kept, rounds: number, newest: number): number {
	return coveredRounds(spec, rounds, newest) * gemmLeaves(spec);
}

export function isOverKept(spec: ChallengeSpec): spec is KeptSpec {
	return spec.kind === "stream" || spec.kind === "copy" || spec.kind === "chase";
}

/** Roots of a whole answer; 0: until the verifier says stop. */
export function rootsAsked(spec: ChallengeSpec): number {
	if (spec.kind === "copy" || spec.kind === "chase") return 1;
	// A state more than segments: that before the first.
	if (spec.kind === "train") return spec.rounds + 1;
	return spec.kind === "stream" ? spec.passes : spec.rounds;
}

/** What is opened of an answer, one request each, in this order. */
export function openedWhats(spec: ChallengeSpec): readonly OpenedWhat[] {
	if (spec.kind === "chase") return ["labels", "hops"];
	if (spec.kind === "train") return ["trace", "leaves"];
	return isOverKept(spec) ? ["digests", "leaves"] : ["leaves"];
}

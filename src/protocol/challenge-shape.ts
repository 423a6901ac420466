// Sizes that follow from a challenge's parameters: leaves, groups, bytes. docs/hardware-proof.md §4 to §6.
import type { FmaPrecision, FmaSpec, GemmSpec } from "./evidence.ts";

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
export function keptRounds(spec: Pick<GemmSpec, "keep">, rounds: number): number {
	return Math.min(spec.keep, rounds);
}

/** Digest groups of one stream pass over the kept rounds. */
export function streamGroups(spec: Pick<GemmSpec, "m" | "n" | "keep">, rounds: number): number {
	return (keptRounds(spec, rounds) * gemmLeaves(spec)) / GROUP_DIGESTS;
}

/** Where kept leaf q lies: oldest kept round first. */
export function keptLeafPlace(
	spec: Pick<GemmSpec, "m" | "n" | "keep">,
	rounds: number,
	keptLeaf: number,
): { round: number; leaf: number } {
	const leaves = gemmLeaves(spec);
	return { round: rounds - keptRounds(spec, rounds) + Math.floor(keptLeaf / leaves), leaf: keptLeaf % leaves };
}

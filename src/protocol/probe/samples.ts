// Which places are opened: drawn from the openSeed alone, docs/hardware-proof.md §7, so that prover and
// verifier can choose nothing and anyone can draw them again. Shared by the probe (what to ask) and verify
// (what must have been asked).
import { u32 } from "../bytes/bytes.ts";
import { CHAINS } from "../hash/chase.ts";
import { tagged } from "../hash/tagged-hash.ts";
import { GROUP_DIGESTS, LEAF_ELEMENTS } from "./challenge-shape.ts";

export interface GemmSample {
	readonly round: number;
	readonly leaf: number;
	/** Two distinct columns inside the leaf, 0 … 511. */
	readonly columns: readonly [number, number];
}

export interface FmaSample {
	readonly round: number;
	readonly leaf: number;
	/** Lane inside the leaf. */
	readonly lane: number;
}

export interface StreamSample {
	readonly pass: number;
	readonly group: number;
	/** Digest inside the group, 0 … 127. */
	readonly digest: number;
	/** 128·group + digest: the leaf beneath, see keptLeafPlace. */
	readonly keptLeaf: number;
	/** Two distinct columns of the leaf beneath. */
	readonly columns: readonly [number, number];
}

export interface ChaseSample {
	/** 1 … intervals − 1: the one before it is opened too. */
	readonly interval: number;
	readonly chain: number;
}

/** draw(range): the next u64 v of the sample stream gives (v·range) >> 64. */
function createDraw(seed: Uint8Array): (range: number) => number {
	let block = new Uint8Array(0);
	let blocks = 0;
	let at = 0;
	return (range) => {
		if (at === block.length) {
			block = new Uint8Array(tagged("assay/sample/1", seed, u32(blocks++)));
			at = 0;
		}
		const value = new DataView(block.buffer).getBigUint64(at, true);
		at += 8;
		return Number((value * BigInt(range)) >> 64n);
	};
}

function drawPlaces(draw: (range: number) => number, rounds: number, leaves: number, samples: number) {
	const range = rounds * leaves;
	const seen = new Set<number>();
	while (seen.size < Math.min(samples, range)) seen.add(draw(range));
	return [...seen].map((place) => ({ round: Math.floor(place / leaves), leaf: place % leaves }));
}

function drawColumns(draw: (range: number) => number): readonly [number, number] {
	const first = draw(LEAF_ELEMENTS);
	let second = draw(LEAF_ELEMENTS);
	while (second === first) second = draw(LEAF_ELEMENTS);
	return [first, second];
}

export function gemmSamples(seed: Uint8Array, rounds: number, leaves: number, samples: number): GemmSample[] {
	const draw = createDraw(seed);
	return drawPlaces(draw, rounds, leaves, samples).map((place) => ({ ...place, columns: drawColumns(draw) }));
}

export function fmaSamples(
	seed: Uint8Array,
	rounds: number,
	leaves: number,
	lanesPerLeaf: number,
	samples: number,
): FmaSample[] {
	const draw = createDraw(seed);
	return drawPlaces(draw, rounds, leaves, samples).map((place) => ({ ...place, lane: draw(lanesPerLeaf) }));
}

/** For each place in order: its digest, then the two columns of the leaf beneath. */
export function streamSamples(seed: Uint8Array, passes: number, groups: number, samples: number): StreamSample[] {
	const draw = createDraw(seed);
	return drawPlaces(draw, passes, groups, samples).map(({ round: pass, leaf: group }) => {
		const digest = draw(GROUP_DIGESTS);
		return { pass, group, digest, keptLeaf: GROUP_DIGESTS * group + digest, columns: drawColumns(draw) };
	});
}

/**
 * Segment 0, which makes the first state, and `draws` distinct ones of the `rounds` after it, ascending; with
 * each a step of its `k`.
 */
export function trainSamples(seed: Uint8Array, rounds: number, k: number, draws: number) {
	const draw = createDraw(seed);
	const segments = drawPlaces(draw, 1, rounds, draws).map(({ leaf }) => leaf + 1);
	const drawn = segments.sort((a, b) => a - b).map((segment) => ({ segment, step: draw(k) }));
	return [{ segment: 0, step: 0 }, ...drawn];
}

/** For each op, by the elements that it has: `samples` of them, or all where it has no more. */
export function elementSamples(seed: Uint8Array, counts: readonly number[], samples: number): number[][] {
	const draw = createDraw(seed);
	return counts.map((count) => drawPlaces(draw, 1, count, samples).map(({ leaf }) => leaf));
}

/** Distinct intervals, none of them the first; then, for each in order, one of its chains. */
export function chaseSamples(seed: Uint8Array, intervals: number, samples: number): ChaseSample[] {
	const draw = createDraw(seed);
	return drawPlaces(draw, 1, intervals - 1, samples).map(({ leaf }) => ({ interval: leaf + 1, chain: draw(CHAINS) }));
}

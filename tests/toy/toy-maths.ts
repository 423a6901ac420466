// What an honest engine computes, in plain TypeScript and at toy sizes: products, lanes, digests and their
// trees. Slow on purpose and never shipped. The prover may import the verifier's floor (src/protocol), never
// the reverse. Page: docs/hardware-proof.md §4–§6.
import { leafHash, merkleLevels } from "../../src/protocol/hash/merkle.ts";
import { mixKeys, mixLeaf } from "../../src/protocol/hash/mix.ts";
import { DOMAIN, philoxBlock, philoxKey } from "../../src/protocol/hash/philox.ts";
import { quickenHashes, tagged } from "../../src/protocol/hash/tagged-hash.ts";
import { fillRow } from "../../src/protocol/maths/entries.ts";
import type { FmaPrecision, GemmPrecision } from "../../src/protocol/maths/precision.ts";
import { BLOCK_STEPS, fmix32, laneBytes } from "../../src/protocol/maths/recurrence.ts";

// Tests hash for minutes in all.
quickenHashes();
const LEAF_BYTES = 1024;

export interface Shape {
	readonly precision: GemmPrecision;
	readonly m: number;
	readonly n: number;
	readonly k: number;
}

/**
 * Two columns of B share a double, so far apart that 1,024 products of entries (at most 181 each) cannot
 * meet.
 */
const APART = 2 ** 26;
const MOST_SUMMED = 1024;

/** `count` rows of a matrix, as doubles; those up to the next multiple of `of` are zero. */
function rowsOf({ precision, k }: Shape, seed: Uint8Array, domain: number, count: number, of: number): Float64Array {
	const key = philoxKey(seed);
	const rows = new Float64Array(Math.ceil(count / of) * of * k);
	const entries = new Int16Array(k);
	for (let row = 0; row < count; row++) {
		fillRow(precision, key, domain, row, k, entries);
		rows.set(entries, row * k);
	}
	return rows;
}

/** Two rows of A by four of B, each `k` after the one before: `count` products summed, row by row. */
function tile(a: Float64Array, b: Float64Array, k: number, count: number, sums: Float64Array): void {
	let s0 = 0;
	let s1 = 0;
	let s2 = 0;
	let s3 = 0;
	let t0 = 0;
	let t1 = 0;
	let t2 = 0;
	let t3 = 0;
	for (let i = 0; i < count; i++) {
		const x = a[i]!;
		const y = a[k + i]!;
		const b0 = b[i]!;
		const b1 = b[k + i]!;
		const b2 = b[2 * k + i]!;
		const b3 = b[3 * k + i]!;
		s0 += x * b0;
		s1 += x * b1;
		s2 += x * b2;
		s3 += x * b3;
		t0 += y * b0;
		t1 += y * b1;
		t2 += y * b2;
		t3 += y * b3;
	}
	sums.set([s0, s1, s2, s3, t0, t1, t2, t3]);
}

/**
 * C = A·Bᵀ modulo 2¹⁶, as bytes (2·m·n). Tests multiply for minutes in all: two columns by one multiplication
 * of doubles, and two rows with eight columns at a time, take a third of the time of one element after the
 * other.
 */
export function productOf(shape: Shape, seed: Uint8Array): Uint8Array {
	const { m, n, k } = shape;
	const a = rowsOf(shape, seed, DOMAIN.a, m, 2);
	const b = rowsOf(shape, seed, DOMAIN.b, n, 8);
	const width = b.length / k;
	const pairs = new Float64Array(b.length / 2);
	for (let pair = 0; pair < width / 2; pair++)
		for (let i = 0; i < k; i++) pairs[pair * k + i] = b[2 * pair * k + i]! + b[(2 * pair + 1) * k + i]! * APART;
	const c = new Uint16Array((a.length / k) * width);
	const put = (at: number, sum: number) => {
		const second = Math.round(sum / APART);
		c[at]! += sum - second * APART;
		c[at + 1]! += second;
	};
	const sums = new Float64Array(8);
	for (let from = 0; from < k; from += MOST_SUMMED) {
		const count = Math.min(k - from, MOST_SUMMED);
		for (let pair = 0; pair < width / 2; pair += 4)
			for (let row = 0; row < m; row += 2) {
				tile(a.subarray(row * k + from), pairs.subarray(pair * k + from), k, count, sums);
				for (let i = 0; i < 4; i++) put(row * width + 2 * (pair + i), sums[i]!);
				for (let i = 0; i < 4; i++) put((row + 1) * width + 2 * (pair + i), sums[4 + i]!);
			}
	}
	if (width === n) return new Uint8Array(c.buffer, 0, 2 * m * n);
	const bytes = new Uint8Array(2 * m * n);
	for (let row = 0; row < m; row++) bytes.set(new Uint8Array(c.buffer, 2 * row * width, 2 * n), 2 * row * n);
	return bytes;
}

export function lanesOf(precision: FmaPrecision, seed: Uint8Array, lanes: number, steps: number): Uint8Array {
	const size = precision === "fp64" ? 8 : 4;
	const bytes = new Uint8Array(lanes * size);
	for (let lane = 0; lane < lanes; lane++) bytes.set(laneBytes(precision, seed, lane, steps), lane * size);
	return bytes;
}

/**
 * The fp32 lanes without the fused step: the product is rounded before c is added. Other precisions are left
 * honest.
 */
export function notFusedLanes(
	ask: { readonly precision: FmaPrecision; readonly lanes: number; readonly steps: number },
	seed: Uint8Array,
): Uint8Array {
	if (ask.precision !== "fp32") return lanesOf(ask.precision, seed, ask.lanes, ask.steps);
	const unit = (h: number) => ((h >>> 8) - 2 ** 23) * 2 ** -23;
	const words = new Uint32Array(4);
	const bits = new DataView(new ArrayBuffer(4));
	const bytes = new Uint8Array(4 * ask.lanes);
	for (let lane = 0; lane < ask.lanes; lane++) {
		philoxBlock(philoxKey(seed), lane, DOMAIN.fma, 5, 0, words, 0);
		const c = -2 + (words[0]! >>> 14) * 2 ** -23;
		let x = unit(words[2]!);
		for (let block = 0; block < ask.steps / BLOCK_STEPS; block++) {
			if (block > 0) {
				const salt = Math.imul(lane, 0x9e3779b1) + Math.imul(block, 0x85ebca77);
				bits.setFloat32(0, x, true);
				x = unit(fmix32(bits.getUint32(0, true) ^ salt));
			}
			for (let step = 0; step < BLOCK_STEPS; step++) x = Math.fround(Math.fround(x * x) + c);
		}
		bits.setFloat32(0, x, true);
		bytes.set(new Uint8Array(bits.buffer), 4 * lane);
	}
	return bytes;
}

/** The digests of kept bytes under a nonce, 8 bytes each, in the order of the leaves. */
export function digestsOf(kept: readonly Uint8Array[], nonce: Uint8Array): Uint8Array {
	const keys = mixKeys(nonce);
	const leaves = kept.flatMap((bytes) => leavesOf(bytes));
	const digests = new Uint8Array(8 * leaves.length);
	leaves.forEach((leaf, q) => {
		digests.set(mixLeaf(keys, leaf, q), 8 * q);
	});
	return digests;
}

export function leavesOf(bytes: Uint8Array): Uint8Array[] {
	return Array.from({ length: bytes.length / LEAF_BYTES }, (_, i) =>
		bytes.subarray(i * LEAF_BYTES, (i + 1) * LEAF_BYTES),
	);
}

/** A committed run of bytes: its leaves and all levels of its tree. */
export interface Tree {
	readonly leaves: readonly Uint8Array[];
	readonly levels: readonly (readonly Uint8Array[])[];
	readonly root: Uint8Array;
}

export function treeOf(bytes: Uint8Array): Tree {
	const leaves = leavesOf(bytes);
	const levels = merkleLevels(leaves.map((leaf) => leafHash(leaf)));
	return { leaves, levels, root: levels.at(-1)![0]! };
}

export function nextSeed(seed: Uint8Array, root: Uint8Array): Uint8Array {
	return tagged("assay/seed/1", seed, root);
}

export function nextNonce(nonce: Uint8Array, root: Uint8Array): Uint8Array {
	return tagged("assay/nonce/1", nonce, root);
}

// What an honest engine computes, in plain TypeScript and at toy sizes: products, lanes, digests and their trees.
// Slow on purpose and never shipped. The prover may import the verifier's floor (src/protocol), never the reverse.
// Page: docs/hardware-proof.md §4–§6.
import { writeU16 } from "../../src/protocol/bytes/bytes.ts";
import { leafHash, merkleLevels } from "../../src/protocol/hash/merkle.ts";
import { mixKeys, mixLeaf } from "../../src/protocol/hash/mix.ts";
import { DOMAIN, philoxBlock, philoxKey } from "../../src/protocol/hash/philox.ts";
import { tagged } from "../../src/protocol/hash/tagged-hash.ts";
import { fillRow } from "../../src/protocol/maths/entries.ts";
import type { FmaPrecision, GemmPrecision } from "../../src/protocol/maths/precision.ts";
import { BLOCK_STEPS, fmix32, laneBytes } from "../../src/protocol/maths/recurrence.ts";

const LEAF_BYTES = 1024;

export interface Shape {
	readonly precision: GemmPrecision;
	readonly m: number;
	readonly n: number;
	readonly k: number;
}

/** One row of C as bytes (2·n); `rows` caches B so that a product costs m rows of A and n of B. */
export function productOf({ precision, m, n, k }: Shape, seed: Uint8Array): Uint8Array {
	const key = philoxKey(seed);
	const b = new Int16Array(n * k);
	for (let column = 0; column < n; column++) {
		fillRow(precision, key, DOMAIN.b, column, k, b.subarray(column * k, (column + 1) * k));
	}
	const a = new Int16Array(k);
	const c = new Uint8Array(2 * m * n);
	for (let row = 0; row < m; row++) {
		fillRow(precision, key, DOMAIN.a, row, k, a);
		for (let column = 0; column < n; column++) {
			let sum = 0;
			for (let i = 0, at = column * k; i < k; i++, at++) sum = (sum + Math.imul(a[i]!, b[at]!)) | 0;
			writeU16(c, 2 * (row * n + column), sum & 0xffff);
		}
	}
	return c;
}

export function lanesOf(precision: FmaPrecision, seed: Uint8Array, lanes: number, steps: number): Uint8Array {
	const size = precision === "fp64" ? 8 : 4;
	const bytes = new Uint8Array(lanes * size);
	for (let lane = 0; lane < lanes; lane++) bytes.set(laneBytes(precision, seed, lane, steps), lane * size);
	return bytes;
}

/** The fp32 lanes without the fused step: the product is rounded before c is added. Other precisions are left honest. */
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

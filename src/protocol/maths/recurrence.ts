// The `fma` recurrences, one lane at a time: what a verifier runs again of an opened leaf.
// docs/hardware-proof.md §6 says why c lies in [−2, −1.96875) and why the integer one rotates;
// vectors/recurrence.json pins it.

import { DOMAIN, philoxBlock, philoxKey } from "../hash/philox.ts";
import type { FmaPrecision } from "../maths/precision.ts";
import { fma32, fma64 } from "./fma.ts";
import { PRECISION_NUMBER } from "./precision.ts";

/**
 * Steps between two re-seedings: an orbit in finite precision falls into short cycles that a prover could
 * ride.
 */
export const BLOCK_STEPS = 512;

/** The murmur3 finaliser: a bijection of 32 bits in which every input bit moves every output bit. */
export function fmix32(x: number): number {
	let h = x ^ (x >>> 16);
	h = Math.imul(h, 0x85ebca6b);
	h ^= h >>> 13;
	h = Math.imul(h, 0xc2b2ae35);
	return (h ^ (h >>> 16)) >>> 0;
}

function laneSalt(lane: number, block: number): number {
	return (Math.imul(lane, 0x9e3779b1) + Math.imul(block, 0x85ebca77)) | 0;
}

/** 24 bits to [−1, 1), exact. */
function unit32(h: number): number {
	return ((h >>> 8) - 0x80_0000) * 2 ** -23;
}

/** 53 bits to [−1, 1), exact. */
function unit64(high: number, low: number): number {
	return ((high >>> 11) * 2 ** 32 + low - 2 ** 52) * 2 ** -52;
}

/** Final bits of lane `lane` of a round, little-endian: 4 bytes, 8 for fp64. `steps` is a multiple of 512. */
export function laneBytes(precision: FmaPrecision, seed: Uint8Array, lane: number, steps: number): Uint8Array {
	const words = new Uint32Array(4);
	philoxBlock(philoxKey(seed), lane, DOMAIN.fma, PRECISION_NUMBER[precision], 0, words, 0);
	const [w0, w1, w2, w3] = words as unknown as [number, number, number, number];
	const bits = new DataView(new ArrayBuffer(precision === "fp64" ? 8 : 4));
	const blocks = steps / BLOCK_STEPS;
	if (precision === "int32") {
		const c = w0 | 1;
		let x = w2 | 0;
		for (let block = 0; block < blocks; block++) {
			if (block > 0) x = fmix32(x ^ laneSalt(lane, block)) | 0;
			for (let step = 0; step < BLOCK_STEPS; step++) {
				const y = (Math.imul(x, x) + c) | 0;
				x = (y << 7) | (y >>> 25);
			}
		}
		bits.setInt32(0, x, true);
	} else if (precision === "fp32") {
		const c = -2 + (w0 >>> 14) * 2 ** -23;
		let x = unit32(w2);
		for (let block = 0; block < blocks; block++) {
			if (block > 0) {
				bits.setFloat32(0, x, true);
				x = unit32(fmix32(bits.getUint32(0, true) ^ laneSalt(lane, block)));
			}
			for (let step = 0; step < BLOCK_STEPS; step++) x = fma32(x, x, c);
		}
		bits.setFloat32(0, x, true);
	} else {
		const c = -2 + ((w0 & 0x7fff) * 2 ** 32 + w1) * 2 ** -52;
		let x = unit64(w2, w3);
		for (let block = 0; block < blocks; block++) {
			if (block > 0) {
				bits.setFloat64(0, x, true);
				const h1 = fmix32(bits.getUint32(0, true) ^ laneSalt(lane, block));
				const h2 = fmix32(bits.getUint32(4, true) ^ h1 ^ 0x27d4eb2f);
				x = unit64(h2, h1);
			}
			for (let step = 0; step < BLOCK_STEPS; step++) x = fma64(x, x, c);
		}
		bits.setFloat64(0, x, true);
	}
	return new Uint8Array(bits.buffer);
}

// Philox4x32-10 (Salmon et al., 2011): counter in, four random words out, so that any place of a matrix is
// O(1) to find. docs/hardware-proof.md §2 names the counters; vectors/philox.json holds known answers.
// JavaScript has no 32×32→64 multiply; the upper word is put together from 16-bit halves, all of which stay
// below 2^32.
import { readU32 } from "../bytes/bytes.ts";

export interface PhiloxKey {
	readonly k0: number;
	readonly k1: number;
}

/** The second counter word: which stream of numbers a block belongs to. */
export const DOMAIN = { a: 0, b: 1, fma: 2, stream: 3 } as const;

/** The key of a round is the first 8 bytes of its seed. */
export function philoxKey(seed: Uint8Array): PhiloxKey {
	return { k0: readU32(seed, 0), k1: readU32(seed, 4) };
}

const M0_LO = 0x1f53;
const M0_HI = 0xd251;
const M1_LO = 0x8d57;
const M1_HI = 0xcd9e;

/** Writes the block's four words to out[at … at+3]. */
export function philoxBlock(
	key: PhiloxKey,
	c0: number,
	c1: number,
	c2: number,
	c3: number,
	out: Uint32Array,
	at: number,
): void {
	let x0 = c0 | 0;
	let x1 = c1 | 0;
	let x2 = c2 | 0;
	let x3 = c3 | 0;
	let k0 = key.k0 | 0;
	let k1 = key.k1 | 0;
	for (let round = 0; round < 10; round++) {
		const aLo = x0 & 0xffff;
		const aHi = x0 >>> 16;
		const aMid = (Math.imul(aHi, M0_LO) + (Math.imul(aLo, M0_LO) >>> 16)) | 0;
		const aCross = (Math.imul(aLo, M0_HI) + (aMid & 0xffff)) | 0;
		const hi0 = (Math.imul(aHi, M0_HI) + (aMid >>> 16) + (aCross >>> 16)) | 0;
		const bLo = x2 & 0xffff;
		const bHi = x2 >>> 16;
		const bMid = (Math.imul(bHi, M1_LO) + (Math.imul(bLo, M1_LO) >>> 16)) | 0;
		const bCross = (Math.imul(bLo, M1_HI) + (bMid & 0xffff)) | 0;
		const hi1 = (Math.imul(bHi, M1_HI) + (bMid >>> 16) + (bCross >>> 16)) | 0;
		const lo0 = Math.imul(x0, 0xd2511f53);
		x0 = hi1 ^ x1 ^ k0;
		x1 = Math.imul(x2, 0xcd9e8d57);
		x2 = hi0 ^ x3 ^ k1;
		x3 = lo0;
		k0 = (k0 + 0x9e3779b9) | 0;
		k1 = (k1 + 0xbb67ae85) | 0;
	}
	out[at] = x0;
	out[at + 1] = x1;
	out[at + 2] = x2;
	out[at + 3] = x3;
}

/**
 * Consecutive blocks of one domain, counters (firstBlock + i, domain, 0, 0). out.length is a multiple of 4.
 * row-program.ts has the fast one.
 */
export function philoxFill(key: PhiloxKey, firstBlock: number, domain: number, out: Uint32Array): void {
	for (let at = 0; at < out.length; at += 4) philoxBlock(key, firstBlock + at / 4, domain, 0, 0, out, at);
}

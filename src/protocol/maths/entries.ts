// The entries of A and B: from Philox blocks to small integers that every precision holds and sums exactly.
// docs/hardware-proof.md §3; vectors/entries.json pins it.

import { type PhiloxKey, philoxFill } from "../hash/philox.ts";
import type { GemmPrecision } from "../maths/precision.ts";
import { entriesPerBlock } from "./precision.ts";

/**
 * Row `row` of matrix `domain` (DOMAIN.a or DOMAIN.b) into out[0 … k−1]. k is a multiple of 16, so that a row
 * begins with a block of its own (the protocol asks for multiples of 128). `words` is room for the raw draws,
 * at least k/2 words.
 *
 * All blocks first, then one loop over them seen as bytes or 16-bit words: twice as fast as block by block.
 * Typed arrays are little-endian wherever JavaScript runs today; were they not, the vectors would say so.
 */
export function fillRow(
	precision: GemmPrecision,
	key: PhiloxKey,
	domain: number,
	row: number,
	k: number,
	out: Int16Array,
	words: Uint32Array = new Uint32Array(k / 2),
): void {
	const per = entriesPerBlock(precision);
	const firstBlock = row * (k / per);
	if (per === 8) {
		philoxFill(key, firstBlock, domain, words.subarray(0, k / 2));
		const raw = new Uint16Array(words.buffer, words.byteOffset, k);
		for (let i = 0; i < k; i++) out[i] = (Math.imul(raw[i]!, 363) >> 16) - 181;
		return;
	}
	philoxFill(key, firstBlock, domain, words.subarray(0, k / 4));
	if (precision === "int8") {
		const raw = new Int8Array(words.buffer, words.byteOffset, k);
		for (let i = 0; i < k; i++) out[i] = raw[i]!;
	} else {
		const raw = new Uint8Array(words.buffer, words.byteOffset, k);
		for (let i = 0; i < k; i++) out[i] = (Math.imul(raw[i]!, 17) >> 8) - 8;
	}
}

// The entries of A and B: from Philox blocks to small integers that every precision holds and sums exactly.
// docs/hardware-proof.md §3; vectors/entries.json pins it.
import type { GemmPrecision } from "./evidence.ts";
import { type PhiloxKey, philoxBlock } from "./philox.ts";
import { entriesPerBlock } from "./precision.ts";

/** Raw draw (8 bits for int8 and fp8, 16 for the others) to entry. */
export function entryFromRaw(precision: GemmPrecision, raw: number): number {
	if (precision === "int8") return (raw << 24) >> 24;
	if (precision === "fp8") return ((raw * 17) >> 8) - 8;
	return ((raw * 363) >> 16) - 181;
}

/**
 * Row `row` of matrix `domain` (DOMAIN.a or DOMAIN.b) into out[0 … k−1]. k is a multiple of 16, so that a row begins
 * with a block of its own (the protocol asks for multiples of 128).
 */
export function fillRow(
	precision: GemmPrecision,
	key: PhiloxKey,
	domain: number,
	row: number,
	k: number,
	out: Int16Array,
): void {
	const per = entriesPerBlock(precision);
	const firstBlock = row * (k / per);
	const words = new Uint32Array(4);
	if (per === 8) {
		for (let at = 0, block = firstBlock; at < k; at += 8, block++) {
			philoxBlock(key, block, domain, 0, 0, words, 0);
			for (let i = 0; i < 4; i++) {
				const word = words[i]!;
				out[at + 2 * i] = (((word & 0xffff) * 363) >> 16) - 181;
				out[at + 2 * i + 1] = (((word >>> 16) * 363) >> 16) - 181;
			}
		}
		return;
	}
	// fp8 and int8 differ only in how a byte becomes an entry: one table look-up serves both.
	const table = precision === "int8" ? INT8_ENTRIES : FP8_ENTRIES;
	for (let at = 0, block = firstBlock; at < k; at += 16, block++) {
		philoxBlock(key, block, domain, 0, 0, words, 0);
		for (let i = 0; i < 4; i++) {
			const word = words[i]!;
			out[at + 4 * i] = table[word & 0xff]!;
			out[at + 4 * i + 1] = table[(word >>> 8) & 0xff]!;
			out[at + 4 * i + 2] = table[(word >>> 16) & 0xff]!;
			out[at + 4 * i + 3] = table[word >>> 24]!;
		}
	}
}

const INT8_ENTRIES = Int16Array.from({ length: 256 }, (_, raw) => entryFromRaw("int8", raw));
const FP8_ENTRIES = Int16Array.from({ length: 256 }, (_, raw) => entryFromRaw("fp8", raw));

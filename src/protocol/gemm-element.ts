// Single elements of C = A·Bᵀ from the seed alone, modulo 2^16: what a verifier recomputes of an opened leaf. O(k) each.
// docs/hardware-proof.md §4. Sums stay inside int32: 181²·16384 < 2^30, 128²·65536 = 2^30.
import { fillRow } from "./entries.ts";
import type { GemmPrecision } from "./evidence.ts";
import { DOMAIN, philoxKey } from "./philox.ts";

/** Two rows of the largest k seen; made once a verification so that thousands of elements cost no new memory. */
export interface RowScratch {
	a: Int16Array;
	b: Int16Array;
}

export function createRowScratch(): RowScratch {
	return { a: new Int16Array(0), b: new Int16Array(0) };
}

/** Elements (row, column) for several columns of one row, which share the row of A. */
export function gemmElements(
	precision: GemmPrecision,
	seed: Uint8Array,
	k: number,
	row: number,
	columns: readonly number[],
	scratch: RowScratch = createRowScratch(),
): number[] {
	if (scratch.a.length < k) {
		scratch.a = new Int16Array(k);
		scratch.b = new Int16Array(k);
	}
	const key = philoxKey(seed);
	fillRow(precision, key, DOMAIN.a, row, k, scratch.a);
	return columns.map((column) => {
		fillRow(precision, key, DOMAIN.b, column, k, scratch.b);
		return dot(scratch.a, scratch.b, k) & 0xffff;
	});
}

function dot(a: Int16Array, b: Int16Array, k: number): number {
	let sum = 0;
	for (let i = 0; i < k; i++) sum = (sum + Math.imul(a[i]!, b[i]!)) | 0;
	return sum;
}

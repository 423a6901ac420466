// Single elements of C = A·Bᵀ from the seed alone, modulo 2^16: what a verifier recomputes of an opened leaf.
// O(k) each. docs/hardware-proof.md §4. Sums stay inside int32: 181²·16384 < 2^30, 128²·65536 = 2^30.

import { DOMAIN, philoxKey } from "../hash/philox.ts";
import type { GemmPrecision } from "../maths/precision.ts";
import { fillRow } from "./entries.ts";
import { entriesPerBlock } from "./precision.ts";
import { MAX_PROGRAM_K, type RowProgram, startRowProgram } from "./row-program.ts";

/**
 * Room for two rows and their raw draws; made once a verification so that thousands of elements cost no new
 * memory.
 */
export interface RowScratch {
	/** The quick way; null where WebAssembly (or its vectors) is missing or forbidden. */
	readonly program: RowProgram | null;
	a: Int16Array;
	b: Int16Array;
	words: Uint32Array;
}

export function createRowScratch(program: RowProgram | null = startRowProgram()): RowScratch {
	return { program, a: new Int16Array(0), b: new Int16Array(0), words: new Uint32Array(0) };
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
	if (scratch.program !== null && k % 16 === 0 && k <= MAX_PROGRAM_K)
		return programElements(scratch.program, precision, seed, k, row, columns);
	if (scratch.a.length < k) {
		scratch.a = new Int16Array(k);
		scratch.b = new Int16Array(k);
		scratch.words = new Uint32Array(k / 2);
	}
	const { a, b, words } = scratch;
	const key = philoxKey(seed);
	fillRow(precision, key, DOMAIN.a, row, k, a, words);
	// A plain loop: with a closure here the engine compiles the inner product half as fast.
	const elements: number[] = [];
	for (const column of columns) {
		fillRow(precision, key, DOMAIN.b, column, k, b, words);
		elements.push(dot(a, b, k) & 0xffff);
	}
	return elements;
}

/**
 * The same by the program: raw draws at 0, the row of A behind them, the row of B behind that; two bytes an
 * entry at most.
 */
function programElements(
	program: RowProgram,
	precision: GemmPrecision,
	seed: Uint8Array,
	k: number,
	row: number,
	columns: readonly number[],
): number[] {
	const { k0, k1 } = philoxKey(seed);
	const blocksPerRow = k / entriesPerBlock(precision);
	const convert = precision === "int8" ? program.bytes : precision === "fp8" ? program.small : program.wide;
	const [raw, a, b] = [0, 2 * k, 4 * k];
	const fill = (domain: number, at: number, into: number) => {
		program.blocks(k0, k1, at * blocksPerRow, domain, raw, blocksPerRow);
		convert(raw, into, k);
	};
	fill(DOMAIN.a, row, a);
	return columns.map((column) => {
		fill(DOMAIN.b, column, b);
		return program.dot(a, b, k) & 0xffff;
	});
}

/** k is even. */
function dot(a: Int16Array, b: Int16Array, k: number): number {
	let even = 0;
	let odd = 0;
	for (let i = 0; i < k; i += 2) {
		even = (even + Math.imul(a[i]!, b[i]!)) | 0;
		odd = (odd + Math.imul(a[i + 1]!, b[i + 1]!)) | 0;
	}
	return (even + odd) | 0;
}

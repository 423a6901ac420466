// Entries and products against vectors/, which an independent generator made.
import assert from "node:assert/strict";
import { test } from "node:test";
import { philoxKey } from "../hash/philox.ts";
import type { GemmPrecision } from "../maths/precision.ts";
import { fromHex, vectorRows } from "../vectors.test-kit.ts";
import { fillRow } from "./entries.ts";
import { gemmElements } from "./gemm-element.ts";
import { GEMM_PRECISIONS } from "./precision.ts";

test("rows hold the entries of the vectors", () => {
	for (const row of vectorRows<{
		precision: GemmPrecision;
		seed: string;
		matrix: number;
		row: number;
		col: number;
		k: number;
		entry: number;
	}>("entries")) {
		const out = new Int16Array(row.k);
		fillRow(row.precision, philoxKey(fromHex(row.seed)), row.matrix, row.row, row.k, out);
		assert.equal(out[row.col], row.entry, JSON.stringify(row));
	}
});

test("entries stay inside the range that makes every sum exact, and reach both ends", () => {
	const ranges = { int8: [-128, 127], fp8: [-8, 8], fp16: [-181, 181], bf16: [-181, 181], tf32: [-181, 181] } as const;
	for (const precision of GEMM_PRECISIONS) {
		const row = new Int16Array(2 ** 16);
		fillRow(precision, philoxKey(new Uint8Array(32).fill(7)), 0, 0, row.length, row);
		assert.deepEqual([Math.min(...row), Math.max(...row)], ranges[precision]);
	}
});

test("elements of the vectors are recomputed from the seed alone; another seed gives others", () => {
	let differ = 0;
	const rows = vectorRows<{
		precision: GemmPrecision;
		k: number;
		seed: string;
		row: number;
		col: number;
		value: number;
	}>("gemm-elements");
	for (const row of rows) {
		const seed = fromHex(row.seed);
		assert.deepEqual(gemmElements(row.precision, seed, row.k, row.row, [row.col]), [row.value], JSON.stringify(row));
		seed[0]! ^= 1;
		if (gemmElements(row.precision, seed, row.k, row.row, [row.col])[0] !== row.value) differ += 1;
	}
	assert.ok(differ > rows.length / 2);
});

test("the two columns of a sample share the row of A and nothing else", () => {
	const seed = new Uint8Array(32).fill(9);
	for (const precision of GEMM_PRECISIONS) {
		const [first, second] = gemmElements(precision, seed, 256, 5, [17, 400]);
		assert.deepEqual(gemmElements(precision, seed, 256, 5, [17]), [first]);
		assert.deepEqual(gemmElements(precision, seed, 256, 5, [400]), [second]);
	}
});

// Philox against published and generated answers; runs of blocks against single ones, also where the counter
// wraps.
import assert from "node:assert/strict";
import { test } from "node:test";
import { vectorRows } from "../vectors.test-kit.ts";
import { philoxBlock, philoxFill } from "./philox.ts";

type Row = Record<"k0" | "k1" | "c0" | "c1" | "c2" | "c3" | "w0" | "w1" | "w2" | "w3", number>;

test("Philox gives the words of the vectors, the published known answers among them", () => {
	const out = new Uint32Array(4);
	for (const row of vectorRows<Row>("philox")) {
		philoxBlock(row, row.c0, row.c1, row.c2, row.c3, out, 0);
		assert.deepEqual([...out], [row.w0, row.w1, row.w2, row.w3]);
	}
	// Known answers of the paper's own library for the zero and the all-ones input.
	philoxBlock({ k0: 0, k1: 0 }, 0, 0, 0, 0, out, 0);
	assert.deepEqual([...out], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
});

test("one changed bit of key or counter changes the block", () => {
	const right = new Uint32Array(4);
	const other = new Uint32Array(4);
	philoxBlock({ k0: 1, k1: 2 }, 3, 4, 5, 6, right, 0);
	for (const [k0, k1, c0, c1, c2, c3] of [
		[0, 2, 3, 4, 5, 6],
		[1, 3, 3, 4, 5, 6],
		[1, 2, 2, 4, 5, 6],
		[1, 2, 3, 5, 5, 6],
		[1, 2, 3, 4, 4, 6],
		[1, 2, 3, 4, 5, 7],
	] as [number, number, number, number, number, number][]) {
		philoxBlock({ k0, k1 }, c0, c1, c2, c3, other, 0);
		assert.notDeepEqual([...other], [...right]);
	}
});

test("philoxFill gives philoxBlock's words, for any key and domain, also beyond block 2^31", () => {
	const filled = new Uint32Array(256);
	const one = new Uint32Array(4);
	for (const { k0, k1, c0, c1 } of vectorRows<Row>("philox"))
		for (const [first, domain] of [
			[c0 % 2 ** 31, c1],
			[c0, 0],
			[0xfffffff0, 1],
		] as const) {
			philoxFill({ k0, k1 }, first, domain, filled);
			for (let i = 0; i < 64; i++) {
				philoxBlock({ k0, k1 }, first + i, domain, 0, 0, one, 0);
				assert.deepEqual([...filled.subarray(4 * i, 4 * i + 4)], [...one]);
			}
		}
});

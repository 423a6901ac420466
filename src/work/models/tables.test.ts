// The tables that models look up: each entry is its function to the nearest, and the roots are those that programs name for ever.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Elements } from "../operators/tensor-type.ts";
import { tensorRoot } from "../trace/tensor-tree.ts";
import { expCoarse, expFine, geluSlopeTable, geluTable, inverseRoot, logTable } from "./tables.ts";

/** Within the last bit and a half: what floats can tell. */
function near(table: Elements, bits: number, wanted: (i: number) => number): void {
	for (const [i, entry] of Array.from(table, Number).entries()) {
		const off = Math.abs(entry - wanted(i) * 2 ** bits);
		assert.ok(off <= 0.5 + 2 ** (bits - 44), `entry ${i} is ${entry}, off by ${off}`);
	}
}

/** Φ by Simpson's rule. */
function below(x: number): number {
	const density = (t: number) => Math.exp((-t * t) / 2) / Math.sqrt(2 * Math.PI);
	const n = 2000;
	let sum = density(0) + density(x);
	for (let i = 1; i < n; i++) sum += (i % 2 === 1 ? 4 : 2) * density((x * i) / n);
	return 0.5 + (sum * x) / n / 3;
}

test("entries are the functions to the nearest", () => {
	near(expCoarse(), 30, (i) => (i === 255 ? 0 : Math.exp(-i / 16)));
	near(expFine(), 30, (i) => Math.exp(-i / 4096));
	near(logTable(), 20, (i) => Math.log1p(i / 256));
	near(geluTable(), 15, (i) => below(i / 32));
	near(
		geluSlopeTable(),
		15,
		(i) => below(i / 32) + ((i / 32) * Math.exp(-((i / 32) ** 2) / 2)) / Math.sqrt(2 * Math.PI),
	);
	for (const n of [4, 16, 32, 64, 100]) assert.equal(inverseRoot(n, 16), Math.round(65_536 / Math.sqrt(n)));
});

test("the tables stay as they are", () => {
	const roots = [expCoarse(), expFine(), logTable(), geluTable(), geluSlopeTable()].map((table) =>
		Buffer.from(tensorRoot(table)).toString("hex").slice(0, 16),
	);
	assert.deepEqual(roots, [
		"0ef745246b1116cb",
		"a86f37c0ee4fad73",
		"a79be96e9d952a5d",
		"41c805af80265388",
		"e461581351c9eb70",
	]);
});

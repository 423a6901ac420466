// Two probes side by side: matched by device and name, best of each, missing ones shown as missing.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Figure } from "../../protocol/probe/evidence.ts";
import { compareFigures, comparisonTable } from "./compare-figures.ts";
import { plain } from "./paint.ts";

const figure = (device: number, name: string, value: number): Figure => ({
	device,
	name,
	value,
	unit: "op/s",
	challenge: 0,
});

test("figures are matched by device and name, the best of each counts", () => {
	const before = [figure(0, "gemm.int8", 100), figure(0, "gemm.int8", 200), figure(1, "gemm.int8", 50)];
	const now = [figure(0, "gemm.int8", 100), figure(1, "fma.fp32", 7)];
	assert.deepEqual(
		compareFigures(before, now).map(({ device, name, before: b, now: n, ratio }) => [device, name, b, n, ratio]),
		[
			[0, "gemm.int8", 200, 100, 0.5],
			[1, "fma.fp32", null, 7, null],
			[1, "gemm.int8", 50, null, null],
		],
	);
});

test("nothing in common gives no ratio", () => {
	assert.ok(compareFigures([figure(0, "a", 1)], [figure(0, "b", 1)]).every(({ ratio }) => ratio === null));
	assert.equal(compareFigures([], []).length, 0);
});

test("the table shows both and the ratio", () => {
	const table = comparisonTable(compareFigures([figure(0, "gemm.int8", 2e12)], [figure(0, "gemm.int8", 1e12)]), plain);
	assert.match(table, /matrix int8 +2\.00 TOPS +1\.00 TOPS +× 0\.500/);
});

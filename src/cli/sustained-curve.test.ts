// The curve of a sustained run as text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { curveLine, sparkline } from "./sustained-curve.ts";

test("bars rise from nothing to the best", () => {
	assert.equal(sparkline([0, 25, 50, 75, 100]), "▁▃▅▇█");
	assert.equal(sparkline([5, 5, 5]), "███");
	assert.equal(sparkline([]), "");
	assert.equal(sparkline([0, 0]), "");
});

test("a long run is averaged down to the width", () => {
	const halves = [...Array(500).fill(100), ...Array(500).fill(50)] as number[];
	assert.equal(sparkline(halves, 10), "█████▅▅▅▅▅");
});

test("the line names device, time, lowest and highest second", () => {
	const curve = [1e12, 2e12, 1.5e12].map((opsPerS, i) => ({ endUs: (i + 1) * 1_000_000, opsPerS }));
	assert.equal(curveLine(0, "int8", curve), "  device 0  int8 for 3.00 s: 1.00 Top/s … 2.00 Top/s  ▅█▇");
});

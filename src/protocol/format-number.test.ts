// Numbers for people: the digits, prefixes and borders that both the terminal and the browser show.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBytes, formatPercent, formatRate, threeDigits, unitFor, wholeSpan } from "./format-number.ts";

test("speeds and sizes carry three digits and a prefix", () => {
	assert.equal(formatRate(949_123_456_789_000, "FLOPS"), "949 TFLOPS");
	assert.equal(formatRate(1.242e15, "op/s"), "1.24 Pop/s");
	assert.deepEqual(
		[0, 999, 1000].map((value) => formatRate(value, "B/s")),
		["0 B/s", "999 B/s", "1.00 kB/s"],
	);
	assert.equal(formatRate(5e18, "OPS"), "5.00 EOPS");
	assert.deepEqual([0, 1023, 1024, 150_119_448_576, 2 ** 51].map(formatBytes), [
		"0 B",
		"1023 B",
		"1.00 KiB",
		"140 GiB",
		"2.00 PiB",
	]);
	assert.deepEqual([0, 0.0694, 0.95, 1].map(formatPercent), ["0.00 %", "6.94 %", "95.0 %", "100 %"]);
	const { name, scale } = unitFor(412e9, "B/s");
	assert.deepEqual([name, threeDigits(1.5e9 / scale)], ["GB/s", "1.50"]);
	assert.deepEqual(unitFor(0, "B/s"), { name: "B/s", scale: 1 });
});

test("spans are one whole unit", () => {
	const spans: readonly [number, string][] = [
		[0, "0 s"],
		[-61_000, "61 s"],
		[89_499, "89 s"],
		[90_000, "2 min"],
		[3_600_000, "60 min"],
		[5_400_000, "2 h"],
		[172_799_000, "48 h"],
		[172_800_000, "2 d"],
	];
	for (const [ms, text] of spans) assert.equal(wholeSpan(ms), text);
});

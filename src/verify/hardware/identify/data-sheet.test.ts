// Figures of a real H200 beside its data sheet, and figures that no data sheet has.
import assert from "node:assert/strict";
import { test } from "node:test";
import { besideDataSheet } from "./data-sheet.ts";
import { H200_PROVEN } from "./published.test-kit.ts";

test("what an H200 proved is usual for an H200, and a tenth of it is not", () => {
	// Its scalar figures are of an older kernel, which was slower than cards are.
	const names = Object.keys(H200_PROVEN).filter((name) => /^(gemm\.|memory\.(bandwidth|resident))/.test(name));
	assert.ok(names.length >= 5, names.join());
	for (const name of names) {
		const value = H200_PROVEN[name]!;
		const beside = besideDataSheet("H200", { name, value })!;
		assert.ok(beside.isUsual && beside.share < 1.1, `${name}: ${beside.share}`);
		assert.equal(besideDataSheet("H200", { name, value: value / 10 })!.isUsual, false, name);
	}
	assert.equal(besideDataSheet("H200", { name: "memory.bandwidth", value: 4.8e12 })?.share, 1);
});

test("no data sheet has it: nothing is said", () => {
	for (const [profile, name] of [
		["H200", "disk.read"],
		["H200", "gemm.int4"],
		["H200", "gemm.fp16.sustained-ratio"],
		["H200", "scaling.fp16"],
		["Tesla T4", "gemm.fp8"],
		["no such card", "gemm.fp16"],
	] as const)
		assert.equal(besideDataSheet(profile, { name, value: 1 }), null, `${profile} ${name}`);
});

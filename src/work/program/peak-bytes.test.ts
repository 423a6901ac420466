// Memory counted by hand for one small program; tests/samples.test.ts compares it with the engine's plan for
// every sample.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildProgram } from "../builder/build-program.ts";
import { at, type Value } from "../builder/expression.ts";
import { peakBytes } from "./peak-bytes.ts";

test("free stretches are joined, the last one grows, and what is taken is not free", () => {
	const b = buildProgram();
	const out = b.tensor("metric", "out", "i8", [1], 0, 127);
	const make = (kib: number, ...reads: readonly Value[]): Value =>
		b.step.map([1024 * kib], () => reads.reduce((sum, one) => sum.add(at(one, 0)), at(first, 0)).clamp(0, 1), {
			type: "i8",
		});
	const first = b.tensor("input", "first", "i8", [1], 0, 1);
	const [two, one] = [make(2)].flatMap((value) => [value, make(1, value)]) as [Value, Value];
	// At 0, where `two` was; then 1 to 3 KiB are free, at the end.
	const next = make(1, one);
	const four = make(4, next);
	const last = make(2, next, four);
	b.step.map([1], () => at(last, 0), { to: out });
	assert.equal(two.dims[0], 2048);
	// Two tensors of a KiB each; next 1, four from 1 to 5, last from 5 to 7.
	assert.equal(peakBytes(b.program()), (2 + 7) * 1024);
});

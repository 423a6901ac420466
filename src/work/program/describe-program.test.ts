// A program as pages show it, from bytes and from text; two programs compared; bytes that are none.
import assert from "node:assert/strict";
import { test } from "node:test";
import { utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { mixedSample, mlpSample } from "../builder/samples.test-kit.ts";
import { compareOps, describeProgram } from "./describe-program.ts";
import { encodeProgram } from "./encode.ts";
import { printProgram } from "./print-text.ts";

const [mlp, mixed] = [mlpSample().program, mixedSample().program];

test("bytes and text of a program are described alike, and its work is what programCost counts", () => {
	for (const program of [mlp, mixed]) {
		const shown = describeProgram(encodeProgram(program));
		assert.deepEqual(describeProgram(utf8ToBytes(printProgram(program))), shown);
		assert.equal(shown.ops.length, program.init.length + program.step.length);
		const work = (operator: string) =>
			shown.ops.reduce((sum, op) => sum + (op.phase === "step" && op.operator.startsWith(operator) ? op.work : 0), 0);
		assert.equal(work("matmul"), shown.cost.productsAStep);
		assert.equal(work("map"), shown.cost.instructionsAStep);
		assert.equal(work("reduce") + work("scatter_add"), shown.cost.termsAStep);
	}
	for (const bad of [new Uint8Array(), utf8ToBytes("program k"), utf8ToBytes("<b>")])
		assert.throws(() => describeProgram(bad), { code: /^PROGRAM_/ });
});

test("two programs: what one has and the other has not, in order; one op more changes no other", () => {
	const { ops } = describeProgram(encodeProgram(mixed));
	assert.ok(compareOps(ops, ops).every((one) => one.in === "both"));
	const without = ops.toSpliced(3, 1);
	const compared = compareOps(without, ops);
	assert.deepEqual(
		compared.filter((one) => one.in !== "both").map((one) => [one.in, one.op.number]),
		[["second", ops[3]!.number]],
	);
	assert.deepEqual(
		compareOps(ops, without)
			.filter((one) => one.in !== "both")
			.map((one) => one.in),
		["first"],
	);
	const other = describeProgram(encodeProgram(mlp)).ops;
	const both = compareOps(ops, other);
	assert.equal(both.filter((one) => one.in !== "second").length, ops.length);
	assert.equal(both.filter((one) => one.in !== "first").length, other.length);
});

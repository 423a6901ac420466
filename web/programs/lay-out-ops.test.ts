// The drawing of a program's ops: readers below what they read, no two boxes in one place, no row too wide;
// keys lead everywhere; a huge program is laid out at once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mixedSample, mlpSample } from "../../src/work/builder/samples.test-kit.ts";
import { describeProgram, type OpLine } from "../../src/work/program/describe-program.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import { layOutOps, stepFrom } from "./lay-out-ops.ts";

const stepsOf = (program: Parameters<typeof encodeProgram>[0]) =>
	describeProgram(encodeProgram(program)).ops.filter(({ phase }) => phase === "step");

test("what is read stands above; each box has its own place, in rows that fit", () => {
	for (const program of [mlpSample().program, mixedSample().program])
		for (const columns of [1, 2, 5]) {
			const ops = stepsOf(program);
			const { ops: placed, rows } = layOutOps(ops, columns);
			assert.deepEqual(
				rows.flat().sort((a, b) => a - b),
				ops.map(({ number }) => number),
			);
			for (const { row, x, from, to, op } of placed) {
				assert.ok(x >= 0.5 && x <= columns - 0.5, `%${op.number} at ${x} of ${columns}`);
				for (const one of from) assert.ok(placed[one]!.row < row, `%${op.number} reads %${one}`);
				for (const one of to) assert.ok(placed[one]!.from.includes(op.number));
				assert.deepEqual(from, [
					...new Set(op.reads.filter((one) => one.startsWith("%")).map((one) => Number(one.slice(1)))),
				]);
			}
			assert.equal(new Set(placed.map(({ row, x }) => `${row} ${x}`)).size, ops.length);
		}
});

test("arrow keys reach every op from the first, and stop at the edges", () => {
	const layout = layOutOps(stepsOf(mlpSample().program), 3);
	const seen = new Set([layout.rows[0]![0]!]);
	for (const one of seen)
		for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]) seen.add(stepFrom(layout, one, key));
	assert.equal(seen.size, layout.ops.length);
	const [first, last] = [layout.rows[0]![0]!, layout.rows.at(-1)!.at(-1)!];
	assert.equal(stepFrom(layout, first, "ArrowUp"), first);
	assert.equal(layout.ops[stepFrom(layout, first, "End")]!.row, layout.rows.length - 1);
	assert.equal(layout.ops[stepFrom(layout, last, "Home")]!.row, 0);
	assert.equal(stepFrom(layout, 10_000, "ArrowUp"), 10_000);
});

test("65,535 ops in one chain, or all beside each other", () => {
	const op = (number: number, reads: readonly string[]): OpLine => ({
		...{ phase: "step", number, operator: "map", reads, shape: "i8[1]", interval: "0..1", writes: "" },
		...{ work: 1, bytes: 1, text: [] },
	});
	const chain = Array.from({ length: 65_535 }, (_, n) => op(n, n === 0 ? ["x"] : [`%${n - 1}`]));
	assert.equal(layOutOps(chain, 5).rows.length, chain.length);
	const beside = chain.map(({ number }) => op(number, ["x"]));
	assert.equal(layOutOps(beside, 5).rows.length, chain.length / 5);
	const all = layOutOps(
		[
			...beside.slice(1).map((one, n) => ({ ...one, number: n })),
			op(
				65_534,
				beside.slice(1).map((_, n) => `%${n}`),
			),
		],
		5,
	);
	assert.equal(all.ops.at(-1)!.row, all.rows.length - 1);
	// A number that is no op before it is no edge.
	assert.deepEqual(layOutOps([op(0, ["%0", "%7", "%x", "%"])], 5).ops[0]!.from, []);
});

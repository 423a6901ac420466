// Pools by themselves: of equal values the first gets the gradient, once for each window; averages round to
// the nearest.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildProgram } from "../../builder/build-program.ts";
import type { Value } from "../../builder/expression.ts";
import type { Elements } from "../../operators/tensor-type.ts";
import { orThrow } from "../../program/fault.ts";
import { sealProgram } from "../../program/open-program.ts";
import { createMachine } from "../../program/run-program.ts";
import { SEED } from "../training.test-kit.ts";
import { stagesOf, type Window } from "./layers.ts";
import { averagePool, averagePoolBackward, maxPool, maxPoolBackward } from "./pool.ts";

const square = (size: number, stride: number): Window => ({
	size: [size, size],
	stride: [stride, stride],
	pads: [0, 0, 0, 0],
});
const asIs = (x: Parameters<Parameters<typeof averagePoolBackward>[4]>[0]) => x;

/** What pool and way back give of a picture with one channel and gradients. */
function run(
	pool: "max" | "average",
	window: Window,
	side: number,
	x: readonly number[],
	gradients: readonly number[],
) {
	const picture = { channels: 1, height: side, width: side };
	const stages = stagesOf(picture, [{ kind: "pool", pool, window, isRelu: false }]);
	assert.ok(typeof stages !== "number");
	const { from, to } = stages[0]!;
	const b = buildProgram();
	const input = b.tensor("input", "x", "i16", [1, side, side, 1], -1000, 1000);
	const d = b.tensor("input", "d", "i32", [1, to.height, to.width, 1], -1000, 1000);
	const made: [Value, Value] =
		pool === "max"
			? [maxPool(b.step, input, window, to), maxPoolBackward(b.step, input, d, window, { from, to }, asIs)]
			: [averagePool(b.step, input, window, to), averagePoolBackward(b.step, d, window, from, asIs)];
	const outputs: Elements[] = [];
	const given = { x: Int16Array.from(x), d: Int32Array.from(gradients) };
	const machine = createMachine(orThrow(sealProgram(b.program())), SEED, given);
	machine.runSegment();
	machine.runSegment(({ output }) => outputs.push(output));
	return made.map(({ index }) => [...outputs[index]!].map(Number));
}

test("of equal values the first is the largest", () => {
	const [y, dx] = run("max", square(2, 2), 2, [5, 5, 5, 5], [7]);
	assert.deepEqual(y, [5]);
	assert.deepEqual(dx, [7, 0, 0, 0]);
	assert.deepEqual(run("max", square(2, 2), 2, [1, 5, 5, 2], [7])[1], [0, 7, 0, 0]);
	assert.deepEqual(run("max", square(2, 2), 2, [-1000, -1000, -1000, -999], [7])[1], [0, 0, 0, 7]);
});

test("windows that overlap add up, also with a stride that does not divide their size", () => {
	assert.deepEqual(
		run("max", square(2, 1), 3, [0, 0, 0, 0, 9, 0, 0, 0, 0], [1, 2, 3, 4])[1],
		[0, 0, 0, 0, 10, 0, 0, 0, 0],
	);
	const flat = run("max", square(3, 2), 5, new Array(25).fill(1), [1, 2, 3, 4])[1]!;
	assert.deepEqual([flat[0], flat[2], flat[10], flat[12]], [1, 2, 3, 4]);
	assert.equal(
		flat.reduce((a, v) => a + v, 0),
		10,
	);
});

test("a gradient goes to the places of its window and no others", () => {
	const [, dx] = run("average", square(3, 2), 5, new Array(25).fill(0), [9, 18, 27, 36]);
	const rows = [
		[1, 1, 3, 2, 2],
		[1, 1, 3, 2, 2],
		[4, 4, 10, 6, 6],
		[3, 3, 7, 4, 4],
		[3, 3, 7, 4, 4],
	];
	assert.deepEqual(dx, rows.flat());
	// The first of the second row: its number is that of a place one beyond the end of the first.
	const x = Array.from({ length: 25 }, (_, i) => (i === 5 ? 4 : 0));
	const largest = run("max", square(3, 2), 5, x, [9, 0, 0, 0])[1]!;
	assert.deepEqual(
		largest,
		x.map((value) => (value === 4 ? 9 : 0)),
	);
});

test("a large window takes turns, and finds the same", () => {
	const x = Array.from({ length: 36 }, (_, i) => (i === 20 || i === 29 ? 3 : 0));
	const [y, dx] = run("max", square(6, 6), 6, x, [8]);
	assert.deepEqual(y, [3]);
	assert.deepEqual(
		dx!.map((value, i) => (value === 0 ? -1 : i)).filter((i) => i >= 0),
		[20],
	);
	assert.deepEqual(run("average", square(6, 6), 6, new Array(36).fill(3), [72]), [[3], new Array(36).fill(2)]);
});

test("averages are to the nearest, forwards and backwards", () => {
	assert.deepEqual(run("average", square(2, 2), 2, [1, 2, 2, 2], [6]), [[2], [2, 2, 2, 2]]);
	assert.deepEqual(run("average", square(2, 2), 2, [-1, -2, -2, -2], [-5]), [[-2], [-1, -1, -1, -1]]);
});

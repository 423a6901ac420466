// Batch orders: each sample once an epoch, another order in each, and the program sees what the table says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildProgram } from "../builder/build-program.ts";
import { at } from "../builder/expression.ts";
import type { Net } from "./numbers.ts";
import { batchOf, type OrderKind, orderTable } from "./order.ts";
import { SEED, Trial } from "./training.test-kit.ts";

/** The samples of each step, as the program finds them. */
function seen(kind: OrderKind, n: number, batch: number, steps: number, k: number, seed = SEED): number[] {
	const b = buildProgram({ k });
	const net: Net = { b, s: b.step, given: {}, rows: batch, gradientScale: 30 };
	const samples = batchOf(net, { kind, seed, n, batch, steps, k });
	const kept = b.tensor("state", "kept", "i32", [batch], 0, n);
	b.step.map([batch], (i) => at(samples, i!), { to: kept });
	const trial = new Trial({ program: b.program(), given: net.given }, seed);
	const all: number[] = [];
	for (let segment = 0; segment < steps / k; segment++)
		trial.machine.runSegment(({ number, output }) => {
			if (number === 0) all.push(...Array.from(output, Number));
		});
	return all;
}

const sorted = (all: readonly number[]) => all.toSorted((a, b) => a - b);

for (const [kind, n, batch, steps] of [
	["affine", 30, 5, 18],
	["affine", 7, 5, 14],
	["affine", 1, 3, 4],
	["cube", 32, 8, 12],
	["cube", 1, 2, 2],
] as const)
	test(`${kind} over ${n}: each sample once an epoch, whatever the batch`, () => {
		const all = seen(kind, n, batch, steps, 2);
		const epochs = Math.floor(all.length / n);
		const orders = Array.from({ length: epochs }, (_, e) => all.slice(e * n, (e + 1) * n));
		for (const order of orders)
			assert.deepEqual(
				sorted(order),
				Array.from({ length: n }, (_, i) => i),
			);
		if (n > 8) assert.ok(new Set(orders.map(String)).size === epochs, "every epoch has its own order");
	});

test("steps a segment do not matter, the seed does", () => {
	assert.deepEqual(seen("affine", 30, 4, 12, 1), seen("affine", 30, 4, 12, 4));
	assert.notDeepEqual(seen("affine", 30, 4, 12, 1), seen("affine", 30, 4, 12, 1, SEED.toReversed()));
});

test("the tables are those of the page's rule, known by their first rows", () => {
	assert.deepEqual([...orderTable("affine", SEED, 6369, 3)], [1439, 3551, 2438, 4382, 1519, 5726]);
	assert.deepEqual([...orderTable("cube", SEED, 16, 2)], [1, 2, 4, 8, 7, 2, 1, 8, 4, 9]);
});

test("an affine step is (a·x + b) mod n, a cube's a shuffle of bits and a mask", () => {
	const [a, b] = orderTable("affine", SEED, 1000, 1);
	assert.deepEqual(
		seen("affine", 1000, 5, 2, 1),
		Array.from({ length: 10 }, (_, x) => (a! * x + b!) % 1000),
	);
	const [...row] = orderTable("cube", SEED, 64, 1);
	const mask = row.pop()!;
	assert.deepEqual(
		seen("cube", 64, 8, 8, 1),
		Array.from(
			{ length: 64 },
			(_, x) => row.reduce((sum, power, bit) => sum | ((x & power) === 0 ? 0 : 1 << bit), 0) ^ mask,
		),
	);
});

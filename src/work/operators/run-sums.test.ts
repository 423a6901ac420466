// matmul, reduce and scatter_add for every type, wide and narrow intervals, shared batches: against sums of
// big integers written down once more.
import assert from "node:assert/strict";
import { test } from "node:test";
import { scaled } from "../../../tests/fuzz.test-kit.ts";
import { elementsOf, numbersFrom } from "../builder/samples.test-kit.ts";
import type { MatmulOp, Operand, Output, Reduction } from "../program/shapes.ts";
import { runMatmul, runReduce, runScatterAdd } from "./run-sums.ts";
import { type Elements, type Interval, intervalOf, TENSOR_TYPES, type TensorType } from "./tensor-type.ts";

type Draw = (below: number) => number;

/** A value of the interval, its ends often. */
function someOf({ lo, hi }: Interval, draw: Draw): bigint {
	const choice = draw(6);
	if (choice < 2) return choice === 0 ? lo : hi;
	const wide = (BigInt(draw(2 ** 32)) << 32n) | BigInt(draw(2 ** 32));
	return lo + (wide % (hi - lo + 1n));
}

const some = (type: TensorType, count: number, interval: Interval, draw: Draw): Elements =>
	elementsOf(
		type,
		Array.from({ length: count }, () => someOf(interval, draw)),
	);

/** An interval inside the type of at most so many bits. */
function narrowed(type: TensorType, bits: number): Interval {
	const own = intervalOf(type);
	const bound = 2n ** BigInt(bits);
	return { lo: own.lo > -bound ? own.lo : -bound, hi: own.hi < bound ? own.hi : bound };
}

const operand = (type: TensorType, ...dims: number[]): Operand => ({ source: "input", index: 0, type, dims });
const output = (type: TensorType, ...dims: number[]): Output => ({ type, dims, ...intervalOf(type) });
const big = (elements: Elements) => [...elements].map(BigInt);

test("matmul: every pair of types, groups of batches, sums up to 2^63", () => {
	const types = ["i8", "i16", "i32"] as const;
	for (let i = 0; i < scaled(180); i++) {
		const draw = numbersFrom(i + 1);
		const [typeA, typeB] = [types[i % 3]!, types[Math.floor(i / 3) % 3]!];
		const depth = 1 + draw(i % 10 === 0 ? 900 : 40);
		// Together below 2^63: two wide i32 leave room for two products only.
		const bits = 62 - Math.ceil(Math.log2(depth));
		const a = narrowed(typeA, Math.min(31, Math.ceil(bits / 2)));
		const b = narrowed(typeB, Math.min(31, Math.floor(bits / 2)));
		const [batch, groupA, groupB] = [
			[1, 1, 1],
			[4, 1, 4],
			[4, 2, 4],
			[6, 6, 2],
			[6, 3, 1],
		][draw(5)] as [number, number, number];
		const [rows, columns] = [1 + draw(4), 1 + draw(4)];
		const left = some(typeA, (batch / groupA) * rows * depth, a, draw);
		const right = some(typeB, (batch / groupB) * columns * depth, b, draw);
		const op: MatmulOp = {
			operator: "matmul",
			output: output("i64", batch, rows, columns),
			target: null,
			operands: [operand(typeA, batch / groupA, rows, depth), operand(typeB, batch / groupB, columns, depth)],
		};
		const wanted: bigint[] = [];
		for (let t = 0; t < batch; t++)
			for (let r = 0; r < rows; r++)
				for (let c = 0; c < columns; c++) {
					const [fromA, fromB] = [Math.floor(t / groupA) * rows + r, Math.floor(t / groupB) * columns + c];
					const x = big(left.slice(fromA * depth, (fromA + 1) * depth));
					const y = big(right.slice(fromB * depth, (fromB + 1) * depth));
					wanted.push(x.reduce((sum, value, k) => sum + value * y[k]!, 0n));
				}
		assert.deepEqual(
			big(runMatmul(op, [a, b], [left, right])),
			wanted,
			`${typeA} ${typeB} ${depth} ${groupA} ${groupB}`,
		);
	}
});

test("reduce: every type and kind; of equal ones the lowest index", () => {
	const kinds: readonly Reduction[] = ["sum", "max", "min", "argmax", "argmin"];
	for (let i = 0; i < scaled(120); i++) {
		const draw = numbersFrom(i + 7);
		const type = TENSOR_TYPES[i % 4]!;
		const [rows, length] = [1 + draw(4), 1 + draw(30)];
		const x = some(type, rows * length, narrowed(type, draw(2) === 0 ? 1 : 57), draw);
		for (const reduction of kinds) {
			const op = {
				operator: "reduce",
				reduction,
				output: output("i64", rows),
				target: null,
				operands: [operand(type, rows, length)],
			} as const;
			const wanted = Array.from({ length: rows }, (_, r) => {
				const row = big(x.slice(r * length, (r + 1) * length));
				if (reduction === "sum") return row.reduce((a, b) => a + b, 0n);
				const sorted = row.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
				const best = reduction.endsWith("max") ? sorted.at(-1)! : sorted[0]!;
				return reduction.startsWith("arg") ? BigInt(row.indexOf(best)) : best;
			});
			assert.deepEqual(big(runReduce(op, [x])), wanted, `${type} ${reduction}`);
		}
	}
});

test("scatter_add: every type; rows that nothing names are zero", () => {
	for (let i = 0; i < scaled(120); i++) {
		const draw = numbersFrom(i + 13);
		const type = TENSOR_TYPES[i % 4]!;
		const idType = TENSOR_TYPES[draw(4)]!;
		const [columns, rows, places] = [1 + draw(4), 1 + draw(30), 2 + draw(6)];
		const x = some(type, columns * rows, narrowed(type, 57), draw);
		const ids = some(idType, rows, { lo: 0n, hi: BigInt(places - 2) }, draw);
		const operands = [operand(type, columns, rows), operand(idType, rows)];
		const op = { operator: "scatter_add", output: output("i64", places, columns), target: null, operands } as const;
		const wanted = Array.from({ length: places * columns }, (_, at) =>
			big(ids).reduce(
				(sum, id, r) => (id === BigInt(Math.floor(at / columns)) ? sum + BigInt(x[(at % columns) * rows + r]!) : sum),
				0n,
			),
		);
		assert.deepEqual(big(runScatterAdd(op, [x, ids])), wanted);
		assert.ok(wanted.slice(-columns).every((sum) => sum === 0n));
	}
});

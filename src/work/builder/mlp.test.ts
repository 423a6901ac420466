// An MLP learns by SGD, as a program: accepted, encoded, run; every value equals that of plain BigInt
// formulas.
import assert from "node:assert/strict";
import { test } from "node:test";
import { philoxBlock, philoxKey } from "../../protocol/hash/philox.ts";
import { decodeProgram } from "../program/decode.ts";
import { encodeProgram } from "../program/encode.ts";
import { orThrow } from "../program/fault.ts";
import { sealProgram } from "../program/open-program.ts";
import { createMachine } from "../program/run-program.ts";
import { MLP, mlpSample } from "./samples.test-kit.ts";

const SEED = Uint8Array.from({ length: 32 }, (_, i) => i + 1);
type Matrix = bigint[][];

const matrix = (rows: number, columns: number, f: (i: number, j: number) => bigint): Matrix =>
	Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => f(i, j)));
/** a · bᵀ */
const product = (a: Matrix, b: Matrix): Matrix =>
	matrix(a.length, b.length, (i, j) => a[i]!.reduce((sum, x, k) => sum + x * b[j]![k]!, 0n));
const turned = (a: Matrix): Matrix => matrix(a[0]!.length, a.length, (i, j) => a[j]![i]!);
const clamp = (x: bigint, lo: bigint, hi: bigint) => (x < lo ? lo : x > hi ? hi : x);
const rsh = (x: bigint, k: bigint) => (x + (1n << (k - 1n))) >> k;
const RANGE = 2n ** 20n;

function initial(rows: number, columns: number, domain: number): Matrix {
	const word = new Uint32Array(4);
	return matrix(rows, columns, (i, j) => {
		philoxBlock(philoxKey(SEED), i * columns + j, 0, 0xffffffff, domain, word, 0);
		return clamp((BigInt(word[0]!) >> 19n) - 2n ** 12n, -RANGE, RANGE);
	});
}

function learn([w1, w2]: readonly [Matrix, Matrix], x: Matrix, y: Matrix): { w: [Matrix, Matrix]; loss: bigint } {
	const h = product(x, w1).map((row) => row.map((v) => clamp(rsh(v, 10n), 0n, 2n ** 12n)));
	const d2 = product(h, w2).map((row, i) => row.map((v, j) => clamp(rsh(v, 10n) - y[i]![j]!, -(2n ** 10n), 2n ** 10n)));
	const d1 = product(d2, turned(w2)).map((row, i) =>
		row.map((v, j) => (h[i]![j] === 0n ? 0n : clamp(rsh(v, 10n), -(2n ** 10n), 2n ** 10n))),
	);
	const moved = (w: Matrix, d: Matrix, a: Matrix) => {
		const g = product(turned(d), turned(a));
		return w.map((row, i) => row.map((v, j) => clamp(v - rsh(g[i]![j]!, 3n), -RANGE, RANGE)));
	};
	return { w: [moved(w1, d1, x), moved(w2, d2, h)], loss: d2.flat().reduce((sum, v) => sum + v * v, 0n) };
}

test("an MLP's steps are those of plain formulas, bit for bit", () => {
	const { program, given } = mlpSample();
	const bytes = encodeProgram(program);
	assert.deepEqual(orThrow(decodeProgram(bytes)), program);
	const machine = createMachine(orThrow(sealProgram(program)), SEED, given);
	const name = (wanted: string) => program.tensors.findIndex((tensor) => tensor.name === wanted);
	const flat = (elements: Iterable<number | bigint>) => [...elements].map(BigInt);
	let w: [Matrix, Matrix] = [initial(MLP.hidden, MLP.inputs, 1), initial(MLP.outputs, MLP.hidden, 2)];
	machine.runSegment();
	assert.deepEqual(flat(machine.tensors[name("w1")]!), w[0].flat());
	let step = 0;
	const losses: bigint[] = [];
	for (let segment = 1; segment <= 5; segment++) {
		machine.runSegment();
		let loss = 0n;
		for (let i = 0; i < MLP.k; i++, step++) {
			const row = (n: number) => (step * MLP.batch + n) % MLP.rows;
			const rows = (from: Iterable<number | bigint>, columns: number) =>
				matrix(MLP.batch, columns, (n, j) => flat(from)[row(n) * columns + j]!);
			({ w, loss } = learn(w, rows(given.data!, MLP.inputs), rows(given.labels!, MLP.outputs)));
		}
		losses.push(loss);
		assert.deepEqual(flat(machine.tensors[name("w1")]!), w[0].flat());
		assert.deepEqual(flat(machine.tensors[name("w2")]!), w[1].flat());
		assert.deepEqual(flat(machine.tensors[name("loss")]!), [loss]);
	}
	assert.ok(losses.every((loss) => loss > 0n));
});

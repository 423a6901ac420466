// Programs in which sequences of a batch see each other, or where they stand, are refused with the op; those
// that keep apart pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { buildProgram, type ProgramBuilder } from "../builder/build-program.ts";
import { at, index, segment, step, type Value, view } from "../builder/expression.ts";
import { checkBatchInvariant } from "./batch-invariance.ts";

const BATCH = 4;

interface Parts {
	readonly b: ProgramBuilder;
	readonly x: Value;
	readonly w: Value;
	readonly all: Value;
	readonly kept: Value & { readonly tensor: number };
	readonly cache: Value & { readonly tensor: number };
}

function program(write: (parts: Parts) => void) {
	const b = buildProgram({ k: 3 });
	const x = b.tensor("input", "x", "i16", [BATCH, 6], -100, 100);
	const w = b.tensor("input", "w", "i16", [5, 6], -100, 100);
	const all = b.tensor("input", "all", "i16", [12, 6], -100, 100);
	const kept = b.tensor("state", "kept", "i64", [12, 6], -(2n ** 40n), 2n ** 40n);
	const cache = b.tensor("scratch", "cache", "i16", [BATCH, 6], -100, 100);
	b.step.map([BATCH, 6], (i, j) => at(x, i!, j!));
	write({ b, x, w, all, kept, cache });
	return b.program();
}

const check = (write: (parts: Parts) => void) =>
	checkBatchInvariant(program(write), { batch: BATCH, inputs: { x: "lane", all: "sequence" } });

const mine = (i: Parameters<typeof at>[1] & object) => index(i).plus(index(segment).times(BATCH)).plus(-BATCH).clamp();
const back = (n: Parameters<typeof at>[1] & object) => index(n).plus(index(segment).times(-BATCH)).plus(BATCH).zero();

const FINE: Readonly<Record<string, (parts: Parts) => void>> = {
	"a product with shared weights": ({ b, x, w }) => b.step.matmul(x, w),
	"a product of each sequence with itself": ({ b, x }) => b.step.matmul(view(x, BATCH, 2, 3), view(x, BATCH, 2, 3)),
	"sums and maxima within a sequence": ({ b, x }) => {
		b.step.reduce("sum", x);
		b.step.reduce("max", view(x, BATCH * 2, 3));
	},
	"a table looked up by a value, and by the step": ({ b, x, w }) => {
		b.step.map([BATCH, 6], (i, j) => at(w, at(x, i!, j!).clamp(0, 4), j!).add(at(w, step, j!)));
	},
	"the sequences of this batch, read and written back": ({ b, all, kept, cache }) => {
		const now = b.step.map([BATCH, 6], (i, j) => at(all, mine(i!), j!).add(at(kept, mine(i!), j!)));
		b.step.map([12, 6], (n, j) => at(now, back(n!), j!).clamp(-100, 100), { to: kept });
		b.step.map(
			[BATCH, 6],
			(i, j) =>
				at(now, i!, j!)
					.clamp(-100, 100)
					.add(at(cache, i!, j!))
					.clamp(-100, 100),
			{
				to: cache,
			},
		);
	},
	"words drawn in init by the number of a sequence": ({ b, kept }) => {
		b.init.map([12, 6], (n, j) => n!.value().mul(6).add(j!.value()).rand(1), { to: kept });
	},
	"rows of places, one after the other": ({ b, x }) => {
		b.step.map([BATCH * 3, 2], (r, c) => at(view(x, BATCH * 3, 2), r!, c!).abs());
	},
};
const MIXED: Readonly<Record<string, readonly [operator: string, (parts: Parts) => void]>> = {
	"a maximum over the whole tensor": ["reduce", ({ b, x }) => b.step.reduce("max", view(x, BATCH * 6))],
	"rows that reach over two sequences": ["reduce", ({ b, x }) => b.step.reduce("sum", view(x, 2, 12))],
	"a product of sequences with each other": ["matmul", ({ b, x }) => b.step.matmul(x, x)],
	"weights by the place in the batch": [
		"matmul",
		({ b, x, w }) =>
			b.step.matmul(
				view(x, 2, 2, 6),
				view(
					b.step.map([2, 5, 6], (n, i, j) => at(w, i!, j!).add(n!.value())),
					2,
					5,
					6,
				),
			),
	],
	"a sum scattered over the batch": [
		"scatter_add",
		({ b, x }) =>
			b.step.scatterAdd(
				x,
				b.step.map([6], (i) => i!.value()),
				6,
			),
	],
	"the neighbour's row": ["map", ({ b, x }) => b.step.map([BATCH, 6], (i, j) => at(x, i!.plus(1).wrap(), j!))],
	"the first row for all": ["map", ({ b, x }) => b.step.map([BATCH, 6], (_, j) => at(x, 0, j!))],
	"a row chosen by a value": [
		"map",
		({ b, x }) => b.step.map([BATCH, 6], (i, j) => at(x, at(x, i!, j!).clamp(0, BATCH - 1), j!)),
	],
	"the columns as rows": ["map", ({ b, x }) => b.step.map([6, BATCH], (j, i) => at(x, i!, j!))],
	"another view of the batch": [
		"map",
		({ b, x }) => b.step.map([BATCH, 6], (i, j) => at(view(x, 2, 12), i!.clamp(), j!)),
	],
	"the place in the batch as a value": [
		"map",
		({ b, x }) => b.step.map([BATCH, 6], (i, j) => at(x, i!, j!).add(i!.value())),
	],
	"a table by the place in the batch": [
		"map",
		({ b, x, w }) => b.step.map([BATCH, 6], (i, j) => at(x, i!, j!).add(at(w, i!, j!))),
	],
	"rand in a step": ["map", ({ b, x }) => b.step.map([BATCH, 6], (i, j) => at(x, i!, j!).rand(1))],
	"the number of the batch": ["map", ({ b, x }) => b.step.map([BATCH, 6], (i, j) => at(x, i!, j!).add(segment))],
	"a table by the number of the batch": [
		"map",
		({ b, x, w }) => b.step.map([BATCH, 6], (i, j) => at(x, i!, j!).add(at(w, index(segment).clamp(), j!))),
	],
	"another batch's sequences": [
		"map",
		({ b, all }) => b.step.map([BATCH, 6], (i, j) => at(all, i!.plus(index(segment).times(BATCH)).clamp(), j!)),
	],
	"written back to another's place": [
		"map",
		({ b, x, kept }) =>
			b.step.map([12, 6], (n, j) => at(x, n!.plus(index(segment).times(-BATCH)).zero(), j!), { to: kept }),
	],
	"a value of this batch written to all": [
		"map",
		({ b, x, kept }) =>
			b.step.map([12, 6], (n, j) => at(x, n!.plus(index(segment).times(-BATCH)).plus(BATCH).clamp(), j!), { to: kept }),
	],
};

for (const [name, write] of Object.entries(FINE)) test(`passes: ${name}`, () => check(write));

for (const [name, [operator, write]] of Object.entries(MIXED))
	test(`refused: ${name}`, () => {
		assert.throws(
			() => check(write),
			(error) => error instanceof AssayError && error.code === "BATCH_MIXED" && error.message.includes(`(${operator})`),
		);
	});

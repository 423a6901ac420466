// Memory counted by hand for one small program; tests/samples.test.ts compares it with the engine's plan for
// every sample.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildProgram } from "../builder/build-program.ts";
import { at, type Value } from "../builder/expression.ts";
import { numbersFrom } from "../builder/samples.test-kit.ts";
import { peakBytes } from "./peak-bytes.ts";
import type { Op, Program } from "./shapes.ts";

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

/** Ops of so many KiB each; every one is read last by the op that is named with it. */
function programOf(ops: readonly { readonly kib: number; readonly until: number }[]): Program {
	const step = ops.map(({ kib }, n): Op => {
		const operands = ops.flatMap(({ until }, index) =>
			until === n ? [{ source: "op" as const, index, type: "i8" as const, dims: [1024 * ops[index]!.kib] }] : [],
		);
		const output = { type: "i8" as const, dims: [1024 * kib], lo: 0n, hi: 1n };
		return { operator: "reduce", reduction: "sum", output, target: null, operands };
	});
	return { k: 1, tensors: [], init: [], step };
}

/** Word by word: the smallest free stretch that holds it, the first of those; else the end. */
function plainPeak(ops: readonly { readonly kib: number; readonly until: number }[]): number {
	const taken: { at: number; kib: number; until: number }[] = [];
	let peak = 0;
	for (const [n, { kib, until }] of ops.entries()) {
		const live = taken.filter((one) => one.until >= n).sort((a, b) => a.at - b.at);
		const gaps: { at: number; kib: number }[] = [];
		let at = 0;
		for (const one of [...live, { at: peak, kib: 0 }]) {
			if (one.at > at) gaps.push({ at, kib: one.at - at });
			at = Math.max(at, one.at + one.kib);
		}
		const fitting = gaps.filter((one) => one.kib >= kib).sort((a, b) => a.kib - b.kib || a.at - b.at);
		const open = gaps.find((one) => one.at + one.kib === peak);
		const place = fitting[0]?.at ?? open?.at ?? peak;
		taken.push({ at: place, kib, until: Math.max(n, until) });
		peak = Math.max(peak, place + kib);
	}
	return 1024 * peak;
}

test("F5 the quick list of free stretches gives the places that the page describes", () => {
	const draw = numbersFrom(5);
	for (let round = 0; round < 200; round++) {
		const ops = Array.from({ length: 40 }, (_, n) => ({ kib: 1 + draw(6), until: Math.min(39, n + draw(12)) }));
		assert.equal(peakBytes(programOf(ops)), plainPeak(ops), `round ${round}`);
	}
});

test("F5 a program with thousands of free stretches is counted without looking at them all", (t) => {
	// Every second one goes, when all are there; then each larger one finds no place among them.
	const count = 1500;
	const ops = Array.from({ length: 2 * count }, (_, n) => ({
		kib: n < count ? 1 + (n % 2) : 3,
		until: n >= count ? n : n % 2 === 0 ? count : 2 * count - 1,
	}));
	const program = programOf(ops);
	let looks = 0;
	const methods = Array.prototype as unknown as Record<string, (...given: unknown[]) => unknown>;
	for (const name of ["filter", "find", "findIndex", "reduce"]) {
		const real = methods[name]!;
		methods[name] = function (this: unknown[], ...given: unknown[]) {
			looks += this.length;
			return real.apply(this, given);
		};
		t.after(() => {
			methods[name] = real;
		});
	}
	peakBytes(program);
	assert.ok(looks < 20 * ops.length, `${looks} looks for ${ops.length} ops`);
});

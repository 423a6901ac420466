// The maps that training a GPT needs, with fixed-point numbers of its kind: norm, softmax by tables,
// cross-entropy's gradient, AdamW. The checker accepts them as they stand, and their values are those of
// plain BigInt formulas.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Elements } from "../operators/tensor-type.ts";
import { orThrow } from "../program/fault.ts";
import { sealProgram } from "../program/open-program.ts";
import { createMachine } from "../program/run-program.ts";
import { tensorRoot } from "../trace/tensor-tree.ts";
import { buildProgram, type ProgramBuilder } from "./build-program.ts";
import { at, constant, segment } from "./expression.ts";
import { drawn, elementsOf } from "./samples.test-kit.ts";

const SEED = new Uint8Array(32).fill(9);
const rsh = (x: bigint, k: bigint) => (x + (1n << (k - 1n))) >> k;
const floorDiv = (a: bigint, b: bigint) => (a - (((a % b) + b) % b)) / b;
const rdiv = (a: bigint, b: bigint) => floorDiv(2n * a + b, 2n * b);
const clamp = (x: bigint, lo: bigint, hi: bigint) => (x < lo ? lo : x > hi ? hi : x);
const sqrt = (x: bigint) => {
	let root = BigInt(Math.floor(Math.sqrt(Number(x))));
	while (root * root > x) root -= 1n;
	while ((root + 1n) * (root + 1n) <= x) root += 1n;
	return root;
};
const big = (elements: Elements): bigint[] => [...elements].map(BigInt);
const rowsOf = (elements: Elements, length: number): bigint[][] =>
	Array.from({ length: elements.length / length }, (_, i) => big(elements.slice(i * length, (i + 1) * length)));

/** Runs segments 0 and 1, and gives a tensor by name. */
function runOnce(
	builder: ProgramBuilder,
	given: Readonly<Record<string, Elements>>,
	segments = 2,
): (name: string) => bigint[] {
	const program = builder.program();
	const machine = createMachine(orThrow(sealProgram(program)), SEED, given);
	while (machine.next < segments) machine.runSegment();
	return (name) => big(machine.tensors[program.tensors.findIndex((tensor) => tensor.name === name)]!);
}

test("a layer norm over 768: residual at 2^16, output at 2^11", () => {
	const [rows, width] = [3, 768];
	const b = buildProgram();
	const x = b.tensor("input", "x", "i32", [rows, width], -(2 ** 27), 2 ** 27);
	const gain = b.tensor("input", "gain", "i16", [width], -(2 ** 15), 2 ** 15 - 1);
	const out = b.tensor("result", "out", "i16", [rows, width], -(2 ** 15), 2 ** 15 - 1);
	const s = b.step;
	const sum = s.reduce("sum", x);
	const mean = s.map([rows], (r) => at(sum, r).rdiv(width));
	const d = s.map([rows, width], (r, c) => at(x, r, c).sub(at(mean, r)).rsh(4));
	const squares = s.reduce(
		"sum",
		s.map([rows, width], (r, c) => at(d, r, c).mul(at(d, r, c))),
	);
	// σ at 2^19; at least 64, so that d·R stays below 2^63.
	const scale = s.map([rows], (r) => constant(2 ** 40).div(at(squares, r).rdiv(width).shl(14).isqrt().max(64)));
	s.map(
		[rows, width],
		(r, c) =>
			at(d, r, c)
				.mul(at(scale, r))
				.rsh(22)
				.clamp(-(2 ** 20), 2 ** 20)
				.mul(at(gain, c))
				.rsh(14)
				.clamp(out.lo, out.hi),
		{ to: out },
	);
	const given = {
		x: elementsOf("i32", [
			...drawn("i32", [width], -(2 ** 27), 2 ** 27, 1),
			...drawn("i32", [width], -5000, 90000, 2),
			...Array(width).fill(7),
		]),
		gain: drawn("i16", [width], -20000, 20000, 3),
	};
	const wanted = rowsOf(given.x, width).flatMap((row) => {
		const n = BigInt(width);
		const average = rdiv(
			row.reduce((a, v) => a + v, 0n),
			n,
		);
		const centred = row.map((v) => rsh(v - average, 4n));
		const variance = rdiv(
			centred.reduce((a, v) => a + v * v, 0n),
			n,
		);
		const sigma = sqrt(variance << 14n);
		const r = 2n ** 40n / (sigma < 64n ? 64n : sigma);
		return centred.map((v, c) =>
			clamp(
				rsh(clamp(rsh(v * r, 22n), -(2n ** 20n), 2n ** 20n) * BigInt(given.gain[c]!), 14n),
				-(2n ** 15n),
				2n ** 15n - 1n,
			),
		);
	});
	assert.deepEqual(runOnce(b, given)("out"), wanted);
	assert.ok(new Set(wanted).size > 500);
});

const table = (step: number): Elements =>
	elementsOf(
		"i32",
		Array.from({ length: 256 }, (_, i) => Math.round(2 ** 15 * Math.exp((-i * step) / 4096))),
	);

test("a softmax row by two tables, and p − onehot at 2^24", () => {
	const [rows, width] = [4, 300];
	const coarse = table(256);
	const fine = table(1);
	const b = buildProgram();
	const logits = b.tensor("input", "logits", "i32", [rows, width], -(2 ** 24), 2 ** 24);
	const labels = b.tensor("input", "labels", "i16", [rows], 0, width - 1);
	const high = b.constant("high", "i32", [256], 0, 2 ** 15, tensorRoot(coarse));
	const low = b.constant("low", "i32", [256], 0, 2 ** 15, tensorRoot(fine));
	const gradient = b.tensor("result", "gradient", "i32", [rows, width], -(2 ** 24), 2 ** 25);
	const s = b.step;
	const top = s.reduce("max", logits);
	const e = s.map(
		[rows, width],
		(r, c) => {
			const x = at(top, r)
				.sub(at(logits, r, c))
				.clamp(0, 65535);
			return at(high, x.shr(8))
				.mul(at(low, x.and(255)))
				.rsh(15)
				.min(32767);
		},
		{ type: "i16" },
	);
	const z = s.reduce("sum", e);
	s.map(
		[rows, width],
		(r, c) => {
			const p = at(e, r, c)
				.mul(constant(2 ** 40).div(at(z, r).max(1)))
				.rsh(16)
				.min(2 ** 24);
			return p.sub(c.value().eq(at(labels, r)).shl(24));
		},
		{ to: gradient },
	);
	const given = {
		logits: drawn("i32", [rows, width], -40000, 40000, 5),
		labels: drawn("i16", [rows], 0, width - 1, 6),
		high: coarse,
		low: fine,
	};
	const wanted = rowsOf(given.logits, width).flatMap((row, r) => {
		const best = row.reduce((a, v) => (v > a ? v : a));
		const weights = row.map((v) => {
			const x = Number(clamp(best - v, 0n, 65535n));
			const product = rsh(BigInt(coarse[x >> 8]!) * BigInt(fine[x & 255]!), 15n);
			return product > 32767n ? 32767n : product;
		});
		const total = weights.reduce((a, v) => a + v, 0n);
		return weights.map((v, c) => {
			const p = rsh(v * (2n ** 40n / (total < 1n ? 1n : total)), 16n);
			return (p > 2n ** 24n ? 2n ** 24n : p) - (BigInt(given.labels[r]!) === BigInt(c) ? 2n ** 24n : 0n);
		});
	});
	const found = runOnce(b, given)("gradient");
	assert.deepEqual(found, wanted);
	// Probabilities: each row of p sums to one, but for rounding.
	for (const row of rowsOf(elementsOf("i32", found), width)) {
		const sum = Number(row.reduce((a, v) => a + v, 0n));
		assert.ok(Math.abs(sum) < 2 ** 24 / 1000, String(sum));
	}
});

/** `isClamped` false: the second moment is left as the formula gives it. */
function adamw(count: number, isClamped = true): ProgramBuilder {
	const b = buildProgram();
	const g = b.tensor("input", "g", "i32", [count], -(2n ** 31n), 2n ** 31n - 1n);
	const rates = b.tensor("input", "rates", "i32", [5], 0, 2 ** 24);
	const w = b.tensor("state", "w", "i32", [count], -(2n ** 31n), 2n ** 31n - 1n);
	const m = b.tensor("state", "m", "i32", [count], -(2n ** 31n), 2n ** 31n - 1n);
	const v = b.tensor("state", "v", "i64", [count], 0, 2n ** 62n);
	const s = b.step;
	const m1 = s.map(
		[count],
		(i) =>
			at(m, i)
				.add(at(g, i).sub(at(m, i)).rdiv(10))
				.clamp(m.lo, m.hi),
		{ to: m },
	);
	const v1 = s.map(
		[count],
		(i) => {
			const moved = at(v, i).add(at(g, i).mul(at(g, i)).sub(at(v, i)).rdiv(1000));
			return isClamped ? moved.clamp(0, v.hi) : moved;
		},
		isClamped ? { to: v } : {},
	);
	s.map(
		[count],
		(i) => {
			// The first segment with steps is number 1.
			const rate = at(rates, segment.sub(1).min(4));
			const move = rate.mul(at(m1, i)).rdiv(at(v1, i).isqrt().add(16));
			return at(w, i).sub(move).sub(at(w, i).mul(1678).rsh(24)).clamp(w.lo, w.hi);
		},
		{ to: w },
	);
	return b;
}

test("AdamW: weights at 2^24, m of 32 bits, v of 64, rates from a table", () => {
	const count = 50;
	const given = {
		g: drawn("i32", [count], -(2 ** 31), 2 ** 31 - 1, 8),
		rates: elementsOf("i32", [9000, 80000, 2 ** 24, 5, 0]),
	};
	const end = runOnce(adamw(count), given, 7);
	const limit = 2n ** 31n;
	for (let i = 0; i < count; i++) {
		let [w, m, v] = [0n, 0n, 0n];
		const g = BigInt(given.g[i]!);
		for (let step = 0; step < 6; step++) {
			m = clamp(m + rdiv(g - m, 10n), -limit, limit - 1n);
			v = clamp(v + rdiv(g * g - v, 1000n), 0n, 2n ** 62n);
			const move = rdiv(BigInt(given.rates[Math.min(step, 4)]!) * m, sqrt(v) + 16n);
			w = clamp(w - move - rsh(w * 1678n, 24n), -limit, limit - 1n);
		}
		assert.deepEqual([end("w")[i], end("m")[i], end("v")[i]], [w, m, v]);
	}
});

test("without its clamp AdamW is refused where the root could be of a negative number", () => {
	assert.throws(
		() => adamw(4, false),
		(error) =>
			error instanceof AssayError &&
			error.code === "PROGRAM_DOMAIN" &&
			/step op 2, instruction \d+: isqrt of -\d+/.test(error.message),
	);
});

// The tables that models look up: each entry is its function to the nearest, and the roots are those that
// programs name for ever.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Elements } from "../operators/tensor-type.ts";
import { tensorRoot } from "../trace/tensor-tree.ts";
import {
	expCoarse,
	expFine,
	geluSlopeTable,
	geluTable,
	geluTanhSlopeTable,
	geluTanhTable,
	gumbelTable,
	inverseRoot,
	logTable,
	REST,
	restTable,
	ropeTables,
	sigmoidTable,
} from "./tables.ts";

/** Within the last bit and a half: what floats can tell. */
function near(table: Elements, bits: number, wanted: (i: number) => number): void {
	for (const [i, entry] of Array.from(table, Number).entries()) {
		const off = Math.abs(entry - wanted(i) * 2 ** bits);
		assert.ok(off <= 0.5 + 2 ** (bits - 44), `entry ${i} is ${entry}, off by ${off}`);
	}
}

/** Φ by Simpson's rule. */
function below(x: number): number {
	const density = (t: number) => Math.exp((-t * t) / 2) / Math.sqrt(2 * Math.PI);
	const n = 2000;
	let sum = density(0) + density(x);
	for (let i = 1; i < n; i++) sum += (i % 2 === 1 ? 4 : 2) * density((x * i) / n);
	return 0.5 + (sum * x) / n / 3;
}

test("entries are the functions to the nearest", () => {
	near(expCoarse(), 30, (i) => (i === 255 ? 0 : Math.exp(-i / 16)));
	near(expFine(), 30, (i) => Math.exp(-i / 4096));
	near(logTable(), 20, (i) => Math.log1p(i / 256));
	near(geluTable(), 15, (i) => below(i / 32));
	near(
		geluSlopeTable(),
		15,
		(i) => below(i / 32) + ((i / 32) * Math.exp(-((i / 32) ** 2) / 2)) / Math.sqrt(2 * Math.PI),
	);
	near(sigmoidTable(), 20, (i) => 1 / (1 + Math.exp(-i / 32)));
	const inner = (x: number) => Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3);
	const half = (x: number) => 0.5 * (1 + Math.tanh(inner(x)));
	near(geluTanhTable(), 15, (i) => half(i / 32));
	near(geluTanhSlopeTable(), 15, (i) => {
		const x = i / 32;
		const slope = Math.sqrt(2 / Math.PI) * (1 + 3 * 0.044715 * x ** 2);
		return half(x) + (x * 0.5 * slope) / Math.cosh(inner(x)) ** 2;
	});
	for (const n of [4, 16, 32, 64, 100]) assert.equal(inverseRoot(n, 16), Math.round(65_536 / Math.sqrt(n)));
});

test("rests of activations, and Gumbel's noise by octaves", () => {
	const rest = (f: (x: number) => number) => (i: number) => (i / REST.knots) * (1 - f(i / REST.knots));
	near(
		restTable("silu"),
		30,
		rest((x) => 1 / (1 + Math.exp(-x))),
	);
	near(
		restTable("gelu-tanh"),
		30,
		rest((x) => 0.5 * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))),
	);
	near(restTable("gelu"), 30, (i) => (i > 9 * REST.knots ? 0 : rest(below)(i)));
	const noise = gumbelTable();
	near(
		noise.subarray(0, -1) as Elements,
		16,
		(i) => -Math.log(-Math.log1p(-(2 ** ((i >> 7) - 32) * (1 + (i & 127) / 128)))),
	);
	assert.equal(noise.at(-1), Math.round(-Math.log(33 * Math.LN2) * 65_536));
});

for (const theta of [10_000, 1e6, 123_456.789])
	test(`turns of positions with theta ${theta}`, () => {
		const { cos, sin } = ropeTables(theta, 16, 3000, 24);
		const angle = (at: number) => Math.floor(at / 8) * theta ** (-(at % 8) / 8);
		near(cos, 24, (at) => Math.cos(angle(at)));
		near(sin, 24, (at) => Math.sin(angle(at)));
	});

test("the tables stay as they are", () => {
	const { cos, sin } = ropeTables(10_000, 16, 64, 24);
	const roots = [
		expCoarse(),
		expFine(),
		logTable(),
		geluTable(),
		geluSlopeTable(),
		sigmoidTable(),
		geluTanhTable(),
		geluTanhSlopeTable(),
		cos,
		sin,
	].map((table) => Buffer.from(tensorRoot(table)).toString("hex").slice(0, 16));
	assert.deepEqual(roots, [
		"0ef745246b1116cb",
		"a86f37c0ee4fad73",
		"a79be96e9d952a5d",
		"41c805af80265388",
		"e461581351c9eb70",
		"fd66112266101909",
		"30734d9b25ac1c18",
		"2e10118f17eb24de",
		"2a2987460f3411df",
		"7cc72599534bd137",
	]);
});

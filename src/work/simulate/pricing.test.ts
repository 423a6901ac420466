// Options: prices within three standard errors of the formula, and path for path those of doubles; the normal
// table itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { philoxBlock, philoxKey } from "../../protocol/hash/philox.ts";
import { buildProgram } from "../builder/build-program.ts";
import { at } from "../builder/expression.ts";
import { normalQuantiles } from "../models/tables.ts";
import { SEED, Trial } from "../models/training.test-kit.ts";
import { tensorRoot } from "../trace/tensor-tree.ts";
import { paceOf } from "./pace.ts";
import { blackScholes, deviate, type Option, pricingSimulation } from "./pricing.ts";
import { metricOf, simulated } from "./simulation.test-kit.ts";

const OPTION: Option = {
	...{ style: "european", side: "call", spot: 100, strike: 105, rate: 0.03, volatility: 0.25, years: 1, dates: 1 },
	paths: 8192,
};
const price = (option: Option, steps = 2) => {
	const pace = paceOf({ steps, frames: 0, stepsPerSegment: null }, 1);
	const simulation = pricingSimulation(option, pace);
	const trial = simulated(simulation, pace.segments);
	return {
		price: metricOf(simulation, trial, "price"),
		error: metricOf(simulation, trial, "error"),
		summary: simulation.summary!.read(trial.tensor("sums")),
	};
};

/** Normal deviates of words, by the program. */
function deviates(words: readonly number[]): Float64Array {
	const b = buildProgram();
	const table = normalQuantiles();
	const normal = b.constant("normal", "i32", [table.length], 0, 7 * 2 ** 24, tensorRoot(table));
	const input = b.tensor("input", "words", "i64", [words.length], 0, 2n ** 32n - 1n);
	const out = b.tensor("state", "out", "i32", [words.length], -(2 ** 28), 2 ** 28);
	b.step.map([words.length], (i) => deviate(at(input, i!), { normal }), { to: out });
	const given = { normal: table, words: BigInt64Array.from(words, BigInt) };
	const trial = new Trial({ program: b.program(), given });
	trial.machine.runSegment();
	return trial.floats("out", 2 ** 24);
}

/** P(Z > x), by Simpson's rule. */
function beyond(x: number): number {
	const density = (z: number) => Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
	const n = 4000;
	const h = (12 - x) / n;
	let sum = density(x) + density(12);
	for (let i = 1; i < n; i++) sum += (i % 2 === 1 ? 4 : 2) * density(x + i * h);
	return (sum * h) / 3;
}

test("normal deviates: each has its own share beyond it, far out too; both signs", () => {
	const words = [0, 1, 2, 7, 100, 65_535, 1_000_003, 2 ** 26, 2 ** 29 + 12_345, 2 ** 30, 2 ** 31 - 1];
	const found = deviates([...words, ...words.map((word) => word + 2 ** 31)]);
	for (const [i, word] of words.entries()) {
		const share = (2 * word + 1) / 2 ** 33;
		assert.ok(Math.abs(beyond(found[i]!) / share - 1) < 3e-4, `${word}: ${found[i]}`);
		assert.equal(found[words.length + i]! + found[i]!, 0);
	}
	assert.ok(found[0]! > 6.2 && found[0]! < 6.4);
});

test("a European call and put: within three standard errors of Black and Scholes; put and call agree", () => {
	for (const side of ["call", "put"] as const) {
		const exact = blackScholes({ ...OPTION, side });
		const found = price({ ...OPTION, side });
		assert.ok(found.error > 0 && found.error < 0.02 * exact, `${found.error}`);
		assert.ok(Math.abs(found.price - exact) < 3 * found.error, `${side} ${found.price} ± ${found.error}, ${exact}`);
		assert.deepEqual(found.summary, {
			price: found.price,
			standardError: found.error,
			paths: 16_384,
			blackScholes: exact,
		});
		// Its twin: a price of another strike is told apart.
		assert.ok(Math.abs(found.price - blackScholes({ ...OPTION, side, strike: 110 })) > 10 * found.error);
	}
	const parity = blackScholes(OPTION) - blackScholes({ ...OPTION, side: "put" });
	assert.ok(Math.abs(parity - (100 - 105 * Math.exp(-0.03))) < 1e-9);
	assert.ok(Math.abs(blackScholes({ ...OPTION, strike: 100, rate: 0.05, volatility: 0.2 }) - 10.450584) < 1e-6);
});

test("an Asian call: path for path as in doubles, and cheaper than the European one", () => {
	const option: Option = { ...OPTION, style: "asian", dates: 12, paths: 1024 };
	const key = philoxKey(SEED);
	const word = new Uint32Array(4);
	const words = Array.from({ length: 1024 * 12 }, (_, i) => {
		philoxBlock(key, i, 0, 0, 0x7072_6963, word, 0);
		return word[0]!;
	});
	const z = deviates(words);
	let sum = 0;
	for (let path = 0; path < 1024; path++) {
		let [log, mean] = [0, 0];
		for (let date = 0; date < 12; date++) {
			log += (0.03 - 0.25 ** 2 / 2) / 12 + 0.25 * Math.sqrt(1 / 12) * z[path * 12 + date]!;
			mean += (100 * Math.exp(log)) / 12;
		}
		sum += Math.max(0, mean - 105);
	}
	const found = price(option, 1);
	assert.ok(Math.abs(found.price / ((sum / 1024) * Math.exp(-0.03)) - 1) < 1e-5, `${found.price}`);
	assert.ok(found.price + 3 * found.error < blackScholes(OPTION));
	assert.equal(found.summary.blackScholes, undefined);
});

test("four times the paths halve the error", () => {
	const [few, many] = [price({ ...OPTION, paths: 1024 }, 2), price({ ...OPTION, paths: 1024 }, 8)];
	assert.ok(Math.abs(few.error / many.error - 2) < 0.3);
});

// The table of rates is what its formula says for every step, also where no power is taken any more.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildProgram } from "../builder/build-program.ts";
import { type Optimizer, Parameters } from "./optimizer.ts";

const ROWS = 24;
const GRADIENT_SCALE = 20;

function ratesOf(by: Optimizer, steps: number): Int32Array {
	const b = buildProgram();
	const given: Record<string, Int32Array> = {};
	new Parameters({ b, s: b.step, given, rows: ROWS, gradientScale: GRADIENT_SCALE } as never, by, { steps, k: 1 });
	return given.rates!;
}

test("AdamW: rate with its bias correction, decay and epsilon, to the last bit, where beta^t has vanished too", () => {
	const by = { kind: "adamw", rate: 0.003, warmup: 5, floor: 0.1, beta1: 0.9, beta2: 0.999, decay: 0.01 } as const;
	const steps = 60_000;
	const found = ratesOf(by, steps);
	assert.equal(found.length, 3 * steps);
	for (let t = 0; t < steps; t += t < 400 || (t > 37_000 && t < 37_900) ? 1 : 997) {
		const done = (t - by.warmup) / (steps - 1 - by.warmup);
		const cosine = by.floor + (1 - by.floor) * 0.5 * (1 + Math.cos(Math.PI * done));
		const rate = t < by.warmup ? (by.rate * (t + 1)) / by.warmup : by.rate * cosine;
		const second = Math.sqrt(1 - by.beta2 ** (t + 1));
		const epsilon = 1e-8 * second * (ROWS / 32) * 2 ** GRADIENT_SCALE + 0.5;
		const row = [
			(rate * second * 2 ** 34) / (1 - by.beta1 ** (t + 1)),
			rate * by.decay * 2 ** 34,
			Math.max(1, epsilon),
		];
		assert.deepEqual(
			[...found.subarray(3 * t, 3 * t + 3)],
			row.map((one) => Math.round(one)),
			`step ${t}`,
		);
	}
});

test("SGD: one rate a step", () => {
	const found = ratesOf({ kind: "sgd", rate: 0.05, warmup: 2, floor: 1 }, 4);
	const whole = (0.05 * 2 ** 24) / (ROWS / 32);
	assert.deepEqual([...found], [whole / 2, whole, whole, whole].map(Math.round));
});

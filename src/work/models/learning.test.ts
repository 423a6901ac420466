// Models learn: the loss falls, and the state after some steps is the one that every machine must reach.
// Optimisers move weights as their formulas in floats do.
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn } from "../builder/samples.test-kit.ts";
import { exactMlpProgram } from "./exact-mlp.ts";
import { floatMlp, type Weights } from "./float-twin.test-kit.ts";
import { gptProgram } from "./gpt.ts";
import { mlpProgram } from "./mlp.ts";
import type { Optimizer } from "./optimizer.ts";
import type { OrderedSchedule } from "./order.ts";
import { SEED, Trial } from "./training.test-kit.ts";

const ADAMW = { kind: "adamw", rate: 0.02, warmup: 2, floor: 0.1, beta1: 0.9, beta2: 0.99, decay: 0.1 } as const;
const mean = (all: readonly number[]) => all.reduce((a, v) => a + v, 0) / all.length;

test("a tiny GPT learns a text, and ends where it must", () => {
	const shape = { layers: 1, width: 16, heads: 2, context: 8, vocabulary: 128 };
	const text = "the quick brown fox jumps over the lazy dog; ".repeat(8);
	const tokens = Int16Array.from(new TextEncoder().encode(text));
	const trial = new Trial(gptProgram(shape, { batch: 4, steps: 10, k: 2, seed: SEED }, ADAMW, tokens));
	const losses = trial.losses(5).map((loss) => loss / 2 ** 16 / 32);
	assert.ok(Math.abs(losses[0]! - Math.log(128)) < 0.2, `begins at ${losses[0]}`);
	assert.ok(losses.at(-1)! < 0.85 * losses[0]!, losses.join(" "));
	assert.equal(trial.stateHash(), "49aebb421adf685e25463a157e07bcdcba8c087c274db3a2f653564b7572f36b");
});

/** Classes by the sign of two features. */
function corners(rows: number, inputs: number) {
	const features = drawn("i16", [rows, inputs], -4096, 4096, 4) as Int16Array;
	const labels = Int16Array.from({ length: rows }, (_, i) =>
		features[i * inputs]! > 0 ? (features[i * inputs + 1]! > 0 ? 0 : 1) : 2,
	);
	return { features, labels };
}

test("an MLP learns by exact SGD in the order cube, and ends where it must", () => {
	const schedule = { batch: 16, steps: 60, k: 4, seed: SEED, order: "cube" } as const;
	const trial = new Trial(exactMlpProgram([8, 16, 4], schedule, 7, corners(64, 8)));
	const losses = trial.losses(15);
	assert.ok(mean(losses.slice(-4)) < 0.5 * mean(losses.slice(0, 2)), losses.join(" "));
	assert.equal(trial.stateHash(), "aa2672ab664c4b398af5ca41e8b2c325d53a3e60402f07a3a0418c820a38532d");
});

test("weights of 64 bits are those of 32, as long as nothing leaves its range", () => {
	const schedule = { batch: 16, steps: 8, k: 4, seed: SEED, order: "cube" } as const;
	const [narrow, wide] = ([32, 64] as const).map(
		(bits) => new Trial(exactMlpProgram([8, 16, 4], schedule, 7, corners(64, 8), bits)),
	) as [Trial, Trial];
	assert.deepEqual(narrow.losses(2), wide.losses(2));
	for (const name of ["layer0.weight", "layer1.weight"]) {
		assert.ok(wide.tensor(name) instanceof BigInt64Array);
		assert.deepEqual([...wide.tensor(name)], [...narrow.tensor(name)].map(BigInt));
	}
});

test("exact SGD rounds no weight: every change is the product itself", () => {
	const schedule = { batch: 16, steps: 4, k: 1, seed: SEED, order: "affine" } as const;
	const { program, given } = exactMlpProgram([8, 16, 4], schedule, 7, corners(64, 8));
	const trial = new Trial({ program, given });
	const before = trial.tensor("layer1.weight").slice() as Int32Array;
	const products: (Int32Array | BigInt64Array)[] = [];
	trial.machine.runSegment(({ op, output }) => {
		if (op.operator === "matmul" && output.length === 64) products.push(output as Int32Array);
	});
	const sums = products.at(-1)!;
	assert.deepEqual(
		[...trial.tensor("layer1.weight")],
		[...before].map((w, i) => w - Number(sums[i])),
	);
});

const SIZES = [8, 6, 3];
const SCHEDULE: OrderedSchedule = { batch: 8, steps: 12, k: 1, seed: SEED, order: "affine" };

/** Twelve steps in floats: slopes by moving each weight, then the formula. */
function floatRun(by: Optimizer, start: Weights, batches: readonly (readonly [Float64Array, number[]])[]): Weights {
	const weights: Record<string, Float64Array> = Object.fromEntries(
		Object.entries(start).map(([name, w]) => [name, w.slice()]),
	);
	const kept = new Map<string, { m: number; v: number }>();
	for (const [t, [x, labels]] of batches.entries()) {
		const moves: (() => void)[] = [];
		const rate =
			t < by.warmup
				? (by.rate * (t + 1)) / by.warmup
				: by.rate * (by.floor + (1 - by.floor) * 0.5 * (1 + Math.cos((Math.PI * (t - by.warmup)) / (11 - by.warmup))));
		for (const [name, w] of Object.entries(weights))
			for (let i = 0; i < w.length; i++) {
				const old = w[i]!;
				const at = (value: number) => {
					w[i] = value;
					return floatMlp(SIZES, weights, x, labels);
				};
				const g = (at(old + 1e-5) - at(old - 1e-5)) / 2e-5;
				w[i] = old;
				const { m, v } = kept.get(`${name} ${i}`) ?? { m: 0, v: 0 };
				let [m1, v1, next] = [g, 0, old - rate * g];
				if (by.kind === "momentum") {
					m1 = by.momentum * m + g;
					next = old - rate * m1;
				} else if (by.kind === "adamw") {
					m1 = by.beta1 * m + (1 - by.beta1) * g;
					v1 = by.beta2 * v + (1 - by.beta2) * g * g;
					const [c1, c2] = [1 - by.beta1 ** (t + 1), 1 - by.beta2 ** (t + 1)];
					next = old - (rate * (m1 / c1)) / (Math.sqrt(v1 / c2) + 1e-8);
					if (name.endsWith("weight")) next -= rate * by.decay * old;
				}
				kept.set(`${name} ${i}`, { m: m1, v: v1 });
				moves.push(() => {
					w[i] = next;
				});
			}
		for (const move of moves) move();
	}
	return weights;
}

for (const by of [
	{ kind: "sgd", rate: 0.3, warmup: 3, floor: 0.2 },
	{ kind: "momentum", rate: 0.1, warmup: 0, floor: 0.5, momentum: 0.9 },
	ADAMW,
] as const)
	test(`${by.kind} moves weights as in floats`, () => {
		const { parameters, ...model } = mlpProgram(SIZES, SCHEDULE, by, corners(40, 8));
		const trial = new Trial(model);
		const names = parameters.map(({ name }) => name);
		const weights = () => Object.fromEntries(names.map((name) => [name, trial.floats(name, 2 ** 24)]));
		const start = weights();
		const batches: [Float64Array, number[]][] = [];
		for (let t = 0; t < SCHEDULE.steps; t++) {
			const outputs: number[][] = [];
			trial.machine.runSegment(({ number, output }) => {
				if (number < 3) outputs.push(Array.from(output, Number));
			});
			batches.push([Float64Array.from(outputs[1]!, (v) => v / 2 ** 11), outputs[2]!]);
		}
		const wanted = floatRun(by, start, batches);
		for (const [name, found] of Object.entries(weights())) {
			const way = Math.hypot(...found.map((w, i) => w - start[name]![i]!));
			const off = Math.hypot(...found.map((w, i) => w - wanted[name]![i]!));
			assert.ok(way > 0.01, `${name} moves`);
			assert.ok(off < 0.01 * way, `${name}: ${off} off on a way of ${way}`);
		}
	});

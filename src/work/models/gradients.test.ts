// Every gradient of every model is the slope of the loss of its twin in floats: forwards and backwards are
// right, whatever the numbers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn, numbersFrom } from "../builder/samples.test-kit.ts";
import type { Elements } from "../operators/tensor-type.ts";
import { floatGpt, floatMlp, type Weights } from "./float-twin.test-kit.ts";
import { gptProgram } from "./gpt.ts";
import { mlpProgram } from "./mlp.ts";
import { SEED, Trial } from "./training.test-kit.ts";

/** m is then the gradient, at 2^(scale − 4) times rows/2^⌈log2 rows⌉, and weights stand still. */
const STILL = { kind: "momentum", rate: 1e-9, warmup: 0, floor: 1, momentum: 0 } as const;

/** Weights that are not those of the start: larger, and gains and biases that differ. */
function stir(trial: Trial, names: readonly string[], factor: number): void {
	const draw = numbersFrom(5);
	for (const name of names) {
		const isVector = /vectors|bias/.test(name);
		const old = trial.tensor(name) as Int32Array;
		trial.set(
			name,
			old.map((value) => (isVector ? value + draw(2 ** 22) - 2 ** 21 : value * factor)),
		);
	}
}

type Outputs = readonly Elements[];

/**
 * Slopes of `loss` along a drawn direction, for each weight: the float's, and the program's. The loss is told
 * what the step's ops gave.
 */
function slopes(
	trial: Trial,
	names: readonly string[],
	{ rows, scale: kept }: { readonly rows: number; readonly scale: number },
	loss: (weights: Weights, outputs: Outputs) => number,
) {
	const weights: Record<string, Float64Array> = {};
	for (const name of names) weights[name] = trial.floats(name, 2 ** 24);
	const outputs: Elements[] = [];
	trial.machine.runSegment(({ output }) => outputs.push(output));
	const found = Number(trial.tensor("loss")[0]!) / 2 ** 16 / rows;
	const wanted = loss(weights, outputs);
	assert.ok(Math.abs(found - wanted) < 2e-4 * wanted, `loss ${found} where the float has ${wanted}`);
	const draw = numbersFrom(11);
	const scale = 2 ** (kept - 4) * (rows / 2 ** Math.ceil(Math.log2(rows)));
	return names.map((name) => {
		const w = weights[name]!;
		const direction = w.map(() => draw(1001) / 500 - 1);
		const moved = (by: number) =>
			loss({ ...weights, [name]: w.map((value, i) => value + by * direction[i]!) }, outputs);
		const gradient = trial.floats(`${name}.m`, scale);
		return {
			name,
			wanted: (moved(1e-5) - moved(-1e-5)) / 2e-5,
			found: gradient.reduce((sum, g, i) => sum + g * direction[i]!, 0),
			// What a slope along such a direction is like.
			size: Math.hypot(...gradient) / Math.sqrt(3),
		};
	});
}

function agree(all: ReturnType<typeof slopes>): void {
	for (const { name, wanted, found, size } of all) {
		assert.ok(size > 1e-6, `${name} has a gradient`);
		assert.ok(Math.abs(found - wanted) < 0.004 * size, `${name}: ${found} where the float has ${wanted}`);
	}
}

const words = (elements: Elements | undefined) => Array.from(elements!, Number);

for (const [what, vocabulary, layers] of [
	["a small vocabulary", 30, 2],
	["one above 4,096", 4100, 1],
] as const)
	test(`a GPT of ${what}: every gradient`, () => {
		const shape = { layers, width: 16, heads: 2, context: 7, vocabulary };
		const tokens = drawn("i16", [200], 0, vocabulary - 1, 3);
		const { parameters, ...model } = gptProgram(shape, { batch: 3, steps: 4, k: 1, seed: SEED }, STILL, tokens);
		const trial = new Trial(model);
		const names = parameters.map(({ name }) => name);
		stir(trial, names, 5);
		// The step's first ops: samples, their tokens, the tokens that follow.
		agree(
			slopes(trial, names, { rows: 3 * shape.context, scale: 32 }, (weights, [, now, next]) =>
				floatGpt(shape, weights, words(now), words(next)),
			),
		);
	});

test("an MLP: every gradient", () => {
	const sizes = [12, 16, 9, 5];
	const samples = {
		features: drawn("i16", [40, 12], -4000, 4000, 1) as Int16Array,
		labels: drawn("i16", [40], 0, 4, 2) as Int16Array,
	};
	const schedule = { batch: 11, steps: 4, k: 1, seed: SEED, order: "affine" } as const;
	const { parameters, ...model } = mlpProgram(sizes, schedule, STILL, samples);
	const trial = new Trial(model);
	const names = parameters.map(({ name }) => name);
	stir(trial, names, 1);
	agree(
		slopes(trial, names, { rows: 11, scale: 28 }, (weights, [, x, label]) =>
			floatMlp(
				sizes,
				weights,
				Float64Array.from(words(x), (v) => v / 2 ** 11),
				words(label),
			),
		),
	);
});

test("a gradient that is off by one part in a hundred is seen", () => {
	const row = { name: "w", wanted: 1, found: 1.01, size: 1 };
	assert.throws(() => agree([row]));
	agree([{ ...row, found: 1.001 }]);
});

// The network's gradients are those of its twin in floats, for windows of every kind; it learns as its twin
// does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn, numbersFrom } from "../../builder/samples.test-kit.ts";
import { sealProgram } from "../../program/open-program.ts";
import { generatedImages } from "../../workloads/train/generated-data.ts";
import type { Weights } from "../float-twin.test-kit.ts";
import { SEED, Trial } from "../training.test-kit.ts";
import { cnnProgram } from "./cnn.ts";
import { floatCnn, floatLogits } from "./float-cnn.test-kit.ts";
import type { Layer, Picture, Stage, Window } from "./layers.ts";
import { stagesOf } from "./layers.ts";

/** m is then the gradient, and weights stand still. */
const STILL = { kind: "momentum", rate: 1e-9, warmup: 0, floor: 1, momentum: 0 } as const;

const square = (size: number, stride = 1, pad = 0): Window => ({
	size: [size, size],
	stride: [stride, stride],
	pads: [pad, pad, pad, pad],
});
const conv = (outputs: number, window: Window, isRelu = true): Layer => ({ kind: "conv", outputs, window, isRelu });
const pool = (of: "max" | "average", window: Window, isRelu = false): Layer => ({
	kind: "pool",
	pool: of,
	window,
	isRelu,
});
const dense = (outputs: number, isRelu = false): Layer => ({ kind: "dense", outputs, isRelu });
const whole = (input: Picture, layers: readonly Layer[]): readonly Stage[] => {
	const stages = stagesOf(input, layers);
	assert.ok(typeof stages !== "number", `layer ${stages} does not fit`);
	return stages;
};

const NETS: Readonly<Record<string, readonly [Picture, readonly Layer[]]>> = {
	"convolutions, a max pool, a dense layer": [
		{ channels: 3, height: 8, width: 8 },
		[conv(4, square(3, 1, 1)), pool("max", square(2, 2)), conv(5, square(3, 1, 1)), dense(3)],
	],
	"strides, a kernel of five, windows that overlap, and an average": [
		{ channels: 2, height: 11, width: 9 },
		[
			conv(4, square(5, 2, 2)),
			pool("max", square(3, 2)),
			conv(6, { size: [2, 1], stride: [1, 2], pads: [0, 0, 1, 0] }),
			pool("average", { size: [2, 1], stride: [2, 1], pads: [0, 0, 0, 0] }),
			dense(4),
		],
	],
	"a kernel of seven, an average with pads, relu after a pool, dense layers": [
		{ channels: 1, height: 9, width: 9 },
		[
			conv(3, square(7, 1, 3), false),
			pool("average", { ...square(3, 2), pads: [1, 1, 0, 0] }, true),
			dense(6, true),
			dense(3),
		],
	],
};

/** Pictures of a batch as floats, channels first, and their labels, from what the step's first ops gave. */
function batchOf(trial: Trial, { channels, height, width }: Picture) {
	const outputs: (readonly number[])[] = [];
	trial.machine.runSegment(({ number, output }) => {
		if (number < 3) outputs.push(Array.from(output, Number));
	});
	const [, x, labels] = outputs as [number[], number[], number[]];
	const places = height * width;
	const pixels = new Float64Array(x.length);
	for (let i = 0; i < x.length; i++) {
		const [c, place, b] = [i % channels, Math.floor(i / channels) % places, Math.floor(i / channels / places)];
		pixels[(b * channels + c) * places + place] = x[i]! / 2 ** 11;
	}
	return { pixels, labels };
}

function imagesFor(stages: readonly Stage[], count: number, type: "i8" | "i16") {
	const { channels, height, width } = stages[0]!.from;
	const most = type === "i8" ? 127 : 4000;
	const classes = stages.at(-1)!.to.channels;
	return {
		pixels: drawn(type, [count, channels, height, width], -most, most, 1) as Int8Array | Int16Array,
		labels: drawn("i16", [count], 0, classes - 1, 2) as Int16Array,
	};
}

const weightsOf = (trial: Trial, names: readonly string[]): Weights =>
	Object.fromEntries(names.map((name) => [name, trial.floats(name, 2 ** 24)]));

for (const [what, [input, layers]] of Object.entries(NETS))
	test(`${what}: every gradient`, () => {
		const stages = whole(input, layers);
		const batch = 5;
		const schedule = { batch, steps: 4, k: 1, seed: SEED, order: "affine" } as const;
		const type = input.channels === 3 ? "i8" : "i16";
		const { parameters, ...model } = cnnProgram(stages, schedule, STILL, imagesFor(stages, 12, type));
		const trial = new Trial(model);
		const names = parameters.map(({ name }) => name);
		const draw = numbersFrom(5);
		for (const name of names.filter((one) => one.endsWith("bias")))
			trial.set(
				name,
				(trial.tensor(name) as Int32Array).map(() => draw(2 ** 23) - 2 ** 22),
			);
		const weights = weightsOf(trial, names);
		const { pixels, labels } = batchOf(trial, input);
		const twin = floatCnn(stages, weights, pixels, labels);
		const found = Number(trial.tensor("loss")[0]!) / 2 ** 16 / batch;
		assert.ok(Math.abs(found - twin.loss) < 2e-4 * twin.loss, `loss ${found} where the float has ${twin.loss}`);
		assert.equal(Number(trial.tensor("accuracy")[0]), twin.right);
		for (const name of names) {
			const own = trial.floats(`${name}.m`, 2 ** 24 * (batch / 8));
			const wanted = twin.gradients[name]!;
			const size = Math.hypot(...wanted);
			const off = Math.hypot(...own.map((g, i) => g - wanted[i]!));
			assert.ok(size > 1e-4, `${name} has a gradient`);
			assert.ok(off < 0.004 * size, `${name}: off by ${off} of ${size}`);
		}
	});

test("large windows, with strides and without: no map of theirs is longer than maps may be", () => {
	for (const size of [
		[5, 5],
		[1, 25],
		[9, 9],
	] as const)
		for (const stride of [1, 2]) {
			const window: Window = { size, stride: [stride, stride], pads: [0, 0, 0, 0] };
			for (const layer of [conv(2, window), pool("max", window), pool("average", window)]) {
				const stages = whole({ channels: 2, height: 26, width: 26 }, [conv(2, square(1, 1)), layer, dense(3)]);
				const schedule = { batch: 2, steps: 4, k: 1, seed: SEED, order: "affine" } as const;
				const { program } = cnnProgram(stages, schedule, STILL, imagesFor(stages, 4, "i8"));
				const opened = sealProgram(program);
				assert.ok(opened.ok, `${JSON.stringify(layer)}: ${opened.ok ? "" : opened.fault.message}`);
			}
		}
});

test("the twin's gradients are slopes of its loss", () => {
	const [input, layers] = NETS["strides, a kernel of five, windows that overlap, and an average"]!;
	const stages = whole(input, layers);
	const draw = numbersFrom(3);
	const drawnFloats = (count: number) => Float64Array.from({ length: count }, () => draw(2001) / 2000 - 0.5);
	const { parameters, program } = cnnProgram(
		stages,
		{ batch: 2, steps: 1, k: 1, seed: SEED, order: "affine" },
		STILL,
		imagesFor(stages, 4, "i8"),
	);
	assert.ok(program.step.length > 0);
	const weights = Object.fromEntries(
		parameters.map(({ name, w }) => [name, drawnFloats(w.dims.reduce((a, b) => a * b, 1))]),
	);
	const [pixels, labels] = [drawnFloats(2 * 2 * 99), [1, 3]];
	const { gradients } = floatCnn(stages, weights, pixels, labels);
	for (const [name, w] of Object.entries(weights)) {
		const direction = drawnFloats(w.length);
		const loss = (by: number) =>
			floatCnn(stages, { ...weights, [name]: w.map((v, i) => v + by * direction[i]!) }, pixels, labels).loss;
		const slope = (loss(1e-6) - loss(-1e-6)) / 2e-6;
		const found = gradients[name]!.reduce((sum, g, i) => sum + g * direction[i]!, 0);
		assert.ok(Math.abs(slope - found) < 1e-5 * Math.hypot(...gradients[name]!), `${name}: ${found}, slope ${slope}`);
	}
});

const RATE = 0.05;

/** AdamW without decay, in floats: gradients by the twin. */
function floatSteps(stages: readonly Stage[], start: Weights, batches: readonly ReturnType<typeof batchOf>[]): Weights {
	const weights = Object.fromEntries(Object.entries(start).map(([name, w]) => [name, w.slice()]));
	const moments = Object.fromEntries(
		Object.entries(start).map(([name, w]) => [name, { m: new Float64Array(w.length), v: new Float64Array(w.length) }]),
	);
	for (const [t, { pixels, labels }] of batches.entries()) {
		const { gradients } = floatCnn(stages, weights, pixels, labels);
		for (const [name, w] of Object.entries(weights)) {
			const { m, v } = moments[name]!;
			for (let i = 0; i < w.length; i++) {
				const g = gradients[name]![i]!;
				m[i] = 0.9 * m[i]! + 0.1 * g;
				v[i] = 0.99 * v[i]! + 0.01 * g * g;
				const [first, second] = [m[i]! / (1 - 0.9 ** (t + 1)), v[i]! / (1 - 0.99 ** (t + 1))];
				w[i] = w[i]! - (RATE * first) / (Math.sqrt(second) + 1e-8);
			}
		}
	}
	return weights;
}

test("it learns as its twin: accuracy on other pictures within one point, and it ends where it must", () => {
	const picture = { channels: 1, height: 8, width: 8 };
	const stages = whole(picture, [conv(6, square(3, 1, 1)), pool("max", square(2, 2)), dense(4)]);
	const { pixels, labels } = generatedImages(SEED, 900, picture, 4);
	const seen = { pixels: pixels.subarray(0, 400 * 64), labels: labels.subarray(0, 400) };
	const steps = 24;
	const schedule = { batch: 16, steps, k: 1, seed: SEED, order: "affine" } as const;
	const by = { kind: "adamw", rate: RATE, warmup: 0, floor: 1, beta1: 0.9, beta2: 0.99, decay: 0 } as const;
	const { parameters, ...model } = cnnProgram(stages, schedule, by, seen);
	const trial = new Trial(model);
	const names = parameters.map(({ name }) => name);
	const start = weightsOf(trial, names);
	const batches = Array.from({ length: steps }, () => batchOf(trial, picture));
	const others = Float64Array.from(pixels.subarray(400 * 64), (pixel) => pixel / 128);
	const accuracy = (weights: Weights) => {
		const isRight = (n: number) => {
			const logits = floatLogits(stages, weights, others.subarray(64 * n, 64 * n + 64));
			return logits.indexOf(Math.max(...logits)) === labels[400 + n];
		};
		return Array.from({ length: 500 }, (_, n) => n).filter(isRight).length / 500;
	};
	const [before, after] = [accuracy(start), accuracy(weightsOf(trial, names))];
	const twin = accuracy(floatSteps(stages, start, batches));
	assert.ok(before < 0.4 && after > 0.6, `from ${before} to ${after}`);
	assert.ok(Math.abs(after - twin) <= 0.01, `${after} where the float has ${twin}`);
	assert.equal(trial.stateHash(), "ec1356acde255bbbe3f622490c071a9e69eb1a2f9de71775225795689645533e");
});

// A network whose weights stand still: logits as those of its twin in floats, whatever the sizes of weights
// and activations, and the same ones in any batch.
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn, numbersFrom } from "../../builder/samples.test-kit.ts";
import { orThrow } from "../../program/fault.ts";
import { sealProgram } from "../../program/open-program.ts";
import { createMachine } from "../../program/run-program.ts";
import { SEED } from "../training.test-kit.ts";
import { classifierProgram } from "./classifier.ts";
import { floatLogits } from "./float-cnn.test-kit.ts";
import { type Layer, type Network, type Picture, type Stage, sizeOf, stagesOf, weightDims } from "./layers.ts";

const INPUT: Picture = { channels: 2, height: 6, width: 5 };
const LAYERS: readonly Layer[] = [
	{ kind: "conv", outputs: 5, window: { size: [3, 3], stride: [1, 1], pads: [1, 1, 1, 1] }, isRelu: true },
	{ kind: "pool", pool: "max", window: { size: [3, 3], stride: [2, 2], pads: [1, 1, 1, 1] }, isRelu: false },
	{ kind: "conv", outputs: 4, window: { size: [2, 2], stride: [1, 1], pads: [0, 0, 0, 0] }, isRelu: false },
	{ kind: "pool", pool: "average", window: { size: [2, 2], stride: [1, 1], pads: [0, 0, 1, 1] }, isRelu: true },
	{ kind: "dense", outputs: 3, isRelu: false },
];

/** Weights whose sizes differ by row and, by `factor`, from layer to layer. */
function network(factor: number): Network {
	const draw = numbersFrom(4);
	const stages = stagesOf(INPUT, LAYERS) as readonly Stage[];
	const weights = stages.map((stage, i) => {
		const dims = weightDims(stage);
		if (dims === null) return null;
		const inputs = dims.slice(1).reduce((a, b) => a * b, 1);
		const size = i === 0 ? factor : 1;
		const one = (row: number) => ((draw(2001) - 1000) / 1000) * size * 4 ** (row % 3);
		return {
			weight: Float32Array.from({ length: dims[0]! * inputs }, (_, n) => one(Math.floor(n / inputs))),
			bias: Float32Array.from({ length: dims[0]! }, (_, n) => one(n)),
		};
	});
	return { stages, weights };
}

const COUNT = 5;
const PIXELS = drawn("i8", [COUNT, 2, 6, 5], -128, 127, 8) as Int8Array;

function run(of: Network, batch: number, labels: Int16Array | null) {
	const { program, given, segments } = classifierProgram(of, batch, { pixels: PIXELS, labels });
	const machine = createMachine(orThrow(sealProgram(program)), SEED, given);
	const tensor = (name: string) => machine.tensors[program.tensors.findIndex((one) => one.name === name)];
	let right = 0;
	machine.runSegment();
	for (let n = 0; n < segments; n++) {
		machine.runSegment();
		if (labels !== null) right += Number(tensor("right")![0]);
	}
	return { logits: Array.from(tensor("logits") as BigInt64Array, (value) => Number(value) / 2 ** 24), right };
}

function twin({ stages, weights }: Network): number[][] {
	const named = Object.fromEntries(
		weights.flatMap((own, i) =>
			own === null
				? []
				: [
						[`layer${i}.weight`, Float64Array.from(own.weight)] as const,
						[`layer${i}.bias`, Float64Array.from(own.bias)] as const,
					],
		),
	);
	const size = sizeOf(INPUT);
	return Array.from({ length: COUNT }, (_, n) => [
		...floatLogits(
			stages,
			named,
			Float64Array.from(PIXELS.subarray(n * size, (n + 1) * size), (p) => p / 128),
		),
	]);
}

for (const factor of [0, 1e-3, 1, 100])
	test(`logits with first weights of about ${factor}`, () => {
		const of = network(factor);
		const wanted = twin(of);
		// Labels that are all right: pictures that fill the last batch would be counted twice.
		const labels = Int16Array.from(wanted, (row) => row.indexOf(Math.max(...row)));
		const { logits, right } = run(of, 2, labels);
		const size = Math.hypot(...wanted.flat());
		const off = Math.hypot(...wanted.flat().map((value, i) => value - logits[i]!));
		assert.ok(off <= 1e-4 * size, `off by ${off} of ${size}`);
		assert.equal(right, COUNT);
		assert.equal(
			run(
				of,
				2,
				labels.map((label, n) => (n === 1 ? (label + 1) % 3 : label)),
			).right,
			COUNT - 1,
		);
	});

test("a picture's logits do not depend on its batch", () => {
	const of = network(1);
	const { logits } = run(of, 1, null);
	for (const batch of [2, 3, 5]) assert.deepEqual(run(of, batch, null).logits, logits);
});

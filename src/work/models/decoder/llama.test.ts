// A Llama-like model from new weights: every gradient is that of its twin in floats; it learns, and ends
// where it must.
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn, numbersFrom } from "../../builder/samples.test-kit.ts";
import type { ImportedModel } from "../../imports/architecture.ts";
import { TINY } from "../../imports/tiny-models.ts";
import { elementCount } from "../../operators/tensor-type.ts";
import { SEED, Trial } from "../training.test-kit.ts";
import { floatLora } from "./float-decoder.test-kit.ts";
import { llamaProgram } from "./llama.ts";

const STILL = { kind: "momentum", rate: 1e-9, warmup: 0, floor: 1, momentum: 0 } as const;
const SIZE = { layers: 2, width: 16, heads: 4, kvHeads: 2, headWidth: 4, hidden: 24, vocabulary: 40, context: 7 };

for (const isTied of [true, false])
	test(`every gradient of a Llama whose head is ${isTied ? "its embedding" : "its own"}`, () => {
		const architecture = { ...TINY.llama, ...SIZE, isTied };
		const schedule = { batch: 3, steps: 4, k: 1, seed: SEED };
		const { places, parameters, ...made } = llamaProgram(architecture, schedule, STILL, drawn("i16", [200], 0, 39, 3));
		const trial = new Trial(made);
		// Larger than at the start, and gains that differ.
		const draw = numbersFrom(5);
		for (const { name } of parameters) {
			const isGain = /norm\.weight$/i.test(name);
			const old = trial.tensor(name) as Int32Array;
			trial.set(
				name,
				old.map((value) => (isGain ? value + draw(2 ** 22) - 2 ** 21 : value * 8)),
			);
		}
		const held = new Map(
			places.map(({ name, tensor, first, dims }) => {
				const values = trial.floats(tensor, 2 ** 24).subarray(first, first + elementCount(dims));
				return [name, { dims, values: Float32Array.from(values) }];
			}),
		);
		const model: ImportedModel = {
			architecture,
			tensor: (name) => held.get(name === "head.weight" && isTied ? "embed.tokens" : name)!,
		};
		const outputs: number[][] = [];
		trial.machine.runSegment(({ number, output }) => {
			if (number < 3) outputs.push(Array.from(output, Number));
		});
		const twin = { model, rank: 1, alpha: 1, context: SIZE.context, adapters: {} };
		const wanted = floatLora(twin, outputs[1]!, outputs[2]!);
		const loss = Number(trial.tensor("loss")[0]!) / 2 ** 16 / 21;
		assert.ok(Math.abs(loss - wanted.loss) < 2e-4 * wanted.loss, `loss ${loss} where the float has ${wanted.loss}`);
		for (const { name, tensor, first, dims } of places) {
			const found = trial.floats(`${tensor}.m`, (2 ** 28 * 21) / 32).subarray(first, first + elementCount(dims));
			const float = wanted.gradients[name]!;
			const size = Math.hypot(...float);
			const off = Math.hypot(...found.map((g, i) => g - float[i]!)) / size;
			assert.ok(size > 1e-5 && off < 0.004, `${name}: ${size}, off by ${off}`);
		}
	});

test("a tiny Llama learns a text, and ends where it must", () => {
	const architecture = { ...TINY.llama, ...SIZE, layers: 1, vocabulary: 128, context: 8 };
	const text = "the quick brown fox jumps over the lazy dog; ".repeat(8);
	const tokens = Int16Array.from(new TextEncoder().encode(text));
	const by = { kind: "adamw", rate: 0.02, warmup: 2, floor: 0.1, beta1: 0.9, beta2: 0.99, decay: 0.1 } as const;
	const trial = new Trial(llamaProgram(architecture, { batch: 4, steps: 10, k: 2, seed: SEED }, by, tokens));
	const losses = trial.losses(5).map((loss) => loss / 2 ** 16 / 32);
	assert.ok(Math.abs(losses[0]! - Math.log(128)) < 0.3, `begins at ${losses[0]}`);
	assert.ok(losses.at(-1)! < 0.85 * losses[0]!, losses.join(" "));
	assert.equal(trial.stateHash(), "f806a51be6b86b6b9e539e062bf386b276cd50b9d67e6149ef6f572a3df1909b");
});

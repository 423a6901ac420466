// LoRA of a small generated model, as a sample to run: all its targets, three steps.
import { drawn, type Sample } from "../../builder/samples.test-kit.ts";
import type { Architecture } from "../../imports/architecture.ts";
import { randomModel } from "../../imports/random-model.ts";
import { TINY } from "../../imports/tiny-models.ts";
import { SEED } from "../training.test-kit.ts";
import { layersOf } from "./block.ts";
import { loraProgram } from "./lora.ts";

const SIZE = { layers: 1, width: 16, heads: 4, headWidth: 4, hidden: 24, vocabulary: 40, context: 8 };

export function loraSample(family: "llama" | "qwen2" | "gpt2"): Sample {
	const architecture: Architecture = { ...TINY[family], ...SIZE, kvHeads: family === "gpt2" ? 4 : 2 };
	const targets = layersOf(architecture).map(({ target }) => target);
	const { program, given } = loraProgram(
		{
			model: randomModel(architecture, SEED),
			lora: { rank: 2, alpha: 3, targets, start: null },
			context: 6,
			bits: 16,
			residual: 16,
		},
		{ batch: 2, steps: 3, k: 1, seed: SEED },
		{ kind: "adamw", rate: 0.01, warmup: 0, floor: 1, beta1: 0.9, beta2: 0.999, decay: 0.01 },
		drawn("i16", [60], 0, SIZE.vocabulary - 1, 3),
	);
	return { program, given };
}

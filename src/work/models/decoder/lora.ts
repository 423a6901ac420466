// Fine-tuning of an imported decoder by LoRA as an exact program: the model's weights are inputs and stand
// still, the state is the adapters and what the optimiser keeps of them. docs/training.md §9 has its numbers.
import type { ImportedModel } from "../../imports/architecture.ts";
import type { Elements } from "../../operators/tensor-type.ts";
import type { Optimizer, TrainedProgram } from "../optimizer.ts";
import type { Schedule } from "../order.ts";
import { type Decoder, decoderProgram } from "./decoder.ts";
import { Frozen } from "./frozen.ts";

/** Gradients of adapters, ±8. */
const GRADIENT_SCALE = 28;

export interface FineTune extends Pick<Decoder, "lora" | "context" | "residual"> {
	readonly model: ImportedModel;
	/** Of the model's matrices. */
	readonly bits: 8 | 16;
}

export function loraProgram(
	{ model, bits, ...of }: FineTune,
	schedule: Schedule,
	by: Optimizer,
	tokens: Elements,
): TrainedProgram {
	const decoder = { ...of, architecture: model.architecture, gradientScale: GRADIENT_SCALE };
	return decoderProgram(decoder, schedule, by, tokens, (net) => new Frozen(net, model, bits));
}

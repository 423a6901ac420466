// A Llama-like model that learns from new weights as an exact program; docs/training.md §10.
import type { Architecture } from "../../imports/architecture.ts";
import type { Elements } from "../../operators/tensor-type.ts";
import type { Optimizer, TrainedProgram } from "../optimizer.ts";
import type { Schedule } from "../order.ts";
import { decoderProgram } from "./decoder.ts";
import { Trained, type TrainedPlace } from "./trained.ts";

/** Gradients of a normed net's weights are small: ±0.5 holds them. */
const GRADIENT_SCALE = 32;
/** The residual stream, ±2,048. */
const RESIDUAL = 20;

export function llamaProgram(
	architecture: Architecture,
	schedule: Schedule,
	by: Optimizer,
	tokens: Elements,
): TrainedProgram & { readonly places: readonly TrainedPlace[]; readonly residual: number } {
	const lora = { rank: 1, alpha: 1, targets: [], start: null };
	const { context } = architecture;
	const decoder = { architecture, lora, context, residual: RESIDUAL, gradientScale: GRADIENT_SCALE };
	let trained: Trained | null = null;
	const made = decoderProgram(decoder, schedule, by, tokens, (net, parameters) => {
		trained = new Trained(net, parameters, architecture);
		return trained;
	});
	return { ...made, places: (trained as Trained | null)!.places, residual: RESIDUAL };
}

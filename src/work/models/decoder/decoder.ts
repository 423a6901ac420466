// A decoder (GPT-2, Llama, Qwen2) that learns, as an exact program in wide numbers; docs/training.md §9. Its
// weights stand still and adapters learn (lora.ts), or they learn themselves (llama.ts).
import { buildProgram } from "../../builder/build-program.ts";
import { at, index, type Value, view } from "../../builder/expression.ts";
import type { Architecture } from "../../imports/architecture.ts";
import type { Elements } from "../../operators/tensor-type.ts";
import { batchTokens } from "../gpt.ts";
import { clampI32, rescale, SCALE } from "../numbers.ts";
import { type Optimizer, Parameters, type TrainedProgram } from "../optimizer.ts";
import type { Schedule } from "../order.ts";
import { crossEntropy, expTables, paddedTo64 } from "../softmax.ts";
import { activations } from "./activation.ts";
import { Block, type LoraSpec, normOf, type Shared } from "./block.ts";
import { type Matrix, scaled, shiftPlus } from "./linear.ts";
import { rope } from "./rope.ts";
import type { Weights } from "./weights.ts";
import { WIDE, type WideNet, type WideRows, watch } from "./wide.ts";

export interface Decoder {
	readonly architecture: Architecture;
	readonly lora: LoraSpec;
	/** Tokens of a window. */
	readonly context: number;
	/** Scale of the residual stream: values stay inside ±2^(31 − residual). */
	readonly residual: number;
	/** Scale of the gradients of parameters. */
	readonly gradientScale: number;
}

/** The first values of the residual stream, [rows, width]. */
function embedded({ net, weights, architecture, batch, context }: Shared, embedding: Matrix, tokens: Value): Value {
	const { width, positions } = architecture;
	const places = positions === "learned" ? weights.table("embed.positions", ["embed.positions"], WIDE, context) : null;
	const x = net.s.map([batch, context, width], (i, t, c) => {
		const token = at(view(tokens, batch, context), i!, t!);
		const own = embedding.element(index(token), c!, net.residual);
		return clampI32(places === null ? own : own.add(rescale(at(places, t!, c!), WIDE, net.residual)));
	});
	return view(x, net.rows, width);
}

/** Loss of the batch, and the gradient of the head's input: i32 [rows, width] at 2^24. */
function headGradient({ net, architecture, exp }: Shared, head: Matrix, y: WideRows, labels: Value) {
	const { s, rows } = net;
	const { vocabulary, width } = architecture;
	const columns = head.rows.dims[0]!;
	const logits = s.matmul(y.rows.q, head.rows);
	const loss = crossEntropy(
		net,
		exp,
		{ classes: vocabulary, columns },
		(r, c) => scaled(head, at(logits, r, c), c).rshv(shiftPlus(head, WIDE - SCALE.exponent).sub(at(y.rows.shifts, r))),
		labels,
	);
	// Multipliers have 16 digits.
	const digits = head.times === null ? 0 : 16;
	const gradient =
		digits === 0
			? loss.gradient
			: s.map([rows, columns], (r, c) => scaled(head, at(loss.gradient, r!, c!), c!).rsh(digits));
	const product = s.matmul(gradient, head.turned());
	const more = loss.scale - digits;
	const { shift } = head;
	const d = s.map([rows, width], (r, c) => {
		const sum = at(product, r!, c!);
		const isFixed = typeof shift === "number";
		return clampI32(isFixed ? rescale(sum, shift + more, SCALE.gradient) : sum.rshv(shift.add(more - SCALE.gradient)));
	});
	return { d, loss };
}

export function decoderProgram(
	{ architecture, lora, context, residual, gradientScale }: Decoder,
	schedule: Schedule,
	by: Optimizer,
	tokens: Elements,
	weightsOf: (net: WideNet, parameters: Parameters) => Weights,
): TrainedProgram {
	const { batch, k } = schedule;
	const b = buildProgram({ k });
	const net: WideNet = {
		b,
		s: b.step,
		given: {},
		rows: batch * context,
		gradientScale,
		residual,
		watched: { residual: [], others: [] },
	};
	const inputs = batchTokens(net, { context, vocabulary: architecture.vocabulary }, schedule, tokens);
	const parameters = new Parameters(net, by, schedule);
	const weights = weightsOf(net, parameters);
	const shared: Shared = {
		net,
		parameters,
		weights,
		lora,
		architecture,
		batch,
		context,
		exp: expTables(net),
		activation: activations(net, architecture.activation),
		rope: architecture.positions === "rope" ? rope(net, architecture.ropeTheta, architecture.headWidth, context) : null,
	};
	const columns = paddedTo64(architecture.vocabulary);
	const embedding = weights.matrix("embed.tokens", ["embed.tokens"], columns);
	const head = architecture.isTied ? embedding : weights.matrix("head.weight", ["head.weight"], columns);
	const blocks = Array.from({ length: architecture.layers }, (_, i) => new Block(shared, i));
	const last = normOf(shared, "norm");
	let x = embedded(shared, embedding, inputs.tokens);
	for (const block of blocks) x = block.forward(x);
	const y = last.forward(x);
	const { d: first, loss } = headGradient(shared, head, y, inputs.labels);
	let d: Value | null = last.backward(first, null);
	for (const block of blocks.toReversed()) d = block.backward(d!, block.number > 0 || weights.end !== null);
	weights.end?.({ tokens: inputs.tokens, d: d!, loss, y });
	watch(net);
	return { program: b.program(), given: net.given, parameters: parameters.all };
}

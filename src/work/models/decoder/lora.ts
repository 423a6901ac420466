// Fine-tuning of an imported decoder (GPT-2, Llama, Qwen2) by LoRA as an exact program: the model's weights are inputs and stand still, the
// state is the adapters and what the optimiser keeps of them. docs/training.md §9 has its numbers.
import { buildProgram } from "../../builder/build-program.ts";
import { at, constant, index, type Value, view } from "../../builder/expression.ts";
import type { ImportedModel } from "../../imports/architecture.ts";
import type { Elements } from "../../operators/tensor-type.ts";
import type { Program } from "../../program/shapes.ts";
import { batchTokens, type Schedule } from "../gpt.ts";
import { clampI32, rescale, SCALE, turned } from "../numbers.ts";
import { type Optimizer, type Parameter, Parameters } from "../optimizer.ts";
import { crossEntropy, expTables, paddedTo64 } from "../softmax.ts";
import { activations } from "./activation.ts";
import { Block, type LoraSpec, normOf, type Shared } from "./block.ts";
import { Frozen } from "./frozen.ts";
import type { Matrix } from "./linear.ts";
import { rope } from "./rope.ts";
import { WIDE, type WideNet, type WideRows, watch } from "./wide.ts";

/** Gradients of adapters, ±8. */
const GRADIENT_SCALE = 28;

export interface FineTune {
	readonly model: ImportedModel;
	readonly lora: LoraSpec;
	/** Tokens of a window. */
	readonly context: number;
	/** Of the model's matrices. */
	readonly bits: 8 | 16;
	/** Scale of the residual stream: values stay inside ±2^(31 − residual). */
	readonly residual: number;
}

export interface LoraProgram {
	readonly program: Program;
	readonly given: Readonly<Record<string, Elements>>;
	readonly parameters: readonly Parameter[];
}

/** The first values of the residual stream, [rows, width]. */
function embedded({ net, frozen, architecture, batch, context }: Shared, embedding: Matrix, tokens: Value): Value {
	const { width, positions } = architecture;
	const places = positions === "learned" ? frozen.table("embed.positions", ["embed.positions"], WIDE, context) : null;
	const x = net.s.map([batch, context, width], (i, t, c) => {
		const token = at(view(tokens, batch, context), i!, t!);
		const own = at(embedding.rows, token, c!).mul(embedding.times(index(token)));
		const scaled = rescale(own, embedding.shift, net.residual);
		return clampI32(places === null ? scaled : scaled.add(rescale(at(places, t!, c!), WIDE, net.residual)));
	});
	return view(x, net.rows, width);
}

/** Loss of the batch, and the gradient of the head's input: i32 [rows, width] at 2^24. */
function headGradient({ net, architecture, exp }: Shared, head: Matrix, y: WideRows, labels: Value): Value {
	const { s, rows } = net;
	const { vocabulary, width } = architecture;
	const columns = head.rows.dims[0]!;
	const logits = s.matmul(y.rows.q, head.rows);
	const loss = crossEntropy(
		net,
		exp,
		{ classes: vocabulary, columns },
		(r, c) =>
			at(logits, r, c)
				.mul(head.times(c))
				.rshv(constant(head.shift + WIDE - SCALE.exponent).sub(at(y.rows.shifts, r))),
		labels,
	);
	// Multipliers have 16 digits.
	const scaled = s.map([rows, columns], (r, c) => at(loss.gradient, r!, c!).mul(head.times(c!)).rsh(16));
	const product = s.matmul(scaled, turned(net, head.rows));
	return s.map([rows, width], (r, c) =>
		clampI32(rescale(at(product, r!, c!), loss.scale + head.shift - 16, SCALE.gradient)),
	);
}

export function loraProgram(of: FineTune, schedule: Schedule, by: Optimizer, tokens: Elements): LoraProgram {
	const { model, lora, context, bits, residual } = of;
	const { architecture } = model;
	const { batch, steps, k } = schedule;
	const b = buildProgram({ k });
	const net: WideNet = {
		b,
		s: b.step,
		given: {},
		rows: batch * context,
		gradientScale: GRADIENT_SCALE,
		residual,
		watched: { residual: [], others: [] },
	};
	const inputs = batchTokens(net, { context, vocabulary: architecture.vocabulary }, schedule, tokens);
	const parameters = new Parameters(net, by, steps, k);
	const frozen = new Frozen(net, model, bits);
	const shared: Shared = {
		net,
		parameters,
		frozen,
		lora,
		architecture,
		batch,
		context,
		exp: expTables(net),
		activation: activations(net, architecture.activation),
		rope: architecture.positions === "rope" ? rope(net, architecture.ropeTheta, architecture.headWidth, context) : null,
	};
	const columns = paddedTo64(architecture.vocabulary);
	const embedding = frozen.matrix("embed.tokens", ["embed.tokens"], columns);
	const head = architecture.isTied ? embedding : frozen.matrix("head.weight", ["head.weight"], columns);
	const blocks = Array.from({ length: architecture.layers }, (_, i) => new Block(shared, i));
	const last = normOf(shared, "norm");
	let x = embedded(shared, embedding, inputs.tokens);
	for (const block of blocks) x = block.forward(x);
	let d: Value | null = last.backward(headGradient(shared, head, last.forward(x), inputs.labels), null);
	for (const block of blocks.toReversed()) d = block.backward(d!, block.number > 0);
	watch(net);
	return { program: b.program(), given: net.given, parameters: parameters.all };
}

// A model like GPT-2 that learns: learned positions, pre-norm blocks of causal attention and a GELU layer of
// four times the width, biases, a final norm, and the token embeddings once more as the head.
// docs/training.md has its numbers.
import { buildProgram } from "../builder/build-program.ts";
import { at, type Expression, type Index, repeat, turn, type Value, view } from "../builder/expression.ts";
import type { Elements } from "../operators/tensor-type.ts";
import type { WorkloadWeight } from "../workloads/weights-file.ts";
import { type GeluTables, gelu, geluBackward, geluTables } from "./activation.ts";
import { Attention } from "./attention.ts";
import { type Activation, activationOf, Linear, PRODUCT } from "./linear.ts";
import { Norm } from "./norm.ts";
import { clampI16, clampI32, type Net, rescale, SCALE, turned } from "./numbers.ts";
import { copiesOf, type Optimizer, type Parameter, Parameters, type TrainedProgram } from "./optimizer.ts";
import { batchOf, type Schedule } from "./order.ts";
import { crossEntropy, type ExpTables, expTables, paddedTo64 } from "./softmax.ts";

export interface GptShape {
	readonly layers: number;
	readonly width: number;
	readonly heads: number;
	readonly context: number;
	readonly vocabulary: number;
}

/** Values of the residual stream stay inside ±2^27 at 2^16. */
const RESIDUAL = 2 ** 27;
/** Gradients of a normed net's weights are small: ±0.5 holds them. */
const GRADIENT_SCALE = 32;
/** Standard deviation of new weights, as in GPT-2. */
const DEVIATION = 0.02;

/** Vectors of a block, one after the other in one parameter; lengths in widths. */
const VECTORS = [
	["gain1", 1],
	["bias1", 1],
	["qkv", 3],
	["out", 1],
	["gain2", 1],
	["bias2", 1],
	["up", 4],
	["down", 1],
] as const;
type VectorName = (typeof VECTORS)[number][0];

/** Parts of a block's vectors as other programs name them. */
const VECTOR_NAMES: Readonly<Record<VectorName, string>> = {
	gain1: "ln_1.weight",
	bias1: "ln_1.bias",
	qkv: "attn.c_attn.bias",
	out: "attn.c_proj.bias",
	gain2: "ln_2.weight",
	bias2: "ln_2.bias",
	up: "mlp.c_fc.bias",
	down: "mlp.c_proj.bias",
};

function offsetOf(name: VectorName, width: number): number {
	let offset = 0;
	for (const [one, length] of VECTORS) {
		if (one === name) break;
		offset += length * width;
	}
	return offset;
}

/**
 * Where the weights lie, by the names and dims that nanoGPT gives them: a linear layer is [outputs, inputs].
 */
export function gptWeights({ layers, width, context, vocabulary }: GptShape): WorkloadWeight[] {
	const scale = 2 ** SCALE.weight;
	const of = (name: string, tensor: string, dims: readonly number[], first = 0): WorkloadWeight => ({
		name,
		tensor,
		first,
		dims,
		scale,
	});
	const block = (i: number): WorkloadWeight[] => [
		of(`h.${i}.attn.c_attn.weight`, `block${i}.qkv`, [3 * width, width]),
		of(`h.${i}.attn.c_proj.weight`, `block${i}.out`, [width, width]),
		of(`h.${i}.mlp.c_fc.weight`, `block${i}.up`, [4 * width, width]),
		of(`h.${i}.mlp.c_proj.weight`, `block${i}.down`, [width, 4 * width]),
		...VECTORS.map(([name, length]) =>
			of(`h.${i}.${VECTOR_NAMES[name]}`, `block${i}.vectors`, [length * width], offsetOf(name, width)),
		),
	];
	return [
		of("wte.weight", "tokens.embedding", [vocabulary, width]),
		of("wpe.weight", "places.embedding", [context, width]),
		...Array.from({ length: layers }, (_, i) => block(i)).flat(),
		of("ln_f.weight", "final.vectors", [width]),
		of("ln_f.bias", "final.vectors", [width], width),
	];
}

class Block {
	readonly net: Net;
	readonly parameters: Parameters;
	readonly width: number;
	readonly tables: GeluTables;
	readonly vectors: Parameter;
	readonly first: Norm;
	readonly second: Norm;
	readonly attention: Attention;
	readonly qkv: Linear;
	readonly out: Linear;
	readonly up: Linear;
	readonly down: Linear;
	hidden: Value | null = null;

	constructor(
		net: Net,
		parameters: Parameters,
		number: number,
		shape: GptShape & { readonly batch: number },
		tables: { readonly exp: ExpTables; readonly gelu: GeluTables },
	) {
		const { width, heads, context, batch, layers } = shape;
		this.net = net;
		this.parameters = parameters;
		this.width = width;
		this.tables = tables.gelu;
		const linear = (name: string, outputs: number, inputs: number, deviation: number): Linear =>
			new Linear(
				net,
				parameters,
				parameters.add(`block${number}.${name}`, [outputs, inputs], parameters.random(deviation)),
			);
		this.qkv = linear("qkv", 3 * width, width, DEVIATION);
		this.out = linear("out", width, width, DEVIATION / Math.sqrt(2 * layers));
		this.up = linear("up", 4 * width, width, DEVIATION);
		this.down = linear("down", width, 4 * width, DEVIATION / Math.sqrt(2 * layers));
		const isGain = (place: Expression, name: VectorName): Expression =>
			place
				.lt(offsetOf(name, width))
				.xor(1)
				.and(place.lt(offsetOf(name, width) + width));
		this.vectors = parameters.add(
			`block${number}.vectors`,
			[13 * width],
			(place) => isGain(place, "gain1").or(isGain(place, "gain2")).shl(SCALE.weight),
			false,
		);
		const norm = (gain: VectorName, bias: VectorName): Norm =>
			new Norm(net, parameters, width, this.vector(gain), this.vector(bias));
		this.first = norm("gain1", "bias1");
		this.second = norm("gain2", "bias2");
		this.attention = new Attention(net, { batch, context, heads, size: width / heads }, tables.exp);
	}

	vector(name: VectorName): (column: Index) => Expression {
		return (column) => at(this.vectors.w, column.plus(offsetOf(name, this.width)));
	}

	/** x plus what a layer gives, at 2^16. */
	#joined(x: Value, product: Value, bias: VectorName): Value {
		return this.net.s.map(x.dims, (r, c) =>
			at(x, r!, c!)
				.add(
					rescale(at(product, r!, c!).add(this.vector(bias)(c!).shl(PRODUCT - SCALE.weight)), PRODUCT, SCALE.residual),
				)
				.clamp(-RESIDUAL, RESIDUAL),
		);
	}

	forward(x: Value): Value {
		const { net, width } = this;
		const { s, rows } = net;
		const heads = this.attention.forward(this.qkv.forward(this.first.forward(x)), this.vector("qkv"));
		const between = this.#joined(x, this.out.forward(heads), "out");
		const up = this.up.forward(this.second.forward(between));
		const hidden = s.map([rows, 4 * width], (r, c) =>
			clampI16(
				rescale(at(up, r!, c!).add(this.vector("up")(c!).shl(PRODUCT - SCALE.weight)), PRODUCT, SCALE.activation),
			),
		);
		this.hidden = hidden;
		const active = s.map(hidden.dims, (r, c) => gelu(this.tables, at(hidden, r!, c!)));
		return this.#joined(between, this.down.forward(activationOf(net, active)), "down");
	}

	/**
	 * `d`: gradient of what the block gave, i32 at 2^24; gives that of what it got. Moves the block's
	 * parameters.
	 */
	backward(d: Value): Value {
		const { net, width, parameters } = this;
		const { s, rows } = net;
		const hidden = this.hidden!;
		const down = this.down.backward(d);
		const dUp = s.map([rows, 4 * width], (r, c) =>
			clampI32(geluBackward(this.tables, at(hidden, r!, c!), clampI32(down.input(r!, c!)))),
		);
		const up = this.up.backward(dUp);
		const second = this.second.backward(up.input, d);
		const out = this.out.backward(second.x);
		const qkv = this.qkv.backward(this.attention.backward(out.input));
		const first = this.first.backward(qkv.input, second.x);
		const pieces: Readonly<Record<VectorName, Value>> = {
			gain1: first.gain,
			bias1: first.bias,
			qkv: qkv.bias,
			out: out.bias,
			gain2: second.gain,
			bias2: second.bias,
			up: up.bias,
			down: down.bias,
		};
		// Each is zero outside its own stretch.
		const all = s.map([13 * width], (i) =>
			clampI32(
				VECTORS.map(([name]) => at(pieces[name], i!.plus(-offsetOf(name, width)).zero())).reduce((sum, one) =>
					sum.add(one),
				),
			),
		);
		parameters.apply(this.vectors, all);
		return first.x;
	}
}

/** Windows of context + 1 tokens, one after the other; the last token of one is the first of the next. */
export const windowsOf = (tokens: number, context: number): number => Math.floor((tokens - 1) / context);

/**
 * Tokens of this step's windows, and those that follow: [rows] each. Declares the inputs `tokens` and
 * `order`.
 */
export function batchTokens(
	net: Net,
	{ context, vocabulary }: Pick<GptShape, "context" | "vocabulary">,
	{ batch, ...rest }: Schedule,
	tokens: Elements,
) {
	const { b, s, given } = net;
	const n = windowsOf(tokens.length, context);
	const count = n * context + 1;
	given.tokens = tokens.subarray(0, count) as Elements;
	const type = tokens instanceof Int16Array ? "i16" : "i32";
	const all = b.tensor("input", "tokens", type, [count], 0, vocabulary - 1);
	const samples = batchOf(net, { kind: "affine", n, batch, ...rest });
	const read = (ahead: number): Value =>
		view(
			s.map([batch, context], (i, t) => {
				const start = at(samples, i!)
					.mul(context)
					.clamp(0, count - context - 1);
				return at(all, t!.plus(start).plus(ahead));
			}),
			batch * context,
		);
	return { tokens: read(0), labels: read(1) };
}

export function gptProgram(shape: GptShape, schedule: Schedule, by: Optimizer, tokens: Elements): TrainedProgram {
	const { layers, width, context, vocabulary } = shape;
	const { batch, k } = schedule;
	const b = buildProgram({ k });
	const rows = batch * context;
	const net: Net = { b, s: b.step, given: {}, rows, gradientScale: GRADIENT_SCALE };
	const { s } = net;
	const inputs = batchTokens(net, shape, schedule, tokens);
	const parameters = new Parameters(net, by, schedule);
	const tables = { exp: expTables(net), gelu: geluTables(net) };
	const embedding = parameters.add("tokens.embedding", [vocabulary, width], parameters.random(DEVIATION));
	const places = parameters.add("places.embedding", [context, width], parameters.random(DEVIATION));
	const last = parameters.add("final.vectors", [2 * width], (place) => place.lt(width).shl(SCALE.weight), false);
	const blocks = Array.from({ length: layers }, (_, i) => new Block(net, parameters, i, { ...shape, batch }, tables));
	const columns = paddedTo64(vocabulary);
	const head = copiesOf(net, embedding, columns);
	let x = view(
		s.map([batch, context, width], (i, t, c) =>
			at(embedding.w, at(view(inputs.tokens, batch, context), i!, t!), c!)
				.add(at(places.w, t!, c!))
				.rsh(SCALE.weight - SCALE.residual)
				.clamp(-RESIDUAL, RESIDUAL),
		),
		rows,
		width,
	);
	for (const block of blocks) x = block.forward(x);
	const final = new Norm(
		net,
		parameters,
		width,
		(c) => at(last.w, c),
		(c) => at(last.w, c.plus(width)),
	);
	const y: Activation = final.forward(x);
	const logits = s.matmul(y.rows, head.rows);
	const loss = crossEntropy(
		net,
		tables.exp,
		{ classes: vocabulary, columns },
		(r, c) => rescale(at(logits, r, c), PRODUCT, SCALE.exponent),
		inputs.labels,
	);
	const dY = s.matmul(loss.gradient, head.turned);
	const dHead = s.matmul(turned(net, loss.gradient), y.turned);
	const end = final.backward((r, c) => rescale(at(dY, r, c), loss.scale + SCALE.copy, SCALE.gradient), null);
	parameters.apply(
		last,
		s.map([2 * width], (i) =>
			at(end.gain, i!.zero())
				.add(at(end.bias, i!.plus(-width).zero()))
				.clamp(-(2 ** 31) + 1, 2 ** 31 - 1),
		),
	);
	let d = end.x;
	for (const block of blocks.toReversed()) d = block.backward(d);
	const rowsTurned = turned(net, d);
	const scattered = s.scatterAdd(rowsTurned, inputs.tokens, vocabulary);
	parameters.apply(
		embedding,
		s.map([vocabulary, width], (v, c) =>
			parameters
				.gradient(at(dHead, v!, c!), loss.scale + SCALE.activation)
				.add(parameters.gradient(at(scattered, v!, c!), SCALE.gradient))
				.clamp(-(2 ** 31) + 1, 2 ** 31 - 1),
		),
	);
	const ofBatch = view(d, batch, context, width);
	const limit = BigInt(batch) << 31n;
	parameters.apply(
		places,
		s.map([context, width], (t, c) => {
			const [sum] = repeat(batch, [{ from: 0, lo: -limit, hi: limit }], (soFar) => [
				soFar!.add(at(ofBatch, turn, t!, c!)),
			]);
			return parameters.gradient(sum!, SCALE.gradient);
		}),
	);
	return { program: b.program(), given: net.given, parameters: parameters.all };
}

// The forward pass of a model, docs/inference.md: from tokens to the last hidden rows, and from those to
// logits. One description for a whole context at once and for one token with a cache, since every row is
// computed alike.
import { at, type Expression, type Index, step, type Value, view } from "../builder/expression.ts";
import { type Attention, attend, attentionParts } from "./attention.ts";
import { activation, joined, linear, lookUp, norm, operandsOf } from "./layers.ts";
import { clampFixed, type Net } from "./numbers.ts";
import type { Gain, Matrix, ModelInputs } from "./parameters.ts";

interface Block {
	readonly attentionNorm: Gain;
	readonly qkv: Matrix;
	readonly out: Matrix;
	readonly mlpNorm: Gain;
	readonly up: Matrix;
	readonly down: Matrix;
}

function blockOf({ of }: Net, inputs: ModelInputs, i: number): Block {
	const { width, heads, kvHeads, headWidth, hidden, hasBias, activation: kind } = of;
	const at = (name: string) => `layers.${i}.${name}`;
	const gain = (name: string) => inputs.gain(at(name), width, of.norm === "layer");
	const [q, kv] = [heads * headWidth, kvHeads * headWidth];
	const part = (name: string, rows: number) => ({ name: at(name), rows });
	const ups = [...(kind === "silu-glu" ? [part("gate", hidden)] : []), part("up", hidden)];
	return {
		attentionNorm: gain("attentionNorm"),
		qkv: inputs.matrix(at("qkv"), [part("q", q), part("k", kv), part("v", kv)], width, { hasBias: hasBias.qkv }),
		out: inputs.matrix(at("out"), [part("out", width)], q, { hasBias: hasBias.out }),
		mlpNorm: gain("mlpNorm"),
		up: inputs.matrix(at("up"), ups, width, { hasBias: hasBias.mlp }),
		down: inputs.matrix(at("down"), [part("down", width)], hidden, { hasBias: hasBias.mlp }),
	};
}

/**
 * Product of two fixed values, in two parts, since one would not fit 64 bits; inside ±2^14 each (wide:
 * ±2^10).
 */
function times({ numbers }: Net, a: Expression, b: Expression): Expression {
	const { fixed, weights } = numbers;
	const [headroom, low] = weights === "wide" ? [10, 22] : [14, 20];
	const most = 2 ** (fixed + headroom);
	const [x, y] = [a.clamp(-most, most), b.clamp(-most, most)];
	return x
		.mul(y.shr(low))
		.rsh(fixed - low)
		.add(x.mul(y.and(2 ** low - 1)).rsh(fixed));
}

/** The MLP's hidden units, [rows, hidden] at the fixed scale. */
function hiddenOf(net: Net, act: (x: Expression) => Expression, x: Value, up: Matrix): Value {
	const { s, of, numbers } = net;
	const { hidden } = of;
	const rows = x.dims[0]!;
	const y = linear(net, operandsOf(net, x), up);
	if (of.activation !== "silu-glu")
		return s.map([rows, hidden], (r, c) => clampFixed(numbers, act(clampFixed(numbers, y(r!, c!)))));
	const both = s.map([rows, 2 * hidden], (r, c) => clampFixed(numbers, y(r!, c!)));
	return s.map([rows, hidden], (r, c) =>
		clampFixed(numbers, times(net, act(at(both, r!, c!)), at(both, r!, c!.plus(hidden)))),
	);
}

export interface Forward {
	/** [rows, width] after the last norm, at the fixed scale. */
	readonly hidden: Value;
	/** What each block gave, [rows, width] at the fixed scale. */
	readonly layers: readonly Value[];
	/** Logits of such rows as expressions, at the scale of logits; of a model with a head. */
	logits(rows: Value): Value;
}

/**
 * `tokens`: [batch, places]. `context`: places of keys; with a cache, this step's token stands at place
 * `step`. `tables`: places that constants are made for, where those of another program are to be used.
 */
export function forward(
	net: Net,
	inputs: ModelInputs,
	tokens: Value,
	{
		context,
		lengths,
		hasCache,
		tables = context,
	}: {
		readonly context: number;
		readonly lengths: Value | null;
		readonly hasCache: boolean;
		readonly tables?: number;
	},
): Forward {
	const { s, of, numbers, batch, places } = net;
	const { width, vocabulary, order } = of;
	const embedding = inputs.matrix("embed.tokens", [{ name: "embed.tokens", rows: vocabulary }], width, {
		isTable: true,
	});
	let x = embed(net, inputs, embedding, tokens, hasCache);
	if (order === "post") x = norm(net, x, inputs.gain("embed.norm", width, of.norm === "layer"));
	const parts = attentionParts(net, { context, tables, lengths, hasCache });
	const act = activation(net);
	const layers: Value[] = [];
	for (let i = 0; i < of.layers; i++) {
		x = throughBlock(net, blockOf(net, inputs, i), i, parts, act, x);
		layers.push(x);
	}
	const hidden = order === "pre" ? norm(net, x, inputs.gain("norm", width, of.norm === "layer")) : x;
	const isShared = of.isTied && numbers.weights !== "i8";
	const logits = (rows: Value): Value => {
		const name = of.isTied ? "embed.tokens" : "head";
		const head = isShared ? embedding : inputs.matrix("head", [{ name, rows: vocabulary }], width);
		const y = linear(net, operandsOf(net, rows), head, numbers.logit);
		return s.map([rows.dims[0]!, vocabulary], (r, c) => y(r!, c!).clamp(-(2 ** 31) + 1, 2 ** 31 - 1));
	};
	return { hidden: view(hidden, batch * places, width), layers, logits };
}

function embed(net: Net, inputs: ModelInputs, embedding: Matrix, tokens: Value, hasCache: boolean): Value {
	const { s, of, numbers, batch, places } = net;
	const { width, context, segments, positions } = of;
	const table = (name: string, rows: number) => inputs.matrix(name, [{ name, rows }], width, { isTable: true });
	const learned = positions === "learned" ? table("embed.positions", context) : null;
	const segment = segments > 0 ? table("embed.segments", segments) : null;
	const x = s.map([batch, places, width], (b, t, c) => {
		let sum = lookUp(net, embedding, at(tokens, b!, t!), c!);
		const place: Index | Expression = hasCache ? step : t!;
		if (learned !== null) sum = sum.add(lookUp(net, learned, place, c!));
		if (segment !== null) sum = sum.add(lookUp(net, segment, 0, c!));
		return clampFixed(numbers, sum);
	});
	return view(x, batch * places, width);
}

function throughBlock(
	net: Net,
	block: Block,
	number: number,
	parts: Attention,
	act: (x: Expression) => Expression,
	x: Value,
): Value {
	const { s, of, numbers } = net;
	const { heads, kvHeads, headWidth, order } = of;
	const rows = x.dims[0]!;
	const before = (y: Value, gain: Gain): Value => (order === "pre" ? norm(net, y, gain) : y);
	const after = (y: Value, gain: Gain): Value => (order === "post" ? norm(net, y, gain) : y);
	const three = linear(net, operandsOf(net, before(x, block.attentionNorm)), block.qkv);
	const qkv = s.map([rows, (heads + 2 * kvHeads) * headWidth], (r, c) => clampFixed(numbers, three(r!, c!)));
	const mixed = attend(net, number, parts, qkv);
	const between = after(joined(net, x, linear(net, operandsOf(net, mixed), block.out)), block.attentionNorm);
	const hidden = hiddenOf(net, act, before(between, block.mlpNorm), block.up);
	return after(joined(net, between, linear(net, operandsOf(net, hidden), block.down)), block.mlpNorm);
}

// A convolutional network that learns to classify pictures: convolutions by patches and products, pooling,
// dense layers, cross-entropy; numbers as those of the MLP. docs/training.md §4. Not here: classifying with
// weights that stand still (classifier.ts).
import { buildProgram } from "../../builder/build-program.ts";
import { at, type Expression, type Index, type Value, view } from "../../builder/expression.ts";
import { activationOf, Linear, type LinearGradients, PRODUCT } from "../linear.ts";
import { clampI16, clampI32, I32, type Net, rescale, SCALE } from "../numbers.ts";
import { type Optimizer, type Parameter, Parameters, type TrainedProgram } from "../optimizer.ts";
import { batchOf, type OrderedSchedule } from "../order.ts";
import { crossEntropy, expTables } from "../softmax.ts";
import { flat, type Images, pixelsInput } from "./images.ts";
import { fanIn, type Picture, type Stage, sizeOf } from "./layers.ts";
import { averagePool, averagePoolBackward, maxPool, maxPoolBackward } from "./pool.ts";
import { overCovering, type Place, patches } from "./windows.ts";

/** As for an MLP: features reach ±16. */
const GRADIENT_SCALE = 28;

/** Weights to begin with, at 2^24, by the parameter's name; drawn where it is null. */
export type StartWeights = ((name: string) => Int32Array) | null;

/** A stage while it runs: what backwards needs of forwards. */
interface Layer {
	readonly stage: Stage;
	readonly linear: { readonly of: Linear; readonly bias: Parameter } | null;
	/** [batch, height, width, channels], i16 at 2^11. */
	input: Value | null;
	output: Value | null;
}

/** Weight and bias of a stage as parameters. */
function linearOf(net: Net, parameters: Parameters, stage: Stage, i: number, start: StartWeights): Layer["linear"] {
	if (stage.layer.kind === "pool") return null;
	const [outputs, inputs] = [stage.layer.outputs, fanIn(stage)];
	const given = (name: string, dims: readonly number[]) => {
		net.given[`start.${name}`] = start!(name);
		const from = net.b.tensor("input", `start.${name}`, "i32", dims, -I32, I32);
		return (_flat: Expression, _domain: number, axes: readonly Index[]) => at(from, ...axes);
	};
	const [weight, bias] = [`layer${i}.weight`, `layer${i}.bias`];
	// Of He: relu halves the variance. Products see weights inside ±2 only, so few inputs do not get more.
	const drawn = parameters.random(Math.min(0.5, Math.sqrt(2 / inputs)));
	const w = parameters.add(weight, [outputs, inputs], start === null ? drawn : given(weight, [outputs, inputs]));
	const zero = (place: Expression) => place.mul(0);
	const b = parameters.add(bias, [outputs], start === null ? zero : given(bias, [outputs]), false);
	return { of: new Linear(net, parameters, w), bias: b };
}

/** Product of a stage with weights, [rows, outputs] at 2^25. */
function productOf({ s, ...net }: Net, { stage, linear, input }: Layer): Value {
	const { layer, from } = stage;
	const rows = layer.kind === "conv" ? patches(s, input!, layer.window, stage) : flat(s, input!, from);
	return linear!.of.forward(activationOf({ s, ...net }, rows));
}

/** Output of a stage that is not the last. */
function forward(net: Net, layer: Layer): Value {
	const { s, rows: batch } = net;
	const { stage, linear, input } = layer;
	const { to, layer: of } = stage;
	if (of.kind === "pool") {
		const pooled = of.pool === "max" ? maxPool(s, input!, of.window, to) : averagePool(s, input!, of.window, to);
		return of.isRelu ? s.map(pooled.dims, (...place) => at(pooled, ...place).max(0)) : pooled;
	}
	const product = productOf(net, layer);
	const y = s.map(product.dims, (r, c) => {
		const biased = at(product, r!, c!).add(at(linear!.bias.w, c!).shl(PRODUCT - SCALE.weight));
		const scaled = clampI16(rescale(biased, PRODUCT, SCALE.activation));
		return of.isRelu ? scaled.max(0) : scaled;
	});
	return view(y, batch, to.height, to.width, to.channels);
}

/** Gradient of a stage's input from that of its product, [batch, height, width, channels]. */
function backToPicture(
	{ s, rows: batch }: Net,
	{ layer, from, to }: Stage,
	back: LinearGradients,
	finish: (sum: Expression, ...place: Place) => Expression,
): Value {
	const { channels, height, width } = from;
	const places = height * width;
	if (layer.kind !== "conv")
		return s.map([batch, height, width, channels], (b, row, column, c) => {
			const place = c!.times(places).plus(row!.times(width)).plus(column!);
			return finish(back.input(b!, place), b!, row!, column!, c!);
		});
	const { size } = layer.window;
	const product = view(back.product, batch, to.height, to.width, channels, ...size);
	const shifts = view(back.shifts, batch, to.height, to.width);
	const most = 2n ** 60n;
	return overCovering(
		s,
		batch,
		from,
		layer.window,
		{ most, isLong: true },
		([b, row, column, c], i, j) =>
			at(product, b, row, column, c, i.zero(), j.zero()).rshv(at(shifts, b, row, column).neg().add(SCALE.copy)),
		finish,
	);
}

/**
 * From the gradient of a stage's output to that of its input; moves its weights. Null: nobody asks for it.
 */
function backward(net: Net, parameters: Parameters, layer: Layer, d: Value, before: Layer | null): Value | null {
	const { stage, linear, input } = layer;
	const { layer: of, from, to } = stage;
	// Where the layer before has a relu, only what it let through has a gradient.
	const finish = (sum: Expression, ...place: Place): Expression => {
		const inside = clampI32(sum);
		return before?.stage.layer.isRelu ? at(before.output!, ...place).select(inside, 0) : inside;
	};
	if (of.kind === "pool") {
		if (before === null) return null;
		return of.pool === "max"
			? maxPoolBackward(net.s, input!, d, of.window, { from, to }, finish)
			: averagePoolBackward(net.s, d, of.window, from, finish);
	}
	const back = linear!.of.backward(view(d, net.rows * to.height * to.width, to.channels));
	parameters.apply(linear!.bias, back.bias);
	return before === null ? null : backToPicture(net, stage, back, finish);
}

/**
 * Inputs `images` and `labels`, and what of them this step sees: [batch, height, width, channels] at 2^11,
 * and [batch].
 */
function batchImages(
	net: Net,
	input: Picture,
	classes: number,
	{ order, ...schedule }: OrderedSchedule,
	{ pixels, labels }: Images,
): { readonly x: Value; readonly label: Value } {
	const { b, s, given, rows } = net;
	const { channels, height, width } = input;
	const n = labels.length;
	const { all, scale } = pixelsInput(net, pixels, input);
	const known = b.tensor("input", "labels", labels instanceof Int16Array ? "i16" : "i32", [n], 0, classes - 1);
	given.labels = labels;
	const samples = batchOf(net, { kind: order, n, ...schedule });
	return {
		x: s.map([rows, height, width, channels], (i, row, column, c) =>
			rescale(at(all, at(samples, i!), c!, row!, column!), scale, SCALE.activation),
		),
		label: s.map([rows], (i) => at(known, at(samples, i!))),
	};
}

/** Metric `accuracy`: of the batch, how many rows have their largest logit where the label is. */
function countRight({ b, s, rows }: Net, logits: Value, label: Value): void {
	const best = s.reduce("argmax", logits);
	const right = s.map([rows], (i) => at(best, i!).eq(at(label, i!)));
	s.reduce("sum", view(right, rows), { to: b.tensor("metric", "accuracy", "i32", [1], 0, rows) });
}

/** The last stage is dense, without relu; windows of max pools have no pads. */
export function cnnProgram(
	stages: readonly Stage[],
	schedule: OrderedSchedule,
	by: Optimizer,
	images: Images,
	start: StartWeights = null,
): TrainedProgram {
	const { batch, k } = schedule;
	const b = buildProgram({ k });
	const net: Net = { b, s: b.step, given: {}, rows: batch, gradientScale: GRADIENT_SCALE };
	const end = stages.at(-1)!;
	const classes = sizeOf(end.to);
	const { x, label } = batchImages(net, stages[0]!.from, classes, schedule, images);
	const parameters = new Parameters(net, by, schedule);
	const layers: Layer[] = stages.map((stage, i) => ({
		stage,
		linear: linearOf(net, parameters, stage, i, start),
		input: null,
		output: null,
	}));
	let value = x;
	for (const layer of layers.slice(0, -1)) {
		layer.input = value;
		layer.output = forward(net, layer);
		value = layer.output;
	}
	const last = layers.at(-1)!;
	last.input = value;
	const product = productOf(net, last);
	const loss = crossEntropy(
		net,
		expTables(net),
		{ classes, columns: classes },
		(r, c) =>
			rescale(at(product, r, c).add(at(last.linear!.bias.w, c).shl(PRODUCT - SCALE.weight)), PRODUCT, SCALE.exponent),
		label,
	);
	countRight(net, loss.logits, label);
	let d: Value | null = net.s.map([batch, classes], (r, c) =>
		rescale(at(loss.gradient, r!, c!), loss.scale, SCALE.gradient),
	);
	for (const [i, layer] of [...layers.entries()].toReversed())
		if (d !== null) d = backward(net, parameters, layer, d, layers[i - 1] ?? null);
	return { program: b.program(), given: net.given, parameters: parameters.all };
}

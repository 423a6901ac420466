// A multi-layer perceptron that learns to classify: linear layers with biases, relu between, cross-entropy;
// numbers as those of the GPT. docs/training.md. Not here: the exact profile that a zk proof wants
// (exact-mlp.ts).
import { buildProgram } from "../builder/build-program.ts";
import { at, type Value } from "../builder/expression.ts";
import { type Activation, activationOf, Linear, PRODUCT } from "./linear.ts";
import { clampI16, clampI32, I16, type Net, rescale, SCALE } from "./numbers.ts";
import { type Optimizer, Parameters, type TrainedProgram } from "./optimizer.ts";
import { batchOf, type OrderedSchedule } from "./order.ts";
import { crossEntropy, expTables } from "./softmax.ts";

/** Rows of features, i16 at 2^11, and the class of each. */
export interface Samples {
	readonly features: Int16Array;
	readonly labels: Int16Array | Int32Array;
}

/** Features reach ±16, so gradients of the weights have a range of ±8. */
const GRADIENT_SCALE = 28;

/** Inputs `features` and `labels`, and what of them this step sees: [batch, inputs] and [batch]. */
export function batchRows(
	net: Net,
	sizes: readonly number[],
	{ order, ...schedule }: OrderedSchedule,
	{ features, labels }: Samples,
): { readonly x: Value; readonly label: Value } {
	const { b, s, given } = net;
	const inputs = sizes[0]!;
	const n = labels.length;
	const type = labels instanceof Int16Array ? "i16" : "i32";
	const all = b.tensor("input", "features", "i16", [n, inputs], -I16, I16);
	const classes = b.tensor("input", "labels", type, [n], 0, sizes.at(-1)! - 1);
	given.features = features;
	given.labels = labels;
	const samples = batchOf(net, { kind: order, n, ...schedule });
	return {
		x: s.map([schedule.batch, inputs], (i, c) => at(all, at(samples, i!), c!)),
		label: s.map([schedule.batch], (i) => at(classes, at(samples, i!))),
	};
}

export function mlpProgram(
	sizes: readonly number[],
	schedule: OrderedSchedule,
	by: Optimizer,
	samples: Samples,
): TrainedProgram {
	const { batch, k } = schedule;
	const b = buildProgram({ k });
	const net: Net = { b, s: b.step, given: {}, rows: batch, gradientScale: GRADIENT_SCALE };
	const { s } = net;
	const { x, label } = batchRows(net, sizes, schedule, samples);
	const parameters = new Parameters(net, by, schedule);
	const layers = sizes.slice(1).map((outputs, i) => {
		const inputs = sizes[i]!;
		// Of He: relu halves the variance. Products see weights inside ±2 only, so few inputs do not get more.
		const weight = parameters.add(
			`layer${i}.weight`,
			[outputs, inputs],
			parameters.random(Math.min(0.5, Math.sqrt(2 / inputs))),
		);
		const bias = parameters.add(`layer${i}.bias`, [outputs], (place) => place.mul(0), false);
		return { outputs, bias, linear: new Linear(net, parameters, weight) };
	});
	let activation: Activation = activationOf(net, x);
	const hidden: Value[] = [];
	let product: Value = x;
	for (const [i, { outputs, bias, linear }] of layers.entries()) {
		product = linear.forward(activation);
		if (i === layers.length - 1) break;
		const z = product;
		const h = s.map([batch, outputs], (r, c) =>
			clampI16(rescale(at(z, r!, c!).add(at(bias.w, c!).shl(PRODUCT - SCALE.weight)), PRODUCT, SCALE.activation)).max(
				0,
			),
		);
		hidden.push(h);
		activation = activationOf(net, h);
	}
	const end = layers.at(-1)!;
	const loss = crossEntropy(
		net,
		expTables(net),
		{ classes: end.outputs, columns: end.outputs },
		(r, c) => rescale(at(product, r, c).add(at(end.bias.w, c).shl(PRODUCT - SCALE.weight)), PRODUCT, SCALE.exponent),
		label,
	);
	let d = s.map([batch, end.outputs], (r, c) => rescale(at(loss.gradient, r!, c!), loss.scale, SCALE.gradient));
	for (const [i, { linear, bias }] of [...layers.entries()].toReversed()) {
		const back = linear.backward(d);
		parameters.apply(bias, back.bias);
		if (i === 0) break;
		const h = hidden[i - 1]!;
		d = s.map(h.dims, (r, c) => at(h, r!, c!).select(clampI32(back.input(r!, c!)), 0));
	}
	return { program: b.program(), given: net.given, parameters: parameters.all };
}

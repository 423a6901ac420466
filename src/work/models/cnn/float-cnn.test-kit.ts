// The network in plain floats: loss, logits and, by its own way back, gradients. Independent of the programs:
// nothing is shared with them but the list of layers and the names of the weights. Pictures lie channels
// first.
import type { Weights } from "../float-twin.test-kit.ts";
import type { Stage } from "./layers.ts";

interface Trace {
	readonly input: Float64Array;
	readonly output: Float64Array;
}

/** Calls `visit` for each (place in the output, place in the input or −1 outside, place in the window). */
function slide(stage: Stage, visit: (out: number, into: number, inWindow: number) => void): void {
	const { layer, from, to } = stage;
	if (layer.kind === "dense") return;
	const { size, stride, pads } = layer.window;
	for (let y = 0; y < to.height; y++)
		for (let x = 0; x < to.width; x++)
			for (let i = 0; i < size[0]; i++)
				for (let j = 0; j < size[1]; j++) {
					const [row, column] = [y * stride[0] + i - pads[0], x * stride[1] + j - pads[1]];
					const isIn = row >= 0 && row < from.height && column >= 0 && column < from.width;
					visit(y * to.width + x, isIn ? row * from.width + column : -1, i * size[1] + j);
				}
}

function forward(stage: Stage, weight: Float64Array, bias: Float64Array, x: Float64Array): Float64Array {
	const { layer, from, to } = stage;
	const [into, places] = [from.height * from.width, to.height * to.width];
	const y = new Float64Array(to.channels * places);
	if (layer.kind === "dense")
		for (let n = 0; n < to.channels; n++) y[n] = x.reduce((sum, v, i) => sum + v * weight[n * x.length + i]!, bias[n]!);
	else {
		const area = layer.window.size[0] * layer.window.size[1];
		for (let n = 0; n < to.channels; n++) {
			const own = y.subarray(n * places, (n + 1) * places);
			if (layer.kind === "conv") {
				own.fill(bias[n]!);
				for (let c = 0; c < from.channels; c++)
					slide(stage, (out, at, w) => {
						if (at >= 0) own[out] = own[out]! + x[c * into + at]! * weight[(n * from.channels + c) * area + w]!;
					});
			} else if (layer.pool === "max") {
				own.fill(Number.NEGATIVE_INFINITY);
				slide(stage, (out, at) => {
					if (at >= 0) own[out] = Math.max(own[out]!, x[n * into + at]!);
				});
			} else
				slide(stage, (out, at) => {
					if (at >= 0) own[out] = own[out]! + x[n * into + at]! / area;
				});
		}
	}
	return layer.isRelu ? y.map((v) => Math.max(v, 0)) : y;
}

/** Gradient of a stage's input; adds to those of its weights. */
function backward(
	stage: Stage,
	weight: Float64Array,
	{ input: x, output: y }: Trace,
	dy: Float64Array,
	dWeight: Float64Array,
	dBias: Float64Array,
): Float64Array {
	const { layer, from, to } = stage;
	const [into, places] = [from.height * from.width, to.height * to.width];
	const d = layer.isRelu ? dy.map((v, i) => (y[i]! > 0 ? v : 0)) : dy;
	const dx = new Float64Array(x.length);
	const add = (all: Float64Array, i: number, v: number) => {
		all[i] = all[i]! + v;
	};
	if (layer.kind === "dense")
		for (let n = 0; n < to.channels; n++) {
			add(dBias, n, d[n]!);
			for (let i = 0; i < x.length; i++) {
				add(dWeight, n * x.length + i, d[n]! * x[i]!);
				add(dx, i, d[n]! * weight[n * x.length + i]!);
			}
		}
	else
		for (let n = 0; n < to.channels; n++) {
			const area = layer.window.size[0] * layer.window.size[1];
			const own = d.subarray(n * places, (n + 1) * places);
			if (layer.kind === "conv") {
				for (const v of own) add(dBias, n, v);
				for (let c = 0; c < from.channels; c++)
					slide(stage, (out, at, w) => {
						if (at < 0) return;
						add(dWeight, (n * from.channels + c) * area + w, own[out]! * x[c * into + at]!);
						add(dx, c * into + at, own[out]! * weight[(n * from.channels + c) * area + w]!);
					});
			} else {
				const isDone = new Uint8Array(places);
				slide(stage, (out, at) => {
					if (at < 0) return;
					const isFirst = x[n * into + at] === y[n * places + out] && isDone[out] === 0;
					if (layer.pool === "average") add(dx, n * into + at, own[out]! / area);
					else if (isFirst) {
						isDone[out] = 1;
						add(dx, n * into + at, own[out]!);
					}
				});
			}
		}
	return dx;
}

const NONE = new Float64Array();
const weightOf = (weights: Weights, i: number) => [
	weights[`layer${i}.weight`] ?? NONE,
	weights[`layer${i}.bias`] ?? NONE,
];

function traces(stages: readonly Stage[], weights: Weights, pixels: Float64Array): Trace[] {
	let input = pixels;
	return stages.map((stage, i) => {
		const [weight, bias] = weightOf(weights, i);
		const output = forward(stage, weight!, bias!, input);
		const trace = { input, output };
		input = output;
		return trace;
	});
}

/** Of one picture. */
export const floatLogits = (stages: readonly Stage[], weights: Weights, pixels: Float64Array): Float64Array =>
	traces(stages, weights, pixels).at(-1)!.output;

/** Mean loss of a batch, how many are right, and the gradient of each weight. */
export function floatCnn(
	stages: readonly Stage[],
	weights: Weights,
	pixels: Float64Array,
	labels: ArrayLike<number>,
): { readonly loss: number; readonly right: number; readonly gradients: Weights } {
	const gradients = Object.fromEntries(
		Object.entries(weights).map(([name, { length }]) => [name, new Float64Array(length)]),
	);
	const size = pixels.length / labels.length;
	let [loss, right] = [0, 0];
	for (let b = 0; b < labels.length; b++) {
		const all = traces(stages, weights, pixels.subarray(b * size, (b + 1) * size));
		const logits = all.at(-1)!.output;
		const top = logits.reduce((a, v) => Math.max(a, v));
		const sum = logits.reduce((a, v) => a + Math.exp(v - top), 0);
		loss += top + Math.log(sum) - logits[labels[b]!]!;
		if (logits.indexOf(top) === labels[b]) right++;
		let d: Float64Array = logits.map((v, i) => (Math.exp(v - top) / sum - (i === labels[b] ? 1 : 0)) / labels.length);
		for (let i = stages.length - 1; i >= 0; i--) {
			const [weight] = weightOf(weights, i);
			const [dWeight, dBias] = weightOf(gradients, i);
			d = backward(stages[i]!, weight!, all[i]!, d, dWeight!, dBias!);
		}
	}
	return { loss: loss / labels.length, right, gradients };
}

// A network whose weights stand still, as a program that classifies pictures batch by batch,
// docs/workloads.md. Weights are i16 by output row with a multiplier each; what a layer gives is i64 at 2^24,
// and enters the next product as i16 under its picture's own maximum. So a picture's logits do not depend on
// what else is in its batch. Not here: where the weights come from (imports/onnx/).
import { buildProgram, type PhaseBuilder, type ProgramBuilder } from "../../builder/build-program.ts";
import { at, type Expression, index, segment, type Value, view } from "../../builder/expression.ts";
import { quantiseRows } from "../../imports/quantise-rows.ts";
import type { Elements } from "../../operators/tensor-type.ts";
import type { Program } from "../../program/shapes.ts";
import { clampI16, shiftFor } from "../numbers.ts";
import { flat, type Images, pixelsInput } from "./images.ts";
import { fanIn, type LayerWeights, type Network, type Stage, sizeOf } from "./layers.ts";
import { averagePool, maxPool } from "./pool.ts";
import { patches } from "./windows.ts";

/** Scale of what a layer gives, logits too, and how large it may be: ±2^21. */
export const WIDE = 24;
const MOST_WIDE = 2n ** 45n;
/** Of the multipliers of any weights but zeros, for which it does not matter. */
const LEAST_SHIFT = 15;
/** A sum of so many products of i16, times a multiplier, fits 64 bits. */
export const MOST_INPUTS = 65_536;

export interface Classifying {
	readonly program: Program;
	readonly given: Readonly<Record<string, Elements>>;
	readonly segments: number;
}

interface Parts {
	readonly b: ProgramBuilder;
	readonly s: PhaseBuilder;
	readonly given: Record<string, Elements>;
	readonly batch: number;
}

/** i16 under the picture's own maximum: value = element / 2^exponent. */
interface Narrow {
	/** [batch, height, width, channels]. */
	readonly x: Value;
	/** [batch]. */
	readonly exponent: Value;
}

function narrowed({ s, batch }: Parts, y: Value): Narrow {
	const rows = view(
		y,
		batch,
		y.dims.slice(1).reduce((a, b) => a * b, 1),
	);
	const largest = s.reduce(
		"max",
		s.map(rows.dims, (b, i) => at(rows, b!, i!).abs()),
	);
	const shifts = s.map([batch], (b) => shiftFor(at(largest, b!)));
	return {
		x: s.map(y.dims, (b, ...place) => clampI16(at(y, b!, ...place).rshv(at(shifts, b!)))),
		exponent: s.map([batch], (b) => at(shifts, b!).neg().add(WIDE)),
	};
}

/** The layer's product, scaled, with its bias: [batch, height, width, outputs] at 2^24. */
function linear(parts: Parts, stage: Stage, i: number, { weight, bias }: LayerWeights, y: Value): Value {
	const { b, s, given, batch } = parts;
	const { layer, from, to } = stage;
	const [outputs, inputs] = [to.channels, fanIn(stage)];
	const { elements, multipliers, shift } = quantiseRows(weight, outputs, inputs, 16);
	const [w, m, c] = [`layer${i}.weight`, `layer${i}.multipliers`, `layer${i}.bias`];
	given[w] = elements;
	given[m] = multipliers;
	given[c] = BigInt64Array.from(bias, (value) => BigInt(Math.round(value * 2 ** WIDE)));
	const weights = b.tensor("input", w, "i16", [outputs, inputs], -(2 ** 15 - 1), 2 ** 15 - 1);
	const factors = b.tensor("input", m, "i32", [outputs], 0, 65_536);
	const biases = b.tensor("input", c, "i64", [outputs], -(2n ** 40n), 2n ** 40n);
	const { x, exponent } = narrowed(parts, y);
	const rows = layer.kind === "conv" ? patches(s, x, layer.window, stage) : flat(s, x, from);
	const product = s.matmul(rows, weights);
	const sums = view(product, batch, to.height, to.width, outputs);
	return s.map(sums.dims, (n, row, column, output) => {
		const by = at(exponent, n!).add(Math.max(shift, LEAST_SHIFT) - WIDE);
		// What is shifted left is bounded before: beyond, it is out of range anyway.
		const scaled = at(sums, n!, row!, column!, output!)
			.mul(at(factors, output!))
			.rshv(by.max(0))
			.clamp(-2n * MOST_WIDE, 2n * MOST_WIDE)
			.rshv(by.min(0));
		return relu(stage, scaled.add(at(biases, output!)).clamp(-MOST_WIDE, MOST_WIDE));
	});
}

const relu = ({ layer }: Stage, x: Expression): Expression => (layer.isRelu ? x.max(0) : x);

function pooled({ s }: Parts, stage: Stage, y: Value): Value {
	const { layer, to } = stage;
	if (layer.kind !== "pool") throw new RangeError("a layer without weights is a pool");
	const made = layer.pool === "max" ? maxPool(s, y, layer.window, to) : averagePool(s, y, layer.window, to);
	return layer.isRelu ? s.map(made.dims, (...place) => at(made, ...place).max(0)) : made;
}

/** Metric `right`: of this step's pictures, how many have their largest logit where the label is. */
function countRight({ b, s, given, batch }: Parts, logits: Value, labels: Elements, classes: number): void {
	const n = labels.length;
	given.labels = labels;
	const known = b.tensor("input", "labels", labels instanceof Int16Array ? "i16" : "i32", [n], 0, classes - 1);
	const best = s.reduce("argmax", logits);
	const right = s.map([batch], (i) => {
		const number = segment.sub(1).mul(batch).add(i!.value());
		return at(best, i!)
			.eq(at(known, index(number).clamp()))
			.and(number.lt(n));
	});
	s.reduce("sum", view(right, batch), { to: b.tensor("metric", "right", "i32", [1], 0, batch) });
}

/**
 * State `logits` [pictures, classes] at 2^24: a step fills the rows of its batch. `fanIn` of every stage is
 * at most MOST_INPUTS.
 */
export function classifierProgram(
	{ stages, weights }: Network,
	batch: number,
	{ pixels, labels }: Pick<Images, "pixels"> & { readonly labels: Images["labels"] | null },
): Classifying {
	const b = buildProgram({ k: 1 });
	const parts: Parts = { b, s: b.step, given: {}, batch };
	const { s } = parts;
	const input = stages[0]!.from;
	const count = pixels.length / sizeOf(input);
	const { all, scale } = pixelsInput(parts, pixels, input);
	// The last batch may be short: its rows beyond the end see the last picture, and nobody keeps what they
	// give.
	let y = s.map([batch, input.height, input.width, input.channels], (i, row, column, c) =>
		at(all, index(segment).times(batch).plus(-batch).plus(i!).clamp(), c!, row!, column!).shl(WIDE - scale),
	);
	for (const [i, stage] of stages.entries()) {
		const own = weights[i]!;
		y = own === null ? pooled(parts, stage, y) : linear(parts, stage, i, own, y);
	}
	const classes = sizeOf(stages.at(-1)!.to);
	const logits = flat(s, y, stages.at(-1)!.to);
	const kept = b.tensor("state", "logits", "i64", [count, classes], -MOST_WIDE, MOST_WIDE);
	s.map(
		[count, classes],
		(n, c) => {
			const place = n!.value().sub(segment.sub(1).mul(batch));
			const isNew = place.lt(0).xor(1).and(place.lt(batch));
			return isNew.select(at(logits, index(place).zero(), c!), at(kept, n!, c!));
		},
		{ to: kept },
	);
	if (labels !== null) countRight(parts, logits, labels, classes);
	return { program: b.program(), given: parts.given, segments: Math.ceil(count / batch) };
}

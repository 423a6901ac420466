// The profile that a zk proof wants: a network by SGD in which no weight is ever rounded, docs/training.md
// §6. Of an MLP by squared error:
//   z = a·Wᵀ, a with 2^8 added in its last column (the bias);  h = z to the nearest 2^-s;
//   a = relu(h) between layers;  d = h − y at the end, else what comes back to the nearest 2^-s where h > 0;
//   W ← W − a·d summed over the batch.
// a is at 2^8, d at 2^12, W at 2^s with s = 20 + shift, so the rate is 2^-shift on the summed squared error.
// Clamps are there for the checker's sake: a run in which one acts has no proof. Weights have 32 bits, or 64
// of which 40 are used: segments of more rows move them further. Products take operands of 32 bits, so that
// these are multiplied in two halves.
import { buildProgram, type TensorHandle } from "../builder/build-program.ts";
import { at, constant, type Expression, type Index, type Value, view } from "../builder/expression.ts";
import type { Elements } from "../operators/tensor-type.ts";
import { type PlanWindow, patchColumns, windowPlaces } from "../plan/window.ts";
import type { Program } from "../program/shapes.ts";
import type { Window } from "./cnn/layers.ts";
import { overCovering, type Place, patches } from "./cnn/windows.ts";
import { batchRows, type Samples } from "./mlp.ts";
import { constantOf, I32, type Net, rescale, SCALE, turned } from "./numbers.ts";
import type { Parameter } from "./optimizer.ts";
import type { OrderedSchedule } from "./order.ts";
import { LOG_UNIT, logOf } from "./softmax.ts";
import { expTable, logTable } from "./tables.ts";

const ACTIVATION = 8;
const GRADIENT = 12;
/** h has 12 bits, d 14. */
const MOST = { h: 2 ** 11 - 1, d: 2 ** 13 - 1 } as const;

/** Of softmax: distances that the table of exponentials has, and K of ⌊2^K / Σ e⌋. */
const EXP_BITS = 12;
const QUOTIENT = 27;

/** How many bits a weight's type has. */
export type WeightBits = 32 | 64;
const MOST_WEIGHT = { 32: I32, 64: 2 ** 39 - 1 } as const;
/** Bits of the lower half of a weight of 64. */
const LOW = 20;

/** Scale of the weights. */
export const exactScale = (shift: number): number => ACTIVATION + GRADIENT + shift;

interface ExactProgram {
	readonly program: Program;
	readonly given: Readonly<Record<string, Elements>>;
	readonly parameters: readonly Omit<Parameter, "decays">[];
}

type At = (row: Index, column: Index) => Expression;

/**
 * Weights as products take them: as they are, or W = high·2^20 + low. A half is made where it is first
 * needed.
 */
class Halves {
	readonly #net: Net;
	readonly #weights: readonly Value[];
	readonly #known = new Map<number, readonly [high: Value, low: Value]>();

	constructor(net: Net, weights: readonly Value[]) {
		[this.#net, this.#weights] = [net, weights];
	}

	product(x: Value, layer: number): At {
		return this.#joined(this.#halves(layer).map((one) => this.#net.s.matmul(x, one)));
	}

	productTurned(x: Value, layer: number): At {
		return this.#joined(this.#halves(layer).map((one) => this.#net.s.matmul(x, turned(this.#net, one))));
	}

	/**
	 * Of gradients [rows of places, channels], by columns of patches but the bias: [batch, down, across,
	 * channels, row, column].
	 */
	productPatches(x: Value, layer: number, window: PlanWindow): (window: Place, i: Index, j: Index) => Expression {
		const { s, rows } = this.#net;
		const { channels, size } = window;
		const { down, across } = windowPlaces(window);
		const outputs = x.dims[1]!;
		const parts = this.#halves(layer).map((one) => {
			const columns = s.map([patchColumns(window) - 1, outputs], (c, n) => at(one, n!, c!));
			return view(s.matmul(x, columns), rows, down, across, channels, size, size);
		});
		const joined = (of: (part: Value) => Expression) => {
			const [first, second] = parts.map(of);
			return second === undefined ? first! : first!.shl(LOW).add(second);
		};
		return ([b, row, column, channel], i, j) => joined((part) => at(part, b, row, column, channel, i.zero(), j.zero()));
	}

	#halves(layer: number): readonly Value[] {
		const w = this.#weights[layer]!;
		if (w.type !== "i64") return [w];
		const known = this.#known.get(layer);
		if (known !== undefined) return known;
		const { s } = this.#net;
		const high = s.map(w.dims, (n, c) => at(w, n!, c!).shr(LOW));
		const low = s.map(w.dims, (n, c) => at(w, n!, c!).and(2 ** LOW - 1));
		this.#known.set(layer, [high, low]);
		return [high, low];
	}

	#joined([first, second]: readonly Value[]): At {
		if (second === undefined) return (r, c) => at(first!, r, c);
		return (r, c) =>
			at(first!, r, c)
				.shl(LOW)
				.add(at(second, r, c));
	}
}

/**
 * Links of such a network. `sizes`: numbers of a row or picture, then units of each link; `windows`: of links
 * that are convolutions, which are the first ones.
 */
export interface ExactSizes {
	readonly sizes: readonly number[];
	readonly windows?: readonly (PlanWindow | null)[];
	/** Cross-entropy of softmax; else half the squared error. */
	readonly isSoftmax?: boolean;
}

/** What one link is made of, in the program. */
interface ExactLink {
	readonly name: string;
	readonly w: TensorHandle;
	readonly inputs: number;
	readonly outputs: number;
	readonly window: PlanWindow | null;
	/** Rows of its products: places of the window, for each of the batch. */
	readonly rows: number;
}

/** What a model's parts share. */
interface ExactNet extends Net {
	readonly scale: number;
	readonly most: number;
	readonly halves: Halves;
}

export const exactMlpProgram = (
	sizes: readonly number[],
	schedule: OrderedSchedule,
	shift: number,
	samples: Samples,
	weightBits: WeightBits = 32,
): ExactProgram => exactProgram({ sizes }, schedule, shift, samples, weightBits);

export function exactProgram(
	{ sizes, windows, isSoftmax }: ExactSizes,
	schedule: OrderedSchedule,
	shift: number,
	samples: Samples,
	weightBits: WeightBits,
): ExactProgram {
	const { batch, k } = schedule;
	const scale = exactScale(shift);
	const most = MOST_WEIGHT[weightBits];
	const b = buildProgram({ k });
	const plain: Net = { b, s: b.step, given: {}, rows: batch, gradientScale: GRADIENT };
	const { x, label } = batchRows(plain, sizes, schedule, samples);
	const links = sizes.slice(1).map((units, i): ExactLink => {
		const window = windows?.[i] ?? null;
		const { places } = window === null ? { places: 1 } : windowPlaces(window);
		const [inputs, outputs] = [window === null ? sizes[i]! : patchColumns(window), units / places];
		const name = `layer${i}.weight`;
		const w = b.tensor("state", name, `i${weightBits}`, [outputs, inputs], -most, most);
		// Uniform with the variance of He, 2/inputs.
		const factor = Math.round(Math.sqrt(6 / inputs) * 2 ** (scale - 14));
		b.init.map(
			[outputs, inputs],
			(n, c) =>
				n!
					.value()
					.mul(inputs)
					.add(c!.value())
					.rand(i + 1)
					.shr(17)
					.sub(2 ** 14)
					.mul(factor)
					.clamp(-most, most),
			{ to: w },
		);
		return { name, w, inputs, outputs, window, rows: batch * places };
	});
	const halves = new Halves(
		plain,
		links.map(({ w }) => w),
	);
	const net: ExactNet = { ...plain, scale, most, halves };
	const { entering, units } = forth(net, links, x);
	const d = isSoftmax ? softmaxGradient(net, units.at(-1)!, label) : squareGradient(net, units.at(-1)!, label);
	back(net, links, entering, units, d);
	return { program: b.program(), given: net.given, parameters: links };
}

/** What enters each link, and its rounded sums. */
function forth(net: ExactNet, links: readonly ExactLink[], x: Value) {
	const { s } = net;
	const isPicture = links[0]!.window !== null;
	let a = s.map(x.dims, (r, c) => {
		const rounded = rescale(at(x, r!, c!), SCALE.activation, ACTIVATION);
		return isPicture ? rounded.clamp(-MOST.h, MOST.h) : rounded;
	});
	const entering: Value[] = [];
	const units: Value[] = [];
	for (const [i, link] of links.entries()) {
		const into = link.window === null ? withBias(net, a, link.inputs) : patchRows(net, a, link.window);
		const z = net.halves.product(into, i);
		const h = s.map([link.rows, link.outputs], (r, c) => z(r!, c!).rsh(net.scale).clamp(-MOST.h, MOST.h));
		entering.push(into);
		units.push(h);
		if (i < links.length - 1) a = s.map(h.dims, (r, c) => at(h, r!, c!).max(0));
	}
	return { entering, units };
}

/** The bias is 1 more in the last column. */
function withBias({ s, rows }: ExactNet, units: Value, inputs: number): Value {
	const a = view(units, rows, inputs);
	return s.map([rows, inputs], (r, c) =>
		at(a, r!, c!)
			.add(
				c!
					.value()
					.eq(inputs - 1)
					.shl(ACTIVATION),
			)
			.clamp(-MOST.h, MOST.h),
	);
}

/** As windows of a CNN are written: down, then across. */
const pairs = ({ size, stride, pad }: PlanWindow): Window => ({
	...{ size: [size, size], stride: [stride, stride], pads: [pad, pad, pad, pad] },
});

/** A row for each place of the window; the bias is a column of its own, the last. */
function patchRows({ s, rows }: ExactNet, units: Value, window: PlanWindow): Value {
	const { channels, height, width } = window;
	const { down, across, places } = windowPlaces(window);
	const stage = { from: window, to: { channels, height: down, width: across } };
	const all = patches(s, view(units, rows, height, width, channels), pairs(window), stage);
	const last = patchColumns(window) - 1;
	return s.map([rows * places, last + 1], (r, c) =>
		c!
			.value()
			.eq(last)
			.select(2 ** ACTIVATION, at(all, r!, c!.zero())),
	);
}

/** d = h − y, and half its square as the loss. */
function squareGradient({ b, s, rows: batch }: ExactNet, last: Value, label: Value): Value {
	const classes = last.dims[1]!;
	const d = s.map([batch, classes], (r, c) =>
		at(last, r!, c!)
			.sub(c!.value().eq(at(label, r!)).shl(ACTIVATION))
			.shl(GRADIENT - ACTIVATION)
			.clamp(-MOST.d, MOST.d),
	);
	const squares = s.map([batch * classes], (i) => {
		const one = at({ ...d, dims: [batch * classes] }, i!);
		return one.mul(one);
	});
	const loss = b.tensor("metric", "loss", "i64", [1], 0, squares.hi * BigInt(batch * classes));
	s.reduce("sum", squares, { to: loss });
	return d;
}

/**
 * d = softmax(h) less 1 at the class: e = exp(h − the largest) by a table, times ⌊2^27 / Σ e⌋, to the
 * nearest. The loss is −ln of the class's share, at 2^16.
 */
function softmaxGradient(net: ExactNet, last: Value, label: Value): Value {
	const { b, s, rows: batch } = net;
	const classes = last.dims[1]!;
	const table = constantOf(net, "exp", () => expTable(EXP_BITS, ACTIVATION, GRADIENT));
	const logs = constantOf(net, "log", logTable);
	const top = s.reduce("max", last);
	const e = s.map([batch, classes], (r, c) =>
		at(
			table,
			at(top, r!)
				.sub(at(last, r!, c!))
				.clamp(0, 2 ** EXP_BITS - 1),
		),
	);
	const sum = s.reduce("sum", e);
	const inverse = s.map([batch], (r) => constant(2 ** QUOTIENT).div(at(sum, r!).max(2 ** GRADIENT)));
	const d = s.map([batch, classes], (r, c) =>
		at(e, r!, c!)
			.mul(at(inverse, r!))
			.rsh(QUOTIENT - GRADIENT)
			.sub(c!.value().eq(at(label, r!)).shl(GRADIENT))
			.clamp(-MOST.d, MOST.d),
	);
	const losses = s.map([batch], (r) =>
		at(top, r!)
			.sub(at(last, r!, at(label, r!)))
			.shl(SCALE.loss - ACTIVATION)
			.add(
				logOf(
					logs,
					at(sum, r!)
						.max(2 ** GRADIENT)
						.shl(LOG_UNIT - GRADIENT),
				),
			)
			.clamp(0, 2 ** 30),
	);
	const loss = b.tensor("metric", "loss", "i64", [1], 0, BigInt(batch) << 30n);
	s.reduce("sum", losses, { to: loss });
	return d;
}

/** Gradients of all links, and what each of their weights becomes. */
function back(
	net: ExactNet,
	links: readonly ExactLink[],
	entering: readonly Value[],
	units: readonly Value[],
	last: Value,
): void {
	const { s, scale, most, halves } = net;
	let d = last;
	for (const [i, { w, inputs, outputs, window }] of [...links.entries()].toReversed()) {
		const sums = s.matmul(turned(net, d), turned(net, entering[i]!));
		const came = i === 0 || window !== null ? null : halves.productTurned(d, i);
		const patched = i === 0 || window === null ? null : halves.productPatches(d, i, window);
		s.map(
			[outputs, inputs],
			(n, c) =>
				at(w, n!, c!)
					.sub(at(sums, n!, c!))
					.clamp(-most, most),
			{ to: w },
		);
		if (i === 0) break;
		const h = units[i - 1]!;
		const rounded = (unit: Expression, sum: Expression) => unit.max(0).select(sum.rsh(scale), 0).clamp(-MOST.d, MOST.d);
		if (patched !== null) {
			const before = view(h, net.rows, window!.height, window!.width, window!.channels);
			const own = overCovering(
				...([s, net.rows, window!, pairs(window!)] as const),
				{ most: BigInt(outputs * MOST.d * window!.size ** 2) * BigInt(most), isLong: true },
				patched,
				(sum, ...place) => rounded(at(before, ...place), sum),
			);
			d = view(own, ...h.dims);
			continue;
		}
		const flat = view(h, net.rows, inputs);
		const own = s.map(flat.dims, (r, c) => rounded(at(flat, r!, c!), came!(r!, c!)));
		d = view(own, ...h.dims);
	}
}

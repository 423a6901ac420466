// Windows that slide over pictures, as maps: each place's patch as a row (im2col), what a window's places
// hold together, and the way back, from windows to the places they cover. docs/training.md §4.
import type { PhaseBuilder } from "../../builder/build-program.ts";
import {
	at,
	constant,
	type Expression,
	type Index,
	index,
	type Number64,
	repeat,
	turn,
	type Value,
	view,
} from "../../builder/expression.ts";
import type { Picture, Stage, Window } from "./layers.ts";

/**
 * Up to so many places a window is written out; a larger one takes turns. The way back through strides, or to
 * the largest, takes more instructions for each place: a map has no room for as many (docs/work.md §6).
 */
const WRITTEN_OUT = 25;
const WRITTEN_OUT_LONG = 9;

interface Carried {
	readonly from: Number64;
	readonly lo: Number64;
	readonly hi: Number64;
}

/** Carried values after `count` turns; a turn is a number where the code is written out. */
function fold(
	count: number,
	carried: readonly Carried[],
	next: (soFar: readonly Expression[], turn: Expression | number) => readonly Expression[],
	writtenOut = WRITTEN_OUT,
): readonly Expression[] {
	if (count > writtenOut) return repeat(count, carried, (...soFar) => next(soFar, turn));
	let values: readonly Expression[] = carried.map(({ from }) => constant(from));
	for (let n = 0; n < count; n++) values = next(values, n);
	return values;
}

/** n as row and column of something `width` wide. */
function split(n: Expression | number, width: number): readonly [Expression | number, Expression | number] {
	if (typeof n === "number") return [Math.floor(n / width), n % width];
	const row = n.div(width);
	return [row, n.sub(row.mul(width))];
}

/**
 * Each place's patch as a row: [batch · places, channels · height · width of the window]. What lies outside
 * is 0.
 */
export function patches(
	s: PhaseBuilder,
	x: Value,
	{ size, stride, pads }: Window,
	{ from, to }: Pick<Stage, "from" | "to">,
): Value {
	const batch = x.dims[0]!;
	const all = s.map([batch, to.height, to.width, from.channels, ...size], (b, row, column, channel, i, j) =>
		at(
			x,
			b!,
			row!.times(stride[0]).plus(i!).plus(-pads[0]).zero(),
			column!.times(stride[1]).plus(j!).plus(-pads[1]).zero(),
			channel!,
		),
	);
	return view(all, batch * to.height * to.width, from.channels * size[0] * size[1]);
}

/** Of one window: its place in the picture that comes out, and the channel. */
export type Place = readonly [b: Index, row: Index, column: Index, channel: Index];

/** What a window holds, one after the other: `next` gets each element and its number. */
export function overWindow(
	x: Value,
	{ size, stride, pads }: Window,
	[b, row, column, channel]: Place,
	edge: "zero" | "clamp",
	carried: readonly Carried[],
	next: (soFar: readonly Expression[], element: Expression, number: Expression | number) => readonly Expression[],
): readonly Expression[] {
	return fold(size[0] * size[1], carried, (soFar, n) => {
		const [i, j] = split(n, size[1]);
		const down = row.times(stride[0]).plus(i).plus(-pads[0]);
		const across = column.times(stride[1]).plus(j).plus(-pads[1]);
		return next(soFar, at(x, b, down[edge](), across[edge](), channel), n);
	});
}

/**
 * Along one axis: the window that covers `place` as its t-th from the last, and where in that window it lies.
 */
function covering(place: Index, size: number, stride: number, pad: number, t: Expression | number) {
	if (stride === 1 && typeof t === "number")
		return { window: place.plus(pad - t).zero(), inside: index(t), isIn: null };
	const moved = place.value().add(pad);
	const last = moved.div(stride);
	const inside = moved.sub(last.mul(stride)).add(constant(t).mul(stride));
	const isIn = size % stride === 0 ? null : inside.lt(size);
	return { window: index(last.sub(t)).zero(), inside: index(inside), isIn };
}

/**
 * [batch, height, width, channels]: for each place of the picture that went in, Σ over the windows that cover
 * it. `term` gets the window's place (outside: load with edge zero) and the element's in the window, and is
 * long when it is more than one load; `finish` gets the sum, which no magnitude above `most` has.
 */
export function overCovering(
	s: PhaseBuilder,
	batch: number,
	{ height, width, channels }: Picture,
	{ size, stride, pads }: Window,
	{ most, isLong }: { readonly most: bigint; readonly isLong: boolean },
	term: (window: Place, i: Index, j: Index) => Expression,
	finish: (sum: Expression, ...place: Place) => Expression,
): Value {
	const [down, across] = [Math.ceil(size[0] / stride[0]), Math.ceil(size[1] / stride[1])];
	const writtenOut = isLong || stride[0] > 1 || stride[1] > 1 ? WRITTEN_OUT_LONG : WRITTEN_OUT;
	return s.map([batch, height, width, channels], (b, row, column, channel) => {
		const next = ([soFar]: readonly Expression[], n: Expression | number) => {
			const [t, u] = split(n, across);
			const y = covering(row!, size[0], stride[0], pads[0], t);
			const x = covering(column!, size[1], stride[1], pads[1], u);
			const one = term([b!, y.window, x.window, channel!], y.inside, x.inside);
			const isIn = y.isIn && x.isIn ? y.isIn.and(x.isIn) : (y.isIn ?? x.isIn);
			return [soFar!.add(isIn === null ? one : isIn.select(one, 0))];
		};
		const [sum] = fold(down * across, [{ from: 0, lo: -most, hi: most }], next, writtenOut);
		return finish(sum!, b!, row!, column!, channel!);
	});
}

// Fields on a grid: what all of them share. A value x is kept as x·2^24 in an i32; edges are those of a load,
// docs/work.md §3.3.
import type { PhaseBuilder, ProgramBuilder, TensorHandle } from "../builder/build-program.ts";
import {
	at,
	type Expression,
	type Index,
	repeat,
	segment,
	step,
	turn,
	type Value,
	view,
} from "../builder/expression.ts";
import type { Elements, TensorType } from "../operators/tensor-type.ts";
import type { Pace } from "./pace.ts";

export const FIELD_SCALE = 24;
export const ONE = 2 ** FIELD_SCALE;

/**
 * A number of a job file as a whole one; the same on every machine, since a double times a power of two is
 * exact.
 */
export const fixed = (value: number, scale = FIELD_SCALE): number => Math.round(value * 2 ** scale);

/** What lies beyond the edge: the other side; nothing; the nearest cell. */
export type GridEdge = "wrap" | "zero" | "clamp";

export interface Grid {
	/** Rows, columns. */
	readonly size: readonly [number, number];
	readonly edge: GridEdge;
}

/** Discs at places that the seed gives, (1 − d²/r²)² high. */
export interface Drops {
	readonly count: number;
	readonly radius: number;
}

/** Elements, or what to make from the seed. */
export type Start<Made> = { readonly elements: Elements } | Made;

/** Cell (y, x), moved by so many rows and columns. */
export function cell(field: Value, { edge }: Grid, y: Index, x: Index, rows = 0, columns = 0): Expression {
	const moved = (place: Index, by: number): Index => (by === 0 ? place : place.plus(by)[edge]());
	return at(field, moved(y, rows), moved(x, columns));
}

/** Σ of the four neighbours − 4 · the cell. */
export function laplacian(field: Value, grid: Grid, y: Index, x: Index): Expression {
	const near = (rows: number, columns: number): Expression => cell(field, grid, y, x, rows, columns);
	return near(-1, 0).add(near(1, 0)).add(near(0, -1)).add(near(0, 1)).sub(near(0, 0).shl(2));
}

/**
 * rate·(Σ of the four neighbours − 4 · the cell). What crosses a side is rounded once, and so the same for
 * both its cells: sums stay exact.
 */
export function flowInto(field: Value, grid: Grid, y: Index, x: Index, rate: number): Expression {
	const near = (rows: number, columns: number): Expression => cell(field, grid, y, x, rows, columns);
	const flow = (low: Expression, high: Expression): Expression => high.sub(low).mul(rate).rsh(FIELD_SCALE);
	const here = near(0, 0);
	const along = flow(here, near(0, 1)).sub(flow(near(0, -1), here));
	return along.add(flow(here, near(1, 0))).sub(flow(near(-1, 0), here));
}

/** 0 … `height`: all discs that reach a cell are added up. They go round the edges. */
export function dropsAt(
	{ count, radius }: Drops,
	{ size }: Grid,
	height: number,
	domain: number,
): (y: Index, x: Index) => Expression {
	const square = radius * radius;
	return (y, x) => {
		const away = (place: Index, axis: 0 | 1): Expression => {
			const centre = turn.mul(2).add(axis).rand(domain).mul(size[axis]).shr(32);
			const distance = place.value().sub(centre).abs();
			return distance.min(distance.sub(size[axis]).abs());
		};
		const [sum] = repeat(count, [{ from: 0, lo: 0, hi: square }], (soFar) => {
			const [dy, dx] = [away(y, 0), away(x, 1)];
			return [soFar!.add(dy.mul(dy).add(dx.mul(dx)).neg().add(square).max(0))];
		});
		const share = sum!.shl(20).rdiv(square);
		return share.mul(share).rsh(20).mul(height).rsh(20);
	};
}

/** A state tensor whose first value is given (input `NAME.start`) or made. */
export function startState(
	b: ProgramBuilder,
	given: Record<string, Elements>,
	tensor: { readonly name: string; readonly type: TensorType; readonly lo: number; readonly hi: number },
	dims: readonly number[],
	from: Start<{ readonly make: (...axes: Index[]) => Expression }>,
): { readonly state: TensorHandle; readonly first: Value } {
	const { name, type, lo, hi } = tensor;
	const state = b.tensor("state", name, type, dims, lo, hi);
	if ("make" in from) return { state, first: b.init.map(dims, from.make, { to: state }) };
	const start = b.tensor("input", `${name}.start`, type, dims, lo, hi);
	given[`${name}.start`] = from.elements;
	return { state, first: b.init.map(dims, (...axes) => at(start, ...axes), { to: state }) };
}

/** Σ of all, as a metric. Rows first: one sum alone keeps one processor busy. */
export function sumMetric(b: ProgramBuilder, name: string, x: Value): void {
	const rows = b.step.reduce(
		"sum",
		view(
			x,
			x.dims[0]!,
			x.dims.slice(1).reduce((a, n) => a * n, 1),
		),
	);
	const count = BigInt(rows.dims[0]!);
	b.step.reduce("sum", rows, { to: b.tensor("metric", name, "i64", [1], count * rows.lo, count * rows.hi) });
}

export function largestMetric(b: ProgramBuilder, name: string, x: Value): void {
	const rows = b.step.reduce("max", x);
	b.step.reduce("max", rows, { to: b.tensor("metric", name, "i64", [1], rows.lo, rows.hi) });
}

/** 0 … 255 for lo … hi; beyond, the ends. */
export const shade = (x: Expression, lo: number, hi: number): Expression =>
	x
		.clamp(lo, hi)
		.sub(lo)
		.mul(255)
		.rdiv(hi - lo);

/**
 * State `picture`, the field as shades at the end of each step, and `frames`, of which one is filled when it
 * is due. Both hold shade − 128.
 */
export function recordPictures(
	b: ProgramBuilder,
	{ k, every, frames }: Pace,
	size: readonly [number, number],
	shadeAt: (y: Index, x: Index) => Expression,
): void {
	const s: PhaseBuilder = b.step;
	const picture = b.tensor("state", "picture", "i8", size, -128, 127);
	const now = s.map(size, (y, x) => shadeAt(y!, x!).sub(128), { to: picture });
	if (frames === 0) return;
	const kept = b.tensor("state", "frames", "i8", [frames, ...size], -128, 127);
	const due = s.map([1], () => {
		const done = segment.sub(1).mul(k).add(step).add(1);
		const frame = done.div(every);
		return frame.mul(every).eq(done).select(frame.sub(1), frames).clamp(0, frames);
	});
	s.map(
		kept.dims,
		(f, y, x) =>
			f!
				.value()
				.eq(at(due, 0))
				.select(at(now, y!, x!), at(kept, f!, y!, x!)),
		{ to: kept },
	);
}

// Wide numbers for models from outside, docs/training.md §9: nobody knows how large their values are. An
// activation is i32 at 2^16; in a product it is i16 under its row's own maximum, so a spike of one token
// costs that token alone.
import { at, type Expression, type Index, type Value } from "../../builder/expression.ts";
import { clampI16, I32, type Net, shiftFor } from "../numbers.ts";

/** Scale of activations. */
export const WIDE = 16;

export interface WideNet extends Net {
	/** Scale of the residual stream, i32. */
	readonly residual: number;
	/**
	 * By row: the largest magnitudes of the residual stream, and of other activations. Those that reach the end
	 * of i32 are counted.
	 */
	readonly watched: { readonly residual: Value[]; readonly others: Value[] };
}

/** x = q·2^shift, a shift for each row along the last axis. */
export interface Quantised {
	readonly q: Value;
	readonly shifts: Value;
	/** By row: the largest magnitude. */
	readonly largest: Value;
}

export function quantise(
	{ s }: Net,
	dims: readonly number[],
	element: (...axes: readonly Index[]) => Expression,
): Quantised {
	const largest = s.reduce(
		"max",
		s.map(dims, (...axes) => element(...axes).abs()),
	);
	const shifts = s.map(largest.dims, (...axes) => shiftFor(at(largest, ...axes)));
	const q = s.map(dims, (...axes) => clampI16(element(...axes).rshv(at(shifts, ...axes.slice(0, -1)))));
	return { q, shifts, largest };
}

/**
 * A matrix of activations or gradients, i32 [rows, columns]. What products read of it is made when it is
 * first asked for.
 */
export class WideRows {
	readonly net: WideNet;
	readonly wide: Value;
	#rows: Quantised | null = null;
	#turned: Quantised | null = null;

	constructor(net: WideNet, wide: Value) {
		this.net = net;
		this.wide = wide;
	}

	get rows(): Quantised {
		this.#rows ??= quantise(this.net, this.wide.dims, (r, c) => at(this.wide, r!, c!));
		return this.#rows;
	}

	/** [columns, rows]: where rows are summed, each column has a shift of its own. */
	get turned(): Quantised {
		const [rows, columns] = this.wide.dims as [number, number];
		this.#turned ??= quantise(this.net, [columns, rows], (c, r) => at(this.wide, r!, c!));
		return this.#turned;
	}
}

/** Values that one map each can join: a map reads eight tensors at most. */
function joined({ s }: Net, all: readonly Value[], join: (a: Expression, b: Expression) => Expression): Value[] {
	return Array.from({ length: Math.ceil(all.length / 8) }, (_, i) => {
		const group = all.slice(8 * i, 8 * i + 8);
		return s.map(group[0]!.dims, (r) => group.map((one) => at(one, r!)).reduce(join));
	});
}

/**
 * The metrics `clamped`, how many rows have a value at the end of i32, and `peak`, the largest of the
 * residual stream.
 */
export function watch(net: WideNet): void {
	const { b, s, watched } = net;
	const most = (all: readonly Value[]): Value => {
		let rest = [...all];
		do rest = joined(net, rest, (x, y) => x.max(y));
		while (rest.length > 1);
		return rest[0]!;
	};
	const residual = most(watched.residual);
	const all = most([residual, ...watched.others]);
	const clamped = b.tensor("metric", "clamped", "i64", [1], 0, all.dims[0]!);
	s.reduce(
		"sum",
		s.map(all.dims, (r) => at(all, r!).lt(I32).xor(1)),
		{ to: clamped },
	);
	s.reduce("max", residual, { to: b.tensor("metric", "peak", "i64", [1], 0, residual.hi) });
}

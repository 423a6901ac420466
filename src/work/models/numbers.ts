// The scales of training, docs/training.md §2, and what every part of a model does with them.
import type { PhaseBuilder, ProgramBuilder } from "../builder/build-program.ts";
import { at, type Expression, type Index, repeat, turn, type Value, view } from "../builder/expression.ts";
import type { Elements } from "../operators/tensor-type.ts";
import { elementCount } from "../operators/tensor-type.ts";
import { LIMITS } from "../program/shapes.ts";
import { tensorRoot } from "../trace/tensor-tree.ts";

/** A value x is kept as x·2^scale. */
export const SCALE = {
	weight: 24,
	/** The copy of a weight that enters products. */
	copy: 14,
	/** Normed activations, q, k, v, hidden units. */
	activation: 11,
	residual: 16,
	/** Gradients by row: of the summed loss. */
	gradient: 24,
	/** Natural logarithms in a softmax. */
	exponent: 12,
	loss: 16,
} as const;

export const I16 = 2 ** 15 - 1;
export const I32 = 2 ** 31 - 1;
/** Bits that a gradient keeps when it enters a product. */
const PRODUCT_BITS = 15;

/** What the parts of one model share. */
export interface Net {
	readonly b: ProgramBuilder;
	readonly s: PhaseBuilder;
	/** Constants and inputs made so far. */
	readonly given: Record<string, Elements>;
	/** Tokens, or samples, of a batch. */
	readonly rows: number;
	/** Scale of the gradients of weights, i32: of the mean loss, but for a factor below 2. */
	readonly gradientScale: number;
}

/** x at 2^from as 2^to, to the nearest. */
export const rescale = (x: Expression, from: number, to: number): Expression =>
	to >= from ? x.shl(to - from) : x.rsh(from - to);

export const clampI16 = (x: Expression): Expression => x.clamp(-I16, I16);
export const clampI32 = (x: Expression): Expression => x.clamp(-I32, I32);

/** A table as a constant, made once. */
export function constantOf({ b, given }: Pick<Net, "b" | "given">, name: string, make: () => Elements): Value {
	const elements = make();
	let [lo, hi] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
	for (const value of elements) [lo, hi] = [Math.min(lo, Number(value)), Math.max(hi, Number(value))];
	given[name] = elements;
	return b.constant(name, "i32", [elements.length], lo, hi, tensorRoot(elements));
}

/** By how much a number is shifted right, so that 15 bits remain of one this large; never left. */
export const shiftFor = (largest: Expression): Expression => largest.bitlen().sub(PRODUCT_BITS).max(0);

/** For each row along the last axis: by how much it is shifted so that its largest value has 15 bits. */
export function rowShifts({ s }: Net, x: Value): Value {
	const last = x.dims.at(-1)!;
	const flat = view(x, elementCount(x.dims) / last, last);
	const largest = s.reduce(
		"max",
		s.map(flat.dims, (r, c) => at(flat, r!, c!).abs()),
	);
	return view(
		s.map(largest.dims, (r) => shiftFor(at(largest, r!))),
		...x.dims.slice(0, -1),
	);
}

/** Largest of all, [1]; in two strides, since one alone keeps one processor busy. */
export function largestOf({ s }: Net, x: Value): Value {
	const count = elementCount(x.dims);
	let parts = Math.floor(Math.sqrt(count));
	while (count % parts !== 0) parts--;
	const longest = count / parts;
	if (longest > LIMITS.summed)
		throw new RangeError(`${count} rows do not divide into parts of at most ${LIMITS.summed}`);
	return s.reduce("max", parts === 1 ? view(x, count) : s.reduce("max", view(x, parts, longest)));
}

/** The last two axes change places. */
export function turned({ s }: Net, x: Value): Value {
	const dims = x.dims.toSpliced(-2, 2, x.dims.at(-1)!, x.dims.at(-2)!);
	return s.map(dims, (...axes) => at(x, ...axes.slice(0, -2), axes.at(-1)!, axes.at(-2)!));
}

/** Σ over rows of `term(row, column)`, whose magnitude is at most `most`; `finish` gets the sum. */
export function columnSums(
	{ s, rows }: Net,
	columns: number,
	most: bigint,
	term: (row: Index, column: Index) => Expression,
	finish: (sum: Expression) => Expression,
): Value {
	const turns = 2 ** Math.ceil(Math.log2(rows) / 2);
	const groups = Math.ceil(rows / turns);
	const whole = most * BigInt(rows);
	const limit = whole < 2n ** 62n ? whole : 2n ** 62n;
	const part = s.map([groups, columns], (g, c) => {
		const [sum] = repeat(turns, [{ from: 0, lo: -limit, hi: limit }], (soFar) => [
			soFar!.add(term(g.times(turns).plus(turn).zero(), c)),
		]);
		return sum!;
	});
	return s.map([columns], (c) => {
		const [sum] = repeat(groups, [{ from: 0, lo: -limit, hi: limit }], (soFar) => [soFar!.add(at(part, turn, c))]);
		return finish(sum!);
	});
}

// Causal attention, forwards and backwards, docs/training.md §4. Weights stay unnormalised (row maximum one,
// i16 at 2^15), so early rows lose nothing to late ones; 1/Z comes after the product. The gradient of the
// scores is shifted once, from its widest product.
import { at, constant, type Expression, type Index, type Value, view } from "../builder/expression.ts";
import { type Activation, activationOf, PRODUCT } from "./linear.ts";
import {
	clampI16,
	clampI32,
	I16,
	largestOf,
	type Net,
	rescale,
	rowShifts,
	SCALE,
	shiftFor,
	turned,
} from "./numbers.ts";
import { type ExpTables, expOf } from "./softmax.ts";
import { inverseRoot } from "./tables.ts";

/** 1/√(head size) at 2^16. */
export const ROOT = 16;
/** e at 2^15; 1/Z at 2^25. */
const E = 15;
const INVERSE = 25;
/** p in the gradient of the scores. */
export const P = 23;
/** dP, and Σ p·dP of a row, stay inside ±2^37 each: p times their difference has 62 bits. */
export const MOST_SIZE = 128;
export const ROW_SUM = 2 ** 37;

/**
 * Unnormalised weights: e = exp(l − row maximum), i16 at 2^15, and 1/Σe of each row at 2^25. `l`: [.., rows,
 * columns] at 2^12.
 */
export function softmaxRows({ s }: Net, tables: ExpTables, l: Value): { readonly e: Value; readonly inverse: Value } {
	const top = s.reduce("max", l);
	const e = s.map(l.dims, (...axes) => expOf(tables, at(top, ...axes.slice(0, -1)).sub(at(l, ...axes)), E).min(I16));
	const sum = s.reduce("sum", e);
	const inverse = s.map(l.dims.slice(0, -1), (...axes) =>
		constant(2 ** (E + INVERSE)).div(at(sum, ...axes).max(2 ** (E - 1))),
	);
	return { e, inverse };
}

/** p at 2^15, i16. */
export const normalised = (e: Expression, inverse: Expression): Expression => e.mul(inverse).rsh(INVERSE).min(I16);

/**
 * Gradient of the scores, p·(dP − δ), as i16 with one shift a row: what `dP` and `rowSums` count, times 2^23.
 */
export function scoreGradients(
	{ s }: Net,
	{ e, inverse }: { readonly e: Value; readonly inverse: Value },
	dP: (...axes: readonly Index[]) => Expression,
	rowSums: Value,
): { readonly dS: Value; readonly shifts: Value } {
	const dScore = (...axes: readonly Index[]): Expression =>
		at(e, ...axes)
			.mul(at(inverse, ...axes.slice(0, -1)))
			.rsh(E + INVERSE - P)
			.mul(dP(...axes).sub(at(rowSums, ...axes.slice(0, -1))));
	const largest = s.reduce(
		"max",
		s.map(e.dims, (...axes) => dScore(...axes).abs()),
	);
	const shifts = s.map(e.dims.slice(0, -1), (...axes) => shiftFor(at(largest, ...axes)));
	const dS = s.map(e.dims, (...axes) => clampI16(dScore(...axes).rshv(at(shifts, ...axes.slice(0, -1)))));
	return { dS, shifts };
}

export interface AttentionShape {
	readonly batch: number;
	readonly context: number;
	readonly heads: number;
	/** Numbers a head. */
	readonly size: number;
}

interface Pair {
	readonly rows: Value;
	readonly turned: Value;
}

interface Forward {
	readonly q: Pair;
	readonly k: Pair;
	readonly v: Pair;
	readonly e: Value;
	readonly inverse: Value;
	readonly out: Activation;
}

export class Attention {
	readonly net: Net;
	readonly shape: AttentionShape;
	readonly tables: ExpTables;
	made: Forward | null = null;

	constructor(net: Net, shape: AttentionShape, tables: ExpTables) {
		if (shape.size > MOST_SIZE) throw new RangeError(`heads of ${shape.size} numbers`);
		this.net = net;
		this.shape = shape;
		this.tables = tables;
	}

	/** For products: the heads of all samples as one batch. */
	#flat(x: Value): Value {
		const [batch, heads, rows, columns] = x.dims as [number, number, number, number];
		return view(x, batch * heads, rows, columns);
	}

	/** x/√size at 2^from as 2^to. */
	#scaled(x: Expression, from: number, to: number): Expression {
		const bits = Math.log2(this.shape.size) / 2;
		return Number.isInteger(bits)
			? rescale(x, from + bits, to)
			: rescale(x.mul(inverseRoot(this.shape.size, ROOT)), from + ROOT, to);
	}

	/** `qkv`: [rows, 3·width] at 2^25; `bias` of a column, at 2^24. Gives the heads' outputs, [rows, width]. */
	forward(qkv: Value, bias: (column: Index) => Expression): Activation {
		const { net, tables } = this;
		const { s, rows } = net;
		const { batch, context, heads, size } = this.shape;
		const width = heads * size;
		const parts = view(qkv, batch, context, 3, heads, size);
		const part = (n: number): Pair => {
			const x = s.map([batch, heads, context, size], (b, h, t, c) =>
				clampI16(
					rescale(
						at(parts, b!, t!, n, h!, c!).add(
							bias(
								h!
									.times(size)
									.plus(c!)
									.plus(n * width),
							).shl(PRODUCT - SCALE.weight),
						),
						PRODUCT,
						SCALE.activation,
					),
				),
			);
			return { rows: x, turned: turned(net, x) };
		};
		const [q, k, v] = [part(0), part(1), part(2)];
		const all = [batch, heads, context, context];
		const scores = view(s.matmul(this.#flat(q.rows), this.#flat(k.rows)), ...all);
		const limit = 2 ** 24;
		const l = s.map(all, (b, h, t, j) => {
			const x = this.#scaled(at(scores, b!, h!, t!, j!), 2 * SCALE.activation, SCALE.exponent);
			return t!
				.value()
				.lt(j!.value())
				.select(-2 * limit, x.clamp(-limit, limit));
		});
		const { e, inverse } = softmaxRows(net, tables, l);
		const mixed = view(s.matmul(this.#flat(e), this.#flat(v.turned)), batch, heads, context, size);
		const out = s.map([batch, context, heads, size], (b, t, h, c) =>
			clampI16(
				at(mixed, b!, h!, t!, c!)
					.rsh(12)
					.mul(at(inverse, b!, h!, t!))
					.rsh(28),
			),
		);
		this.made = { q, k, v, e, inverse, out: activationOf(net, view(out, rows, width)) };
		return this.made.out;
	}

	/** `d`: gradient of the output at 2^24. Gives that of qkv: i32 [rows, 3·width] at 2^24. */
	backward(d: (row: Index, column: Index) => Expression): Value {
		const { net } = this;
		const { s, rows } = net;
		const { batch, context, heads, size } = this.shape;
		const width = heads * size;
		const { q, k, v, e, inverse, out } = this.made!;
		const whole = s.map([rows, width], (r, c) => clampI32(d(r!, c!)));
		const dOut = view(whole, batch, context, heads, size);
		const shifts = rowShifts(net, dOut);
		const most = largestOf(net, shifts);
		const byRow = s.map([batch, heads, context, size], (b, h, t, c) =>
			clampI16(at(dOut, b!, t!, h!, c!).rshv(at(shifts, b!, t!, h!))),
		);
		const rest = s.map([batch, context, heads], (b, t, h) =>
			at(most, 0)
				.sub(at(shifts, b!, t!, h!))
				.max(0),
		);
		const dOutTurned = s.map([batch, heads, size, context], (b, h, c, t) =>
			clampI16(at(byRow, b!, h!, t!, c!).rshv(at(rest, b!, t!, h!))),
		);
		// Σ_j p·dP of a row is also Σ_c dO·O; at the scale that dP has in this row.
		const products = s.map([rows, width], (r, c) => at(whole, r!, c!).mul(at(out.rows, r!, c!)));
		const sums = s.reduce("sum", view(products, batch, context, heads, size));
		const rowSums = s.map([batch, heads, context], (b, h, t) =>
			at(sums, b!, t!, h!)
				.rshv(at(shifts, b!, t!, h!))
				.clamp(-ROW_SUM, ROW_SUM),
		);
		const all = [batch, heads, context, context];
		const dP = view(s.matmul(this.#flat(byRow), this.#flat(v.rows)), ...all);
		const { dS, shifts: own } = scoreGradients(net, { e, inverse }, (...axes) => at(dP, ...axes), rowSums);
		// All shifts of a row, and the largest of a head.
		const shifted = s.map([batch, heads, context], (b, h, t) => at(own, b!, h!, t!).add(at(shifts, b!, t!, h!)));
		const headShift = s.reduce("max", shifted);
		// After 31 nothing is left.
		const further = s.map([batch, heads, context], (b, h, t) =>
			at(headShift, b!, h!)
				.sub(at(shifted, b!, h!, t!))
				.clamp(0, 31),
		);
		const dSTurned = s.map(all, (b, h, j, t) => clampI16(at(dS, b!, h!, t!, j!).rshv(at(further, b!, h!, t!))));
		const pTurned = s.map(all, (b, h, j, t) => normalised(at(e, b!, h!, t!, j!), at(inverse, b!, h!, t!)));
		const split = (x: Value): Value => view(x, 1, batch, heads, context, size);
		const dQ = split(s.matmul(this.#flat(dS), this.#flat(k.turned)));
		const dK = split(s.matmul(this.#flat(dSTurned), this.#flat(q.turned)));
		const dV = split(s.matmul(this.#flat(pTurned), this.#flat(dOutTurned)));
		// dP is at 2^35, less its row's shift.
		const from = P + SCALE.gradient + 2 * SCALE.activation;
		const merged = s.map([batch, context, 3, heads, size], (b, t, n, h, c) => {
			// Outside its part each is zero.
			const mine = (x: Value, part: number): Expression => at(x, n!.plus(-part).zero(), b!, h!, t!, c!);
			const scores = (x: Expression, shift: Expression): Expression =>
				x.mul(inverseRoot(size, ROOT)).rshv(shift.neg().add(from + ROOT - SCALE.gradient));
			const forQ = scores(mine(dQ, 0), at(shifted, b!, h!, t!));
			const forK = scores(mine(dK, 1), at(headShift, b!, h!));
			const forV = mine(dV, 2).rshv(at(most, 0).neg().add(E));
			return clampI32(forQ.add(forK).add(forV));
		});
		return view(merged, rows, 3 * width);
	}
}

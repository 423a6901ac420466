// Causal attention of a wide model, forwards and backwards: heads may share keys and values (heads / kvHeads
// queries a pair). What sums over numbers of a head has a shift for each token; what sums over tokens has one
// for each number; docs/training.md §9.
import { at, constant, type Expression, type Index, type Value, view } from "../../builder/expression.ts";
import {
	type AttentionShape,
	MOST_SIZE,
	normalised,
	P,
	ROOT,
	ROW_SUM,
	scoreGradients,
	softmaxRows,
} from "../attention.ts";
import { clampI16, clampI32, SCALE } from "../numbers.ts";
import type { ExpTables } from "../softmax.ts";
import { inverseRoot } from "../tables.ts";
import { type Quantised, quantise, WIDE, type WideNet } from "./wide.ts";

/** Of unnormalised weights, and of 1/Z. */
const E = 15;
const INVERSE = 25;

export interface HeadsShape extends AttentionShape {
	readonly kvHeads: number;
}

/** i32 at 2^16: q [batch, heads, context, size], k and v [batch, kvHeads, context, size]. */
export interface Heads {
	readonly q: Value;
	readonly k: Value;
	readonly v: Value;
}

interface Forward extends Heads {
	readonly e: Value;
	readonly inverse: Value;
	readonly out: Value;
}

export class WideAttention {
	readonly net: WideNet;
	readonly shape: HeadsShape;
	readonly tables: ExpTables;
	/** Queries that share a key. */
	readonly group: number;
	made: Forward | null = null;

	constructor(net: WideNet, shape: HeadsShape, tables: ExpTables) {
		if (shape.size > MOST_SIZE) throw new RangeError(`heads of ${shape.size} numbers`);
		this.net = net;
		this.shape = shape;
		this.tables = tables;
		this.group = shape.heads / shape.kvHeads;
	}

	/** For products: all but the last two axes as one. */
	#product(a: Value, b: Value, ...dims: readonly number[]): Value {
		const flat = (x: Value, rows: number, columns: number): Value => {
			const count = x.dims.reduce((product, dim) => product * dim, 1) / rows / columns;
			return view(x, count, rows, columns);
		};
		const [rows, columns] = dims.slice(-2) as [number, number];
		const depth = a.dims.at(-1)!;
		return view(this.net.s.matmul(flat(a, rows, depth), flat(b, columns, depth)), ...dims);
	}

	/** Rows along the tokens: [batch, heads, size, context]. */
	#alongTokens(x: Value): Quantised {
		const [batch, heads, context, size] = x.dims as [number, number, number, number];
		return quantise(this.net, [batch, heads, size, context], (b, h, c, t) => at(x, b!, h!, t!, c!));
	}

	/** Rows along the tokens of all queries that share a key: [batch, kvHeads, size, group·context]. */
	#alongGroups(element: (b: Index, h: Index, t: Index, c: Index) => Expression): Quantised {
		const { batch, kvHeads, context, size } = this.shape;
		const { net, group } = this;
		const dims = [batch, kvHeads, size, group, context];
		const wide = net.s.map(dims, (b, k, c, g, t) => element(b!, k!.times(group).plus(g!), t!, c!));
		const flat = view(wide, batch, kvHeads, size, group * context);
		return quantise(net, flat.dims, (...axes) => at(flat, ...axes));
	}

	/** Gives the heads' outputs, i32 [rows, heads·size] at 2^16. */
	forward({ q, k, v }: Heads): Value {
		const { net, tables } = this;
		const { s, rows } = net;
		const { batch, context, heads, kvHeads, size } = this.shape;
		const shared = (h: Index): Expression =>
			h
				.value()
				.div(this.group)
				.clamp(0, kvHeads - 1);
		const [queries, keys] = [q, k].map((x) => quantise(net, x.dims, (...axes) => at(x, ...axes))) as [
			Quantised,
			Quantised,
		];
		const values = this.#alongTokens(v);
		const all = [batch, heads, context, context];
		const scores = this.#product(queries.q, keys.q, ...all);
		const limit = 2 ** 28;
		const by = constant(2 * WIDE + ROOT - SCALE.exponent);
		const l = s.map(all, (b, h, t, j) => {
			const shift = by.sub(at(queries.shifts, b!, h!, t!)).sub(at(keys.shifts, b!, shared(h!), j!));
			const x = at(scores, b!, h!, t!, j!).mul(inverseRoot(size, ROOT)).rshv(shift);
			return t!
				.value()
				.lt(j!.value())
				.select(-2 * limit, x.clamp(-limit, limit));
		});
		const { e, inverse } = softmaxRows(net, tables, l);
		const mixed = this.#product(e, values.q, batch, heads, context, size);
		const out = s.map([batch, context, heads, size], (b, t, h, c) =>
			clampI32(
				at(mixed, b!, h!, t!, c!)
					.rsh(12)
					.mul(at(inverse, b!, h!, t!))
					.rshv(constant(E + INVERSE - 12).sub(at(values.shifts, b!, shared(h!), c!))),
			),
		);
		this.made = { q, k, v, e, inverse, out };
		return view(out, rows, heads * size);
	}

	/** `d`: gradient of the output, i32 [rows, heads·size] at 2^24. Gives those of q, k and v, i32 at 2^24. */
	backward(d: Value): Heads {
		const { net, group } = this;
		const { s } = net;
		const { batch, context, heads, kvHeads, size } = this.shape;
		const { q, k, v, e, inverse, out } = this.made!;
		const shared = (h: Index): Expression =>
			h
				.value()
				.div(group)
				.clamp(0, kvHeads - 1);
		const dOut = view(d, batch, context, heads, size);
		const byRow = quantise(net, [batch, heads, context, size], (b, h, t, c) => at(dOut, b!, t!, h!, c!));
		const values = quantise(net, v.dims, (...axes) => at(v, ...axes));
		// dP at 2^40, less the shifts of its row and of the largest value of its head.
		const most = s.reduce("max", values.shifts);
		const all = [batch, heads, context, context];
		const products = this.#product(byRow.q, values.q, ...all);
		const dP = (b: Index, h: Index, t: Index, j: Index): Expression =>
			at(products, b, h, t, j).rshv(
				at(most, b, shared(h))
					.sub(at(values.shifts, b, shared(h), j))
					.max(0),
			);
		const alongRow = s.reduce(
			"sum",
			s.map(byRow.q.dims, (b, h, t, c) => at(byRow.q, b!, h!, t!, c!).mul(at(out, b!, t!, h!, c!))),
		);
		const rowSums = s.map([batch, heads, context], (b, h, t) =>
			at(alongRow, b!, h!, t!)
				.rshv(at(most, b!, shared(h!)))
				.clamp(-ROW_SUM, ROW_SUM),
		);
		const scores = scoreGradients(
			net,
			{ e, inverse },
			(...axes) => dP(...(axes as [Index, Index, Index, Index])),
			rowSums,
		);
		// All shifts of a row, and the largest of those that share a key.
		const shifted = s.map([batch, heads, context], (b, h, t) =>
			at(scores.shifts, b!, h!, t!).add(at(byRow.shifts, b!, h!, t!)),
		);
		const largest = s.reduce("max", view(shifted, batch, kvHeads, group * context));
		const dQ = this.#queryGradient(k, scores.dS, shifted, most);
		const grouped = [batch, kvHeads, context, group, context];
		const turnedScores = s.map(grouped, (b, n, j, g, t) => {
			const h = n!.times(group).plus(g!);
			// After 31 nothing is left.
			const further = at(largest, b!, n!)
				.sub(at(shifted, b!, h, t!))
				.clamp(0, 31);
			return clampI16(at(scores.dS, b!, h, t!, j!).rshv(further));
		});
		const weights = s.map(grouped, (b, n, j, g, t) => {
			const h = n!.times(group).plus(g!);
			return normalised(at(e, b!, h, t!, j!), at(inverse, b!, h, t!));
		});
		const flat = (x: Value): Value => view(x, batch, kvHeads, context, group * context);
		const queries = this.#alongGroups((b, h, t, c) => at(q, b, h, t, c));
		const gradients = this.#alongGroups((b, h, t, c) => at(dOut, b, t, h, c));
		const dims = [batch, kvHeads, context, size];
		const byScores = this.#product(flat(turnedScores), queries.q, ...dims);
		const byWeights = this.#product(flat(weights), gradients.q, ...dims);
		const dK = s.map(dims, (b, n, j, c) =>
			this.#scoresTo24(
				at(byScores, b!, n!, j!, c!),
				at(largest, b!, n!)
					.add(at(most, b!, n!))
					.add(at(queries.shifts, b!, n!, c!)),
			),
		);
		const dV = s.map(dims, (b, n, j, c) =>
			clampI32(at(byWeights, b!, n!, j!, c!).rshv(constant(E).sub(at(gradients.shifts, b!, n!, c!)))),
		);
		return { q: dQ, k: dK, v: dV };
	}

	#queryGradient(k: Value, dS: Value, shifted: Value, most: Value): Value {
		const { net, group } = this;
		const { batch, context, heads, kvHeads, size } = this.shape;
		const shared = (h: Index): Expression =>
			h
				.value()
				.div(group)
				.clamp(0, kvHeads - 1);
		const keys = this.#alongTokens(k);
		const product = this.#product(dS, keys.q, batch, heads, context, size);
		return net.s.map([batch, heads, context, size], (b, h, t, c) =>
			this.#scoresTo24(
				at(product, b!, h!, t!, c!),
				at(shifted, b!, h!, t!)
					.add(at(most, b!, shared(h!)))
					.add(at(keys.shifts, b!, shared(h!), c!)),
			),
		);
	}

	/** A sum of gradients of scores times i16 numbers, less `shifts`: as i32 at 2^24, over √size. */
	#scoresTo24(sum: Expression, shifts: Expression): Expression {
		const from = P + SCALE.gradient + 2 * WIDE + ROOT;
		// A result beyond 62 is zero; one that would go further to the left is none that an i32 holds.
		const by = constant(from - SCALE.gradient)
			.sub(shifts)
			.clamp(-1, 62);
		return clampI32(sum.mul(inverseRoot(this.shape.size, ROOT)).rshv(by));
	}
}

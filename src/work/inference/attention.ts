// Attention with heads that share keys and values, and rotary positions, docs/inference.md §5. Queries, keys
// and values are operands with a shift for each place and head; a place's weights carry the shifts of the
// values, under their own maximum. So one place with large values costs the others nothing, and every place
// is computed alike with a whole context or with a cache.
import type { TensorHandle } from "../builder/build-program.ts";
import { at, constant, type Expression, type Index, step, type Value, view } from "../builder/expression.ts";
import { constantOf } from "../models/numbers.ts";
import { type ExpTables, expTables } from "../models/softmax.ts";
import { inverseRoot, ropeTables } from "../models/tables.ts";
import { largestOf } from "./layers.ts";
import { bitsOf, clampFixed, fixedBits, log2Up, mostLeft, type Net, scaled } from "./numbers.ts";

/** cos and sin at 2^30; what is turned has 28 bits. */
const TURN = 30;
const TURNED = 28;
/** 1/√headWidth at 2^24. */
const ROOT = 24;
/** Scores at 2^20; one that nobody may see is far below all others. */
const SCORE = 20;
const HIDDEN = 2 ** 31 - 1;
const MOST_SCORE = HIDDEN - 2 ** 25;
/** exp at 2^30. */
const E = 30;

export interface Attention {
	readonly exp: ExpTables;
	readonly turns: { readonly cos: Value; readonly sin: Value } | null;
	/** Places of keys. */
	readonly context: number;
	/** [batch]: keys from there on are not seen; null: nothing after the place itself is. */
	readonly lengths: Value | null;
	readonly hasCache: boolean;
}

/** `tables`: places that tables of turns have, `context` at least. */
export function attentionParts(
	net: Net,
	{ context, tables, lengths, hasCache }: Omit<Attention, "exp" | "turns"> & { readonly tables: number },
): Attention {
	const { of } = net;
	const exp = expTables(net);
	if (of.positions !== "rope") return { exp, turns: null, context, lengths, hasCache };
	const made = ropeTables(of.ropeTheta, of.headWidth, tables, TURN);
	const as = (name: "cos" | "sin") =>
		view(
			constantOf(net, name, () => made[name]),
			tables,
			of.headWidth / 2,
		);
	return { exp, turns: { cos: as("cos"), sin: as("sin") }, context, lengths, hasCache };
}

/** exp(−x) at 2^30, x from 0 at 2^20: two tables, and a straight line for the last eight bits. */
function expOf({ coarse, fine }: ExpTables, x: Expression): Expression {
	const inside = x.clamp(0, 2 ** 24 - 1);
	return at(coarse, inside.shr(16))
		.mul(at(fine, inside.shr(8).and(255)))
		.rsh(30)
		.mul(constant(2 ** SCORE).sub(inside.and(255)))
		.rsh(SCORE);
}

interface Heads {
	/**
	 * [batch, heads, places, headWidth]; keys [batch, kvHeads, context, headWidth], values [batch, kvHeads,
	 * headWidth, context].
	 */
	readonly q: Value;
	readonly k: Value;
	readonly v: Value;
	/** [batch, places, heads + 2·kvHeads] of this step. */
	readonly shifts: Value;
	/** Of all keys and values: by batch, head and place. */
	readonly kShift: (b: Index, h: Index, j: Index) => Expression;
	readonly vShift: (b: Index, h: Index, j: Index) => Expression;
}

/** `qkv`: [batch, places, heads + 2·kvHeads, headWidth] at the fixed scale. */
function headsOf(net: Net, layer: number, parts: Attention, qkv: Value): Heads {
	const { s, of, numbers, batch, places } = net;
	const { heads, kvHeads, headWidth } = of;
	const { operand } = numbers;
	const { turns, hasCache } = parts;
	const largest = largestOf(net, qkv.dims, (...axes) => at(qkv, ...axes));
	const turnedHeads = turns === null ? 0 : heads + kvHeads;
	/** What is turned may grow by √2: one bit less of it is kept. */
	const lower = TURNED + 1 - operand;
	const shifts = s.map([batch, places, heads + 2 * kvHeads], (b, t, h) => {
		const shift = at(largest, b!, t!, h!).bitlen().sub(operand);
		return (turns === null ? shift : shift.add(h!.value().lt(turnedHeads))).max(lower - mostLeft(numbers));
	});
	const most = 2 ** operand - 1;
	const cut = (x: Expression) => x.clamp(-most, most);
	// As it lies, right after the maximum: what is wide need not be kept. What is turned is made from the wide
	// ones.
	const whole =
		turns === null ? s.map(qkv.dims, (b, t, h, c) => cut(at(qkv, b!, t!, h!, c!).rshv(at(shifts, b!, t!, h!)))) : null;
	const plain = (b: Index, t: Index | number, h: Index, c: Index) =>
		whole === null ? cut(at(qkv, b, t, h, c).rshv(at(shifts, b, t, h))) : at(whole, b, t, h, c);
	const turned = (b: Index, t: Index | number, h: Index, c: Index) => {
		if (turns === null) return plain(b, t, h, c);
		const half = headWidth / 2;
		const by = at(shifts, b, t, h).sub(lower);
		const column = c.value();
		const isFirst = column.lt(half);
		const other = at(qkv, b, t, h, isFirst.select(column.add(half), column.sub(half)).clamp(0, headWidth - 1)).rshv(by);
		const pair = isFirst.select(column, column.sub(half)).clamp(0, half - 1);
		const place = hasCache ? step : t;
		const along = at(qkv, b, t, h, c)
			.rshv(by)
			.clamp(-(2 ** TURNED), 2 ** TURNED);
		const across = other.clamp(-(2 ** TURNED), 2 ** TURNED).mul(at(turns.sin, place, pair));
		return cut(
			along
				.mul(at(turns.cos, place, pair))
				.add(isFirst.select(across.neg(), across))
				.rsh(TURN + lower),
		);
	};
	const q = s.map([batch, heads, places, headWidth], (b, h, t, c) => turned(b!, t!, h!, c!));
	if (!hasCache) {
		const k = s.map([batch, kvHeads, places, headWidth], (b, h, t, c) => turned(b!, t!, h!.plus(heads), c!));
		const v = s.map([batch, kvHeads, headWidth, places], (b, h, c, t) => plain(b!, t!, h!.plus(heads + kvHeads), c!));
		const both = s.map([batch, 2 * kvHeads, places], (b, h, t) => at(shifts, b!, t!, h!.plus(heads)));
		return {
			...{
				q,
				k,
				v,
				shifts,
				kShift: (b, h, j) => at(both, b, h, j),
				vShift: (b, h, j) => at(both, b, h.plus(kvHeads), j),
			},
		};
	}
	const { k, v, kShifts, vShifts } = cachesOf(net, layer, parts.context, shifts);
	const isNow = (j: Index) => j.value().eq(step);
	const shiftsOf = (cache: TensorHandle, first: number) => {
		const now = s.map(
			cache.dims,
			(b, h, j) => isNow(j!).select(at(shifts, b!, 0, h!.plus(first)), at(cache, b!, h!, j!)),
			{ to: cache },
		);
		return (b: Index, h: Index, j: Index) => at(now, b, h, j);
	};
	return {
		q,
		shifts,
		k: s.map(k.dims, (b, h, j, c) => isNow(j!).select(turned(b!, 0, h!.plus(heads), c!), at(k, b!, h!, j!, c!)), {
			to: k,
		}),
		v: s.map(
			v.dims,
			(b, h, c, j) => isNow(j!).select(plain(b!, 0, h!.plus(heads + kvHeads), c!), at(v, b!, h!, c!, j!)),
			{ to: v },
		),
		kShift: shiftsOf(kShifts, heads),
		vShift: shiftsOf(vShifts, heads + kvHeads),
	};
}

/** Keys and values of the segment so far; scratch, so they begin with zeros and are in no commitment. */
function cachesOf({ b, of, numbers, batch }: Net, layer: number, context: number, shifts: Value) {
	const { kvHeads, headWidth } = of;
	const most = 2 ** numbers.operand - 1;
	const type = numbers.operand === 15 ? "i16" : "i32";
	const cache = (name: string, ...dims: readonly number[]) =>
		b.tensor("scratch", `layers.${layer}.${name}`, type, [batch, kvHeads, ...dims], -most, most);
	const shiftCache = (name: string) =>
		b.tensor("scratch", `layers.${layer}.${name}`, "i8", [batch, kvHeads, context], shifts.lo, shifts.hi);
	return {
		k: cache("keys", context, headWidth),
		v: cache("values", headWidth, context),
		kShifts: shiftCache("keyShifts"),
		vShifts: shiftCache("valueShifts"),
	};
}

/** [batch, kvHeads, group, places, context] at 2^20. */
function scoresOf(net: Net, { context, lengths, hasCache }: Attention, { q, k, shifts, kShift }: Heads): Value {
	const { s, of, numbers, batch, places } = net;
	const { heads, kvHeads, headWidth } = of;
	const group = heads / kvHeads;
	const all = [batch, kvHeads, group, places, context];
	const products = s.matmul(flat(q), flat(k));
	const bits = bitsOf(products);
	const dots = view(products, ...all);
	return s.map(all, (b, h, g, t, j) => {
		const score = scaled(at(dots, b!, h!, g!, t!, j!), bits, inverseRoot(headWidth, ROOT), ROOT, (before) =>
			constant(2 * numbers.fixed - SCORE + ROOT - before)
				.sub(at(shifts, b!, t!, h!.times(group).plus(g!)))
				.sub(kShift(b!, h!, j!)),
		).clamp(-MOST_SCORE, MOST_SCORE);
		const isSeen =
			lengths === null ? (hasCache ? step : t!.value()).lt(j!.value()).xor(1) : j!.value().lt(at(lengths, b!));
		return isSeen.select(score, -HIDDEN);
	});
}

/** For products: the heads of all sequences as one batch. */
const flat = (x: Value): Value => view(x, x.dims[0]! * x.dims[1]!, x.dims[2]!, x.dims[3]!);

interface Weights {
	/** e^(score − top)·2^(shift of the value + spare − own shift), [batch, kvHeads, group, places, context]. */
	readonly weights: Value;
	/** [batch, kvHeads, group, places]. */
	readonly shifts: Value;
	/** ⌊2^62/Z⌋·2^−drop. */
	readonly inverses: Value;
	readonly drops: Value;
	readonly spare: number;
}

function weightsOf({ s, numbers }: Net, exp: ExpTables, scores: Value, vShift: Heads["vShift"]): Weights {
	const { operand, inverse } = numbers;
	const top = s.reduce("max", scores);
	const e = s.map(scores.dims, (...i) => expOf(exp, at(top, ...i.slice(0, 4)).sub(at(scores, ...i))));
	const sum = s.reduce("sum", e);
	const spare = E - (fixedBits(numbers) - operand);
	const carried = (i: readonly Index[]) => at(e, ...i).rshv(vShift(i[0]!, i[1]!, i[4]!).add(spare).neg());
	const largest = s.reduce(
		"max",
		s.map(scores.dims, (...i) => carried(i)),
	);
	const shifts = s.map(top.dims, (...i) =>
		at(largest, ...i)
			.bitlen()
			.sub(operand)
			.max(0),
	);
	const weights = s.map(scores.dims, (...i) =>
		carried(i)
			.rshv(at(shifts, ...i.slice(0, 4)))
			.min(2 ** operand - 1),
	);
	// 1/Z has so many bits, whatever Z.
	const drops = s.map(top.dims, (...i) =>
		constant(63 - inverse)
			.sub(at(sum, ...i).bitlen())
			.max(0),
	);
	const inverses = s.map(top.dims, (...i) =>
		constant(2n ** 62n)
			.div(at(sum, ...i).max(2 ** E))
			.rshv(at(drops, ...i))
			.min(2 ** inverse),
	);
	return { weights, shifts, inverses, drops, spare };
}

/**
 * `qkv`: of every row, at the fixed scale, [rows, (heads + 2·kvHeads)·headWidth]. Gives the heads' outputs,
 * [rows, heads·headWidth].
 */
export function attend(net: Net, layer: number, parts: Attention, qkv: Value): Value {
	const { s, of, numbers, batch, places } = net;
	const { heads, kvHeads, headWidth } = of;
	const group = heads / kvHeads;
	const made = headsOf(net, layer, parts, view(qkv, batch, places, heads + 2 * kvHeads, headWidth));
	const by = weightsOf(net, parts.exp, scoresOf(net, parts, made), made.vShift);
	const product = s.matmul(view(by.weights, batch * heads, places, parts.context), flat(made.v));
	const mixed = view(product, batch, kvHeads, group, places, headWidth);
	// Of the longest context, so that a shorter one gives the same bits.
	const bits = 2 * numbers.operand + log2Up(of.context);
	const out = s.map([batch, places, kvHeads, group, headWidth], (b, t, h, g, c) => {
		const row = [b!, h!, g!, t!] as const;
		const mean = scaled(at(mixed, ...row, c!), bits, at(by.inverses, ...row), numbers.inverse + 1, (before) =>
			constant(62 + by.spare - before)
				.sub(at(by.drops, ...row))
				.sub(at(by.shifts, ...row)),
		);
		return clampFixed(numbers, mean);
	});
	return view(out, batch * places, heads * headWidth);
}

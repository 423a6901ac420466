// Adapters beside a matrix that stands still (LoRA): y += (alpha/rank)·B·A·x, forwards and backwards;
// docs/training.md §9. Layers that read the same x (q, k, v) share one product: their A lie one below the
// other, their B stand on the diagonal.
import { at, constant, type Expression, type Index, type Value } from "../../builder/expression.ts";
import type { Elements } from "../../operators/tensor-type.ts";
import { clampI16, clampI32, I32, largestOf, type Net, SCALE, shiftFor, turned } from "../numbers.ts";
import type { Parameter, Parameters } from "../optimizer.ts";
import { WIDE, type WideNet, WideRows } from "./wide.ts";

/** What products read of a matrix: i16 under the largest of all, w = q·2^shift. */
interface Copy {
	readonly q: Value;
	readonly turned: Value;
	/** [1] */
	readonly shift: Value;
}

/** `rows`: as many as these, with zeros after the last. */
export function copyOf(net: Net, w: Value, rows = w.dims[0]!): Copy {
	const { s } = net;
	const largest = largestOf(
		net,
		s.map(w.dims, (i, j) => at(w, i!, j!).abs()),
	);
	const shift = s.map([1], () => shiftFor(at(largest, 0)));
	const q = s.map([rows, w.dims[1]!], (i, j) =>
		clampI16(at(w, rows === w.dims[0] ? i! : i!.zero(), j!).rshv(at(shift, 0))),
	);
	return { q, turned: turned(net, q), shift };
}

/** A factor as times / 2^shift, times from 2^14 to 2^15. */
function dyadic(factor: number): { readonly times: number; readonly shift: number } {
	let [times, shift] = [factor, 0];
	for (; times < 2 ** 14; times *= 2) shift++;
	for (; times >= 2 ** 15; times /= 2) shift--;
	return { times: Math.round(times), shift };
}

/** Sums of i16 products, once more times 15 bits: what does not fit 62 bits is rounded before. */
function widened(
	{ hi }: Value,
	sum: Expression,
	times: number,
): { readonly value: Expression; readonly dropped: number } {
	const dropped = Math.max(0, hi.toString(2).length + 15 - 62);
	return { value: sum.rsh(dropped).mul(times), dropped };
}

/** A layer with an adapter: its part of the outputs that the group computes. */
export interface AdapterPart {
	/** Of the layer. */
	readonly name: string;
	readonly first: number;
	readonly outputs: number;
	/** Elements at 2^24 to begin with, or none. */
	readonly start: { readonly a: Elements; readonly b: Elements } | null;
}

export interface AdapterShape {
	readonly rank: number;
	readonly alpha: number;
}

export class Adapters {
	readonly net: WideNet;
	readonly parameters: Parameters;
	readonly parts: readonly AdapterPart[];
	readonly rank: number;
	readonly a: readonly Parameter[];
	readonly b: readonly Parameter[];
	readonly scale: { readonly times: number; readonly shift: number };
	readonly copies: { readonly a: Copy; readonly b: Copy };
	x: WideRows | null = null;
	h: WideRows | null = null;
	product: Value | null = null;

	/** At most seven parts: a map that joins them reads one tensor each. */
	constructor(
		net: WideNet,
		parameters: Parameters,
		[outputs, inputs]: readonly [number, number],
		parts: readonly AdapterPart[],
		{ rank, alpha }: AdapterShape,
	) {
		const { s } = net;
		this.net = net;
		this.parameters = parameters;
		this.parts = parts;
		this.rank = rank;
		// As PEFT begins: A uniform inside ±1/√inputs, B zero.
		this.a = parts.map(({ name, start }) =>
			this.#add(`${name}.lora_A`, [rank, inputs], start?.a, parameters.uniform(1 / Math.sqrt(inputs))),
		);
		this.b = parts.map(({ name, outputs: own, start }) =>
			this.#add(`${name}.lora_B`, [own, rank], start?.b, () => constant(0)),
		);
		this.scale = dyadic(alpha / rank);
		const sum = (all: readonly Expression[]): Expression => all.reduce((total, one) => total.add(one));
		// Outside its own place each is zero.
		const rows = s.map([parts.length * rank, inputs], (j, i) =>
			clampI32(sum(this.a.map(({ w }, n) => at(w, j!.plus(-n * rank).zero(), i!)))),
		);
		const diagonal = s.map([outputs, parts.length * rank], (o, j) =>
			clampI32(sum(this.b.map(({ w }, n) => at(w, o!.plus(-parts[n]!.first).zero(), j!.plus(-n * rank).zero())))),
		);
		this.copies = { a: copyOf(net, rows), b: copyOf(net, diagonal) };
	}

	#add(
		name: string,
		dims: readonly number[],
		start: Elements | undefined,
		initial: (flat: Expression, domain: number) => Expression,
	): Parameter {
		if (start === undefined) return this.parameters.add(name, dims, initial);
		this.net.given[`${name}.start`] = start;
		const given = this.net.b.tensor("input", `${name}.start`, "i32", dims, -I32, I32);
		return this.parameters.add(name, dims, (_, __, axes) => at(given, ...axes));
	}

	forward(x: WideRows): void {
		const { net, copies } = this;
		const { s, rows } = net;
		const inner = s.matmul(x.rows.q, copies.a.q);
		const h = s.map([rows, inner.dims[1]!], (r, j) => {
			const by = constant(SCALE.weight).sub(at(x.rows.shifts, r!)).sub(at(copies.a.shift, 0));
			return clampI32(at(inner, r!, j!).rshv(by));
		});
		this.x = x;
		this.h = new WideRows(net, h);
		this.product = s.matmul(this.h.rows.q, copies.b.q);
	}

	/** What they add to the layers' outputs, at 2^to. */
	output(r: Index, c: Index, to: number): Expression {
		const { value, dropped } = widened(this.product!, at(this.product!, r, c), this.scale.times);
		return value.rshv(
			constant(SCALE.weight + this.scale.shift + WIDE - to - dropped)
				.sub(at(this.h!.rows.shifts, r))
				.sub(at(this.copies.b.shift, 0)),
		);
	}

	/**
	 * `d`: gradient of the outputs at 2^24. Moves A and B; gives the gradient of x by this way, at 2^24, where
	 * it is wanted.
	 */
	backward(d: WideRows, wantsInput: boolean): (r: Index, c: Index) => Expression {
		const { net, copies, scale } = this;
		const { s, rows } = net;
		const inner = s.matmul(d.rows.q, copies.b.turned);
		const dH = new WideRows(
			net,
			s.map([rows, inner.dims[1]!], (r, j) => {
				const { value, dropped } = widened(inner, at(inner, r!, j!), scale.times);
				const by = constant(SCALE.weight + scale.shift - dropped);
				return clampI32(value.rshv(by.sub(at(d.rows.shifts, r!)).sub(at(copies.b.shift, 0))));
			}),
		);
		this.#move(d, dH);
		if (!wantsInput) return () => constant(0);
		const back = s.matmul(dH.rows.q, copies.a.turned);
		return (r, c) => at(back, r, c).rshv(constant(SCALE.weight).sub(at(dH.rows.shifts, r)).sub(at(copies.a.shift, 0)));
	}

	#move(d: WideRows, dH: WideRows): void {
		const { net, parameters, scale, rank, parts } = this;
		const { s } = net;
		const [x, h] = [this.x!, this.h!];
		const inputs = x.wide.dims[1]!;
		const from = SCALE.gradient + WIDE;
		const sumsA = s.matmul(dH.turned.q, x.turned.q);
		const sumsB = s.matmul(d.turned.q, h.turned.q);
		for (const [n, { first, outputs }] of parts.entries()) {
			const ofA = s.map([rank, inputs], (j, i) => {
				const row = j!.plus(n * rank);
				const by = constant(from).sub(at(dH.turned.shifts, row)).sub(at(x.turned.shifts, i!));
				return parameters.gradient(at(sumsA, row, i!), by);
			});
			const ofB = s.map([outputs, rank], (i, j) => {
				const [row, column] = [i!.plus(first), j!.plus(n * rank)];
				const { value, dropped } = widened(sumsB, at(sumsB, row, column), scale.times);
				const scaled = constant(from + scale.shift - dropped);
				return parameters.gradient(value, scaled.sub(at(d.turned.shifts, row)).sub(at(h.turned.shifts, column)));
			});
			parameters.apply(this.a[n]!, ofA);
			parameters.apply(this.b[n]!, ofB);
		}
	}
}

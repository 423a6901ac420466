// A linear layer of a wide model, forwards and backwards: its matrix stands still, and adapters beside it may
// learn; or it learns itself. docs/training.md §9.
import { at, constant, type Expression, type Index, type Value } from "../../builder/expression.ts";
import { clampI32, rescale } from "../numbers.ts";
import type { Adapters } from "./adapter.ts";
import { quantise, WIDE, type WideNet, WideRows } from "./wide.ts";

/** W[j, i] = rows[j, i] · times(j) / 2^shift. */
export interface Matrix {
	/** i16 or i8, [outputs, inputs]. */
	readonly rows: Value;
	/** [inputs, outputs]. */
	turned(): Value;
	/** Null: 1. */
	readonly times: ((row: Index) => Expression) | null;
	readonly shift: number | Expression;
	/** One number at 2^to, with all its digits. */
	element(row: Index, column: Index, to: number): Expression;
	/** Moves it; null: it stands still. `d`: gradient of what it gave, at 2^24; x: what it got. */
	readonly learn: ((d: WideRows, x: WideRows) => void) | null;
}

/** Times a row's multiplier. */
export const scaled = ({ times }: Matrix, x: Expression, row: Index): Expression =>
	times === null ? x : x.mul(times(row));

/** A matrix's shift and so much more. */
export const shiftPlus = ({ shift }: Matrix, more: number): Expression =>
	typeof shift === "number" ? constant(shift + more) : shift.add(more);

export class WideLinear {
	readonly net: WideNet;
	readonly matrix: Matrix;
	/** Of a column, at 2^16. */
	readonly bias: ((column: Index) => Expression) | null;
	readonly adapters: Adapters | null;
	x: WideRows | null = null;
	product: Value | null = null;

	constructor(net: WideNet, matrix: Matrix, bias: ((column: Index) => Expression) | null, adapters: Adapters | null) {
		this.net = net;
		this.matrix = matrix;
		this.bias = bias;
		this.adapters = adapters;
	}

	forward(x: WideRows): this {
		this.x = x;
		this.product = this.net.s.matmul(x.rows.q, this.matrix.rows);
		this.adapters?.forward(x);
		return this;
	}

	/** What the layer gives, at 2^to; not clamped. */
	output(r: Index, c: Index, to: number): Expression {
		const { matrix } = this;
		const by = shiftPlus(matrix, WIDE - to).sub(at(this.x!.rows.shifts, r));
		let sum = scaled(matrix, at(this.product!, r, c), c).rshv(by);
		if (this.bias !== null) sum = sum.add(rescale(this.bias(c), WIDE, to));
		return this.adapters === null ? sum : sum.add(this.adapters.output(r, c, to));
	}

	/** The output as i32 at 2^16. */
	wide(): Value {
		return this.net.s.map(this.product!.dims, (r, c) => clampI32(this.output(r!, c!, WIDE)));
	}

	/**
	 * `d`: gradient of the output, i32 [rows, outputs] at 2^24. Moves the adapters. Gives the gradient of x,
	 * i32 at 2^24, where it is wanted.
	 */
	backward(d: Value, wantsInput: boolean): Value | null {
		const { net, matrix, adapters } = this;
		const { s, rows } = net;
		const of = new WideRows(net, d);
		const byAdapters = adapters?.backward(of, wantsInput);
		matrix.learn?.(of, this.x!);
		if (!wantsInput) return null;
		// The multipliers of the matrix's rows come first: its products sum over them.
		const z = matrix.times === null ? of.rows : quantise(net, d.dims, (r, j) => scaled(matrix, at(d, r!, j!), j!));
		const product = s.matmul(z.q, matrix.turned());
		return s.map([rows, matrix.rows.dims[1]!], (r, c) => {
			const base = at(product, r!, c!).rshv(shiftPlus(matrix, 0).sub(at(z.shifts, r!)).max(-12));
			return clampI32(byAdapters === undefined ? base : base.add(byAdapters(r!, c!)));
		});
	}
}

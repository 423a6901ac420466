// A linear layer of a wide model, forwards and backwards: its matrix stands still; adapters beside it may learn. docs/training.md §9.
import { at, constant, type Expression, type Index, type Value } from "../../builder/expression.ts";
import { clampI32, rescale, turned } from "../numbers.ts";
import type { Adapters } from "./adapter.ts";
import { quantise, WIDE, type WideNet, WideRows } from "./wide.ts";

/** W[j, i] = rows[j, i] · times(j) / 2^shift. */
export interface Matrix {
	/** i16 or i8, [outputs, inputs]. */
	readonly rows: Value;
	readonly times: (row: Index) => Expression;
	readonly shift: number;
}

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
		const { times, shift } = this.matrix;
		let sum = at(this.product!, r, c)
			.mul(times(c))
			.rshv(constant(shift + WIDE - to).sub(at(this.x!.rows.shifts, r)));
		if (this.bias !== null) sum = sum.add(rescale(this.bias(c), WIDE, to));
		return this.adapters === null ? sum : sum.add(this.adapters.output(r, c, to));
	}

	/** The output as i32 at 2^16. */
	wide(): Value {
		return this.net.s.map(this.product!.dims, (r, c) => clampI32(this.output(r!, c!, WIDE)));
	}

	/** `d`: gradient of the output, i32 [rows, outputs] at 2^24. Moves the adapters. Gives the gradient of x, i32 at 2^24, where it is wanted. */
	backward(d: Value, wantsInput: boolean): Value | null {
		const { net, matrix, adapters } = this;
		const { s, rows } = net;
		const byAdapters = adapters?.backward(new WideRows(net, d), wantsInput);
		if (!wantsInput) return null;
		// The multipliers of the matrix's rows come first: its products sum over them.
		const z = quantise(net, d.dims, (r, j) => at(d, r!, j!).mul(matrix.times(j!)));
		const product = s.matmul(z.q, turned(net, matrix.rows));
		return s.map([rows, matrix.rows.dims[1]!], (r, c) => {
			const base = at(product, r!, c!).rshv(constant(matrix.shift).sub(at(z.shifts, r!)).max(-12));
			return clampI32(byAdapters === undefined ? base : base.add(byAdapters(r!, c!)));
		});
	}
}

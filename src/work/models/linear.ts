// A linear layer y = x·Wᵀ + b, forwards and backwards, docs/training.md §4. Products are exact; a gradient
// enters one as i16 after one shift, by its row's maximum where the row's result is a row, by the tensor's
// where rows are summed.
import { at, type Expression, type Index, type Value } from "../builder/expression.ts";
import { clampI16, largestOf, type Net, rowShifts, SCALE, turned } from "./numbers.ts";
import { type Copies, copiesOf, type Parameter, type Parameters } from "./optimizer.ts";

/** i16 at 2^11: [rows, K] and turned, [K, rows]. */
export interface Activation {
	readonly rows: Value;
	readonly turned: Value;
}

export const activationOf = (net: Net, rows: Value): Activation => ({ rows, turned: turned(net, rows) });

/** Scale of a product of activations and weights. */
export const PRODUCT = SCALE.activation + SCALE.copy;

export interface LinearGradients {
	/** Gradient of the layer's input at 2^24, as an expression of row and column. */
	readonly input: (row: Index, column: Index) => Expression;
	/** [N]: of the bias, as the optimiser takes it. */
	readonly bias: Value;
	/** What `input` reads: [rows, K], and by how much each row was shifted before the product. */
	readonly product: Value;
	readonly shifts: Value;
}

export class Linear {
	readonly net: Net;
	readonly parameters: Parameters;
	readonly weight: Parameter;
	readonly copies: Copies;
	x: Activation | null = null;

	constructor(net: Net, parameters: Parameters, weight: Parameter) {
		this.net = net;
		this.parameters = parameters;
		this.weight = weight;
		this.copies = copiesOf(net, weight);
	}

	/** [rows, N] at 2^25, without bias. */
	forward(x: Activation): Value {
		this.x = x;
		return this.net.s.matmul(x.rows, this.copies.rows);
	}

	/** `d`: gradient of the output, i32 [rows, N] at 2^24. Moves the weight. */
	backward(d: Value): LinearGradients {
		const { net, parameters, weight, copies } = this;
		const { s } = net;
		// A convolution has more rows than the batch: one for each place.
		const rows = d.dims[0]!;
		const [outputs, inputs] = weight.w.dims as [number, number];
		const shifts = rowShifts(net, d);
		const most = largestOf(net, shifts);
		const byRow = s.map([rows, outputs], (r, c) => clampI16(at(d, r!, c!).rshv(at(shifts, r!))));
		// From the row's own shift on to the tensor's: the first rounding is far below the second.
		const rest = s.map([rows], (r) => at(most, 0).sub(at(shifts, r!)).max(0));
		const whole = s.map([outputs, rows], (c, r) => clampI16(at(byRow, r!, c!).rshv(at(rest, r!))));
		const product = s.matmul(byRow, copies.turned);
		const sums = s.matmul(whole, this.x!.turned);
		const from = SCALE.gradient + SCALE.activation;
		const g = s.map([outputs, inputs], (i, j) => parameters.gradient(at(sums, i!, j!), at(most, 0).neg().add(from)));
		const columns = s.reduce("sum", whole);
		const bias = s.map([outputs], (i) => parameters.gradient(at(columns, i!), at(most, 0).neg().add(SCALE.gradient)));
		parameters.apply(weight, g);
		return {
			input: (r, c) => at(product, r, c).rshv(at(shifts, r).neg().add(SCALE.copy)),
			bias,
			product,
			shifts,
		};
	}
}

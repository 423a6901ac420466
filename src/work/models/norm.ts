// Layer norm, forwards and backwards, docs/training.md §4: 1/σ by an integer root and one division a row.
import { at, constant, type Expression, type Index, type Value } from "../builder/expression.ts";
import { type Activation, activationOf } from "./linear.ts";
import { clampI16, clampI32, columnSums, type Net, rescale, SCALE } from "./numbers.ts";
import type { Parameters } from "./optimizer.ts";

/** 10⁻⁵ at 2^24, added to the variance: that of PyTorch. */
const EPSILON = 168;
/** 1/σ is kept at 2^21, the variance at 2^24, σ at 2^19. */
const INVERSE = 21;

interface Forward {
	readonly normed: Value;
	readonly inverse: Value;
	readonly out: Activation;
}

export class Norm {
	readonly net: Net;
	readonly parameters: Parameters;
	readonly width: number;
	/** Gain and bias of a column, at 2^24. */
	readonly gain: (column: Index) => Expression;
	readonly bias: (column: Index) => Expression;
	made: Forward | null = null;

	constructor(
		net: Net,
		parameters: Parameters,
		width: number,
		gain: (column: Index) => Expression,
		bias: (column: Index) => Expression,
	) {
		this.net = net;
		this.parameters = parameters;
		this.width = width;
		this.gain = gain;
		this.bias = bias;
	}

	/** `x`: [rows, width] at 2^16. */
	forward(x: Value): Activation {
		const { net, width } = this;
		const { s, rows } = net;
		const sum = s.reduce("sum", x);
		const mean = s.map([rows], (r) => at(sum, r!).rdiv(width));
		const squares = s.map([rows, width], (r, c) => {
			const d = at(x, r!, c!).sub(at(mean, r!)).rsh(4);
			return d.mul(d);
		});
		const total = s.reduce("sum", squares);
		const inverse = s.map([rows], (r) => constant(2 ** 40).div(at(total, r!).rdiv(width).add(EPSILON).shl(14).isqrt()));
		const normed = s.map([rows, width], (r, c) =>
			clampI16(
				rescale(at(x, r!, c!).sub(at(mean, r!)).mul(at(inverse, r!)), SCALE.residual + INVERSE, SCALE.activation),
			),
		);
		const out = s.map([rows, width], (r, c) =>
			clampI16(at(normed, r!, c!).mul(this.gain(c!)).add(this.bias(c!).shl(SCALE.activation)).rsh(SCALE.weight)),
		);
		this.made = { normed, inverse, out: activationOf(net, out) };
		return this.made.out;
	}

	/**
	 * `d`: gradient of the output at 2^24; `stream`: gradient that reaches x on other ways, i32 at 2^24, or
	 * none. Gives the whole gradient of x, and those of gain and bias, [width], as the optimiser takes them.
	 */
	backward(
		d: (row: Index, column: Index) => Expression,
		stream: Value | null,
	): { readonly x: Value; readonly gain: Value; readonly bias: Value } {
		const { net, width, parameters } = this;
		const { s, rows } = net;
		const { normed, inverse } = this.made!;
		const dy = s.map([rows, width], (r, c) => clampI32(d(r!, c!)));
		const h = s.map([rows, width], (r, c) => clampI32(at(dy, r!, c!).mul(this.gain(c!)).rsh(SCALE.weight)));
		const sum = s.reduce("sum", h);
		const product = s.map([rows, width], (r, c) => at(h, r!, c!).mul(at(normed, r!, c!)));
		const along = s.reduce("sum", product);
		const mean = s.map([rows], (r) => at(sum, r!).rdiv(width));
		const meanAlong = s.map([rows], (r) => at(along, r!).rdiv(width));
		const x = s.map([rows, width], (r, c) => {
			const part = at(normed, r!, c!)
				.mul(at(meanAlong, r!))
				.rsh(2 * SCALE.activation);
			const rest = at(h, r!, c!)
				.sub(at(mean, r!))
				.sub(part)
				.clamp(-(2 ** 32), 2 ** 32);
			const own = rest.mul(at(inverse, r!)).rsh(INVERSE);
			return clampI32(stream === null ? own : own.add(at(stream, r!, c!)));
		});
		const gain = columnSums(
			net,
			width,
			2n ** 46n,
			(r, c) => at(dy, r, c).mul(at(normed, r, c)),
			(total) => parameters.gradient(total, SCALE.gradient + SCALE.activation),
		);
		const bias = columnSums(
			net,
			width,
			2n ** 31n,
			(r, c) => at(dy, r, c),
			(total) => parameters.gradient(total, SCALE.gradient),
		);
		return { x, gain, bias };
	}
}

// Norms of a wide model, forwards and backwards: by the root of the mean square, or layer norm. A row is
// first brought to 24 bits by a shift of its own, so that rows of any size keep their digits;
// docs/training.md §9. Biases stand still.
import { at, constant, type Expression, type Index, type Value } from "../../builder/expression.ts";
import { clampI32, rescale } from "../numbers.ts";
import { WIDE, type WideNet, WideRows } from "./wide.ts";

/** Digits of a row's largest value. */
const DIGITS = 24;
/** x/σ is kept at 2^20; 1/σ at 2^56, where σ has 7 digits after the point. */
export const NORMED = 20;
const INVERSE = 56;
const ROOT = 7;
/** Of a gain. */
export const GAIN = 20;
/** ε has 10 digits more after the point than squares of x. */
const EPSILON = 10;

export interface NormSpec {
	readonly kind: "rms" | "layer";
	readonly epsilon: number;
	readonly width: number;
	/** Of a column, at 2^20. */
	readonly gain: (column: Index) => Expression;
	/** At 2^16. */
	readonly bias: ((column: Index) => Expression) | null;
	/** Moves the gain; null: it stands still. `d`: gradient of the output at 2^24; `normed`: x/σ at 2^20. */
	readonly learn: ((d: Value, normed: Value) => void) | null;
}

interface Forward {
	readonly normed: Value;
	readonly inverse: Value;
	readonly shifts: Value;
}

export class WideNorm {
	readonly net: WideNet;
	readonly of: NormSpec;
	/** ⌈log2 width⌉: the squares' sum has so many digits more than a square, and |x|/σ half of them. */
	readonly digits: number;
	made: Forward | null = null;

	constructor(net: WideNet, of: NormSpec) {
		this.net = net;
		this.of = of;
		this.digits = Math.ceil(Math.log2(of.width));
	}

	/** `x`: the residual stream. */
	forward(x: Value): WideRows {
		const { net, digits } = this;
		const { s, rows, residual } = net;
		const { kind, width, gain, bias } = this.of;
		const largest = s.reduce(
			"max",
			s.map([rows, width], (r, c) => at(x, r!, c!).abs()),
		);
		net.watched.residual.push(largest);
		const mean = kind === "layer" ? this.#mean(s.reduce("sum", x)) : null;
		const centred = (r: Index, c: Index) => (mean === null ? at(x, r, c) : at(x, r, c).sub(at(mean, r)));
		// To the left no further than ε goes along.
		const epsilon = Math.max(1, Math.round(this.of.epsilon * 2 ** (2 * residual + EPSILON)));
		const least = Math.max(-20, residual - Math.floor((46 - Math.log2(this.of.epsilon)) / 2));
		const shifts = s.map([rows], (r) =>
			at(largest, r!)
				.bitlen()
				.add(mean === null ? 0 : 1)
				.sub(DIGITS)
				.max(least),
		);
		const most = 2 ** DIGITS;
		const brought = s.map([rows, width], (r, c) => centred(r!, c!).rshv(at(shifts, r!)).clamp(-most, most));
		const total = s.reduce(
			"sum",
			s.map([rows, width], (r, c) => at(brought, r!, c!).mul(at(brought, r!, c!))),
		);
		const inverse = s.map([rows], (r) => {
			const shifted = constant(epsilon).rshv(at(shifts, r!).shl(1).add(EPSILON));
			const square = at(total, r!)
				.rdiv(width)
				.add(shifted)
				.min(2 ** 48 - 1);
			const root = square.shl(2 * ROOT).isqrt();
			return constant(2n ** BigInt(INVERSE)).div(root.max(2 ** (28 - Math.ceil(digits / 2))));
		});
		const limit = 2 ** (NORMED + Math.ceil(digits / 2));
		const normed = s.map([rows, width], (r, c) =>
			at(brought, r!, c!)
				.mul(at(inverse, r!))
				.rsh(INVERSE - ROOT - NORMED)
				.clamp(-limit, limit),
		);
		const out = s.map([rows, width], (r, c) => {
			const scaled = rescale(at(normed, r!, c!).mul(gain(c!)), NORMED + GAIN, WIDE);
			return clampI32(bias === null ? scaled : scaled.add(bias(c!)));
		});
		this.made = { normed, inverse, shifts };
		return new WideRows(net, out);
	}

	#mean(sums: Value): Value {
		return this.net.s.map(sums.dims, (r) => at(sums, r!).rdiv(this.of.width));
	}

	/**
	 * `d`: gradient of the output, i32 at 2^24; `stream`: that which reaches x on other ways, or none. Gives
	 * the whole gradient of x.
	 */
	backward(d: Value, stream: Value | null): Value {
		const { net, digits } = this;
		const { s, rows, residual } = net;
		const { kind, width, gain } = this.of;
		const { normed, inverse, shifts } = this.made!;
		const h = s.map([rows, width], (r, c) => clampI32(at(d, r!, c!).mul(gain(c!)).rsh(GAIN)));
		const mean = kind === "layer" ? this.#mean(s.reduce("sum", h)) : null;
		// So many digits of x/σ that the sum of its products with h fits 62.
		const kept = Math.min(NORMED, Math.floor(30 - 1.5 * digits));
		const factor = (r: Index, c: Index) => at(normed, r, c).rsh(NORMED - kept);
		const along = s.reduce(
			"sum",
			s.map([rows, width], (r, c) => at(h, r!, c!).mul(factor(r!, c!))),
		);
		const meanAlong = s.map([rows], (r) => clampI32(at(along, r!).rdiv(width).rsh(kept)));
		this.of.learn?.(d, normed);
		const dropped = Math.max(0, Math.ceil(digits / 2) - 2);
		const by = INVERSE - ROOT - dropped - residual;
		return s.map([rows, width], (r, c) => {
			const part = factor(r!, c!).mul(at(meanAlong, r!)).rsh(kept);
			const centred = mean === null ? at(h, r!, c!) : at(h, r!, c!).sub(at(mean, r!));
			const rest = centred.sub(part).clamp(-(2 ** 32), 2 ** 32);
			const own = rest.mul(at(inverse, r!).rsh(dropped)).rshv(at(shifts, r!).add(by));
			return clampI32(stream === null ? own : own.add(at(stream, r!, c!)));
		});
	}
}

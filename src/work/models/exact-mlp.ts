// The profile that a zk proof wants: an MLP by SGD in which no weight is ever rounded, docs/training.md §6.
//   z = a·Wᵀ, a with 2^8 added in its last column (the bias);  h = z to the nearest 2^-s;  a = relu(h) between layers;
//   d = h − y at the end, else what comes back to the nearest 2^-s where h > 0;  W ← W − a·d summed over the batch.
// a is at 2^8, d at 2^12, W at 2^s with s = 20 + shift, so the rate is 2^-shift on the summed squared error. Clamps are there for the
// checker's sake: a run in which one acts has no proof. Weights have 32 bits, or 64 of which 40 are used: segments of more rows move them
// further. Products take operands of 32 bits, so that these are multiplied in two halves.
import { buildProgram } from "../builder/build-program.ts";
import { at, type Expression, type Index, type Value } from "../builder/expression.ts";
import type { Elements } from "../operators/tensor-type.ts";
import type { Program } from "../program/shapes.ts";
import { batchRows, type MlpSchedule, type Samples } from "./mlp.ts";
import { I32, type Net, rescale, SCALE, turned } from "./numbers.ts";
import type { Parameter } from "./optimizer.ts";

const ACTIVATION = 8;
const GRADIENT = 12;
/** h has 12 bits, d 14. */
const MOST = { h: 2 ** 11 - 1, d: 2 ** 13 - 1 } as const;

/** How many bits a weight's type has. */
export type WeightBits = 32 | 64;
const MOST_WEIGHT = { 32: I32, 64: 2 ** 39 - 1 } as const;
/** Bits of the lower half of a weight of 64. */
const LOW = 20;

/** Scale of the weights. */
export const exactScale = (shift: number): number => ACTIVATION + GRADIENT + shift;

interface ExactProgram {
	readonly program: Program;
	readonly given: Readonly<Record<string, Elements>>;
	readonly parameters: readonly Omit<Parameter, "decays">[];
}

type At = (row: Index, column: Index) => Expression;

/** Weights as products take them: as they are, or W = high·2^20 + low. A half is made where it is first needed. */
class Halves {
	readonly #net: Net;
	readonly #weights: readonly Value[];
	readonly #known = new Map<number, readonly [high: Value, low: Value]>();

	constructor(net: Net, weights: readonly Value[]) {
		[this.#net, this.#weights] = [net, weights];
	}

	product(x: Value, layer: number): At {
		return this.#joined(this.#halves(layer).map((one) => this.#net.s.matmul(x, one)));
	}

	productTurned(x: Value, layer: number): At {
		return this.#joined(this.#halves(layer).map((one) => this.#net.s.matmul(x, turned(this.#net, one))));
	}

	#halves(layer: number): readonly Value[] {
		const w = this.#weights[layer]!;
		if (w.type !== "i64") return [w];
		const known = this.#known.get(layer);
		if (known !== undefined) return known;
		const { s } = this.#net;
		const high = s.map(w.dims, (n, c) => at(w, n!, c!).shr(LOW));
		const low = s.map(w.dims, (n, c) => at(w, n!, c!).and(2 ** LOW - 1));
		this.#known.set(layer, [high, low]);
		return [high, low];
	}

	#joined([first, second]: readonly Value[]): At {
		if (second === undefined) return (r, c) => at(first!, r, c);
		return (r, c) =>
			at(first!, r, c)
				.shl(LOW)
				.add(at(second, r, c));
	}
}

export function exactMlpProgram(
	sizes: readonly number[],
	schedule: MlpSchedule,
	shift: number,
	samples: Samples,
	weightBits: WeightBits = 32,
): ExactProgram {
	const { batch, k } = schedule;
	const scale = exactScale(shift);
	const most = MOST_WEIGHT[weightBits];
	const b = buildProgram({ k });
	const net: Net = { b, s: b.step, given: {}, rows: batch, gradientScale: GRADIENT };
	const { s } = net;
	const { x, label } = batchRows(net, sizes, schedule, samples);
	const layers = sizes.slice(1).map((outputs, i) => {
		const inputs = sizes[i]!;
		const w = b.tensor("state", `layer${i}.weight`, `i${weightBits}`, [outputs, inputs], -most, most);
		// Uniform with the variance of He, 2/inputs.
		const factor = Math.round(Math.sqrt(6 / inputs) * 2 ** (scale - 14));
		b.init.map(
			[outputs, inputs],
			(n, c) =>
				n!
					.value()
					.mul(inputs)
					.add(c!.value())
					.rand(i + 1)
					.shr(17)
					.sub(2 ** 14)
					.mul(factor)
					.clamp(-most, most),
			{ to: w },
		);
		return { name: `layer${i}.weight`, w, inputs, outputs };
	});
	const bias = (a: Value, inputs: number): Value =>
		s.map([batch, inputs], (r, c) =>
			at(a, r!, c!)
				.add(
					c!
						.value()
						.eq(inputs - 1)
						.shl(ACTIVATION),
				)
				.clamp(-MOST.h, MOST.h),
		);
	const features = s.map(x.dims, (r, c) => rescale(at(x, r!, c!), SCALE.activation, ACTIVATION));
	const halves = new Halves(
		net,
		layers.map(({ w }) => w),
	);
	const entering: Value[] = [];
	const given: Value[] = [];
	let a: Value = features;
	for (const [i, { inputs, outputs }] of layers.entries()) {
		const into = bias(a, inputs);
		const z = halves.product(into, i);
		const h = s.map([batch, outputs], (r, c) => z(r!, c!).rsh(scale).clamp(-MOST.h, MOST.h));
		entering.push(into);
		given.push(h);
		if (i < layers.length - 1) a = s.map(h.dims, (r, c) => at(h, r!, c!).max(0));
	}
	const classes = sizes.at(-1)!;
	const last = given.at(-1)!;
	let d = s.map([batch, classes], (r, c) =>
		at(last, r!, c!)
			.sub(c!.value().eq(at(label, r!)).shl(ACTIVATION))
			.shl(GRADIENT - ACTIVATION)
			.clamp(-MOST.d, MOST.d),
	);
	const squares = s.map([batch * classes], (i) => {
		const one = at({ ...d, dims: [batch * classes] }, i!);
		return one.mul(one);
	});
	const loss = b.tensor("metric", "loss", "i64", [1], 0, squares.hi * BigInt(batch * classes));
	s.reduce("sum", squares, { to: loss });
	for (const [i, { w, inputs, outputs }] of [...layers.entries()].toReversed()) {
		const sums = s.matmul(turned(net, d), turned(net, entering[i]!));
		const back = i === 0 ? null : halves.productTurned(d, i);
		s.map(
			[outputs, inputs],
			(n, c) =>
				at(w, n!, c!)
					.sub(at(sums, n!, c!))
					.clamp(-most, most),
			{ to: w },
		);
		if (back === null) break;
		const h = given[i - 1]!;
		d = s.map(h.dims, (r, c) => at(h, r!, c!).max(0).select(back(r!, c!).rsh(scale), 0).clamp(-MOST.d, MOST.d));
	}
	return { program: b.program(), given: net.given, parameters: layers };
}

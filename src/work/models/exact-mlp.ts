// The profile that a zk proof wants: an MLP by SGD in which no weight is ever rounded, docs/training.md §6.
//   z = a·Wᵀ, a with 2^8 added in its last column (the bias);  h = z to the nearest 2^-s;  a = relu(h) between layers;
//   d = h − y at the end, else what comes back to the nearest 2^-s where h > 0;  W ← W − a·d summed over the batch.
// a is at 2^8, d at 2^12, W at 2^s with s = 20 + shift, so the rate is 2^-shift on the summed squared error. Clamps are there for the
// checker's sake: a run in which one acts has no proof.
import { buildProgram } from "../builder/build-program.ts";
import { at, type Value } from "../builder/expression.ts";
import type { Elements } from "../operators/tensor-type.ts";
import type { Program } from "../program/shapes.ts";
import { batchRows, type MlpSchedule, type Samples } from "./mlp.ts";
import { I32, type Net, rescale, SCALE, turned } from "./numbers.ts";
import type { Parameter } from "./optimizer.ts";

const ACTIVATION = 8;
const GRADIENT = 12;
/** h has 12 bits, d 14. */
const MOST = { h: 2 ** 11 - 1, d: 2 ** 13 - 1 } as const;

/** Scale of the weights. */
export const exactScale = (shift: number): number => ACTIVATION + GRADIENT + shift;

interface ExactProgram {
	readonly program: Program;
	readonly given: Readonly<Record<string, Elements>>;
	readonly parameters: readonly Omit<Parameter, "decays">[];
}

export function exactMlpProgram(
	sizes: readonly number[],
	schedule: MlpSchedule,
	shift: number,
	samples: Samples,
): ExactProgram {
	const { batch, k } = schedule;
	const scale = exactScale(shift);
	const b = buildProgram({ k });
	const net: Net = { b, s: b.step, given: {}, rows: batch, gradientScale: GRADIENT };
	const { s } = net;
	const { x, label } = batchRows(net, sizes, schedule, samples);
	const layers = sizes.slice(1).map((outputs, i) => {
		const inputs = sizes[i]!;
		const w = b.tensor("state", `layer${i}.weight`, "i32", [outputs, inputs], -I32, I32);
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
					.clamp(-I32, I32),
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
	const entering: Value[] = [];
	const given: Value[] = [];
	let a: Value = features;
	for (const [i, { w, inputs, outputs }] of layers.entries()) {
		const into = bias(a, inputs);
		const z = s.matmul(into, w);
		const h = s.map([batch, outputs], (r, c) => at(z, r!, c!).rsh(scale).clamp(-MOST.h, MOST.h));
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
		const back = i === 0 ? null : s.matmul(d, turned(net, w));
		s.map(
			[outputs, inputs],
			(n, c) =>
				at(w, n!, c!)
					.sub(at(sums, n!, c!))
					.clamp(-I32, I32),
			{ to: w },
		);
		if (back === null) break;
		const h = given[i - 1]!;
		d = s.map(h.dims, (r, c) =>
			at(h, r!, c!)
				.max(0)
				.select(at(back, r!, c!).rsh(scale), 0)
				.clamp(-MOST.d, MOST.d),
		);
	}
	return { program: b.program(), given: net.given, parameters: layers };
}

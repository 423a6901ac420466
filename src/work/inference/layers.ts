// The parts of a forward pass that treat every row by itself, docs/inference.md §4: a row as an operand of
// products, linear layers, norms, activations, embeddings. Not here: attention, where a row sees earlier
// ones.
import { at, constant, type Expression, type Index, type Indexish, type Value, view } from "../builder/expression.ts";
import { constantOf } from "../models/numbers.ts";
import { REST, restTable } from "../models/tables.ts";
import type { Elements } from "../operators/tensor-type.ts";
import { bitsOf, clampFixed, log2Up, mostLeft, type Net, scaled } from "./numbers.ts";
import { GAIN, type Gain, type Matrix, MULTIPLIER_BITS } from "./parameters.ts";

/** Rows that enter products: value = element · 2^(shift − fixed), each row with a shift of its own. */
export interface Operands {
	/** [rows, K]. */
	readonly values: Value;
	/** [rows]. */
	readonly shifts: Value;
}

/** Largest magnitude of each row along the last axis. */
export function largestOf({ s }: Net, dims: readonly number[], x: (...axes: Index[]) => Expression): Value {
	return s.reduce(
		"max",
		s.map(dims, (...axes) => x(...axes).abs()),
	);
}

/** `x`: [rows, K] at the fixed scale. Each row keeps as many bits as an operand has. */
export function operandsOf(net: Net, x: Value): Operands {
	const { s, numbers } = net;
	const { operand } = numbers;
	const largest = largestOf(net, x.dims, (r, c) => at(x, r!, c!));
	const shifts = s.map(largest.dims, (r) =>
		at(largest, r!)
			.bitlen()
			.sub(operand)
			.max(-Math.min(operand, mostLeft(numbers))),
	);
	const most = 2 ** operand - 1;
	const values = s.map(x.dims, (r, c) => at(x, r!, c!).rshv(at(shifts, r!)).clamp(-most, most));
	return { values, shifts };
}

/** y = x·Wᵀ + b at 2^scale (the fixed one, unless given), as an expression of row and column. */
export function linear({ s, numbers }: Net, x: Operands, w: Matrix, scale = numbers.fixed) {
	const product = s.matmul(x.values, w.weight);
	const bits = bitsOf(product);
	return (r: Index, c: Index): Expression => {
		const y = scaled(at(product, r, c), bits, w.multiplier(c), MULTIPLIER_BITS, (before) =>
			w
				.shift(c)
				.sub(at(x.shifts, r))
				.add(numbers.fixed - scale - before),
		);
		return w.bias === null ? y : y.add(w.bias(c));
	};
}

/** ⌊log₂ x⌋; Math.log2 may differ by machine. */
const exponentOf = (x: number): number => (new Uint32Array(new Float64Array([x]).buffer)[1]! >>> 20) - 1023;

/** Which bits the norm of so wide a row keeps, docs/inference.md §4. */
function normNumbers({ of, numbers }: Net) {
	const { width, normEpsilon } = of;
	const { fixed } = numbers;
	const bits = Math.min(28, (62 - log2Up(width)) >> 1);
	const least = Math.max(Math.ceil(fixed - bits + (exponentOf(normEpsilon) + 1) / 2), -mostLeft(numbers));
	const epsilonScale = 2 * (fixed - least);
	/** Variance is below 2^(2·bits + 1): so much is left before its root. */
	const rootShift = (62 - 2 * bits - 1) & ~1;
	return { bits, least, epsilonScale, rootShift, inverse: 61 - ((log2Up(width) + 1) >> 1) };
}

/** Layer norm or root mean square, [rows, width] at the fixed scale. */
export function norm(net: Net, x: Value, { gain, bias }: Gain): Value {
	const { s, of, numbers } = net;
	const { width } = of;
	const { fixed } = numbers;
	const { bits, least, epsilonScale, rootShift, inverse } = normNumbers(net);
	const rows = x.dims[0]!;
	let centred = (r: Index, c: Index): Expression => at(x, r, c);
	if (of.norm === "layer") {
		const sum = s.reduce("sum", x);
		const mean = s.map([rows], (r) => at(sum, r!).rdiv(width));
		centred = (r, c) => at(x, r, c).sub(at(mean, r));
	}
	const largest = largestOf(net, x.dims, (r, c) => centred(r!, c!));
	const shifts = s.map([rows], (r) => at(largest, r!).bitlen().sub(bits).max(least));
	const y = s.map(x.dims, (r, c) =>
		clampFixed(numbers, centred(r!, c!))
			.rshv(at(shifts, r!))
			.clamp(-(2 ** bits), 2 ** bits),
	);
	const squares = s.reduce(
		"sum",
		s.map(x.dims, (r, c) => at(y, r!, c!).mul(at(y, r!, c!))),
	);
	const epsilon = BigInt(Math.round(of.normEpsilon * 2 ** epsilonScale));
	const inverses = s.map([rows], (r) => {
		const own = constant(epsilon).rshv(
			at(shifts, r!)
				.shl(1)
				.add(epsilonScale - 2 * fixed)
				.clamp(0, 62),
		);
		const variance = at(squares, r!)
			.rdiv(width)
			.add(own)
			.min(2n ** BigInt(2 * bits + 1) - 1n);
		return constant(2n ** BigInt(inverse))
			.div(variance.shl(rootShift).isqrt().max(1))
			.min(2n ** BigInt(62 - bits));
	});
	return s.map(x.dims, (r, c) => {
		const n = at(y, r!, c!)
			.mul(at(inverses, r!))
			.rsh(inverse - GAIN - rootShift / 2)
			.clamp(-(2 ** 31), 2 ** 31);
		const out = n.mul(gain(c!)).rsh(2 * GAIN - fixed);
		return clampFixed(numbers, bias === null ? out : out.add(bias(c!)));
	});
}

/**
 * Of each cell between two knots: the first knot, how far it is to the second, and how much more to the
 * third; four numbers side by side.
 */
function cellsOf(knots: Elements): Int32Array {
	const cells = new Int32Array(4 * (knots.length - 2));
	for (let i = 0; i < knots.length - 2; i++) {
		const [a, b, c] = [0, 1, 2].map((next) => Number(knots[i + next]!)) as [number, number, number];
		cells.set([a, b - a, c - 2 * b + a], 4 * i);
	}
	return cells;
}

/**
 * An activation as max(x, 0) less a table's entry, with a parabola through three knots; at the fixed scale.
 */
export function activation(net: Net): (x: Expression) => Expression {
	const { of, numbers } = net;
	const { fixed } = numbers;
	const kind = of.activation === "silu-glu" ? "silu" : of.activation;
	const cells = view(
		constantOf(net, "activation", () => cellsOf(restTable(kind))),
		REST.knots * REST.units,
		4,
	);
	const cell = fixed - Math.log2(REST.knots);
	return (x) => {
		const size = x.abs().min(REST.units * 2 ** fixed - 1);
		const low = size.shr(cell);
		const part = size.shr(cell - 16).and(65_535);
		const line = at(cells, low, 1).mul(part).rsh(16);
		const bend = at(cells, low, 2)
			.mul(part.mul(constant(65_536).sub(part)))
			.rsh(33);
		const rest = at(cells, low, 0).add(line).sub(bend);
		return x.max(0).sub(fixed >= 30 ? rest.shl(fixed - 30) : rest.rsh(30 - fixed));
	};
}

/** Row `row` of a table at the fixed scale. */
export function lookUp({ numbers }: Net, table: Matrix, row: Indexish, column: Index): Expression {
	return scaled(
		at(table.weight, row, column),
		bitsOf(table.weight),
		table.multiplier(row as Index),
		MULTIPLIER_BITS,
		(before) => table.shift(row as Index).sub(numbers.fixed + before),
	);
}

/** x plus what a layer gives. */
export const joined = (net: Net, x: Value, y: (r: Index, c: Index) => Expression): Value =>
	net.s.map(x.dims, (r, c) => clampFixed(net.numbers, at(x, r!, c!).add(y(r!, c!))));

// Parameters and how they move: SGD, momentum, AdamW, docs/training.md §5. A parameter is a state tensor at
// 2^24; a gradient that comes here is i32 at the net's gradient scale, of the mean loss times rows/2^⌈log2
// rows⌉, which the rates account for. Not here: exact SGD (exact-mlp.ts).
import type { TensorHandle } from "../builder/build-program.ts";
import { at, type Expression, type Index, index, segment, step, type Value } from "../builder/expression.ts";
import { type Elements, elementCount } from "../operators/tensor-type.ts";
import type { Program } from "../program/shapes.ts";
import { clampI16, clampI32, I32, type Net, rescale, SCALE, turned } from "./numbers.ts";
import { fill, ROWS_A_SLICE, type Schedule } from "./order.ts";

interface Rates {
	readonly rate: number;
	/** Steps with a rising rate, at the start. */
	readonly warmup: number;
	/** What the rate has fallen to at the last step, by a cosine; 1: it stays. */
	readonly floor: number;
}
interface Sgd extends Rates {
	readonly kind: "sgd";
}
interface Momentum extends Rates {
	readonly kind: "momentum";
	readonly momentum: number;
}
interface AdamW extends Rates {
	readonly kind: "adamw";
	readonly beta1: number;
	readonly beta2: number;
	readonly decay: number;
}
export type Optimizer = Sgd | Momentum | AdamW;

export interface Parameter {
	readonly name: string;
	readonly w: TensorHandle;
	/** Weight decay is for matrices. */
	readonly decays: boolean;
}

export interface TrainedProgram {
	readonly program: Program;
	readonly given: Readonly<Record<string, Elements>>;
	readonly parameters: readonly Parameter[];
}

/** Scale of the rates: AdamW's step is rate·m/√v; the others multiply a gradient. */
const RATE = { adamw: 34, other: 24 } as const;
/** Momentum sums gradients: it has 4 bits less after the point. */
const MOMENTUM = 4;
const FACTOR = 24;
const EPSILON = 1e-8;

/** ⌈log2 rows⌉: how many bits the sum over rows has more than one of them. */
const rowBits = (rows: number): number => Math.ceil(Math.log2(rows));
/** What the kept gradient is of the mean loss's. */
const gradientFactor = (rows: number): number => rows / 2 ** rowBits(rows);

/** 1 − β must be one over a whole number: then the moments need no fractions. */
export const isWholeBeta = (beta: number): boolean => {
	const n = 1 / (1 - beta);
	return Math.abs(n - Math.round(n)) < 1e-6 * n;
};
const wholeBeta = (beta: number): number => Math.round(1 / (1 - beta));

/** The rate of each step: warm-up, then a cosine from 1 to `floor`. */
function rateAt({ rate, warmup, floor }: Rates, t: number, steps: number): number {
	if (t < warmup) return (rate * (t + 1)) / warmup;
	if (floor === 1) return rate;
	const done = (t - warmup) / Math.max(1, steps - 1 - warmup);
	return rate * (floor + (1 - floor) * 0.5 * (1 + Math.cos(Math.PI * done)));
}

const asRate = (value: number): number => Math.min(I32, Math.round(value));

/** After so many steps β^t is below 2^−54, and 1 − β^t is 1 in double precision: no power has to be taken. */
const stepsOfBias = (beta: number): number => Math.ceil(-54 / Math.log2(beta));

const columnsOf = ({ kind }: Optimizer): number => (kind === "adamw" ? 3 : 1);

/**
 * A row for each step: the rate; for AdamW with its bias correction, then what a weight loses by decay, then
 * ε. Written into one array, without a list for each row, and in pieces: jobs have millions of steps.
 */
function* rateRows(table: Int32Array, by: Optimizer, steps: number, { rows, gradientScale }: Net): Generator<void> {
	const factor = gradientFactor(rows);
	const isAdamw = by.kind === "adamw";
	const columns = columnsOf(by);
	const [firstSteps, secondSteps] = isAdamw ? [stepsOfBias(by.beta1), stepsOfBias(by.beta2)] : [0, 0];
	const [unit, gradientUnit] = [2 ** (isAdamw ? RATE.adamw : RATE.other), 2 ** gradientScale];
	let before = -1;
	for (let t = 0; t < steps; t++) {
		if (t % ROWS_A_SLICE === ROWS_A_SLICE - 1) yield;
		const rate = rateAt(by, t, steps);
		// Most rows of a long job are the one before.
		const isSame = rate === before && t > firstSteps && t > secondSteps;
		before = rate;
		if (isSame) {
			for (let at = columns * t; at < columns * (t + 1); at++) table[at] = table[at - columns]!;
			continue;
		}
		if (!isAdamw) {
			table[t] = asRate((rate * unit) / factor);
			continue;
		}
		const first = t < firstSteps ? 1 - by.beta1 ** (t + 1) : 1;
		const second = t < secondSteps ? Math.sqrt(1 - by.beta2 ** (t + 1)) : 1;
		// Half a unit more: a root is rounded down.
		const epsilon = EPSILON * second * factor * gradientUnit + 0.5;
		table[3 * t] = asRate((rate * second * unit) / first);
		table[3 * t + 1] = asRate(rate * by.decay * unit);
		table[3 * t + 2] = asRate(Math.max(1, epsilon));
	}
}

export class Parameters {
	readonly all: Parameter[] = [];
	readonly net: Net;
	readonly by: Optimizer;
	readonly rates: Value;
	readonly k: number;

	constructor(net: Net, by: Optimizer, schedule: Omit<Schedule, "batch" | "seed">) {
		const { steps, k } = schedule;
		const columns = columnsOf(by);
		this.net = net;
		this.by = by;
		this.k = k;
		this.rates = net.b.tensor("input", "rates", "i32", [steps, columns], 0, I32);
		const table = new Int32Array(columns * steps);
		fill(schedule, rateRows(table, by, steps, net));
		net.given.rates = table;
	}

	/**
	 * A new parameter; `initial` gives its elements at 2^24. Domains of randomness are counted by parameter.
	 */
	add(
		name: string,
		dims: readonly number[],
		initial: (flat: Expression, domain: number, axes: readonly Index[]) => Expression,
		decays = true,
	): Parameter {
		const { b } = this.net;
		const w = b.tensor("state", name, "i32", dims, -I32, I32);
		const domain = this.all.length + 1;
		b.init.map(
			dims,
			(...axes) => {
				const flat = axes.slice(1).reduce((sum, axis, i) => sum.mul(dims[i + 1]!).add(axis.value()), axes[0]!.value());
				return clampI32(initial(flat, domain, axes));
			},
			{ to: w },
		);
		const parameter = { name, w, decays };
		this.all.push(parameter);
		return parameter;
	}

	/** About normal: the sum of four uniform 16-bit words, standard deviation `deviation`. */
	random(deviation: number): (flat: Expression, domain: number) => Expression {
		// The sum has mean 4·(2^16 − 1)/2 and deviation √(4·(2^32 − 1)/12).
		const factor = Math.round((deviation * 2 ** (SCALE.weight + 16)) / Math.sqrt((2 ** 32 - 1) / 3));
		return (flat, domain) => {
			const [x, y] = [flat.mul(2).rand(domain), flat.mul(2).add(1).rand(domain)];
			const sum = x.shr(16).add(x.and(65535)).add(y.shr(16)).add(y.and(65535));
			return sum.sub(131_070).mul(factor).rsh(16);
		};
	}

	/** Between −bound and bound, each as likely. */
	uniform(bound: number): (flat: Expression, domain: number) => Expression {
		return (flat, domain) =>
			flat
				.rand(domain)
				.sub(2 ** 31)
				.mul(Math.round(bound * 2 ** SCALE.weight))
				.rsh(31);
	}

	/** A gradient summed over rows, at 2^from (a register), as the gradient that the optimiser takes. */
	gradient(sum: Expression, from: Expression | number): Expression {
		const to = this.net.gradientScale - rowBits(this.net.rows);
		const scaled = typeof from === "number" ? rescale(sum, from, to) : sum.rshv(from.sub(to));
		return clampI32(scaled);
	}

	/** Moves a parameter by its gradient. */
	apply({ name, w, decays }: Parameter, g: Value): void {
		const { by } = this;
		const count = elementCount(w.dims);
		if (elementCount(g.dims) !== count) throw new RangeError(`a gradient of other dims for ${name}`);
		if (by.kind === "adamw") this.#adamw({ name, w, decays }, g, by);
		else if (by.kind === "momentum") this.#momentum({ name, w, decays }, g, by);
		else
			this.net.s.map(
				w.dims,
				(...axes) =>
					clampI32(
						at(w, ...axes).sub(
							this.#rate(0)
								.mul(at(g, ...axes))
								.rsh(RATE.other + this.net.gradientScale - SCALE.weight),
						),
					),
				{ to: w },
			);
	}

	/** Column of the rates' row of this step. */
	#rate(column: number): Expression {
		const { k } = this;
		return at(this.rates, index(segment).times(k).plus(index(step)).plus(-k).clamp(), column);
	}

	#momentum({ name, w }: Parameter, g: Value, { momentum }: Momentum): void {
		const { b, s } = this.net;
		const m = b.tensor("state", `${name}.m`, "i32", w.dims, -I32, I32);
		const kept = Math.round(momentum * 2 ** FACTOR);
		const m1 = s.map(
			w.dims,
			(...axes) =>
				clampI32(
					at(m, ...axes)
						.mul(kept)
						.rsh(FACTOR)
						.add(at(g, ...axes).rsh(MOMENTUM)),
				),
			{ to: m },
		);
		s.map(
			w.dims,
			(...axes) =>
				clampI32(
					at(w, ...axes).sub(
						this.#rate(0)
							.mul(at(m1, ...axes))
							.rsh(RATE.other + this.net.gradientScale - MOMENTUM - SCALE.weight),
					),
				),
			{ to: w },
		);
	}

	#adamw({ name, w, decays }: Parameter, g: Value, { beta1, beta2, decay }: AdamW): void {
		const { b, s } = this.net;
		const { dims } = w;
		const m = b.tensor("state", `${name}.m`, "i32", dims, -I32, I32);
		const v = b.tensor("state", `${name}.v`, "i64", dims, 0, 2n ** 62n);
		const m1 = s.map(
			dims,
			(...axes) =>
				clampI32(
					at(m, ...axes).add(
						at(g, ...axes)
							.sub(at(m, ...axes))
							.rdiv(wholeBeta(beta1)),
					),
				),
			{ to: m },
		);
		const v1 = s.map(
			dims,
			(...axes) => {
				const square = at(g, ...axes).mul(at(g, ...axes));
				return at(v, ...axes)
					.add(square.sub(at(v, ...axes)).rdiv(wholeBeta(beta2)))
					.clamp(0, v.hi);
			},
			{ to: v },
		);
		s.map(
			dims,
			(...axes) => {
				const old = at(w, ...axes);
				const divisor = at(v1, ...axes)
					.isqrt()
					.add(this.#rate(2))
					.max(1)
					.shl(RATE.adamw - SCALE.weight);
				const moved = old.sub(
					this.#rate(0)
						.mul(at(m1, ...axes))
						.rdiv(divisor),
				);
				return clampI32(decays && decay > 0 ? moved.sub(this.#rate(1).mul(old).rsh(RATE.adamw)) : moved);
			},
			{ to: w },
		);
	}
}

/** What products read of a matrix: i16 at 2^14, as it lies and turned. */
export interface Copies {
	readonly rows: Value;
	readonly turned: Value;
}

/** `rows`: as many as these, with zeros after the last. */
export function copiesOf(net: Net, { w }: Parameter, rows = w.dims[0]!): Copies {
	const copy = net.s.map([rows, w.dims[1]!], (i, j) =>
		clampI16(rescale(at(w, rows === w.dims[0] ? i! : i!.zero(), j!), SCALE.weight, SCALE.copy)),
	);
	return { rows: copy, turned: turned(net, copy) };
}

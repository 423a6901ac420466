// Writes programs in TypeScript: declare tensors, then ops; types and intervals follow from what they read,
// docs/work.md §8. A fault shows at the line that makes it. Not here: whether the whole may run
// (program/open-program.ts says so).
import { AssayError } from "../../protocol/assay-error.ts";
import {
	elementCount,
	type Interval,
	intervalOf,
	isInside,
	TENSOR_TYPES,
	type TensorType,
} from "../operators/tensor-type.ts";
import { registerIntervals } from "../program/check-map.ts";
import { countersOf } from "../program/check-program.ts";
import { faultSentence } from "../program/fault.ts";
import { hull } from "../program/intervals.ts";
import type { MapOp, Op, Operand, Output, Phase, Program, Reduction, Tensor, TensorKind } from "../program/shapes.ts";
import { compileMap } from "./compile-map.ts";
import { axis, type Expression, type Index, type Number64, type Value, view } from "./expression.ts";

interface OutputOptions {
	/** A tensor that this op writes: gives type and interval. */
	readonly to?: TensorHandle;
	/** The smallest that holds the interval, unless given. */
	readonly type?: TensorType;
	/** What the inputs allow, unless given. */
	readonly lo?: Number64;
	readonly hi?: Number64;
}

/** A declared tensor; what may be read is a Value too. */
export interface TensorHandle extends Value {
	readonly tensor: number;
}

/** The ops of one phase. */
export interface PhaseBuilder {
	matmul(a: Value, b: Value, options?: OutputOptions): Value;
	/** `element` gets one Index for each axis of the output. */
	map(dims: readonly number[], element: (...axes: Index[]) => Expression, options?: OutputOptions): Value;
	/** Over the last axis. */
	reduce(reduction: Reduction, x: Value, options?: OutputOptions): Value;
	/** out[v, c] = Σ x[c, r] over all r with index[r] = v. */
	scatterAdd(x: Value, index: Value, rows: number, options?: OutputOptions): Value;
}

export interface ProgramBuilder {
	readonly init: PhaseBuilder;
	readonly step: PhaseBuilder;
	constant(
		name: string,
		type: TensorType,
		dims: readonly number[],
		lo: Number64,
		hi: Number64,
		root: Uint8Array,
	): TensorHandle;
	tensor(
		kind: Exclude<TensorKind, "constant">,
		name: string,
		type: TensorType,
		dims: readonly number[],
		lo: Number64,
		hi: Number64,
	): TensorHandle;
	program(): Program;
}

function smallestType({ lo, hi }: Interval, among: readonly TensorType[]): TensorType {
	return among.find((type) => isInside({ lo, hi }, intervalOf(type))) ?? "i64";
}

const operandOf = ({ source, index, type, dims }: Value): Operand => ({ source, index, type, dims });

class PhaseOps implements PhaseBuilder {
	readonly ops: Op[] = [];
	readonly phase: Phase;
	readonly k: number;

	constructor(phase: Phase, k: number) {
		this.phase = phase;
		this.k = k;
	}

	#output(dims: readonly number[], found: Interval, options: OutputOptions, among: readonly TensorType[]): Output {
		const { to, type, lo = found.lo, hi = found.hi } = options;
		if (to !== undefined) return { type: to.type, dims, lo: to.lo, hi: to.hi };
		const interval = { lo: BigInt(lo), hi: BigInt(hi) };
		return { type: type ?? smallestType(interval, among), dims, ...interval };
	}

	#add(op: Op, dims: readonly number[]): Value {
		const index = this.ops.push(op) - 1;
		return { ...op.output, source: "op", index, dims };
	}

	matmul(a: Value, b: Value, options: OutputOptions = {}): Value {
		const cube = (x: Value): Value => (x.dims.length === 2 ? view(x, 1, ...x.dims) : x);
		const [left, right] = [cube(a), cube(b)];
		const [batchA = 1, rows = 1, depth = 1] = left.dims;
		const [batchB = 1, columns = 1] = right.dims;
		const dims = [Math.max(batchA, batchB), rows, columns];
		const { lo, hi } = hull(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi);
		const found = { lo: BigInt(depth) * lo, hi: BigInt(depth) * hi };
		const output = this.#output(dims, found, options, ["i32", "i64"]);
		const op: Op = {
			operator: "matmul",
			output,
			target: options.to?.tensor ?? null,
			operands: [operandOf(left), operandOf(right)],
		};
		return this.#add(op, a.dims.length === 2 && b.dims.length === 2 ? [rows, columns] : dims);
	}

	map(dims: readonly number[], element: (...axes: Index[]) => Expression, options: OutputOptions = {}): Value {
		const { operands, values, code } = compileMap(element(...dims.map((_, i) => axis(i))));
		const found = registerIntervals(code, {
			...countersOf(this.phase, this.k),
			dims,
			turn: { lo: 0n, hi: BigInt(Math.max(code.turns, 1) - 1) },
			operands: values.map(({ dims: own, lo, hi }) => ({ dims: own, interval: { lo, hi } })),
		});
		if (!found.ok) {
			const place = { tensor: null, instruction: null, ...found.wrong, phase: this.phase, op: this.ops.length };
			throw new AssayError(found.wrong.code, faultSentence(place));
		}
		const op: MapOp = {
			operator: "map",
			output: this.#output(dims, found.intervals.at(-1)!, options, TENSOR_TYPES),
			target: options.to?.tensor ?? null,
			operands,
			code,
		};
		return this.#add(op, dims);
	}

	reduce(reduction: Reduction, x: Value, options: OutputOptions = {}): Value {
		const length = x.dims.at(-1)!;
		const rows = elementCount(x.dims) / length;
		const isIndex = reduction === "argmax" || reduction === "argmin";
		const summed = { lo: BigInt(length) * x.lo, hi: BigInt(length) * x.hi };
		const found = reduction === "sum" ? summed : isIndex ? { lo: 0n, hi: BigInt(length - 1) } : x;
		const op: Op = {
			operator: "reduce",
			output: this.#output([rows], { lo: found.lo, hi: found.hi }, options, TENSOR_TYPES),
			target: options.to?.tensor ?? null,
			operands: [operandOf(view(x, rows, length))],
			reduction,
		};
		return this.#add(op, x.dims.length === 1 ? [1] : x.dims.slice(0, -1));
	}

	scatterAdd(x: Value, index: Value, rows: number, options: OutputOptions = {}): Value {
		const [columns = 1, count = 1] = x.dims;
		const found = hull(0n, BigInt(count) * x.lo, BigInt(count) * x.hi);
		const op: Op = {
			operator: "scatter_add",
			output: this.#output([rows, columns], found, options, TENSOR_TYPES),
			target: options.to?.tensor ?? null,
			operands: [operandOf(x), operandOf(index)],
		};
		return this.#add(op, [rows, columns]);
	}
}

/** `k`: steps a segment. */
export function buildProgram({ k = 1 }: { readonly k?: number } = {}): ProgramBuilder {
	const tensors: Tensor[] = [];
	const init = new PhaseOps("init", k);
	const step = new PhaseOps("step", k);
	const declare = (tensor: Tensor): TensorHandle => {
		const index = tensors.push(tensor) - 1;
		const { kind, type, dims, lo, hi } = tensor;
		// Results and metrics are only written; nobody can read them, and the checker refuses an operand that
		// tries.
		return { source: kind as Value["source"], index, tensor: index, type, dims, lo, hi };
	};
	return {
		init,
		step,
		constant: (name, type, dims, lo, hi, root) =>
			declare({ kind: "constant", name, type, dims, lo: BigInt(lo), hi: BigInt(hi), root }),
		tensor: (kind, name, type, dims, lo, hi) =>
			declare({ kind, name, type, dims, lo: BigInt(lo), hi: BigInt(hi), root: null }),
		program: () => ({ k, tensors, init: init.ops, step: step.ops }),
	};
}

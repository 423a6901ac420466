// What a program is, docs/work.md §4: tensors, operators, limits. Only shapes: decode.ts reads them from
// hostile bytes, check-program.ts says whether one may run, encode.ts writes them.
import type { Instruction } from "../operators/instruction.ts";
import type { Interval, TensorType } from "../operators/tensor-type.ts";

/** In the order of their codes. */
export const TENSOR_KINDS = ["constant", "input", "state", "scratch", "result", "metric"] as const;
export type TensorKind = (typeof TENSOR_KINDS)[number];

export interface Tensor extends Interval {
	readonly kind: TensorKind;
	readonly name: string;
	readonly type: TensorType;
	readonly dims: readonly number[];
	/** 32 bytes; of a constant only. */
	readonly root: Uint8Array | null;
}

/** In the order of their codes. */
export const SOURCES = ["op", "constant", "input", "state", "scratch"] as const;
export type Source = (typeof SOURCES)[number];

export interface Operand {
	readonly source: Source;
	/** Number of the op in its phase, or of the tensor. */
	readonly index: number;
	readonly type: TensorType;
	/** Any dims with as many elements as the source has. */
	readonly dims: readonly number[];
}

export interface Output extends Interval {
	readonly type: TensorType;
	readonly dims: readonly number[];
}

/** In the order of their codes. */
export const OPERATORS = ["matmul", "map", "reduce", "scatter_add"] as const;
export const REDUCTIONS = ["sum", "max", "min", "argmax", "argmin"] as const;
export type Reduction = (typeof REDUCTIONS)[number];

/** In the order of their codes. */
export const PHASES = ["init", "step"] as const;
export type Phase = (typeof PHASES)[number];

interface OpBase {
	readonly output: Output;
	/** The tensor that it writes; null: the value lives within its step. */
	readonly target: number | null;
	readonly operands: readonly Operand[];
}

export interface Carried extends Interval {
	/** Register of the first section. */
	readonly from: number;
	/** Register of the value after a turn. */
	readonly next: number;
}

/**
 * Registers: those of `before`, then one for each carried value, then those of `body`, then those of `after`.
 * The last one is the output.
 */
export interface Code {
	readonly before: readonly Instruction[];
	/** 0: no turns, nothing carried, body and after empty. */
	readonly turns: number;
	readonly carried: readonly Carried[];
	readonly body: readonly Instruction[];
	readonly after: readonly Instruction[];
}

export interface MatmulOp extends OpBase {
	readonly operator: "matmul";
}
export interface MapOp extends OpBase {
	readonly operator: "map";
	readonly code: Code;
}
export interface ReduceOp extends OpBase {
	readonly operator: "reduce";
	readonly reduction: Reduction;
}
export interface ScatterAddOp extends OpBase {
	readonly operator: "scatter_add";
}
export type Op = MatmulOp | MapOp | ReduceOp | ScatterAddOp;

export interface Program {
	/** Steps a segment. */
	readonly k: number;
	readonly tensors: readonly Tensor[];
	readonly init: readonly Op[];
	readonly step: readonly Op[];
}

/** Without its ops: what names states and inputs, and says what a job must bring. */
export type ProgramShape = Pick<Program, "k" | "tensors">;

export const LIMITS = {
	bytes: 1 << 20,
	steps: 65_536,
	tensors: 4096,
	ops: 65_535,
	rank: 6,
	dim: 2 ** 31 - 1,
	elements: 2 ** 40,
	operands: 8,
	registers: 256,
	/**
	 * Of a map, what a judge of one element gets: its leaf, the root of each operand, 8 bytes for each
	 * register.
	 */
	judgedBytes: 2960,
	/** Instructions of before where turns follow: a judge of a turn gets their registers twice. */
	beforeTurns: 112,
	turns: 4096,
	carried: 16,
	terms: 9,
	/** Products or terms of one sum, elements of one reduction. */
	summed: 2 ** 20,
	nameBytes: 64,
	metricElements: 1024,
	segment: 2 ** 31 - 1,
	/** Of the steps of a job; the number above is that of the init phase. */
	globalStep: 2 ** 32 - 2,
} as const;

export const NAME = /^[A-Za-z_][A-Za-z0-9_.]{0,63}$/;

/** The highest number that a segment of k steps may have. */
export function lastSegment(k: number): number {
	return Math.min(LIMITS.segment, Math.floor((LIMITS.globalStep + 1) / k));
}

/** Third word of rand's counter: init has the number that no step can have. */
export function globalStep(segment: number, step: number, k: number): number {
	return segment === 0 ? LIMITS.globalStep + 1 : (segment - 1) * k + step;
}

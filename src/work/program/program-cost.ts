// What a program costs, counted from its shapes: bytes it keeps and needs, work of one step. Not here: how
// long that takes (../cost/work-time.ts).
import { bytesOf, elementCount } from "../operators/tensor-type.ts";
import { peakBytes } from "./peak-bytes.ts";
import { type Op, type Program, TENSOR_KINDS, type TensorKind } from "./shapes.ts";

export interface ProgramCost {
	/** Bytes of all tensors, by kind. */
	readonly bytes: Readonly<Record<TensorKind, number>>;
	/** What a session takes, without the room of products. */
	readonly peakBytes: number;
	readonly initOps: number;
	readonly stepOps: number;
	/** Of a step, by operator. */
	readonly operators: Readonly<Record<Op["operator"], number>>;
	/** Multiplications of all matmuls of a step. */
	readonly productsAStep: number;
	/** Terms of all reductions and scattered sums of a step. */
	readonly termsAStep: number;
	/** Instructions of all maps of a step, each for every element. */
	readonly instructionsAStep: number;
	/** Bytes that the ops of a step give: an unfused step writes so many, and its trace hashes them. */
	readonly writtenAStep: number;
	/** Leaves of the trace of a segment. */
	readonly traceLeaves: number;
}

const sizeOf = ({ type, dims }: Op["output"]): number => elementCount(dims) * bytesOf(type);

function instructionsOf(op: Op): number {
	if (op.operator !== "map") return 0;
	const { before, turns, body, after } = op.code;
	return elementCount(op.output.dims) * (before.length + turns * body.length + after.length);
}

export function programCost(program: Program): ProgramCost {
	const { k, tensors, init, step } = program;
	const sum = (count: (op: Op) => number): number => step.reduce((all, op) => all + count(op), 0);
	const bytes = Object.fromEntries(TENSOR_KINDS.map((kind) => [kind, 0])) as Record<TensorKind, number>;
	for (const { kind, type, dims } of tensors) bytes[kind] += elementCount(dims) * bytesOf(type);
	const operators = { map: 0, matmul: 0, reduce: 0, scatter_add: 0 };
	for (const { operator } of step) operators[operator]++;
	return {
		bytes,
		peakBytes: peakBytes(program),
		operators,
		initOps: init.length,
		stepOps: step.length,
		productsAStep: sum((op) =>
			op.operator === "matmul" ? elementCount(op.output.dims) * op.operands[0]!.dims[2]! : 0,
		),
		termsAStep: sum((op) =>
			op.operator === "reduce" || op.operator === "scatter_add" ? elementCount(op.operands[0]!.dims) : 0,
		),
		instructionsAStep: sum(instructionsOf),
		writtenAStep: sum((op) => sizeOf(op.output)),
		traceLeaves: k * step.length,
	};
}

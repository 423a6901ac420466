// The checker's part for matmul, reduce and scatter_add, docs/work.md §5: dims that fit, sums below 2^63,
// indexes inside.
import { type Interval, isInside, magnitude } from "../operators/tensor-type.ts";
import { outputFault } from "./check-map.ts";
import type { Wrong } from "./fault.ts";
import { hull, showInterval } from "./intervals.ts";
import { LIMITS, type MatmulOp, type Op, type ReduceOp, type ScatterAddOp } from "./shapes.ts";

const shape = (message: string): Wrong => ({ code: "PROGRAM_SHAPE", message });

function tooLarge(count: number, bound: bigint): Wrong | null {
	if (BigInt(count) * bound < 2n ** 63n) return null;
	return { code: "PROGRAM_OVERFLOW", message: `${count} terms of up to ${bound} may reach 2^63` };
}

const showDims = (dims: readonly number[]): string => `[${dims.join(",")}]`;

function shownDims({ output, operands }: Op): string {
	return `${operands.map(({ dims }) => showDims(dims)).join(" ")} to ${showDims(output.dims)}`;
}

function matmulShape(op: MatmulOp): Wrong | null {
	const [a, b] = op.operands;
	if (op.operands.length !== 2 || !a || !b) return shape("matmul has two operands");
	if ([op.output, a, b].some(({ dims }) => dims.length !== 3))
		return shape(`matmul has three axes each, not ${shownDims(op)}`);
	const [batch, rows, columns] = op.output.dims as [number, number, number];
	const [batchA, rowsA, depth] = a.dims as [number, number, number];
	const [batchB, rowsB, depthB] = b.dims as [number, number, number];
	if (rowsA !== rows || rowsB !== columns || depth !== depthB || batch % batchA !== 0 || batch % batchB !== 0)
		return shape(`matmul of ${shownDims(op)} does not fit`);
	if (depth > LIMITS.summed) return shape(`matmul sums ${depth} products; ${LIMITS.summed} is the most`);
	if (a.type === "i64" || b.type === "i64") return shape("matmul multiplies i8, i16 and i32");
	if (op.output.type !== "i32" && op.output.type !== "i64") return shape("matmul gives i32 or i64");
	return null;
}

function matmulFault(op: MatmulOp, a: Interval, b: Interval): Wrong | null {
	const depth = op.operands[0]!.dims[2]!;
	const wrong = tooLarge(depth, magnitude(a) * magnitude(b));
	if (wrong !== null) return wrong;
	const { lo, hi } = hull(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi);
	return outputFault({ lo: BigInt(depth) * lo, hi: BigInt(depth) * hi }, op.output);
}

function reduceShape(op: ReduceOp): Wrong | null {
	const [x] = op.operands;
	if (op.operands.length !== 1 || !x) return shape("reduce has one operand");
	if (x.dims.length !== 2 || op.output.dims.length !== 1 || x.dims[0] !== op.output.dims[0])
		return shape(`reduce of ${shownDims(op)} does not fit`);
	if (x.dims[1]! > LIMITS.summed) return shape(`reduce takes ${x.dims[1]} elements; ${LIMITS.summed} is the most`);
	return null;
}

function reduceFault(op: ReduceOp, x: Interval): Wrong | null {
	const count = op.operands[0]!.dims[1]!;
	if (op.reduction === "sum") {
		const wrong = tooLarge(count, magnitude(x));
		return wrong ?? outputFault({ lo: BigInt(count) * x.lo, hi: BigInt(count) * x.hi }, op.output);
	}
	const isIndex = op.reduction === "argmax" || op.reduction === "argmin";
	return outputFault(isIndex ? { lo: 0n, hi: BigInt(count - 1) } : x, op.output);
}

function scatterShape(op: ScatterAddOp): Wrong | null {
	const [x, index] = op.operands;
	if (op.operands.length !== 2 || !x || !index) return shape("scatter_add has two operands");
	const fits =
		x.dims.length === 2 &&
		index.dims.length === 1 &&
		op.output.dims.length === 2 &&
		x.dims[0] === op.output.dims[1] &&
		x.dims[1] === index.dims[0];
	if (!fits) return shape(`scatter_add of ${shownDims(op)} does not fit`);
	if (x.dims[1]! > LIMITS.summed) return shape(`scatter_add takes ${x.dims[1]} rows; ${LIMITS.summed} is the most`);
	return null;
}

function scatterFault(op: ScatterAddOp, x: Interval, index: Interval): Wrong | null {
	const range = { lo: 0n, hi: BigInt(op.output.dims[0]! - 1) };
	if (!isInside(index, range))
		return {
			code: "PROGRAM_INDEX",
			message: `scatter_add at ${showInterval(index)}; the output has ${showInterval(range)}`,
		};
	const count = op.operands[0]!.dims[1]!;
	const rows = BigInt(count);
	return tooLarge(count, magnitude(x)) ?? outputFault(hull(0n, rows * x.lo, rows * x.hi), op.output);
}

/**
 * Null when dims and types fit the operator: what a judge of one op must know before it looks for an element.
 */
export function sumShapeFault(op: MatmulOp | ReduceOp | ScatterAddOp): Wrong | null {
	if (op.operator === "matmul") return matmulShape(op);
	return op.operator === "reduce" ? reduceShape(op) : scatterShape(op);
}

/** `intervals` of the operands, in their order. Null when the op may run. */
export function checkSums(op: MatmulOp | ReduceOp | ScatterAddOp, intervals: readonly Interval[]): Wrong | null {
	const wrong = sumShapeFault(op);
	if (wrong !== null) return wrong;
	if (op.operator === "matmul") return matmulFault(op, intervals[0]!, intervals[1]!);
	if (op.operator === "reduce") return reduceFault(op, intervals[0]!);
	return scatterFault(op, intervals[0]!, intervals[1]!);
}

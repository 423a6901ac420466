// matmul, reduce and scatter_add for whole tensors, docs/work.md §2. Whole-number sums need no order, so each may go as it is quickest.
import type { MatmulOp, ReduceOp, Reduction, ScatterAddOp } from "../program/shapes.ts";
import { createElements, type Elements, elementCount, type Interval, magnitude } from "./tensor-type.ts";

const SAFE = 2n ** 53n;

function store(output: Elements, at: number, value: number | bigint): void {
	if (output instanceof BigInt64Array) output[at] = BigInt(value);
	else output[at] = Number(value);
}

/** How many products of such size a double sums exactly; 0 when not even one. */
function exactTerms(bound: bigint): number {
	return bound === 0n ? 2 ** 30 : Number((SAFE - 1n) / bound);
}

function dot(a: Elements, atA: number, b: Elements, atB: number, depth: number, chunk: number): bigint | number {
	if (chunk === 0 || a instanceof BigInt64Array || b instanceof BigInt64Array) {
		let sum = 0n;
		for (let k = 0; k < depth; k++) sum += BigInt(a[atA + k]!) * BigInt(b[atB + k]!);
		return sum;
	}
	const part = (from: number, to: number): number => {
		let sum = 0;
		for (let k = from; k < to; k++) sum += a[atA + k]! * b[atB + k]!;
		return sum;
	};
	if (depth <= chunk) return part(0, depth);
	let sum = 0n;
	for (let k = 0; k < depth; k += chunk) sum += BigInt(part(k, Math.min(k + chunk, depth)));
	return sum;
}

/** `intervals` of the two operands. */
export function runMatmul(op: MatmulOp, intervals: readonly Interval[], [a, b]: readonly Elements[]): Elements {
	const [batch, rows, columns] = op.output.dims as [number, number, number];
	const depth = op.operands[0]!.dims[2]!;
	const groupA = batch / op.operands[0]!.dims[0]!;
	const groupB = batch / op.operands[1]!.dims[0]!;
	const chunk = exactTerms(magnitude(intervals[0]!) * magnitude(intervals[1]!));
	const output = createElements(op.output.type, batch * rows * columns);
	let at = 0;
	for (let n = 0; n < batch; n++)
		for (let i = 0; i < rows; i++) {
			const atA = (Math.floor(n / groupA) * rows + i) * depth;
			for (let j = 0; j < columns; j++) {
				const atB = (Math.floor(n / groupB) * columns + j) * depth;
				store(output, at++, dot(a!, atA, b!, atB, depth, chunk));
			}
		}
	return output;
}

/** Running result over elements; `index` counts for argmax and argmin, and may be any 64-bit number where somebody else said it. */
export interface Running {
	readonly value: bigint;
	readonly index: bigint;
}

/** One element more. The lowest index wins, so only a better one replaces. */
export function reduceOne(reduction: Reduction, running: Running | null, value: bigint, index: number): Running {
	if (running === null) return { value, index: BigInt(index) };
	if (reduction === "sum") return { value: running.value + value, index: 0n };
	const isMax = reduction === "max" || reduction === "argmax";
	const isBetter = isMax ? value > running.value : value < running.value;
	return isBetter ? { value, index: BigInt(index) } : running;
}

export const isArg = (reduction: Reduction): boolean => reduction === "argmax" || reduction === "argmin";

export function runReduce(op: ReduceOp, [x]: readonly Elements[]): Elements {
	const [rows, length] = op.operands[0]!.dims as [number, number];
	const output = createElements(op.output.type, rows);
	for (let row = 0; row < rows; row++) {
		let running: Running | null = null;
		for (let i = 0; i < length; i++) running = reduceOne(op.reduction, running, BigInt(x![row * length + i]!), i);
		store(output, row, isArg(op.reduction) ? running!.index : running!.value);
	}
	return output;
}

export function runScatterAdd(op: ScatterAddOp, [x, index]: readonly Elements[]): Elements {
	const [columns, rows] = op.operands[0]!.dims as [number, number];
	const sums = new BigInt64Array(elementCount(op.output.dims));
	for (let row = 0; row < rows; row++)
		for (let c = 0; c < columns; c++) {
			const at = Number(index![row]!) * columns + c;
			sums[at] = sums[at]! + BigInt(x![c * rows + row]!);
		}
	const output = createElements(op.output.type, sums.length);
	for (let i = 0; i < sums.length; i++) store(output, i, sums[i]!);
	return output;
}

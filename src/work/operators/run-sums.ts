// matmul, reduce and scatter_add for whole tensors, docs/work.md §2. Whole-number sums need no order, so each
// may go as it is quickest.
import type { MatmulOp, ReduceOp, Reduction, ScatterAddOp } from "../program/shapes.ts";
import { createElements, type Elements, elementCount, type Interval, magnitude } from "./tensor-type.ts";
import { numbersToWide } from "./wide-numbers.ts";

const SAFE = 2n ** 53n;

function store(output: Elements, at: number, value: number | bigint): void {
	if (output instanceof BigInt64Array) output[at] = BigInt(value);
	else output[at] = Number(value);
}

/** How many products of such size a double sums exactly; 0 when not even one. */
function exactTerms(bound: bigint): number {
	return bound === 0n ? 2 ** 30 : Number((SAFE - 1n) / bound);
}

function dotSlowly(a: Elements, atA: number, b: Elements, atB: number, depth: number, chunk: number): bigint {
	let sum = 0n;
	if (chunk === 0 || a instanceof BigInt64Array || b instanceof BigInt64Array) {
		for (let k = 0; k < depth; k++) sum += BigInt(a[atA + k]!) * BigInt(b[atB + k]!);
		return sum;
	}
	const part = (from: number, to: number): number => {
		let partial = 0;
		for (let k = from; k < to; k++) partial += a[atA + k]! * b[atB + k]!;
		return partial;
	};
	for (let k = 0; k < depth; k += chunk) sum += BigInt(part(k, Math.min(k + chunk, depth)));
	return sum;
}

/**
 * A row times all columns, four at a time: exact, so in any order. One kind of array, or these loops are
 * several times slower.
 */
function dots(row: Float64Array, b: Float64Array, from: number, sums: Float64Array): void {
	const depth = row.length;
	let j = 0;
	for (; j + 3 < sums.length; j += 4) {
		const [at0, at1, at2, at3] = [
			from + j * depth,
			from + (j + 1) * depth,
			from + (j + 2) * depth,
			from + (j + 3) * depth,
		];
		let [s0, s1, s2, s3] = [0, 0, 0, 0];
		for (let k = 0; k < depth; k++) {
			const x = row[k]!;
			s0 += x * b[at0 + k]!;
			s1 += x * b[at1 + k]!;
			s2 += x * b[at2 + k]!;
			s3 += x * b[at3 + k]!;
		}
		sums[j] = s0;
		sums[j + 1] = s1;
		sums[j + 2] = s2;
		sums[j + 3] = s3;
	}
	for (; j < sums.length; j++) {
		let sum = 0;
		for (let k = 0; k < depth; k++) sum += row[k]! * b[from + j * depth + k]!;
		sums[j] = sum;
	}
}

/** Elements that are widened at once: 32 MiB of doubles. */
const MOST_WIDENED = 2 ** 22;

/** `intervals` of the two operands. */
export function runMatmul(op: MatmulOp, intervals: readonly Interval[], [a, b]: readonly Elements[]): Elements {
	const [batch, rows, columns] = op.output.dims as [number, number, number];
	const depth = op.operands[0]!.dims[2]!;
	const groupA = batch / op.operands[0]!.dims[0]!;
	const groupB = batch / op.operands[1]!.dims[0]!;
	const chunk = exactTerms(magnitude(intervals[0]!) * magnitude(intervals[1]!));
	const output = createElements(op.output.type, batch * rows * columns);
	const isQuick =
		depth <= chunk && !(a instanceof BigInt64Array || b instanceof BigInt64Array) && b!.length <= MOST_WIDENED;
	if (isQuick)
		matmulNumbers(output, [batch, rows, columns, depth], [groupA, groupB], [a as Int32Array, b as Int32Array]);
	else {
		let at = 0;
		for (let n = 0; n < batch; n++)
			for (let i = 0; i < rows; i++) {
				const atA = (Math.floor(n / groupA) * rows + i) * depth;
				const atB = Math.floor(n / groupB) * columns * depth;
				for (let j = 0; j < columns; j++) store(output, at++, dotSlowly(a!, atA, b!, atB + j * depth, depth, chunk));
			}
	}
	return output;
}

/** Where a double holds every sum exactly. */
function matmulNumbers(
	output: Elements,
	[batch, rows, columns, depth]: readonly [number, number, number, number],
	[groupA, groupB]: readonly [number, number],
	[a, b]: readonly [Int32Array, Int32Array],
): void {
	const wide = new Float64Array(b);
	const row = new Float64Array(depth);
	const sums = new Float64Array(columns);
	for (let n = 0; n < batch; n++)
		for (let i = 0; i < rows; i++) {
			const atA = (Math.floor(n / groupA) * rows + i) * depth;
			row.set(a.subarray(atA, atA + depth));
			dots(row, wide, Math.floor(n / groupB) * columns * depth, sums);
			const at = (n * rows + i) * columns;
			if (output instanceof BigInt64Array) numbersToWide(sums, output, at, columns);
			else output.set(sums, at);
		}
}

/**
 * Running result over elements; `index` counts for argmax and argmin, and may be any 64-bit number where
 * somebody else said it.
 */
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

/** Of numbers below 2^31, of which there are at most 2^20: every sum of them is exact. */
function reduceNumbers(
	reduction: Reduction,
	x: Exclude<Elements, BigInt64Array>,
	from: number,
	length: number,
): number {
	let [value, index] = [x[from]!, 0];
	if (reduction === "sum") for (let i = 1; i < length; i++) value += x[from + i]!;
	else {
		const isMax = reduction === "max" || reduction === "argmax";
		for (let i = 1; i < length; i++) {
			const one = x[from + i]!;
			if (isMax ? one > value : one < value) [value, index] = [one, i];
		}
	}
	return isArg(reduction) ? index : value;
}

export function runReduce(op: ReduceOp, [x]: readonly Elements[]): Elements {
	const [rows, length] = op.operands[0]!.dims as [number, number];
	const output = createElements(op.output.type, rows);
	for (let row = 0; row < rows; row++) {
		if (!(x instanceof BigInt64Array)) {
			store(output, row, reduceNumbers(op.reduction, x!, row * length, length));
			continue;
		}
		let running: Running | null = null;
		for (let i = 0; i < length; i++) running = reduceOne(op.reduction, running, x[row * length + i]!, i);
		store(output, row, isArg(op.reduction) ? running!.index : running!.value);
	}
	return output;
}

export function runScatterAdd(op: ScatterAddOp, [x, index]: readonly Elements[]): Elements {
	const [columns, rows] = op.operands[0]!.dims as [number, number];
	const count = elementCount(op.output.dims);
	// As in reduceNumbers: at most 2^20 rows.
	const sums = x instanceof BigInt64Array ? new BigInt64Array(count) : new Float64Array(count);
	for (let row = 0; row < rows; row++) {
		const to = Number(index![row]!) * columns;
		for (let c = 0; c < columns; c++) {
			const value = x![c * rows + row]!;
			if (sums instanceof BigInt64Array) sums[to + c] = sums[to + c]! + BigInt(value);
			else sums[to + c] = sums[to + c]! + Number(value);
		}
	}
	const output = createElements(op.output.type, count);
	for (let i = 0; i < count; i++) store(output, i, sums[i]!);
	return output;
}

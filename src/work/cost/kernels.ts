// Which ops of a phase one kernel of a card runs together, as far as time depends on it: what only its kernel
// reads is never stored, and only kernels are started. A plain version of the engine's rules
// (engine/src/cuda/work/grouping.cpp); on networks it finds as many kernels as the engine, within a tenth.
import { elementCount } from "../operators/tensor-type.ts";
import type { MapOp, Op } from "../program/shapes.ts";
import { isOwnPlace } from "./instruction-weight.ts";

/** Instructions of one kernel. */
const MAX_CODE = 200;

interface Kernel {
	/** Elements of its largest op; the others have as many, or one for each row. */
	count: number;
	/** Of a row; 0: it has no rows. */
	width: number;
	code: number;
	/** Above that of every kernel that it reads from, so that no two wait for each other. */
	level: number;
}

const isWhole = (op: Op): boolean =>
	op.operator === "map" ? op.code.turns === 0 : op.operator === "reduce" && !op.reduction.startsWith("arg");

function kernelOf(op: Op, level: number): Kernel {
	const { dims } = op.operator === "reduce" ? op.operands[0]! : op.output;
	const code = op.operator === "map" ? op.code.before.length : 1;
	return { count: elementCount(dims), width: op.operator === "reduce" ? dims.at(-1)! : 0, code, level };
}

/** Both as one; null where one kernel cannot run them. */
function joined(a: Kernel, b: Kernel): Kernel | null {
	if (a.width !== 0 && b.width !== 0 && a.width !== b.width) return null;
	const [width, count, code] = [Math.max(a.width, b.width), Math.max(a.count, b.count), a.code + b.code];
	if (code > MAX_CODE) return null;
	const rows = width === 0 ? count : count / width;
	const fits = [a, b].every((one) => one.count === count || one.count === rows);
	return fits && Number.isInteger(rows) ? { count, width, code, level: a.level } : null;
}

/** The same value along a row. */
const isRowPlace = ({ output }: MapOp, { place }: Parameters<typeof isOwnPlace>[1]): boolean =>
	place.every(({ register, terms }) => register === null && terms.every(({ of }) => of !== output.dims.length - 1));

/** In a kernel of `count` elements this op reads what `from` makes there, each where it is made. */
function readsThere(op: Op, operand: number, from: Op, count: number): boolean {
	const isRow = (one: Op): boolean => one.operator === "reduce" || elementCount(one.output.dims) !== count;
	if (op.operator !== "map") return !isRow(from);
	if (isRow(op) && !isRow(from)) return false;
	const isThere = !isRow(op) && isRow(from) ? isRowPlace : isOwnPlace;
	return op.code.before.every((one) => one.op !== "load" || one.operand !== operand || isThere(op, one));
}

/** By op: the first op of its kernel. */
export function kernelsOf(ops: readonly Op[]): readonly number[] {
	const above: number[] = [];
	const kernels: Kernel[] = [];
	function first(n: number): number {
		let root = n;
		while (above[root] !== root) root = above[root]!;
		for (let at = n; at !== root; ) [at, above[at]] = [above[at]!, root];
		return root;
	}
	for (const [n, op] of ops.entries()) {
		above[n] = n;
		const read = op.operands.flatMap(({ source, index }) => (source === "op" ? [index] : []));
		const level = read.reduce((most, index) => Math.max(most, kernels[first(index)]!.level + 1), 0);
		kernels[n] = kernelOf(op, level);
		if (!isWhole(op)) continue;
		for (const [i, { source, index }] of op.operands.entries()) {
			if (source !== "op" || !isWhole(ops[index]!)) continue;
			const [a, b] = [first(index), first(n)];
			if (a === b || (b !== n && kernels[a]!.level !== kernels[b]!.level)) continue;
			const both = joined(kernels[a]!, kernels[b]!);
			const waits = (one: number): boolean =>
				first(one) !== a && first(one) !== b && kernels[first(one)]!.level >= kernels[a]!.level;
			if (both === null || read.some(waits) || !readsThere(op, i, ops[index]!, both.count)) continue;
			above[b] = a;
			kernels[a] = both;
		}
	}
	return ops.map((_, n) => first(n));
}

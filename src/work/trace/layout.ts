// How a transcript is laid out, docs/work.md §9: cuts of a sum, registers of a map, marks of its turns.
// Everything follows from the op and the element, so that no number of a transcript says how many follow.

import { coordinatesOf } from "../operators/map-machine.ts";
import { isArg } from "../operators/run-sums.ts";
import { bytesOf } from "../operators/tensor-type.ts";
import type { MapOp, Op } from "../program/shapes.ts";
import { LEAF_BYTES } from "./tensor-tree.ts";

export type SumOp = Exclude<Op, MapOp>;

/** A row that a sum goes along: where it starts in which operand. */
export interface Row {
	readonly operand: number;
	readonly base: number;
}

/** The rows of one element, and their length. */
export function rowsOf(op: SumOp, element: number): { readonly rows: readonly Row[]; readonly length: number } {
	const at = coordinatesOf(element, op.output.dims);
	if (op.operator === "reduce") {
		const length = op.operands[0]!.dims[1]!;
		return { rows: [{ operand: 0, base: element * length }], length };
	}
	if (op.operator === "scatter_add") {
		const length = op.operands[0]!.dims[1]!;
		return {
			rows: [
				{ operand: 0, base: at[1]! * length },
				{ operand: 1, base: 0 },
			],
			length,
		};
	}
	const [batch, rows, columns] = op.output.dims as [number, number, number];
	const length = op.operands[0]!.dims[2]!;
	const place = (operand: number, count: number, row: number): Row => {
		const group = batch / op.operands[operand]!.dims[0]!;
		return { operand, base: (Math.floor(at[0]! / group) * count + row) * length };
	};
	return { rows: [place(0, rows, at[1]!), place(1, columns, at[2]!)], length };
}

/** 0, every cut, and the end: chunk c lies between the c-th and the next. */
export function chunkEnds(op: SumOp, element: number): number[] {
	const { rows, length } = rowsOf(op, element);
	const cuts = new Set([0, length]);
	for (const { operand, base } of rows) {
		const perLeaf = LEAF_BYTES / bytesOf(op.operands[operand]!.type);
		for (let k = perLeaf - (base % perLeaf); k < length; k += perLeaf) cuts.add(k);
	}
	return [...cuts].sort((a, b) => a - b);
}

/** Numbers at each cut. */
export const numbersACut = (op: SumOp): number => (op.operator === "reduce" && isArg(op.reduction) ? 2 : 1);

/** The fewer values are carried, the more marks a span has: some 16 numbers, but four marks at least. */
const [MARKED_NUMBERS, LEAST_PARTS] = [16, 4];

/** Lengths of the parts of a span of so many turns, with so many carried values. */
export function partsOf(turns: number, carried: number): number[] {
	const each = Math.ceil(turns / Math.max(LEAST_PARTS, Math.floor(MARKED_NUMBERS / carried)));
	const parts: number[] = [];
	for (let rest = turns; rest > 0; rest -= each) parts.push(Math.min(each, rest));
	return parts;
}

/** How many numbers the transcript of an element has. */
export function transcriptLength(op: Op, element: number): number {
	if (op.operator !== "map") return 1 + (chunkEnds(op, element).length - 2) * numbersACut(op);
	const { before, turns, carried, after } = op.code;
	return 1 + before.length + partsOf(turns, carried.length).length * carried.length + after.length;
}

/** Of a span of turns. */
export function spanLength(op: MapOp, turns: number): number {
	const { carried } = op.code;
	return turns === 1 ? sectionsOf(op).afterFrom : (partsOf(turns, carried.length).length - 1) * carried.length;
}

/** The first turn and the number of turns of the span that a path names; null when there is none. */
export function spanOf(op: MapOp, path: readonly number[]): { readonly first: number; readonly turns: number } | null {
	let first = 0;
	let turns = op.code.turns;
	for (const [depth, part] of path.entries()) {
		if (depth > 0 && turns === 1) return null;
		const parts = partsOf(turns, op.code.carried.length);
		const own = parts[part];
		if (own === undefined) return null;
		first += parts[0]! * part;
		turns = own;
	}
	return { first, turns };
}

/** Of registers [from, to): where a section begins and ends. */
export function sectionsOf({ code: { before, carried, body, after } }: MapOp) {
	const bodyFrom = before.length + carried.length;
	const afterFrom = bodyFrom + body.length;
	return { bodyFrom, afterFrom, end: afterFrom + after.length };
}

/**
 * Where the carried values at a turn's start and end are told: at mark `mark` of the span of the first
 * `depth` parts of its path. Null: those before the first turn.
 */
export function marksOf(op: MapOp, path: readonly number[]) {
	const counts = path.map(
		(_, depth) => partsOf(spanOf(op, path.slice(0, depth))!.turns, op.code.carried.length).length,
	);
	const start = path.findLastIndex((part) => part > 0);
	// The end of the whole is the last mark of the whole.
	const end = Math.max(
		0,
		path.findLastIndex((part, depth) => part + 1 < counts[depth]!),
	);
	return {
		start: start < 0 ? null : { depth: start, mark: path[start]! - 1 },
		end: { depth: end, mark: path[end]! },
	};
}

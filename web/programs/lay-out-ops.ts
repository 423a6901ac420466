// Where each op of a phase stands in a drawing: what it reads above it, what reads it below. Rows from top to
// bottom, each at most so many boxes wide; in a row next to where its inputs are. Linear in ops and edges: a
// stranger's program may have 65,535 of them. Pure; drawing is op-graph.tsx's.
import type { OpLine } from "../../src/work/program/describe-program.ts";

export interface PlacedOp {
	readonly op: OpLine;
	readonly row: number;
	/** Of its middle, in boxes from the left: rows stand in the middle. */
	readonly x: number;
	/** Numbers of the ops that it reads and that read it, each once. */
	readonly from: readonly number[];
	readonly to: readonly number[];
}

export interface Layout {
	/** By the op's number. */
	readonly ops: readonly PlacedOp[];
	/** Numbers of ops from left to right. */
	readonly rows: readonly (readonly number[])[];
}

const numbersRead = ({ reads, number }: OpLine): number[] => [
	...new Set(reads.flatMap((one) => (/^%\d+$/.test(one) ? [Number(one.slice(1))] : [])).filter((n) => n < number)),
];

/**
 * As late as its readers allow; what nobody reads, as early as its inputs do. No row is left empty: the
 * longest way down has an op in each.
 */
function ranksOf(from: readonly (readonly number[])[], to: readonly (readonly number[])[]): number[] {
	const ranks: number[] = [];
	for (const [n, read] of from.entries()) ranks[n] = read.reduce((most, one) => Math.max(most, ranks[one]! + 1), 0);
	for (let n = to.length - 1; n >= 0; n--)
		if (to[n]!.length > 0)
			ranks[n] = to[n]!.reduce((least, one) => Math.min(least, ranks[one]! - 1), Number.POSITIVE_INFINITY);
	return ranks;
}

/** `ops`: of one phase, in their order. `columns`: boxes beside each other, at least one. */
export function layOutOps(ops: readonly OpLine[], columns: number): Layout {
	const from = ops.map(numbersRead);
	const to: number[][] = ops.map(() => []);
	for (const [n, read] of from.entries()) for (const one of read) to[one]!.push(n);
	const byRank: number[][] = [];
	for (const [n, rank] of ranksOf(from, to).entries()) {
		byRank[rank] ??= [];
		byRank[rank].push(n);
	}
	const rows: number[][] = [];
	const places: { row: number; x: number }[] = [];
	for (const rank of byRank) {
		const wanted = (n: number) => {
			const known = from[n]!.map((one) => places[one]!.x);
			return known.length === 0 ? columns / 2 : known.reduce((sum, x) => sum + x, 0) / known.length;
		};
		const sorted = rank.map((n) => ({ n, x: wanted(n) })).sort((a, b) => a.x - b.x || a.n - b.n);
		for (let at = 0; at < sorted.length; at += columns) {
			const row = sorted.slice(at, at + columns).map(({ n }) => n);
			for (const [i, n] of row.entries()) places[n] = { row: rows.length, x: (columns - row.length) / 2 + i + 0.5 };
			rows.push(row);
		}
	}
	return { ops: ops.map((op, n) => ({ op, ...places[n]!, from: from[n]!, to: to[n]! })), rows };
}

/** Where an arrow key leads from an op: to the nearest above or below, or beside it. Itself at the edge. */
export function stepFrom({ ops, rows }: Layout, from: number, key: string): number {
	const at = ops[from];
	if (at === undefined) return from;
	const beside = rows[at.row]!;
	if (key === "ArrowLeft") return beside[beside.indexOf(from) - 1] ?? from;
	if (key === "ArrowRight") return beside[beside.indexOf(from) + 1] ?? from;
	const row = key === "Home" ? 0 : key === "End" ? rows.length - 1 : at.row + (key === "ArrowUp" ? -1 : 1);
	const near = [...(rows[row] ?? [])].sort((a, b) => Math.abs(ops[a]!.x - at.x) - Math.abs(ops[b]!.x - at.x));
	return near[0] ?? from;
}

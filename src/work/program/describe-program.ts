// A program for people who look at it: its ops with what they read and give, their intervals and their work,
// and where two programs differ. Pure; from hostile bytes or text. The text of an op is print-text.ts's.
import { bytesToHex, bytesToUtf8 } from "../../protocol/bytes/bytes.ts";
import { elementCount } from "../operators/tensor-type.ts";
import type { CheckedProgram } from "./check-program.ts";
import { orThrow } from "./fault.ts";
import { showInterval } from "./intervals.ts";
import { openProgram, programRoot, sealProgram } from "./open-program.ts";
import { parseProgram } from "./parse-text.ts";
import { printOp } from "./print-text.ts";
import { type ProgramCost, programCost } from "./program-cost.ts";
import { type Op, PHASES, type Phase, type Program } from "./shapes.ts";

export interface OpLine {
	readonly phase: Phase;
	readonly number: number;
	readonly operator: string;
	/** Ops before it as %n, tensors by name. */
	readonly reads: readonly string[];
	readonly shape: string;
	readonly interval: string;
	/** The tensor that it writes; empty: none. */
	readonly writes: string;
	/** Products, terms or instructions. */
	readonly work: number;
	/** Its definition. */
	readonly text: readonly string[];
}

export interface DescribedProgram {
	readonly root: string;
	readonly k: number;
	readonly cost: ProgramCost;
	readonly tensors: readonly {
		readonly kind: string;
		readonly name: string;
		readonly shape: string;
		readonly interval: string;
	}[];
	readonly ops: readonly OpLine[];
}

const shapeOf = ({ type, dims }: { readonly type: string; readonly dims: readonly number[] }) =>
	`${type}[${dims.join(",")}]`;

function workOf(op: Op): number {
	const count = elementCount(op.output.dims);
	if (op.operator === "matmul") return count * op.operands[0]!.dims[2]!;
	if (op.operator !== "map") return elementCount(op.operands[0]!.dims);
	const { before, turns, body, after } = op.code;
	return count * (before.length + turns * body.length + after.length);
}

function opLine({ tensors }: Program, phase: Phase, number: number, op: Op): OpLine {
	const nameOf = (tensor: number) => tensors[tensor]!.name;
	return {
		...{ phase, number, operator: op.operator === "reduce" ? `reduce ${op.reduction}` : op.operator },
		reads: op.operands.map(({ source, index }) => (source === "op" ? `%${index}` : nameOf(index))),
		...{ shape: shapeOf(op.output), interval: showInterval(op.output), work: workOf(op) },
		writes: op.target === null ? "" : nameOf(op.target),
		text: printOp(op, number, nameOf),
	};
}

/** The bytes of a program, or its text. Throws PROGRAM_…. */
function openEither(file: Uint8Array): CheckedProgram {
	const opened = openProgram(file);
	const text = opened.ok ? null : bytesToUtf8(file);
	if (opened.ok || text === null || !text.trimStart().startsWith("program")) return orThrow(opened);
	return orThrow(sealProgram(parseProgram(text)));
}

export function describeProgram(file: Uint8Array): DescribedProgram {
	const { program } = openEither(file);
	return {
		...{ root: bytesToHex(programRoot(program)), k: program.k, cost: programCost(program) },
		tensors: program.tensors.map((one) => ({
			kind: one.kind,
			name: one.name,
			shape: shapeOf(one),
			interval: showInterval(one),
		})),
		ops: PHASES.flatMap((phase) => program[phase].map((op, number) => opLine(program, phase, number, op))),
	};
}

/** An op of the first, of the second, or of both. */
export interface ComparedOp {
	readonly in: "both" | "first" | "second";
	readonly op: OpLine;
}

/** Longer stretches between equal beginnings and ends are told as removed and added whole. */
const MOST_COMPARED = 1500;
/** Numbers of ops are left out: one op more at the top changes no other. */
const keyOf = ({ phase, text }: OpLine): string => `${phase} ${text.join("\n").replaceAll(/%\d+/g, "%")}`;

/** In the order of both, by the longest list of ops that they share. */
export function compareOps(first: readonly OpLine[], second: readonly OpLine[]): ComparedOp[] {
	const [a, b] = [first.map(keyOf), second.map(keyOf)];
	let from = 0;
	while (from < a.length && from < b.length && a[from] === b[from]) from++;
	let end = 0;
	while (end < a.length - from && end < b.length - from && a.at(-1 - end) === b.at(-1 - end)) end++;
	const [m, n] = [a.length - from - end, b.length - from - end];
	const both = (ops: readonly OpLine[]): ComparedOp[] => ops.map((op) => ({ in: "both", op }));
	const middle: ComparedOp[] = [];
	let [i, j] = [0, 0];
	if (m <= MOST_COMPARED && n <= MOST_COMPARED) {
		const lengths = Array.from({ length: m + 1 }, () => new Uint16Array(n + 1));
		for (let x = m - 1; x >= 0; x--)
			for (let y = n - 1; y >= 0; y--)
				lengths[x]![y] =
					a[from + x] === b[from + y]
						? lengths[x + 1]![y + 1]! + 1
						: Math.max(lengths[x + 1]![y]!, lengths[x]![y + 1]!);
		while (i < m && j < n) {
			if (a[from + i] === b[from + j]) {
				middle.push({ in: "both", op: second[from + j]! });
				i++;
				j++;
			} else if (lengths[i + 1]![j]! >= lengths[i]![j + 1]!) middle.push({ in: "first", op: first[from + i++]! });
			else middle.push({ in: "second", op: second[from + j++]! });
		}
	}
	for (; i < m; i++) middle.push({ in: "first", op: first[from + i]! });
	for (; j < n; j++) middle.push({ in: "second", op: second[from + j]! });
	return [...both(second.slice(0, from)), ...middle, ...both(second.slice(b.length - end))];
}

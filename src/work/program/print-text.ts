// A program as text, docs/work.md §8: what the bytes say, for people. parse-text.ts reads it back to the same
// program.
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { INSTRUCTIONS, type Instruction, type Place, VARIABLE } from "../operators/instruction.ts";
import type { Interval, TensorType } from "../operators/tensor-type.ts";
import { type Op, PHASES, type Program, type Tensor } from "./shapes.ts";

const interval = ({ lo, hi }: Interval): string => `${lo}..${hi}`;
const shape = ({ type, dims }: { readonly type: TensorType; readonly dims: readonly number[] }): string =>
	`${type}[${dims.join(",")}]`;

export const VARIABLE_NAMES: readonly string[] = ["i0", "i1", "i2", "i3", "i4", "i5", ...Object.keys(VARIABLE)];

/** "i0 + 16*segment + r4 - 16 wrap" */
function printPlace({ edge, register, constant, terms }: Place): string {
	const parts = terms.map(({ of, times }) => ({
		sign: times < 0 ? "-" : "+",
		text: Math.abs(times) === 1 ? VARIABLE_NAMES[of]! : `${Math.abs(times)}*${VARIABLE_NAMES[of]}`,
	}));
	if (register !== null) parts.push({ sign: "+", text: `r${register}` });
	if (constant !== 0 || parts.length === 0)
		parts.push({ sign: constant < 0 ? "-" : "+", text: `${Math.abs(constant)}` });
	const sum = parts
		.map(({ sign, text }, i) => (i > 0 ? ` ${sign} ${text}` : sign === "-" ? `-${text}` : text))
		.join("");
	return edge === "inside" ? sum : `${sum} ${edge}`;
}

export function printInstruction(one: Instruction, number: number): string {
	const fields = INSTRUCTIONS.find(([name]) => name === one.op)!.slice(1);
	const values = one as unknown as Readonly<Record<string, number | bigint>>;
	const words = fields.map((field) => {
		if (field === "place") return `[${(one as Instruction & { op: "load" }).place.map(printPlace).join(", ")}]`;
		return field === "a" || field === "b" || field === "c" ? `r${values[field]}` : `${values[field]}`;
	});
	return `  r${number} = ${[one.op, ...words].join(" ")}`;
}

function printCode({ code }: Op & { operator: "map" }): string[] {
	const { before, turns, carried, body, after } = code;
	const lines = before.map(printInstruction);
	if (turns > 0) {
		const bodyFrom = before.length + carried.length;
		lines.push(`  repeat ${turns}`);
		for (const [i, { from, next, lo, hi }] of carried.entries())
			lines.push(`  carry r${before.length + i} = r${from} r${next} ${interval({ lo, hi })}`);
		lines.push(...body.map((one, i) => printInstruction(one, bodyFrom + i)), "  after");
		lines.push(...after.map((one, i) => printInstruction(one, bodyFrom + body.length + i)));
	}
	return lines;
}

/** `nameOf`: what a tensor is called. */
export function printOp(op: Op, number: number, nameOf: (tensor: number) => string): string[] {
	const operands = op.operands.map((one) => {
		const name = one.source === "op" ? `%${one.index}` : nameOf(one.index);
		return `${name} ${shape(one)}`;
	});
	const name = op.operator === "reduce" ? `reduce ${op.reduction}` : op.operator;
	const target = op.target === null ? "" : ` -> ${nameOf(op.target)}`;
	const head = `%${number} = ${name}(${operands.join(", ")}) ${shape(op.output)} ${interval(op.output)}${target}`;
	return op.operator === "map" ? [`${head} {`, ...printCode(op), "}"] : [head];
}

function printTensor(tensor: Tensor): string {
	const words = [tensor.kind, tensor.name, shape(tensor), interval(tensor)];
	return [...words, ...(tensor.root === null ? [] : [bytesToHex(tensor.root)])].join(" ");
}

/** Of a program that was checked: every number in it names something. */
export function printProgram(program: Program): string {
	const nameOf = (tensor: number) => program.tensors[tensor]!.name;
	const phases = PHASES.flatMap((phase) => [phase, ...program[phase].flatMap((op, i) => printOp(op, i, nameOf))]);
	return `${[`program k ${program.k}`, ...program.tensors.map(printTensor), ...phases].join("\n")}\n`;
}

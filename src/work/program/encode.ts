// Programs as bytes, docs/work.md §6: `ASSAYPR1`, big-endian as contracts read. One program has one spelling.
// An op's leaf is self-contained: a judge needs no other. What does not fit its field is refused here with a
// sentence.
import { AssayError } from "../../protocol/assay-error.ts";
import { concatBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { CODE_OF, EDGES, INSTRUCTIONS, type Instruction, type Place } from "../operators/instruction.ts";
import { type Interval, TENSOR_TYPES } from "../operators/tensor-type.ts";
import {
	type Code,
	OPERATORS,
	type Op,
	type Operand,
	PHASES,
	type Phase,
	type Program,
	REDUCTIONS,
	SOURCES,
	TENSOR_KINDS,
	type Tensor,
} from "./shapes.ts";

export const MAGIC = utf8ToBytes("ASSAYPR1");
export const VERSION = 1;
export const NO_TARGET = 0xffff;

class Writer {
	readonly bytes: number[] = [];

	/** `size` bytes, big-endian; a signed field is two's complement. */
	put(value: number | bigint, size: number, isSigned = false): this {
		const big = typeof value === "bigint" || Number.isSafeInteger(value) ? BigInt(value) : null;
		const bits = BigInt(8 * size);
		const lo = isSigned ? -(1n << (bits - 1n)) : 0n;
		if (big === null || big < lo || big >= lo + (1n << bits))
			throw new AssayError("PROGRAM_MALFORMED", `${value} does not fit a field of ${size} bytes`, {
				hint: "docs/work.md §6 has the width of every field.",
			});
		for (let at = bits - 8n; at >= 0n; at -= 8n) this.bytes.push(Number((big >> at) & 0xffn));
		return this;
	}

	u8(value: number): this {
		return this.put(value, 1);
	}

	interval({ lo, hi }: Interval): this {
		return this.put(lo, 8, true).put(hi, 8, true);
	}

	dims(dims: readonly number[]): this {
		this.u8(dims.length);
		for (const dim of dims) this.put(dim, 4);
		return this;
	}

	raw(bytes: Uint8Array): this {
		for (const byte of bytes) this.bytes.push(byte);
		return this;
	}
}

function encodeTensor({ kind, name, type, dims, lo, hi, root }: Tensor): Uint8Array {
	const writer = new Writer().u8(TENSOR_KINDS.indexOf(kind)).u8(TENSOR_TYPES.indexOf(type)).dims(dims);
	writer.interval({ lo, hi }).u8(name.length).raw(utf8ToBytes(name));
	if (root !== null) writer.raw(root);
	return Uint8Array.from(writer.bytes);
}

function writePlace(writer: Writer, { edge, register, constant, terms }: Place): void {
	writer.u8(EDGES.indexOf(edge) | (register === null ? 0 : 4));
	if (register !== null) writer.u8(register);
	writer.put(constant, 4, true).u8(terms.length);
	for (const { of, times } of terms) writer.u8(of).put(times, 4, true);
}

function writeInstruction(writer: Writer, one: Instruction): void {
	const code = CODE_OF.get(one.op)!;
	writer.u8(code);
	const values = one as unknown as Readonly<Record<string, number | bigint>>;
	for (const field of INSTRUCTIONS[code]!.slice(1)) {
		if (field === "place") for (const place of (one as Instruction & { op: "load" }).place) writePlace(writer, place);
		else writer.put(values[field]!, field === "value" ? 8 : field === "domain" ? 4 : 1, field === "value");
	}
}

function writeCode(writer: Writer, { before, turns, carried, body, after }: Code): void {
	writer.put(turns, 2).u8(carried.length);
	writer.put(before.length, 2).put(body.length, 2).put(after.length, 2);
	for (const { from, next, lo, hi } of carried) writer.u8(from).u8(next).interval({ lo, hi });
	for (const one of [...before, ...body, ...after]) writeInstruction(writer, one);
}

function writeOperand(writer: Writer, { source, index, type, dims }: Operand): void {
	writer.u8(SOURCES.indexOf(source)).put(index, 2).u8(TENSOR_TYPES.indexOf(type)).dims(dims);
}

export function encodeOp(op: Op, phase: Phase): Uint8Array {
	const { output, target, operands } = op;
	const writer = new Writer().u8(OPERATORS.indexOf(op.operator)).u8(PHASES.indexOf(phase));
	writer.u8(TENSOR_TYPES.indexOf(output.type)).dims(output.dims).interval(output);
	writer.put(target ?? NO_TARGET, 2).u8(operands.length);
	for (const operand of operands) writeOperand(writer, operand);
	if (op.operator === "reduce") writer.u8(REDUCTIONS.indexOf(op.reduction));
	if (op.operator === "map") writeCode(writer, op.code);
	return Uint8Array.from(writer.bytes);
}

/** Magic, version, k and the three counts: what a program's root covers besides its leaves. */
export function encodeHead({ k, tensors, init, step }: Program): Uint8Array {
	const writer = new Writer().raw(MAGIC).put(VERSION, 2).put(k, 4);
	return Uint8Array.from(writer.put(tensors.length, 2).put(init.length, 2).put(step.length, 2).bytes);
}

export interface ProgramLeaves {
	readonly tensors: readonly Uint8Array[];
	/** Those of init, then those of step. */
	readonly ops: readonly Uint8Array[];
}

export function encodeLeaves(program: Program): ProgramLeaves {
	return {
		tensors: program.tensors.map(encodeTensor),
		ops: PHASES.flatMap((phase) => program[phase].map((op) => encodeOp(op, phase))),
	};
}

export function encodeProgram(program: Program): Uint8Array {
	const { tensors, ops } = encodeLeaves(program);
	return concatBytes(encodeHead(program), ...tensors, ...ops);
}

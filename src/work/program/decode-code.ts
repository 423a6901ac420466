// Reads the code of a `map` from hostile bytes, docs/work.md §6. A register may name what stands before it
// and, outside the body, nothing of the body.
import {
	EDGES,
	INSTRUCTIONS,
	type Instruction,
	MOST_BITS,
	type Place,
	type Term,
	VARIABLE,
} from "../operators/instruction.ts";
import type { ByteReader } from "./byte-reader.ts";
import { type Carried, type Code, LIMITS, type Operand } from "./shapes.ts";

type Section = "before" | "body" | "after";

interface Scope {
	readonly section: Section;
	/** Number of the instruction that is read. */
	readonly number: number;
	/** Registers of the body: none of them is seen from `after`. */
	readonly bodyFrom: number;
	readonly bodyTo: number;
	readonly rank: number;
	readonly operands: readonly Operand[];
}

function readRegister(reader: ByteReader, { section, number, bodyFrom, bodyTo }: Scope): number {
	const register = reader.below(reader.u8(), number, "register");
	if (section === "after" && register >= bodyFrom && register < bodyTo)
		reader.malformed(`register ${register} is the body's`);
	return register;
}

function readTerm(reader: ByteReader, { section, rank }: Scope, above: number): Term {
	const of = reader.u8();
	const isKnown =
		of < rank || of === VARIABLE.segment || of === VARIABLE.step || (of === VARIABLE.turn && section === "body");
	if (!isKnown) reader.malformed(`${of} is no variable here`);
	if (of <= above) reader.malformed("the terms of a place ascend");
	const times = reader.i32();
	if (times === 0) reader.malformed("a term is never zero");
	return { of, times };
}

function readPlace(reader: ByteReader, scope: Scope): Place {
	const mode = reader.u8();
	if (mode > 7) reader.malformed(`${mode} is no edge`);
	const register = mode & 4 ? readRegister(reader, scope) : null;
	const constant = reader.i32();
	const count = reader.below(reader.u8(), LIMITS.terms + 1, "count of terms");
	const terms: Term[] = [];
	for (let i = 0; i < count; i++) terms.push(readTerm(reader, scope, terms.at(-1)?.of ?? -1));
	return { edge: EDGES[mode & 3]!, register, constant, terms };
}

function readInstruction(reader: ByteReader, scope: Scope): Instruction {
	const [op, ...fields] = reader.oneOf(INSTRUCTIONS, "instruction");
	if (op === "turn" && scope.section !== "body") reader.malformed("a turn is known in the body only");
	const read: Record<string, unknown> = { op };
	for (const field of fields) {
		if (field === "operand") read.operand = reader.below(reader.u8(), scope.operands.length, "operand");
		else if (field === "place")
			read.place = scope.operands[read.operand as number]!.dims.map(() => readPlace(reader, scope));
		else if (field === "value") read.value = reader.i64();
		else if (field === "axis") read.axis = reader.below(reader.u8(), scope.rank, "axis");
		else if (field === "domain") read.domain = reader.u32();
		else if (field === "bits") {
			const bits = reader.below(reader.u8(), MOST_BITS + 1, "shift");
			read.bits = bits > 0 ? bits : reader.malformed("a shift by 0");
		} else read[field] = readRegister(reader, scope);
	}
	return read as unknown as Instruction;
}

export function readCode(reader: ByteReader, rank: number, operands: readonly Operand[]): Code {
	const turns = reader.atMost(reader.u16(), LIMITS.turns, "turns");
	const carriedCount = reader.atMost(reader.u8(), LIMITS.carried, "carried values");
	const [before, body, after] = [reader.u16(), reader.u16(), reader.u16()];
	reader.atMost(before + carriedCount + body + after, LIMITS.registers, "registers");
	const isRepeated = turns > 0;
	if (isRepeated) reader.atMost(before, LIMITS.beforeTurns, "instructions before turns");
	if (before === 0 || [carriedCount, body, after].some((count) => count > 0 !== isRepeated))
		reader.malformed("a section is empty that must not be, or the reverse");
	const bodyFrom = before + carriedCount;
	const carried = Array.from({ length: carriedCount }, (): Carried => {
		const from = reader.below(reader.u8(), before, "register");
		const next = reader.below(reader.u8(), bodyFrom + body, "register");
		return { from, next, ...reader.interval() };
	});
	const section = (name: Section, first: number, count: number): Instruction[] =>
		Array.from({ length: count }, (_, i) =>
			readInstruction(reader, { section: name, number: first + i, bodyFrom, bodyTo: bodyFrom + body, rank, operands }),
		);
	return {
		turns,
		carried,
		before: section("before", 0, before),
		body: section("body", bodyFrom, body),
		after: section("after", bodyFrom + body, after),
	};
}

// An expression as the code of a `map`: equal parts once, in sections, registers numbered as docs/work.md §6
// wants them.
import { AssayError } from "../../protocol/assay-error.ts";
import { type Instruction, type Place, VARIABLE } from "../operators/instruction.ts";
import type { Code, Operand } from "../program/shapes.ts";
import type { Expression, Index, Loop, Value } from "./expression.ts";

export interface CompiledMap {
	readonly operands: readonly Operand[];
	readonly values: readonly Value[];
	readonly code: Code;
}

/** Before the loop, inside it, after it. */
type Level = 0 | 1 | 2;

class Compiler {
	readonly operands: Operand[] = [];
	readonly values: Value[] = [];
	loop: Loop | null = null;
	/** Register by the spelling of an instruction and its section. */
	readonly registers = new Map<string, number>();
	readonly emitted = new Map<Expression, number>();
	readonly levels = new Map<Expression, Level>();
	readonly sections: [Instruction[], Instruction[], Instruction[]] = [[], [], []];
	/** Register of the first instruction of each section. */
	readonly first: [number, number, number] = [0, 0, 0];

	operand(from: Value): number {
		const { source, index, type, dims } = from;
		const found = this.operands.findIndex(
			(one) => one.source === source && one.index === index && one.dims.join() === dims.join(),
		);
		if (found >= 0) return found;
		this.values.push(from);
		return this.operands.push({ source, index, type, dims }) - 1;
	}

	level(expression: Expression): Level {
		const known = this.levels.get(expression);
		if (known !== undefined) return known;
		const { node } = expression;
		let level: Level = 0;
		if (node.loop) {
			if (this.loop !== null && this.loop !== node.loop)
				throw new AssayError("PROGRAM_SHAPE", "a map repeats one body at most");
			this.loop = node.loop;
			level = node.op === "carried" ? 1 : 2;
		} else if (node.op === "turn" || node.places?.some(({ terms }) => terms.has(VARIABLE.turn))) level = 1;
		for (const arg of node.args) level = this.join(level, this.level(arg));
		this.levels.set(expression, level);
		return level;
	}

	join(a: Level, b: Level): Level {
		if (a !== 0 && b !== 0 && a !== b)
			throw new AssayError("PROGRAM_SHAPE", "a value of the body is not known after it");
		return a > b ? a : b;
	}

	/** Register of an expression; what it needs is emitted first. */
	register(expression: Expression): number {
		const { node } = expression;
		if (node.loop) return this.sections[0].length + node.slot!;
		const emitted = this.emitted.get(expression);
		if (emitted !== undefined) return emitted;
		const level = this.level(expression);
		const args = node.args.map((arg) => this.register(arg));
		const instruction = this.instruction(expression, args);
		const key = `${level} ${JSON.stringify(instruction, (_, value) => (typeof value === "bigint" ? `${value}n` : value))}`;
		const number = this.registers.get(key) ?? this.first[level] + this.sections[level].push(instruction) - 1;
		this.registers.set(key, number);
		this.emitted.set(expression, number);
		return number;
	}

	instruction({ node }: Expression, [a, b, c]: readonly number[]): Instruction {
		const { op } = node;
		if (op === "load")
			return { op, operand: this.operand(node.from!), place: node.places!.map((one) => this.place(one)) };
		const fields = { a, b, c, bits: node.bits, axis: node.axis, domain: node.domain, value: node.value };
		const set = Object.entries(fields).filter(([, value]) => value !== undefined);
		return { op, ...Object.fromEntries(set) } as unknown as Instruction;
	}

	place({ edge, register, constant, terms }: Index): Place {
		return {
			edge,
			register: register === null ? null : this.register(register),
			constant,
			terms: [...terms]
				.filter(([, times]) => times !== 0)
				.sort(([x], [y]) => x - y)
				.map(([of, times]) => ({ of, times })),
		};
	}

	/** Emits everything outside the loop that the expression needs. */
	emitBefore(expression: Expression, seen: Set<Expression>): void {
		if (seen.has(expression)) return;
		seen.add(expression);
		for (const arg of expression.node.args) this.emitBefore(arg, seen);
		if (this.level(expression) === 0) this.register(expression);
	}
}

export function compileMap(output: Expression): CompiledMap {
	const compiler = new Compiler();
	const level = compiler.level(output);
	const { loop } = compiler;
	const [before, body, after] = compiler.sections;
	if (loop === null) {
		compiler.register(output);
		return { ...compiler, code: { before, turns: 0, carried: [], body, after } };
	}
	if (level === 1) throw new AssayError("PROGRAM_SHAPE", "a value of the body is not known after it");
	for (const one of loop.next)
		if (compiler.level(one) === 2) throw new AssayError("PROGRAM_SHAPE", "a body reads its own end");
	const seen = new Set<Expression>();
	const froms = loop.carried.map(({ from }) => from);
	for (const one of [...froms, ...loop.next, output]) compiler.emitBefore(one, seen);
	const count = loop.carried.length;
	compiler.first[1] = before.length + count;
	const nexts = loop.next.map((one) => compiler.register(one));
	// A body that only moves carried values still has one instruction.
	if (body.length === 0) body.push({ op: "turn" });
	compiler.first[2] = compiler.first[1] + body.length;
	const register = compiler.register(output);
	if (after.length === 0 || register !== compiler.first[2] + after.length - 1)
		after.push({ op: "max", a: register, b: register });
	const carried = loop.carried.map(({ from, lo, hi }, i) => ({
		from: compiler.register(from),
		next: nexts[i]!,
		lo,
		hi,
	}));
	return { ...compiler, code: { before, turns: loop.turns, carried, body, after } };
}

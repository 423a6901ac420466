// Reads the text form of docs/work.md §8. Errors name the line. Whether the program may run is not asked
// here.
import { AssayError } from "../../protocol/assay-error.ts";
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import type { Interval, TensorType } from "../operators/tensor-type.ts";
import { CodeParser } from "./parse-code.ts";
import {
	NAME,
	OPERATORS,
	type Op,
	type Operand,
	type Output,
	type Phase,
	type Program,
	REDUCTIONS,
	type Reduction,
	SOURCES,
	type Source,
	TENSOR_KINDS,
	type Tensor,
	type TensorKind,
} from "./shapes.ts";

const SHAPE = "(i8|i16|i32|i64)\\[(\\d{1,10}(?:,\\d{1,10})*)\\]";
const INTERVAL = "(-?\\d{1,20})\\.\\.(-?\\d{1,20})";
const TENSOR_LINE = new RegExp(`^(\\w+) (\\S+) ${SHAPE} ${INTERVAL}(?: ([0-9a-f]{64}))?$`);
const OP_LINE = new RegExp(`^(%\\w+) = (\\w+)(?: (\\w+))?\\((.*)\\) ${SHAPE} ${INTERVAL}(?: -> (\\S+))?( \\{)?$`);
const OPERAND = new RegExp(`^(\\S+) ${SHAPE}$`);

const dimsOf = (text: string): number[] => text.split(",").map(Number);
const intervalOf = (lo: string, hi: string): Interval => ({ lo: BigInt(lo), hi: BigInt(hi) });

class TextParser {
	readonly tensors: Tensor[] = [];
	readonly ops: Record<Phase, Op[]> = { init: [], step: [] };
	readonly labels: Record<Phase, Map<string, number>> = { init: new Map(), step: new Map() };
	/** Without comments, outer spaces and doubled ones. */
	readonly lines: readonly string[];
	at = 0;
	phase: Phase | null = null;

	constructor(text: string) {
		this.lines = text.split("\n").map((line) => line.replace(/#.*$/, "").trim().replace(/\s+/g, " "));
	}

	fail(message: string): never {
		throw new AssayError("PROGRAM_TEXT", `line ${this.at}: ${message}`, { hint: codes.PROGRAM_TEXT.hint });
	}

	/** The next line that says something; null at the end. */
	line(): string | null {
		while (this.at < this.lines.length) {
			const line = this.lines[this.at++]!;
			if (line !== "") return line;
		}
		return null;
	}

	tensorNumber(name: string): number {
		const found = this.tensors.findIndex((tensor) => tensor.name === name);
		return found >= 0 ? found : this.fail(`no tensor has the name ${name}`);
	}

	tensor(line: string): void {
		const [, kind, name, type, dims, lo, hi, root] = TENSOR_LINE.exec(line) ?? this.fail(`not understood: ${line}`);
		if (!TENSOR_KINDS.includes(kind as TensorKind)) this.fail(`${kind} is no kind of tensor`);
		if (!NAME.test(name!)) this.fail(`${name} is no name`);
		if ((kind === "constant") !== (root !== undefined)) this.fail("constants, and only they, have a root");
		if (this.tensors.some((tensor) => tensor.name === name)) this.fail(`the name ${name} stands twice`);
		this.tensors.push({
			kind: kind as TensorKind,
			name: name!,
			type: type as TensorType,
			dims: dimsOf(dims!),
			...intervalOf(lo!, hi!),
			root: root === undefined ? null : hexToBytes(root),
		});
	}

	operand(text: string, phase: Phase): Operand {
		const [, name, type, dims] = OPERAND.exec(text.trim()) ?? this.fail(`not an operand: ${text}`);
		const shape = { type: type as TensorType, dims: dimsOf(dims!) };
		if (name!.startsWith("%")) {
			const index = this.labels[phase].get(name!);
			return index === undefined ? this.fail(`no op above is ${name}`) : { source: "op", index, ...shape };
		}
		const index = this.tensorNumber(name!);
		const { kind } = this.tensors[index]!;
		if (!SOURCES.includes(kind as Source)) this.fail(`a ${kind} is never read`);
		return { source: kind as Source, index, ...shape };
	}

	op(line: string, phase: Phase): void {
		const found = OP_LINE.exec(line) ?? this.fail(`not understood: ${line}`);
		const [, label, operator, which, inside, type, dims, lo, hi, target, open] = found;
		if (this.labels[phase].has(label!)) this.fail(`${label} stands twice`);
		// Commas stand inside dims too: operands are cut where a bracket closed.
		const operands = inside!.trim() === "" ? [] : inside!.split(/(?<=\])\s*,/).map((text) => this.operand(text, phase));
		const output: Output = { type: type as TensorType, dims: dimsOf(dims!), ...intervalOf(lo!, hi!) };
		const common = { output, target: target === undefined ? null : this.tensorNumber(target), operands };
		if ((operator === "map") !== (open !== undefined)) this.fail("a map, and only a map, is followed by {");
		if ((operator === "reduce") !== (which !== undefined)) this.fail("a reduce, and only a reduce, says which");
		this.labels[phase].set(label!, this.ops[phase].length);
		this.ops[phase].push(this.withTail(operator!, which, common));
	}

	withTail(operator: string, which: string | undefined, common: Pick<Op, "output" | "target" | "operands">): Op {
		if (!OPERATORS.includes(operator as never)) this.fail(`${operator} is no operator`);
		if (operator === "reduce") {
			if (!REDUCTIONS.includes(which as Reduction)) this.fail(`${which} is no reduction`);
			return { operator, reduction: which as Reduction, ...common };
		}
		if (operator === "map") return { operator, code: this.code(), ...common };
		return { operator: operator as "matmul" | "scatter_add", ...common };
	}

	code(): Extract<Op, { operator: "map" }>["code"] {
		const parser = new CodeParser((message) => this.fail(message));
		for (let line = this.line(); line !== "}"; line = this.line()) {
			if (line === null) this.fail("a map does not end");
			parser.read(line);
		}
		return parser.code();
	}

	program(): Program {
		const [, k] = /^program k (\d{1,9})$/.exec(this.line() ?? "") ?? this.fail("a program begins with `program k N`");
		for (let line = this.line(); line !== null; line = this.line()) {
			if (line === "init" || line === "step") {
				if (line === (this.phase ?? "step") && this.phase !== null) this.fail(`${line} stands twice`);
				if (this.phase === "step" || (line === "step" && this.phase === null)) this.fail("init comes first, then step");
				this.phase = line;
			} else if (this.phase === null) this.tensor(line);
			else this.op(line, this.phase);
		}
		if (this.phase !== "step") this.fail("a program has init and step");
		return { k: Number(k), tensors: this.tensors, ...this.ops };
	}
}

export function parseProgram(text: string): Program {
	return new TextParser(text).program();
}

// Whether each sequence of a batch is computed by itself, whatever stands beside it and wherever it stands:
// docs/inference.md §8. A program that is not so is refused with the op: its tokens could not be checked in
// another batch, or all at once.
//
// Values are `shared` (weights, tables, and what follows from them alone), `lane` (the first axis is the
// batch, or the batch times something) or `sequence` (the first axis is all sequences of the job; those of
// the batch at hand begin at batch·(segment − 1)). States are by sequence, scratch tensors by lane.
import { codedError } from "../../protocol/coded-error.ts";
import { type Instruction, type Place, VARIABLE } from "../operators/instruction.ts";
import { elementCount } from "../operators/tensor-type.ts";
import type { MapOp, MatmulOp, Op, Operand, Phase, Program, ReduceOp } from "../program/shapes.ts";

type Class = "shared" | "lane" | "sequence";

export interface Lanes {
	/** Sequences side by side. */
	readonly batch: number;
	/** Inputs whose first axis is the batch, or all sequences; all others are shared. */
	readonly inputs: Readonly<Record<string, "lane" | "sequence">>;
}

class Checker {
	readonly program: Program;
	readonly lanes: Lanes;
	phase: Phase = "init";
	number = 0;
	classes: Class[] = [];

	constructor(program: Program, lanes: Lanes) {
		this.program = program;
		this.lanes = lanes;
	}

	refuse(why: string): never {
		const { operator } = this.program[this.phase][this.number]!;
		throw codedError("BATCH_MIXED", `${this.phase} op ${this.number} (${operator}): ${why}`);
	}

	classOf({ source, index }: Operand): Class {
		if (source === "op") return this.classes[index]!;
		if (source === "state") return "sequence";
		if (source === "scratch") return "lane";
		return source === "input" ? (this.lanes.inputs[this.program.tensors[index]!.name] ?? "shared") : "shared";
	}

	run(): void {
		for (const phase of ["init", "step"] as const) {
			this.phase = phase;
			this.classes = [];
			for (const [number, op] of this.program[phase].entries()) {
				this.number = number;
				this.classes.push(this.op(op));
			}
		}
	}

	op(op: Op): Class {
		const found = this.outcome(op);
		const kind = op.target === null ? null : this.program.tensors[op.target]!.kind;
		const wanted = kind === null ? found : kind === "state" ? "sequence" : "lane";
		if (found !== "shared" && found !== wanted) this.refuse(`it writes a ${kind} tensor by ${found}`);
		return found;
	}

	outcome(op: Op): Class {
		const of = op.operands.map((operand) => this.classOf(operand));
		if (op.operator === "map") return this.map(op, of);
		if (of.every((one) => one === "shared")) return "shared";
		if (of.includes("sequence")) this.refuse("it reads all sequences at once");
		if (op.operator === "matmul") return this.matmul(op, of);
		if (op.operator === "reduce") return this.reduce(op);
		return this.refuse("it sums over the batch");
	}

	matmul({ operands }: MatmulOp, [left, right]: readonly Class[]): Class {
		const { batch } = this.lanes;
		const [[a = 1, rows = 1], [b = 1]] = operands.map(({ dims }) => dims) as [readonly number[], readonly number[]];
		if (left === "lane" && right === "lane") {
			if (a % batch !== 0 || b % batch !== 0) this.refuse("it multiplies sequences with each other");
		} else if (left === "lane") {
			if (b !== 1 || (a * rows) % batch !== 0) this.refuse("its weights differ by the place in the batch");
		} else if (a !== 1 || b % batch !== 0) this.refuse("its weights differ by the place in the batch");
		return "lane";
	}

	reduce({ operands }: ReduceOp): Class {
		if (operands[0]!.dims[0]! % this.lanes.batch !== 0) this.refuse("its rows reach over several sequences");
		return "lane";
	}

	map({ output, operands, code, target }: MapOp, of: readonly Class[]): Class {
		const isInit = this.phase === "init";
		const instructions = [...code.before, ...code.body, ...code.after];
		const isState = target !== null && this.program.tensors[target]!.kind === "state";
		const own: Class = isInit || isState ? "sequence" : of.every((one) => one === "shared") ? "shared" : "lane";
		if (own === "lane" && output.dims[0]! % this.lanes.batch !== 0) this.refuse("its first axis is not the batch");
		for (const one of instructions) this.instruction(one, own);
		for (const one of instructions)
			if (one.op === "load") this.load(one.place, operands[one.operand]!, of[one.operand]!, own, output.dims[0]!);
		return own;
	}

	instruction(one: Instruction, own: Class): void {
		const isInit = this.phase === "init";
		if (one.op === "segment" && !isInit) this.refuse("it reads the number of the batch");
		if (one.op === "rand" && !isInit) this.refuse("rand in a step depends on the batch");
		if (one.op === "iota" && one.axis === 0 && own !== "shared" && !isInit)
			this.refuse("it reads the place in the batch");
	}

	load(place: readonly Place[], operand: Operand, from: Class, own: Class, first: number): void {
		const { batch } = this.lanes;
		const isOwn = (of: number) => (of === 0 && own !== "shared") || of === VARIABLE.segment;
		const [head, ...others] = place;
		const checked = from === "shared" ? place : others;
		const isInit = this.phase === "init";
		if (!isInit && checked.some(({ terms }) => terms.some((term) => isOwn(term.of))))
			this.refuse("it looks up by the place in the batch");
		if (from === "shared") return;
		const axis = operand.dims[0]!;
		if (from === own) {
			if (!isPlace(head!, 0, 0) || axis !== first) this.refuse("it reads another sequence");
		} else if (own === "lane") {
			const isAligned = elementCount(operand.dims) % batch === 0 && axis % batch === 0 && first === batch;
			if (!isPlace(head!, -batch, batch) || !isAligned) this.refuse("it reads another sequence");
		} else if (!isPlace(head!, batch, -batch) || head!.edge !== "zero" || axis !== batch)
			this.refuse("it reads another sequence");
	}
}

/** constant + i0 + times·segment, and nothing else. */
function isPlace({ register, constant, terms }: Place, wanted: number, times: number): boolean {
	const [own, segment, ...others] = terms;
	const isOwn = register === null && constant === wanted && own?.of === 0 && own.times === 1 && others.length === 0;
	const hasSegment = segment?.of === VARIABLE.segment && segment.times === times;
	return isOwn && (times === 0 ? segment === undefined : hasSegment);
}

/** Throws BATCH_MIXED. */
export function checkBatchInvariant(program: Program, lanes: Lanes): void {
	new Checker(program, lanes).run();
}

// Runs a checked program: the plain reference that the engine must equal bit for bit, docs/work.md §7.
// Segment 0 runs the init ops once, every later one k steps. Not here: hashing (trace/), files, speed.
import { AssayError } from "../../protocol/assay-error.ts";
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import { philoxKey } from "../../protocol/hash/philox.ts";
import type { Moment } from "../operators/map-machine.ts";
import { runMap } from "../operators/run-map.ts";
import { runMatmul, runReduce, runScatterAdd } from "../operators/run-sums.ts";
import { createElements, type Elements, elementCount, type Interval } from "../operators/tensor-type.ts";
import { tensorRoot } from "../trace/tensor-tree.ts";
import type { CheckedProgram } from "./check-program.ts";
import { lastSegment, type Op, type Operand, type Phase, type Program, type Tensor } from "./shapes.ts";

/** What one op read and gave. */
interface OpRun {
	readonly phase: Phase;
	readonly step: number;
	readonly number: number;
	readonly op: Op;
	readonly inputs: readonly Elements[];
	readonly output: Elements;
}

export interface Machine {
	readonly checked: CheckedProgram;
	readonly seed: Uint8Array;
	/** By tensor; state, scratch, result and metric as they are now. */
	readonly tensors: readonly Elements[];
	/** The segment that comes next. */
	readonly next: number;
	/** Runs segment `next`; `see` is told of every op. */
	runSegment(see?: (run: OpRun) => void): void;
	/** Goes on from this state, given by tensor for state and result, as if segment `next` came now. */
	restore(next: number, state: ReadonlyMap<number, Elements>): void;
}

const wrong = (
	code: "TENSOR_SIZE" | "TENSOR_RANGE" | "TENSOR_ROOT" | "SEGMENT_OUT_OF_RANGE",
	message: string,
): AssayError => new AssayError(code, message, { hint: codes[code].hint });

/** Given elements are the declared ones in type and count, and inside the interval. */
function checkElements(tensor: Tensor, elements: Elements): Elements {
	const { type, dims, lo, hi, name } = tensor;
	const like = createElements(type, 0);
	if (elements.constructor !== like.constructor || elements.length !== elementCount(dims))
		throw wrong("TENSOR_SIZE", `${name} is ${type}[${dims.join(",")}]; ${elements.length} elements came`);
	for (const [i, value] of elements.entries())
		if (value < lo || value > hi)
			throw wrong("TENSOR_RANGE", `element ${i} of ${name} is ${value}, outside ${lo}..${hi}`);
	return elements;
}

function intervalOfSource(program: Program, phase: Phase, { source, index }: Operand): Interval {
	return source === "op" ? program[phase][index]!.output : program.tensors[index]!;
}

function runOp(
	{ program, registers }: CheckedProgram,
	phase: Phase,
	number: number,
	inputs: readonly Elements[],
	moment: Moment,
): Elements {
	const op = program[phase][number]!;
	switch (op.operator) {
		case "map":
			return runMap(op, registers[phase][number]!, inputs, moment);
		case "matmul": {
			const intervals = op.operands.map((operand) => intervalOfSource(program, phase, operand));
			return runMatmul(op, intervals, inputs);
		}
		case "reduce":
			return runReduce(op, inputs);
		case "scatter_add":
			return runScatterAdd(op, inputs);
	}
}

const zeros = ({ type, dims }: Tensor): Elements => createElements(type, elementCount(dims));

/** The ops of one phase, once; `tensors` is changed. */
function runPhase(
	checked: CheckedProgram,
	phase: Phase,
	moment: Moment,
	tensors: Elements[],
	see?: (run: OpRun) => void,
): void {
	const outputs: Elements[] = [];
	for (const [number, op] of checked.program[phase].entries()) {
		const inputs = op.operands.map(({ source, index }) => (source === "op" ? outputs[index]! : tensors[index]!));
		const output = runOp(checked, phase, number, inputs, moment);
		outputs.push(output);
		see?.({ phase, step: moment.step, number, op, inputs, output });
		// A tensor is read before its writer or by it, so it may change at once.
		if (op.target !== null) tensors[op.target] = output;
	}
}

/**
 * State tensors after segment 0, of a program whose init ops read nothing that is given to it: they follow
 * from the seed. Null: they read a constant or an input.
 */
export function stateOfSeed(checked: CheckedProgram, seed: Uint8Array): Elements[] | null {
	const { program } = checked;
	const isGiven = ({ source, index }: Operand) =>
		source !== "op" && ["constant", "input"].includes(program.tensors[index]!.kind);
	if (program.init.some(({ operands }) => operands.some(isGiven))) return null;
	const tensors = program.tensors.map((one) => (one.kind === "state" ? zeros(one) : createElements(one.type, 0)));
	runPhase(checked, "init", { segment: 0, step: 0, k: program.k, key: philoxKey(seed) }, tensors);
	return tensors.filter((_, i) => program.tensors[i]!.kind === "state");
}

/** `given`: constants and inputs by name. */
export function createMachine(
	checked: CheckedProgram,
	seed: Uint8Array,
	given: Readonly<Record<string, Elements>>,
): Machine {
	const { program } = checked;
	const tensors = program.tensors.map((tensor) => {
		if (tensor.kind !== "constant" && tensor.kind !== "input") return zeros(tensor);
		const elements = given[tensor.name];
		if (elements === undefined) throw wrong("TENSOR_SIZE", `${tensor.name} was not given`);
		checkElements(tensor, elements);
		if (tensor.root !== null && !equalBytes(tensor.root, tensorRoot(elements)))
			throw wrong("TENSOR_ROOT", `${tensor.name} has another root than the program names`);
		return elements;
	});
	const key = philoxKey(seed);
	const runStep = (phase: Phase, segment: number, step: number, see?: (run: OpRun) => void): void =>
		runPhase(checked, phase, { segment, step, k: program.k, key }, tensors, see);
	let next = 0;
	return {
		checked,
		seed,
		tensors,
		get next() {
			return next;
		},
		runSegment(see) {
			if (next > lastSegment(program.k)) throw wrong("SEGMENT_OUT_OF_RANGE", `segment ${next} of ${program.k} steps`);
			for (const [i, tensor] of program.tensors.entries()) if (tensor.kind === "scratch") tensors[i] = zeros(tensor);
			if (next === 0) runStep("init", 0, 0, see);
			else for (let step = 0; step < program.k; step++) runStep("step", next, step, see);
			next += 1;
		},
		restore(segment, state) {
			for (const [tensor, elements] of state) tensors[tensor] = checkElements(program.tensors[tensor]!, elements);
			next = segment;
		},
	};
}

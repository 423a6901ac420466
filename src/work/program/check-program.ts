// May this program run? docs/work.md §5. Every register stays in 64 bits, every index inside its operand,
// every divisor at least 1, every output inside its interval; what a state tensor holds after a step lies in
// the interval that it had before, so bounds hold for ever. The order of the checks is the page's: two
// checkers name the same first fault. Not here: the layout of the bytes (decode.ts).
import { elementCount, type Interval, intervalOf, isInside, type TensorType } from "../operators/tensor-type.ts";
import { type Counters, checkMap } from "./check-map.ts";
import { checkSums } from "./check-sums.ts";
import { drained, OPS_A_SLICE } from "./drained.ts";
import { type Checked, refuse, type Wrong } from "./fault.ts";
import { showInterval } from "./intervals.ts";
import { lastSegment, type Op, type Operand, PHASES, type Phase, type Program } from "./shapes.ts";

export interface CheckedProgram {
	readonly program: Program;
	/** By phase and op: the intervals of a map's registers; empty for other operators. */
	readonly registers: Readonly<Record<Phase, readonly (readonly Interval[])[]>>;
}

export function countersOf(phase: Phase, k: number): Counters {
	if (phase === "init") return { segment: { lo: 0n, hi: 0n }, step: { lo: 0n, hi: 0n } };
	return { segment: { lo: 1n, hi: BigInt(lastSegment(k)) }, step: { lo: 0n, hi: BigInt(k - 1) } };
}

function declarationFault(type: TensorType, { lo, hi }: Interval): Wrong | null {
	if (lo <= hi && isInside({ lo, hi }, intervalOf(type))) return null;
	return { code: "PROGRAM_INTERVAL", message: `the interval ${showInterval({ lo, hi })} is empty or outside ${type}` };
}

const holdsZero = ({ lo, hi }: Interval): boolean => lo <= 0n && hi >= 0n;

const WRITABLE: Readonly<Record<Phase, readonly string[]>> = {
	init: ["state"],
	step: ["state", "scratch", "result", "metric"],
};

/** `writers`: op by tensor, of those before this op. */
function targetFault(program: Program, phase: Phase, op: Op, writers: ReadonlyMap<number, number>): Wrong | null {
	if (op.target === null) return null;
	const wrong = (message: string): Wrong => ({ code: "PROGRAM_TARGET", message });
	const tensor = program.tensors[op.target];
	if (tensor === undefined) return wrong(`writes tensor ${op.target}, which is not declared`);
	if (!WRITABLE[phase].includes(tensor.kind)) return wrong(`writes a ${tensor.kind} tensor in the ${phase} phase`);
	if (writers.has(op.target)) return wrong(`writes tensor ${op.target}, which op ${writers.get(op.target)} writes`);
	const { type, dims, lo, hi } = op.output;
	if (type !== tensor.type || elementCount(dims) !== elementCount(tensor.dims))
		return wrong(`its type or count is not that of tensor ${op.target}`);
	if (lo !== tensor.lo || hi !== tensor.hi)
		return wrong(`its interval ${showInterval({ lo, hi })} is not ${showInterval(tensor)} of tensor ${op.target}`);
	return null;
}

/** The interval of what an operand reads. */
function sourceInterval(
	program: Program,
	phase: Phase,
	number: number,
	{ source, index, type, dims }: Operand,
	writers: ReadonlyMap<number, number>,
): Interval | Wrong {
	const wrong = (message: string): Wrong => ({ code: "PROGRAM_WIRING", message });
	if (phase === "init" && (source === "state" || source === "scratch"))
		return wrong(`the init phase reads no ${source}`);
	if (source === "op" && index >= number) return wrong(`reads op ${index}, which does not come before it`);
	const from = source === "op" ? program[phase][index]!.output : program.tensors[index];
	if (from === undefined || ("kind" in from && from.kind !== source)) return wrong(`tensor ${index} is no ${source}`);
	if (from.type !== type || elementCount(from.dims) !== elementCount(dims))
		return wrong(`reads ${source} ${index} with another type or count than it has`);
	const writer = source === "op" ? undefined : writers.get(index);
	if (writer !== undefined) return wrong(`reads tensor ${index} after op ${writer} wrote it; read op ${writer}`);
	return { lo: from.lo, hi: from.hi };
}

type OpFound =
	| { readonly ok: true; readonly registers: readonly Interval[] }
	| { readonly ok: false; readonly wrong: Wrong };

function checkOp(program: Program, phase: Phase, number: number, writers: ReadonlyMap<number, number>): OpFound {
	const op = program[phase][number]!;
	const fail = (wrong: Wrong): OpFound => ({ ok: false, wrong });
	const declared = declarationFault(op.output.type, op.output) ?? targetFault(program, phase, op, writers);
	if (declared !== null) return fail(declared);
	const intervals: Interval[] = [];
	for (const operand of op.operands) {
		const found = sourceInterval(program, phase, number, operand, writers);
		if ("code" in found) return fail(found);
		intervals.push(found);
	}
	if (op.operator === "map") {
		const found = checkMap(op, intervals, countersOf(phase, program.k));
		return found.ok ? { ok: true, registers: found.intervals } : found;
	}
	const wrong = checkSums(op, intervals);
	return wrong === null ? { ok: true, registers: [] } : fail(wrong);
}

function checkTensors(program: Program): Checked<null> {
	const names = new Set<string>();
	for (const [tensor, declared] of program.tensors.entries()) {
		const wrong = declarationFault(declared.type, declared);
		if (wrong !== null) return refuse({ ...wrong, tensor });
		if (declared.kind === "scratch" && !holdsZero(declared))
			return refuse({ code: "PROGRAM_INTERVAL", message: "scratch begins as zero, which its interval lacks", tensor });
		if (names.has(declared.name))
			return refuse({ code: "PROGRAM_MALFORMED", message: `the name ${declared.name} stands twice`, tensor });
		names.add(declared.name);
	}
	return { ok: true, value: null };
}

function checkWritten(
	program: Program,
	init: ReadonlyMap<number, number>,
	step: ReadonlyMap<number, number>,
): Checked<null> {
	for (const [tensor, declared] of program.tensors.entries()) {
		if (declared.kind === "state" && !init.has(tensor) && !holdsZero(declared))
			return refuse({
				code: "PROGRAM_INTERVAL",
				message: "state that no init op writes begins as zero, which its interval lacks",
				tensor,
			});
		if ((declared.kind === "result" || declared.kind === "metric") && !step.has(tensor))
			return refuse({ code: "PROGRAM_TARGET", message: `no step op writes this ${declared.kind}`, tensor });
	}
	return { ok: true, value: null };
}

/** For programs that decode.ts made: shapes are taken as they are. */
export const checkProgram = (program: Program): Checked<CheckedProgram> => drained(checkSteps(program));

/** As checkProgram, a few ops at a time. */
export function* checkSteps(program: Program): Generator<void, Checked<CheckedProgram>> {
	const tensors = checkTensors(program);
	if (!tensors.ok) return tensors;
	const registers: Record<Phase, (readonly Interval[])[]> = { init: [], step: [] };
	const writers: Record<Phase, Map<number, number>> = { init: new Map(), step: new Map() };
	for (const phase of PHASES)
		for (const [number, op] of program[phase].entries()) {
			const found = checkOp(program, phase, number, writers[phase]);
			if (!found.ok) return refuse({ ...found.wrong, phase, op: number });
			registers[phase].push(found.registers);
			if (op.target !== null) writers[phase].set(op.target, number);
			if (number % OPS_A_SLICE === 0) yield;
		}
	const written = checkWritten(program, writers.init, writers.step);
	return written.ok ? { ok: true, value: { program, registers } } : written;
}

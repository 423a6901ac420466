// What a job asks of a host, found out from its program: that the spec is the program's, and what a segment
// costs. docs/jobs.md §13. Pure. Nothing of the spec is taken on its word; whether the bytes that it names
// are there is for whoever keeps them.
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { JobSpec } from "../../protocol/network/job-spec.ts";
import { maySettle } from "../cost/instruction-weight.ts";
import { type ProgramTime, programTime } from "../cost/work-time.ts";
import { bytesOf, elementCount } from "../operators/tensor-type.ts";
import { firstState, inputsHashOf } from "../trace/commitments.ts";
import { orThrow } from "./fault.ts";
import { openProgram, programRoot } from "./open-program.ts";
import { programCost } from "./program-cost.ts";
import { lastSegment, type Op, type Program, type ProgramShape, type Tensor, type TensorKind } from "./shapes.ts";

/** A tensor's number in the program, and its bytes. */
export interface SizedTensor {
	readonly tensor: number;
	readonly size: number;
}

export interface JobWork {
	readonly program: ProgramShape;
	/** 64 hex digits each, docs/work.md §6 and §7. */
	readonly root: string;
	readonly inputs: string;
	/** S₀. */
	readonly start: string;
	readonly state: readonly SizedTensor[];
	readonly results: readonly SizedTensor[];
	/**
	 * A segment: int8 operations, and bytes read and written; no host needs fewer. For what comes too fast, and
	 * nothing else.
	 */
	readonly ops: number;
	readonly bytes: number;
	readonly peakBytes: number;
	/** How long it takes, for prices and time limits. */
	readonly time: ProgramTime;
	/** What is kept of it at the end of a segment: state and results. */
	readonly stateBytes: number;
	/** Constants and inputs. */
	readonly givenBytes: number;
}

/** What a segment takes of any host. */
export type SegmentWork = Pick<JobWork, "ops" | "bytes" | "peakBytes" | "time">;

/** No processor that we know does an instruction of a map for fewer int8 operations than that. */
const OPS_PER_INSTRUCTION = 8;
/** Of what the ops of a step give, so much reaches memory where kernels are fused well. */
const FUSED = 0.25;
const MOST_WINDOWS = 100;
const LEAST_WINDOWS = 4;
/** What a provider keeps of states while a claim may be asked about. */
const KEPT_BYTES = 16 * 2 ** 30;

const wrong = (why: string): AssayError =>
	new AssayError("JOB_SPEC", `the job does not fit its program: ${why}`, {
		hint: "Make the spec from the program: `assay job submit` does.",
	});

const sizeOf = ({ type, dims }: Tensor): number => elementCount(dims) * bytesOf(type);
const sized = ({ tensors }: ProgramShape, kind: TensorKind): SizedTensor[] =>
	tensors.flatMap((one, tensor) => (one.kind === kind ? [{ tensor, size: sizeOf(one) }] : []));

const bytesOfAll = (tensors: readonly { readonly size: number }[]): number =>
	tensors.reduce((sum, { size }) => sum + size, 0);

/**
 * Segments of a part from one kept state to the next. The states that are kept, and may be asked for, are few
 * enough to lie on a disk and many enough to check little of the work.
 */
export function perWindowOf(segments: number, stateBytes: number): number {
	const windows = Math.max(LEAST_WINDOWS, Math.min(MOST_WINDOWS, Math.floor(KEPT_BYTES / Math.max(1, stateBytes))));
	return Math.max(1, Math.ceil(segments / windows));
}

function mustFit(program: ProgramShape, spec: JobSpec): void {
	const { tensors, k } = program;
	const wanted = tensors.flatMap((one, tensor) =>
		one.kind === "constant" || one.kind === "input" ? [{ ...one, tensor }] : [],
	);
	if (spec.given.length !== wanted.length)
		throw wrong(`it has ${wanted.length} constants and inputs, ${spec.given.length} are named`);
	for (const [i, { tensor, root, ...one }] of wanted.entries()) {
		const { tensor: named, size, root: given } = spec.given[i]!;
		if (named !== tensor) throw wrong(`tensor ${tensor} is not named, or not in its place`);
		if (size !== sizeOf({ ...one, root })) throw wrong(`tensor ${tensor} has ${sizeOf({ ...one, root })} bytes`);
		if (root !== null && bytesToHex(root) !== given) throw wrong(`constant ${tensor} has another root`);
	}
	if (spec.segments > lastSegment(k) + 1) throw wrong(`it has at most ${lastSegment(k) + 1} segments`);
	const metrics = new Set(tensors.flatMap(({ kind, name }) => (kind === "metric" ? [name] : [])));
	for (const { tensor, scale } of spec.metrics)
		if (!metrics.has(tensor) || !Number.isFinite(Number(scale))) throw wrong(`metric ${tensor} is none`);
	for (const tensor of spec.previews)
		if (!["state", "result"].includes(tensors[tensor]?.kind ?? "")) throw wrong(`tensor ${tensor} cannot be shown`);
}

/** Instructions of a map that no host leaves out: a loop that may settle can do so after one turn. */
function leastInstructions(op: Op): number {
	if (op.operator !== "map") return 0;
	const { before, turns, body, after } = op.code;
	const least = maySettle(op.code) ? 1 : turns;
	return elementCount(op.output.dims) * (before.length + least * body.length + after.length);
}

/** What a segment takes of any host: ops and bytes are the least, the time is the model's. */
export function segmentWork(program: Program): SegmentWork {
	const { productsAStep, termsAStep, writtenAStep, peakBytes } = programCost(program);
	const instructions = program.step.reduce((sum, op) => sum + leastInstructions(op), 0);
	const kept = bytesOfAll([...sized(program, "state"), ...sized(program, "result")]);
	return {
		ops: program.k * (2 * productsAStep + OPS_PER_INSTRUCTION * (termsAStep + instructions)),
		bytes: kept + Math.ceil(FUSED * program.k * writtenAStep),
		...{ peakBytes, time: programTime(program) },
	};
}

/** What is the program's alone, whatever job it is of. */
export type ProgramWork = Omit<JobWork, "inputs" | "givenBytes">;

/** Throws the program's own fault. */
export function openProgramWork(bytes: Uint8Array): ProgramWork {
	const { program } = orThrow(openProgram(bytes));
	const { k, tensors } = program;
	const [state, results] = [sized(program, "state"), sized(program, "result")];
	return {
		...{ program: { k, tensors }, root: bytesToHex(programRoot(program)), start: bytesToHex(firstState(program)) },
		...{ state, results, stateBytes: bytesOfAll([...state, ...results]), ...segmentWork(program) },
	};
}

/** Both at once: throws the program's own fault, or JOB_SPEC. */
export const openJobWork = (spec: JobSpec, bytes: Uint8Array): JobWork => workOfJob(openProgramWork(bytes), spec);

/** Throws JOB_SPEC. */
export function workOfJob(opened: ProgramWork, spec: JobSpec): JobWork {
	const { program } = opened;
	mustFit(program, spec);
	const inputs = spec.given.filter(({ tensor }) => program.tensors[tensor]!.kind === "input");
	return {
		...opened,
		inputs: bytesToHex(
			inputsHashOf(
				program,
				hexToBytes(spec.seed, 32)!,
				inputs.map(({ root }) => hexToBytes(root, 32)!),
			),
		),
		givenBytes: bytesOfAll(spec.given),
	};
}

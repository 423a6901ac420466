// A session of src/work's own machine, for tests of whoever runs, checks and disputes jobs: the same
// interface and the same refusals as the engine's, without an engine. With `cheat` it lies in one element, or
// as a function says, and goes on from there, in all it says: roots, metrics, leaves.
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import type { OpPlace } from "../../protocol/network/chain-question.ts";
import {
	bytesOf,
	bytesToElements,
	type Elements,
	elementCount,
	elementsToBytes,
	isInside,
} from "../../work/operators/tensor-type.ts";
import type { CheckedProgram } from "../../work/program/check-program.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram } from "../../work/program/open-program.ts";
import { createMachine, type Machine } from "../../work/program/run-program.ts";
import { lastSegment, type Op, type TensorKind } from "../../work/program/shapes.ts";
import { evaluateTensor, type TensorQuestion } from "../../work/trace/evaluate-tensor.ts";
import { LEAF_BYTES, tensorRoot, tensorTree } from "../../work/trace/tensor-tree.ts";
import type {
	LeafPlace,
	OpenWork,
	OpenWorkSession,
	RunSegments,
	SegmentDone,
	ShownLeaf,
	WorkPlan,
	WorkSession,
} from "./work-session.ts";

/** One element of what one op gives. */
export interface Cheat extends OpPlace {
	readonly element: number;
	/** What it becomes; by default its neighbour inside the interval. */
	readonly value?: bigint;
}

/** Changes what an op gave, in its own array; later ops read it so. */
export type Distort = (segment: number, run: Run) => void;

export interface ToyWork {
	readonly cheat?: Cheat | Distort | undefined;
	/** By root as hex: what LOAD reads and SAVE writes. Sessions that share it share a disk. */
	readonly store?: Map<string, Uint8Array>;
}

type Run = Parameters<NonNullable<Parameters<Machine["runSegment"]>[0]>>[0];

const refused = (message: string): AssayError =>
	new AssayError("ENGINE_REFUSED", message, { hint: codes.ENGINE_REFUSED.hint });
const wrong = (code: "TENSOR_SIZE" | "TENSOR_RANGE" | "BLOB_MISSING" | "BLOB_CUT", message: string): AssayError =>
	new AssayError(code, message, { hint: codes[code].hint });

function lie({ output }: Op, elements: Elements, { element, value }: Cheat): void {
	const now = BigInt(elements[element]!);
	const told = value ?? (now < output.hi ? now + 1n : now - 1n);
	if (elements instanceof BigInt64Array) elements[element] = told;
	else elements[element] = Number(told);
}

class ToySession implements WorkSession {
	readonly plan: WorkPlan;
	private readonly checked: CheckedProgram;
	private ofJob: Uint8Array;
	private readonly cheat: Cheat | Distort | undefined;
	private readonly store: Map<string, Uint8Array>;
	private readonly bytes: Uint8Array[];
	/** How far each tensor was filled since it last changed by itself. */
	private readonly filled: number[];
	/** Whether what a tensor holds means anything. */
	private readonly holds: boolean[];
	private stands: number | null = 0;
	private asking: OpPlace | null = null;
	private asked: Machine | null = null;
	private isReleased = false;

	constructor({ program: bytes, seed }: OpenWork, { cheat, store }: ToyWork) {
		this.checked = orThrow(openProgram(bytes));
		const { tensors, init, step } = this.checked.program;
		this.ofJob = seed;
		this.cheat = cheat;
		this.store = store ?? new Map();
		this.bytes = tensors.map(({ dims, type }) => new Uint8Array(elementCount(dims) * bytesOf(type)));
		this.filled = tensors.map(() => 0);
		this.holds = tensors.map(({ kind }) => kind === "state" || kind === "result");
		const sum = (kinds: readonly TensorKind[]) =>
			this.bytes.reduce((all, { length }, i) => all + (kinds.includes(tensors[i]!.kind) ? length : 0), 0);
		this.plan = {
			peakBytes: this.bytes.reduce((all, { length }) => all + length, 0),
			stateBytes: sum(["state", "result"]),
			initOps: init.length,
			stepOps: step.length,
		};
	}

	async write(tensor: number, bytes: Uint8Array, offset = 0): Promise<void> {
		const whole = this.named(tensor);
		const { kind, type, name, lo, hi } = this.checked.program.tensors[tensor]!;
		const size = bytesOf(type);
		if (bytes.length === 0 || bytes.length % size !== 0 || offset % size !== 0 || offset + bytes.length > whole.length)
			throw wrong("TENSOR_SIZE", `${bytes.length} bytes at ${offset} of ${name}, which has ${whole.length}`);
		if (offset > this.filled[tensor]! && !this.holds[tensor])
			throw refused(`${name} is filled from its start: ${this.filled[tensor]} bytes came so far`);
		for (const [i, value] of (bytesToElements(bytes, type, bytes.length / size) as Elements).entries())
			if (!isInside({ lo: BigInt(value), hi: BigInt(value) }, { lo, hi }))
				throw wrong("TENSOR_RANGE", `element ${offset / size + i} of ${name} is ${value}, outside ${lo}..${hi}`);
		whole.set(bytes, offset);
		if (kind === "state") this.asking = null;
		if (offset <= this.filled[tensor]!) this.filled[tensor] = Math.max(this.filled[tensor]!, offset + bytes.length);
		if (this.filled[tensor] === whole.length) this.holds[tensor] = true;
	}

	async seed(seed: Uint8Array): Promise<void> {
		this.ofJob = seed;
		this.asking = null;
		this.stands = null;
		for (const i of this.numbersOf("state", "result")) this.forget(i, false);
	}

	async root(tensor: number): Promise<Uint8Array> {
		return tensorRoot(this.elements(tensor));
	}

	async load(tensor: number, root: Uint8Array): Promise<void> {
		const whole = this.named(tensor);
		const blob = this.store.get(bytesToHex(root));
		if (blob === undefined) throw wrong("BLOB_MISSING", `the store has no ${bytesToHex(root)}`);
		const { name, dims, type } = this.checked.program.tensors[tensor]!;
		const elements = blob.length === whole.length ? bytesToElements(blob, type, elementCount(dims)) : null;
		if (elements === null) throw wrong("TENSOR_SIZE", `${blob.length} bytes for ${name}, which has ${whole.length}`);
		try {
			await this.write(tensor, blob);
			if (bytesToHex(tensorRoot(elements)) !== bytesToHex(root))
				throw wrong("BLOB_CUT", `the store has other bytes for ${name} under this root`);
		} catch (error) {
			// An engine has written pieces by then.
			this.forget(tensor, false);
			if (this.checked.program.tensors[tensor]!.kind === "state") this.stands = null;
			throw error;
		}
	}

	async run({ first, count, saveEvery = 0, signal, onMetric, onSegment }: RunSegments): Promise<void> {
		const { tensors, step: ops, k } = this.checked.program;
		if (count < 1 || first + count - 1 > lastSegment(k))
			throw refused(`there are no ${count} segments from ${first} on`);
		const machine = this.machineAt(first);
		for (let segment = first; segment < first + count; segment++) {
			this.runSegment(machine, ({ phase, step, number, op, output }) => {
				if (phase === "init" || number !== ops.length - 1) return;
				for (const [tensor, { kind }] of tensors.entries()) {
					// The last op's own target is replaced only after this.
					const now = op.target === tensor ? output : machine.tensors[tensor]!;
					if (kind === "metric") onMetric?.({ segment, step, tensor, bytes: elementsToBytes(now) });
				}
			});
			this.keep(machine);
			const saved = saveEvery > 0 && (segment + 1 - first) % saveEvery === 0;
			if (saved) await this.save();
			onSegment?.({ ...this.segmentDone(segment), saved });
			await new Promise((resolve) => setImmediate(resolve));
			if (signal?.aborted) return;
		}
	}

	async save(): Promise<void> {
		for (const tensor of this.numbersOf("state", "result")) {
			const root = bytesToHex(await this.root(tensor));
			this.store.set(root, this.bytes[tensor]!.slice());
		}
	}

	async fetch(tensor: number, offset: number, length: number): Promise<Uint8Array> {
		const whole = this.named(tensor);
		this.elements(tensor);
		if (length < 1 || offset + length > whole.length)
			throw wrong("TENSOR_SIZE", `${length} bytes from ${offset} on, of ${whole.length}`);
		return whole.slice(offset, offset + length);
	}

	async evaluate(tensor: number, question: TensorQuestion): Promise<bigint> {
		return evaluateTensor(question, this.elements(tensor));
	}

	async trace(segment: number, onOp: (step: number, op: number, root: Uint8Array) => void): Promise<void> {
		const machine = this.machineAt(segment);
		this.runSegment(machine, ({ step, number, output }) => onOp(step, number, tensorRoot(output)));
		this.keep(machine);
	}

	async ask(at: OpPlace, places: readonly LeafPlace[]): Promise<readonly ShownLeaf[]> {
		const { k, init, step } = this.checked.program;
		const ops = at.segment === 0 ? init : step;
		if (at.op >= ops.length || at.step >= (at.segment === 0 ? 1 : k)) throw refused("there is no such op");
		const operands = ops[at.op]!.operands;
		for (const { of, leaf } of places) {
			const seen = of === "output" ? ops[at.op]!.output : operands[of];
			if (seen === undefined || leaf * LEAF_BYTES >= elementCount(seen.dims) * bytesOf(seen.type))
				throw refused("there is no such leaf");
		}
		const before = this.asking;
		const isForward =
			before !== null &&
			before.segment === at.segment &&
			(at.step > before.step || (at.step === before.step && at.op >= before.op));
		if (!isForward) this.asked = this.machineAt(at.segment);
		// Every time from the segment's start: tensors are replaced, never changed.
		const machine = this.asked!;
		const tensors = [...machine.tensors];
		let found: Run | null = null;
		this.runSegment(machine, (run) => {
			if (run.step === at.step && run.number === at.op) found = run;
		});
		machine.restore(at.segment, new Map(this.numbersOf("state", "result").map((i) => [i, tensors[i]!])));
		this.asking = at;
		this.stands = null;
		for (const i of this.numbersOf("state", "result")) this.forget(i, false);
		const { inputs, output } = found as unknown as Run;
		return places.map(({ of, leaf }) => {
			const tree = tensorTree(of === "output" ? output : inputs[of]!);
			return { bytes: tree.leaf(leaf), path: tree.path(leaf) };
		});
	}

	async release(): Promise<void> {
		this.isReleased = true;
	}

	private named(tensor: number): Uint8Array {
		if (this.isReleased) throw refused("the session was released");
		const declared = this.checked.program.tensors[tensor];
		if (declared === undefined || declared.kind === "scratch" || declared.kind === "metric")
			throw refused(`tensor ${tensor} is none that can be written or read`);
		return this.bytes[tensor]!;
	}

	private elements(tensor: number): Elements {
		const bytes = this.named(tensor);
		const { name, type, dims } = this.checked.program.tensors[tensor]!;
		if (!this.holds[tensor]) throw wrong("TENSOR_SIZE", `${name} was not given`);
		return bytesToElements(bytes, type, elementCount(dims))!;
	}

	private numbersOf(...kinds: readonly TensorKind[]): number[] {
		return this.checked.program.tensors.flatMap(({ kind }, i) => (kinds.includes(kind) ? [i] : []));
	}

	private forget(tensor: number, holds: boolean): void {
		this.holds[tensor] = holds;
		this.filled[tensor] = 0;
	}

	/** A machine that runs this segment next. */
	private machineAt(segment: number): Machine {
		if (this.isReleased) throw refused("the session was released");
		const { tensors } = this.checked.program;
		const isRenewed = this.numbersOf("state").every((i) => this.filled[i] === this.bytes[i]!.length);
		if (segment === 0)
			for (const i of this.numbersOf("state", "result")) {
				this.bytes[i]!.fill(0);
				this.holds[i] = true;
			}
		else if (this.stands !== segment && !isRenewed)
			throw refused(`the session stands at segment ${this.stands ?? "none"}, not at ${segment}`);
		const given = Object.fromEntries(
			this.numbersOf("constant", "input").map((i) => [tensors[i]!.name, this.elements(i)]),
		);
		const machine = createMachine(this.checked, this.ofJob, given);
		// What a result held is never read; its writer replaces it.
		for (const i of this.numbersOf("result")) this.holds[i] = true;
		const kept = new Map(this.numbersOf("state", "result").map((i) => [i, this.elements(i)]));
		machine.restore(segment, kept);
		this.asking = null;
		return machine;
	}

	private runSegment(machine: Machine, see: (run: Run) => void): void {
		const { cheat } = this;
		const segment = machine.next;
		machine.runSegment((run) => {
			// The output is the op's own array: what is changed here, later ops read.
			if (typeof cheat === "function") cheat(segment, run);
			else if (cheat?.segment === segment && cheat.step === run.step && cheat.op === run.number)
				lie(run.op, run.output, cheat);
			see(run);
		});
	}

	private keep(machine: Machine): void {
		for (const i of this.numbersOf("state", "result")) {
			this.bytes[i] = elementsToBytes(machine.tensors[i]!);
			this.forget(i, true);
		}
		this.stands = machine.next;
	}

	private segmentDone(segment: number): Omit<SegmentDone, "saved"> {
		const roots = (kind: TensorKind) => this.numbersOf(kind).map((i) => tensorRoot(this.elements(i)));
		return { segment, stateRoots: roots("state"), resultRoots: roots("result") };
	}
}

/** `device` is not looked at. */
export function toyWork(toy: ToyWork = {}): OpenWorkSession {
	return async (work) => new ToySession(work, toy);
}

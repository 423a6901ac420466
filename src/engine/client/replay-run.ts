// Runs parts of somebody's run again on one's own session: from a kept state to any segment, the trace of
// that segment, leaves and transcripts of its ops. Roots and leaves are the session's; which kept states
// there are, and what the run claimed, comes from the caller. docs/jobs.md §5.
import { codedError } from "../../protocol/coded-error.ts";
import { keccakNode } from "../../protocol/hash/keccak-tree.ts";
import { climb, leafHash, merkleLevels } from "../../protocol/hash/merkle.ts";
import { philoxKey } from "../../protocol/hash/philox.ts";
import type { OpPlace } from "../../protocol/network/chain-question.ts";
import { bytesOf, elementCount } from "../../work/operators/tensor-type.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import type { Op, Program, TensorKind } from "../../work/program/shapes.ts";
import { type TraceLeaf, traceLeafHash } from "../../work/trace/commitments.ts";
import { lazyTensor, settle } from "../../work/trace/lazy-tensor.ts";
import { type Origin, operandOrigins, writerOf } from "../../work/trace/origins.ts";
import { leafCount, zeroRoot } from "../../work/trace/tensor-tree.ts";
import { createSpanTranscript, createTranscript, type Transcript } from "../../work/trace/transcript.ts";
import { loadTensor, type ReadBlob } from "./load-tensor.ts";
import type { LeafPlace, OpenWorkSession, RunSegments, ShownLeaf, WorkSession } from "./work-session.ts";

export interface RunToReplay {
	readonly program: Program;
	readonly seed: Uint8Array;
	/** Of the input tensors, in the program's order; they lie in the session's store, as constants do. */
	readonly inputRoots: readonly Uint8Array[];
	/** Kept states, ascending: the segment before which each was saved. */
	readonly kept: readonly number[];
	/** What lies in the session's store. */
	readonly readBlob: ReadBlob;
	/** Roots of state and results before a segment, by what the run says. */
	rootsBefore(segment: number): Roots;
}

export interface Roots {
	readonly state: readonly Uint8Array[];
	readonly results: readonly Uint8Array[];
}

/** Who is told while segments are run again, and may stop it. */
type Telling = Pick<RunSegments, "onSegment" | "onMetric" | "signal">;

/** Levels of a tree that one answer goes down. */
const LEVELS = 4;
/** What is said where no op writes a tensor. */
const NO_WRITER = 0xffff_ffff;

interface Traced {
	readonly segment: number;
	readonly leaves: readonly TraceLeaf[];
	readonly levels: readonly (readonly Uint8Array[])[];
	readonly after: Roots;
}

const isBefore = (a: OpPlace, b: OpPlace): boolean => a.step < b.step || (a.step === b.step && a.op < b.op);

export class RunReplay {
	readonly run: RunToReplay;
	private readonly open: OpenWorkSession;
	private readonly device: number;
	private opened: Promise<WorkSession> | null = null;
	private traced: Traced | null = null;
	private asking: OpPlace | null = null;
	/** Segments that were run for all this. */
	replayed = 0;

	constructor(run: RunToReplay, open: OpenWorkSession, device: number) {
		this.run = run;
		this.open = open;
		this.device = device;
	}

	private numbersOf(kind: TensorKind): number[] {
		return this.run.program.tensors.flatMap((tensor, i) => (tensor.kind === kind ? [i] : []));
	}

	private session(): Promise<WorkSession> {
		this.opened ??= this.begin();
		return this.opened;
	}

	private async begin(): Promise<WorkSession> {
		const { program, seed, inputRoots } = this.run;
		const session = await this.open({ device: this.device, program: encodeProgram(program), seed });
		const load = (i: number, root: Uint8Array) => loadTensor(session, program, i, root, this.run.readBlob);
		for (const i of this.numbersOf("constant")) await load(i, program.tensors[i]!.root!);
		for (const [at, i] of this.numbersOf("input").entries()) await load(i, inputRoots[at]!);
		return session;
	}

	async close(): Promise<void> {
		await (await this.opened?.catch(() => null))?.release().catch(() => {});
		this.opened = null;
		this.asking = null;
	}

	/** Roots of state and results where everything is zero. */
	zeros(): Roots {
		const of = (kind: TensorKind) =>
			this.numbersOf(kind).map((i) => {
				const { type, dims } = this.run.program.tensors[i]!;
				return zeroRoot(elementCount(dims) * bytesOf(type));
			});
		return { state: of("state"), results: of("result") };
	}

	/** The kept state before a segment; 0: the start. */
	keptBefore(segment: number): number {
		return this.run.kept.findLast((before) => before <= segment) ?? 0;
	}

	/** Puts the session at a kept state. */
	private async restore(before: number): Promise<void> {
		const session = await this.session();
		if (before === 0) return;
		const { state, results } = this.run.rootsBefore(before);
		const places = [...this.numbersOf("state"), ...this.numbersOf("result")];
		const { program, readBlob } = this.run;
		for (const [i, root] of [...state, ...results].entries())
			await loadTensor(session, program, places[i]!, root, readBlob);
	}

	/**
	 * Runs segments `from` (0 or a kept state) … `to` − 1 again; tells of each. Gives the roots before `to`, or
	 * before the segment where `signal` stopped it.
	 */
	async replay(from: number, to: number, telling: Telling = {}): Promise<Roots> {
		const session = await this.session();
		this.asking = null;
		await this.restore(from);
		let roots: Roots = from === 0 ? this.zeros() : this.run.rootsBefore(from);
		if (to > from)
			await session.run({
				...{ first: from, count: to - from, ...telling },
				onSegment: (done) => {
					roots = { state: done.stateRoots, results: done.resultRoots };
					this.replayed += 1;
					telling.onSegment?.(done);
				},
			});
		return roots;
	}

	/**
	 * State and results before the segment lie in the session's store, durably. Gives their roots, computed
	 * again.
	 */
	async save(segment: number): Promise<Roots> {
		const roots = await this.stand(segment);
		await (await this.session()).save();
		return roots;
	}

	/** Bytes of every state tensor before the segment, with their roots; computed again. */
	async stateBytes(segment: number): Promise<{ readonly roots: Roots; readonly bytes: readonly Uint8Array[] }> {
		const roots = await this.stand(segment);
		return { roots, bytes: await this.fetchAll(this.numbersOf("state")) };
	}

	/** The same of state and results, by their tensors' numbers. */
	async outcomeBytes(
		segment: number,
	): Promise<{ readonly roots: Roots; readonly bytes: ReadonlyMap<number, Uint8Array> }> {
		const roots = await this.stand(segment);
		const tensors = [...this.numbersOf("state"), ...this.numbersOf("result")];
		const bytes = await this.fetchAll(tensors);
		return { roots, bytes: new Map(tensors.map((tensor, i) => [tensor, bytes[i]!])) };
	}

	private async fetchAll(tensors: readonly number[]): Promise<Uint8Array[]> {
		const session = await this.session();
		const all: Uint8Array[] = [];
		for (const i of tensors) {
			const { dims, type } = this.run.program.tensors[i]!;
			all.push(await session.fetch(i, 0, elementCount(dims) * bytesOf(type)));
		}
		return all;
	}

	/** The session stands at the segment. */
	private stand(segment: number): Promise<Roots> {
		return this.replay(this.keptBefore(segment), segment);
	}

	private async trace(segment: number): Promise<Traced> {
		if (this.traced?.segment === segment) return this.traced;
		const before = await this.stand(segment);
		const outputs: Uint8Array[][] = [];
		const session = await this.session();
		await session.trace(segment, (step, op, root) => {
			outputs[step] ??= [];
			outputs[step][op] = root;
		});
		this.replayed += 1;
		const leaves = this.wire(segment, before, outputs);
		const levels = leaves.length === 0 ? [[]] : merkleLevels(leaves.map(traceLeafHash), keccakNode);
		const after = await this.rootsAfter();
		this.traced = { segment, leaves, levels, after };
		return this.traced;
	}

	private async rootsAfter(): Promise<Roots> {
		const session = await this.session();
		const of = async (kind: TensorKind) => {
			const roots: Uint8Array[] = [];
			for (const i of this.numbersOf(kind)) roots.push(await session.root(i));
			return roots;
		};
		return { state: await of("state"), results: await of("result") };
	}

	/** Trace leaves from the outputs' roots: what an op reads, an earlier one gave. */
	private wire(segment: number, before: Roots, outputs: readonly (readonly Uint8Array[])[]): TraceLeaf[] {
		const { program, inputRoots } = this.run;
		const phase = segment === 0 ? "init" : "step";
		const [states, inputs] = [this.numbersOf("state"), this.numbersOf("input")];
		const rootOf = (origin: Origin): Uint8Array => {
			if (origin.from === "op") return outputs[origin.step]![origin.op]!;
			const { type, dims, root } = program.tensors[origin.tensor]!;
			if (origin.from === "zero") return zeroRoot(elementCount(dims) * bytesOf(type));
			if (origin.from === "state") return before.state[states.indexOf(origin.tensor)]!;
			return root ?? inputRoots[inputs.indexOf(origin.tensor)]!;
		};
		return outputs.flatMap((gave, step) =>
			gave.map((output, op) => ({
				...{ step, op, output },
				inputs: operandOrigins(program, phase, step, op).map(rootOf),
			})),
		);
	}

	/** Roots before a segment, computed again. */
	async stateRoots(segment: number): Promise<Roots> {
		if (this.traced !== null && this.traced.segment + 1 === segment) return this.traced.after;
		return this.stand(segment);
	}

	async traceRoot(segment: number): Promise<Uint8Array> {
		return (await this.trace(segment)).levels.at(-1)![0] ?? new Uint8Array(32);
	}

	async traceNodes(segment: number, level: number, index: number): Promise<readonly Uint8Array[]> {
		const { levels } = await this.trace(segment);
		const down = Math.min(LEVELS, level);
		return levels[level - down]?.slice(index * 2 ** down, (index + 1) * 2 ** down) ?? [];
	}

	/** All of them, in the order of steps and ops. */
	async traceLeaves(segment: number): Promise<readonly TraceLeaf[]> {
		return (await this.trace(segment)).leaves;
	}

	async traceLeaf({ segment, step, op }: OpPlace): Promise<TraceLeaf> {
		const { leaves } = await this.trace(segment);
		const found = leaves.find((leaf) => leaf.step === step && leaf.op === op);
		if (found === undefined) throw codedError("ENGINE_REFUSED", "there is no such op");
		return found;
	}

	private async ask(place: OpPlace, places: readonly LeafPlace[]): Promise<readonly ShownLeaf[]> {
		const at = this.asking;
		if (at === null || at.segment !== place.segment || isBefore(place, at)) await this.stand(place.segment);
		const session = await this.session();
		const shown = await session.ask(place, places);
		this.asking = place;
		return shown;
	}

	async leaf(place: OpPlace, of: number | "output", leaf: number): Promise<ShownLeaf> {
		return (await this.ask(place, [{ of, leaf }]))[0]!;
	}

	/** From a leaf under every second node: its path tells the other one. */
	async outputNodes(place: OpPlace, level: number, index: number): Promise<readonly Uint8Array[]> {
		const { dims, type } = this.opAt(place).output;
		const count = leafCount(elementCount(dims) * bytesOf(type));
		const down = Math.min(LEVELS, level);
		const height = level - down;
		const first = index * 2 ** down;
		const end = Math.min(first + 2 ** down, Math.ceil(count / 2 ** height));
		const places: LeafPlace[] = [];
		for (let at = first; at < end; at += 2) places.push({ of: "output", leaf: at * 2 ** height });
		return (await this.ask(place, places)).flatMap(({ bytes, path }, i) => {
			const { node, beside } = climb(leafHash(bytes), places[i]!.leaf, count, path, height);
			return beside === null ? [node] : [node, beside];
		});
	}

	async writer(segment: number, tensor: number): Promise<number> {
		const found = writerOf(this.run.program, segment === 0 ? "init" : "step", tensor);
		return found < 0 ? NO_WRITER : found;
	}

	private opAt({ segment, op }: OpPlace): Op {
		return this.run.program[segment === 0 ? "init" : "step"][op]!;
	}

	async transcript(place: OpPlace, element: number, path: readonly number[]): Promise<Transcript> {
		const { program, seed } = this.run;
		const op = this.opAt(place);
		const moment = { segment: place.segment, step: place.step, k: program.k, key: philoxKey(seed) };
		const inputs = op.operands.map(({ type }, i) => lazyTensor(type, (leaf) => this.leaf(place, i, leaf)));
		return settle(() =>
			op.operator === "map" && path.length > 0
				? createSpanTranscript(op, element, moment, inputs, path)
				: createTranscript(op, element, moment, inputs),
		);
	}
}

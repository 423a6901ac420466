// Runs segments of a program in a folder, docs/jobs.md: one after the other on one session, a line in the
// journal for each, the state saved every few. Killed at any moment, it goes on from the last saved state and
// ends with the same claim: what it runs a second time must give the same bits. Not here: a whole workload
// (run-job.ts), a part of a stranger's job (work-part.ts), how it is checked (src/validator/jobs/).
import { loadTensor } from "../../engine/client/load-tensor.ts";
import type {
	MetricLine,
	OpenWorkSession,
	SegmentDone,
	WorkPlan,
	WorkSession,
} from "../../engine/client/work-session.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, bytesToUtf8, concatBytes, equalBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { codedError } from "../../protocol/coded-error.ts";
import type { RunWriter } from "../../store/runs/run-folder.ts";
import { bytesOf, elementCount } from "../../work/operators/tensor-type.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import { programRoot } from "../../work/program/open-program.ts";
import type { Program, TensorKind } from "../../work/program/shapes.ts";
import { claimText } from "../../work/runs/claim-file.ts";
import {
	checkpointText,
	foldedState,
	headLine,
	hexRoots,
	isFetchedHead,
	type Journal,
	type JournalHead,
	readJournal,
	rootBytes,
	segmentText,
} from "../../work/runs/journal.ts";
import { MetricColumns } from "../../work/runs/metric-columns.ts";
import {
	claimHash,
	firstState,
	inputsHashOf,
	type JobClaim,
	resultRootOf,
	segmentTree,
	stateHashOf,
} from "../../work/trace/commitments.ts";
import type { WorkloadMetric } from "../../work/workloads/workload.ts";
import { collectStates, type Keeping, type Pace, windowSegments } from "./checkpoints.ts";

export type RunEvent =
	/** `from`: the segment that it goes on with. `last`: number of the last one. */
	| { readonly kind: "begun"; readonly plan: WorkPlan; readonly from: number; readonly last: number }
	/** Values by the workload's metrics, after one step. `step` counts over the whole run. */
	| {
			readonly kind: "metrics";
			readonly step: number;
			readonly values: readonly number[];
			readonly isRepeated: boolean;
	  }
	| { readonly kind: "segment"; readonly segment: number; readonly isRepeated: boolean }
	| { readonly kind: "saved"; readonly before: number };

/** Roots of state and results, as hex, in the program's order. */
export interface KeptRoots {
	readonly state: readonly string[];
	readonly results: readonly string[];
}

export interface RunPart {
	readonly folder: RunWriter;
	readonly program: Program;
	/** 32 bytes. */
	readonly seed: Uint8Array;
	/** How the claim names what was run; null: nobody is to be shown a claim, as of an audit. */
	readonly of: Pick<JobClaim, "chainId" | "escrow" | "job" | "part"> | null;
	/** Segments `first` … `first` + `count` − 1 are run. */
	readonly first: number;
	readonly count: number;
	/**
	 * The state that they begin with, which lies in the folder's store; null before segment 0, where all is
	 * zero.
	 */
	readonly begin: KeptRoots | null;
	/** Constants and inputs into the session; gives the root of each by its tensor's number. */
	readonly give: (session: WorkSession) => Promise<ReadonlyMap<number, Uint8Array>>;
	/** Before the journal says that the run was begun: what the folder must hold beside it. */
	readonly begun?: (given: ReadonlyMap<number, Uint8Array>) => Promise<void>;
	/**
	 * Before the first segment is run, and after everything that it needs is there: whatever it throws ends the
	 * run.
	 */
	readonly ready?: (plan: WorkPlan) => Promise<void>;
	readonly metrics: readonly WorkloadMetric[];
	/** After each saved state but the last one; what it writes may be taken home before the end. */
	readonly saved?: (fetch: FetchTensor) => Promise<void>;
	/** After the last segment, before the claim. */
	readonly done?: (fetch: FetchTensor) => Promise<void>;
	readonly open: OpenWorkSession;
	readonly device: number;
	/** What kept states may take. */
	readonly diskBytes: number;
	readonly nowMs: () => number;
	/** Ends the run after the segment at hand, with its state saved. */
	readonly signal?: AbortSignal;
	readonly onEvent?: (event: RunEvent) => void;
}

/** All bytes of a tensor as it is now. */
export type FetchTensor = (tensor: number) => Promise<Uint8Array>;

export interface RunEnd {
	/** Null: it was stopped before its end, or nobody is to be shown one. */
	readonly claim: JobClaim | null;
	readonly claimHash: Uint8Array | null;
	readonly isDone: boolean;
	/** Segments done, of so many. */
	readonly done: number;
	readonly segments: number;
	readonly metrics: Journal["segments"];
	/** What a check of one window costs, as a share of the run. */
	readonly windowShare: number;
}

export const numbersOf = ({ tensors }: Program, ...kinds: readonly TensorKind[]): number[] =>
	tensors.flatMap(({ kind }, i) => (kinds.includes(kind) ? [i] : []));

/** The folder is new, or was begun with this very work. */
async function claimFolder(
	part: RunPart,
	inputs: Uint8Array,
	given: ReadonlyMap<number, Uint8Array>,
): Promise<Journal> {
	const { folder, program, seed, first, count, begin } = part;
	const text = bytesToUtf8((await folder.read("journal.jsonl")) ?? new Uint8Array()) ?? "";
	const found = readJournal(text);
	const head: JournalHead = {
		program: bytesToHex(programRoot(program)),
		inputs: bytesToHex(inputs),
		seed: bytesToHex(seed),
		inputRoots: hexRoots(numbersOf(program, "input").map((i) => given.get(i)!)),
		...{ first, last: first + count - 1, begin },
	};
	const refuse = (what: string) => codedError("RUN_OTHER", `${folder.path} ${what}`);
	if (found === null) {
		if ((await folder.read("claim.json")) !== null) throw refuse("holds a claim already, and no journal of it");
		await part.begun?.(given);
		await folder.write("program.bin", encodeProgram(program));
		folder.cutJournal(0);
		folder.append(headLine(head));
		folder.sync();
		return { head, segments: [], checkpoints: [], wholeChars: 0 };
	}
	if (isFetchedHead(found.head)) throw refuse("holds a result that was fetched from the market");
	for (const [field, name] of [
		...(["program", "inputs", "seed"] as const).map((one) => [one, one] as const),
		...([
			["first", "first segment"],
			["last", "number of segments"],
			["begin", "state at its start"],
		] as const),
	])
		if (JSON.stringify(found.head[field]) !== JSON.stringify(head[field]))
			throw refuse(`was begun with another ${name}`);
	if (found.wholeChars < text.length) folder.cutJournal(Buffer.byteLength(text.slice(0, found.wholeChars)));
	return found;
}

/** One run while it goes on. */
class Run {
	readonly part: RunPart;
	readonly session: WorkSession;
	readonly journal: Journal;
	/** Roots of constants, inputs, and of the state at the start. */
	readonly given: readonly string[];
	/** S_first, S_{first + 1}, … as far as known. */
	readonly states: Uint8Array[];
	readonly lines: Journal["segments"][number][];
	/** Segments before which the state lies in the store, ascending. */
	kept: number[] = [];
	/** Next segment. */
	next: number;
	private isNew = false;
	private readonly columns: MetricColumns;

	constructor(part: RunPart, session: WorkSession, journal: Journal, given: readonly Uint8Array[]) {
		const { program, first, begin } = part;
		this.part = part;
		this.columns = new MetricColumns(program, part.metrics);
		this.given = [...hexRoots(given), ...(begin === null ? [] : [...begin.state, ...begin.results])];
		this.session = session;
		this.journal = journal;
		const start =
			begin === null
				? firstState(program)
				: stateHashOf(program, first, rootBytes(begin.state), rootBytes(begin.results));
		this.states = [start, ...rootBytes(journal.segments.map(({ after }) => after))];
		this.lines = [...journal.segments];
		this.next = first;
	}

	/** Puts the session at the last kept state that is whole, or at the start. */
	async resume(): Promise<void> {
		const { folder, first, begin } = this.part;
		const blobs = await folder.blobs();
		this.kept = this.journal.checkpoints.filter((before) => this.rootsAt(before).every((root) => blobs.has(root)));
		while (this.kept.length > 0 && !(await this.load(this.kept.at(-1)!))) this.kept.pop();
		this.next = this.kept.at(-1) ?? first;
		if (this.kept.length === 0 && begin !== null) await this.put([...begin.state, ...begin.results]);
		// Also what cannot be read goes: saved again, it must not be taken for what is there already.
		await this.collect();
	}

	/** Of state, then results, before a segment. */
	private rootsAt(before: number): readonly string[] {
		const { state, results } = this.lineBefore(before);
		return [...state, ...results];
	}

	private lineBefore(before: number): Journal["segments"][number] {
		return this.lines[before - this.part.first - 1]!;
	}

	private async put(roots: readonly string[]): Promise<void> {
		const { program, folder } = this.part;
		const places = [...numbersOf(program, "state"), ...numbersOf(program, "result")];
		for (const [i, root] of rootBytes(roots).entries())
			await loadTensor(this.session, program, places[i]!, root, (name) => folder.blob(name));
	}

	/** False when what lies on disk cannot be used: an earlier state does as well. */
	private async load(before: number): Promise<boolean> {
		const { state, results } = this.lineBefore(before);
		const folded = foldedState(this.part.program, before, state, results);
		if (folded === null || !equalBytes(folded, this.states[before - this.part.first]!))
			throw codedError("CHECKPOINT_OTHER", `the state saved before segment ${before} is not this run's`);
		try {
			await this.put(this.rootsAt(before));
			return true;
		} catch (error) {
			if (error instanceof AssayError && UNUSABLE.has(error.code)) return false;
			throw error;
		}
	}

	private onMetric(line: MetricLine): void {
		const { segment, step } = line;
		const values = this.columns.add(line);
		if (values === null) return;
		const at = (segment - 1) * this.part.program.k + step;
		this.tell({ kind: "metrics", step: at, values, isRepeated: this.isKnown(segment) });
	}

	private isKnown(segment: number): boolean {
		return segment - this.part.first < this.journal.segments.length;
	}

	private onSegment({ segment, stateRoots, resultRoots }: SegmentDone): void {
		const { program } = this.part;
		const after = stateHashOf(program, segment + 1, stateRoots, resultRoots);
		const metrics = this.columns.end();
		const known = this.states[segment - this.part.first + 1];
		if (known !== undefined && !equalBytes(known, after))
			throw codedError(
				"RUN_UNSTEADY",
				`segment ${segment} ended in ${bytesToHex(after)} now, in ${bytesToHex(known)} before`,
			);
		if (known === undefined) {
			const roots = { state: hexRoots(stateRoots), results: hexRoots(resultRoots) };
			const line = { segment, after: bytesToHex(after), ...roots, metrics };
			this.part.folder.append(segmentText(line));
			this.states.push(after);
			this.lines.push(line);
		}
		this.isNew = true;
		this.next = segment + 1;
		this.tell({ kind: "segment", segment, isRepeated: known !== undefined });
	}

	private tell(event: RunEvent): void {
		this.part.onEvent?.(event);
	}

	async runWindow(count: number): Promise<void> {
		const { signal } = this.part;
		await this.session.run({
			first: this.next,
			count,
			...(signal && { signal }),
			onMetric: (line) => this.onMetric(line),
			onSegment: (done) => this.onSegment(done),
		});
	}

	/**
	 * The state is on disk and the journal says so, both durably, when this resolves; then older ones may go.
	 */
	async save(keeping: Keeping): Promise<void> {
		const { folder } = this.part;
		if (!this.isNew) return;
		const due = new Set(collectStates(this.kept, keeping));
		this.kept = this.kept.filter((before) => !due.has(before));
		if (due.size > 0) await this.collect();
		await this.session.save();
		if (!this.kept.includes(this.next)) this.kept.push(this.next);
		folder.append(checkpointText(this.next));
		folder.sync();
		this.tell({ kind: "saved", before: this.next });
	}

	/** Removes tensors that no kept state names. */
	private async collect(): Promise<void> {
		const { folder } = this.part;
		const used = new Set([...this.given, ...this.kept.flatMap((before) => this.rootsAt(before))]);
		const blobs = await folder.blobs();
		await folder.removeBlobs([...blobs].filter((root) => !used.has(root)));
	}
}

/** An earlier state replaces one that cannot be read. */
const UNUSABLE: ReadonlySet<string> = new Set([
	"BLOB_MISSING",
	"BLOB_CUT",
	"TENSOR_SIZE",
	"TENSOR_ROOT",
	"TENSOR_RANGE",
]);

async function writeClaim(run: Run): Promise<JobClaim | null> {
	const { folder, program, seed, of, first, count } = run.part;
	const { head } = run.journal;
	await folder.write("states.bin", concatBytes(...run.states));
	if (of === null) return null;
	const claim: JobClaim = {
		...of,
		program: hexToBytes(head.program, 32)!,
		inputs: hexToBytes(head.inputs, 32)!,
		...{ first, segments: count },
		segmentRoot: segmentTree(run.states).root,
		resultRoot: resultRootOf(program, rootBytes(run.lines.at(-1)!.results)),
	};
	await folder.write("claim.json", claimText(claim, seed));
	return claim;
}

/** Throws AssayError; what was saved before stays. */
export async function runPart(part: RunPart): Promise<RunEnd> {
	const { program, seed, first, count, signal, nowMs, diskBytes } = part;
	const last = first + count - 1;
	const session = await part.open({ device: part.device, program: encodeProgram(program), seed });
	const fetch: FetchTensor = (tensor) => {
		const { type, dims } = program.tensors[tensor]!;
		return session.fetch(tensor, 0, elementCount(dims) * bytesOf(type));
	};
	try {
		const given = await part.give(session);
		const inputs = numbersOf(program, "input").map((i) => given.get(i)!);
		const journal = await claimFolder(part, inputsHashOf(program, seed, inputs), given);
		const run = new Run(part, session, journal, [...given.values()]);
		await run.resume();
		await part.ready?.(session.plan);
		part.onEvent?.({ kind: "begun", plan: session.plan, from: run.next, last });
		const keeping: Keeping = { segments: count, stateBytes: session.plan.stateBytes, diskBytes };
		let pace: Pace | null = null;
		while (run.next <= last && signal?.aborted !== true) {
			const [from, started] = [run.next, nowMs()];
			await run.runWindow(Math.min(windowSegments(keeping, pace), last + 1 - run.next));
			const ran = nowMs();
			await run.save(keeping);
			if (run.next <= last) await part.saved?.(fetch);
			pace = { segmentMs: (ran - started) / Math.max(1, run.next - from), saveMs: nowMs() - ran };
		}
		const isDone = run.next > last;
		if (isDone) await part.done?.(fetch);
		const claim = isDone ? await writeClaim(run) : null;
		return {
			claim,
			claimHash: claim && claimHash(claim),
			isDone,
			done: run.next - first,
			segments: count,
			metrics: run.lines,
			windowShare: windowSegments(keeping, pace) / count,
		};
	} finally {
		await session.release().catch(() => {});
	}
}

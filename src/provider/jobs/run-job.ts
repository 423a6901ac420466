// Runs a workload in a folder, docs/jobs.md: segment by segment on one session, a line in the journal for each, the state saved every few. Killed
// at any moment, it goes on from the last saved state and ends with the same claim: what it runs a second time must give the same bits.
// Not here: what is computed (src/work/workloads/), how it is shown (the CLI), how it is checked (src/validator/jobs/).
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
import { codes } from "../../protocol/codes.ts";
import type { RunWriter } from "../../store/runs/run-folder.ts";
import { writeNpy } from "../../work/formats/write-npy.ts";
import {
	bytesOf,
	bytesToElements,
	type Elements,
	elementCount,
	elementsToBytes,
} from "../../work/operators/tensor-type.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import { programRoot } from "../../work/program/open-program.ts";
import type { TensorKind } from "../../work/program/shapes.ts";
import { claimText, NO_JOB } from "../../work/runs/claim-file.ts";
import {
	checkpointText,
	foldedState,
	headLine,
	hexRoots,
	type Journal,
	readJournal,
	rootBytes,
	segmentText,
} from "../../work/runs/journal.ts";
import {
	claimHash,
	firstState,
	inputsHashOf,
	type JobClaim,
	resultRootOf,
	segmentTree,
	stateHashOf,
} from "../../work/trace/commitments.ts";
import type { Workload } from "../../work/workloads/workload.ts";
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

export interface RunJob {
	readonly folder: RunWriter;
	/** The job file, as it is kept beside the run. */
	readonly jobText: string;
	readonly workload: Workload;
	readonly open: OpenWorkSession;
	readonly device: number;
	/** What kept states may take. */
	readonly diskBytes: number;
	readonly nowMs: () => number;
	/** Ends the run after the segment at hand, with its state saved. */
	readonly signal?: AbortSignal;
	readonly onEvent?: (event: RunEvent) => void;
}

export interface RunEnd {
	/** Null: it was stopped before its end. */
	readonly claim: JobClaim | null;
	readonly claimHash: Uint8Array | null;
	/** Segments done, of so many. */
	readonly done: number;
	readonly segments: number;
	readonly metrics: Journal["segments"];
	/** What a check of one window costs, as a share of the run. */
	readonly windowShare: number;
}

const numbersOf = ({ program }: Workload, ...kinds: readonly TensorKind[]): number[] =>
	program.tensors.flatMap(({ kind }, i) => (kinds.includes(kind) ? [i] : []));

/** The folder is new, or was begun with this very job. */
async function claimFolder(
	{ folder, jobText, workload }: RunJob,
	inputs: Uint8Array,
	given: ReadonlyMap<number, Uint8Array>,
): Promise<Journal> {
	const { program, seed, segments: last } = workload;
	const text = bytesToUtf8((await folder.read("journal.jsonl")) ?? new Uint8Array()) ?? "";
	const found = readJournal(text);
	const head = {
		program: bytesToHex(programRoot(program)),
		inputs: bytesToHex(inputs),
		seed: bytesToHex(seed),
		inputRoots: hexRoots(numbersOf(workload, "input").map((i) => given.get(i)!)),
		last,
	};
	if (found === null) {
		await folder.write("job.json", jobText);
		await folder.write("program.bin", encodeProgram(program));
		for (const [i, root] of given)
			await folder.putBlob(bytesToHex(root), elementsToBytes(workload.given[program.tensors[i]!.name]!));
		folder.cutJournal(0);
		folder.append(headLine(head));
		folder.sync();
		return { head: { format: "assay-run", version: 1, ...head }, segments: [], checkpoints: [], wholeChars: 0 };
	}
	for (const field of ["program", "inputs", "seed", "last"] as const)
		if (found.head[field] !== head[field])
			throw new AssayError(
				"RUN_OTHER",
				`${folder.path} was begun with another ${field === "last" ? "number of segments" : field}`,
				{
					hint: codes.RUN_OTHER.hint,
				},
			);
	if (found.wholeChars < text.length) folder.cutJournal(Buffer.byteLength(text.slice(0, found.wholeChars)));
	return found;
}

/** One run while it goes on. */
class Run {
	readonly job: RunJob;
	readonly session: WorkSession;
	readonly journal: Journal;
	/** Roots of constants and inputs. */
	readonly given: readonly string[];
	/** S_0, S_1, … as far as known. */
	readonly states: Uint8Array[];
	readonly lines: Journal["segments"][number][];
	/** Segments before which the state lies in the store, ascending. */
	kept: number[] = [];
	/** Next segment. */
	next = 0;
	private isNew = false;
	private values: number[][] = [];

	constructor(job: RunJob, session: WorkSession, journal: Journal, given: readonly Uint8Array[]) {
		this.job = job;
		this.given = hexRoots(given);
		this.session = session;
		this.journal = journal;
		this.states = [firstState(job.workload.program), ...rootBytes(journal.segments.map(({ after }) => after))];
		this.lines = [...journal.segments];
	}

	/** Puts the session at the last kept state that is whole, or leaves it at the start. */
	async resume(): Promise<void> {
		const blobs = await this.job.folder.blobs();
		this.kept = this.journal.checkpoints.filter((before) => this.rootsAt(before).every((root) => blobs.has(root)));
		while (this.kept.length > 0 && !(await this.load(this.kept.at(-1)!))) this.kept.pop();
		this.next = this.kept.at(-1) ?? 0;
		// Also what cannot be read goes: saved again, it must not be taken for what is there already.
		await this.collect();
	}

	/** Of state, then results, before a segment. */
	private rootsAt(before: number): readonly string[] {
		const { state, results } = this.lines[before - 1]!;
		return [...state, ...results];
	}

	/** False when what lies on disk cannot be used: an earlier state does as well. */
	private async load(before: number): Promise<boolean> {
		const { workload } = this.job;
		const { state, results } = this.lines[before - 1]!;
		const folded = foldedState(workload.program, before, state, results);
		if (folded === null || !equalBytes(folded, this.states[before]!))
			throw new AssayError("CHECKPOINT_OTHER", `the state saved before segment ${before} is not this run's`, {
				hint: codes.CHECKPOINT_OTHER.hint,
			});
		const places = [...numbersOf(workload, "state"), ...numbersOf(workload, "result")];
		try {
			for (const [i, root] of rootBytes(this.rootsAt(before)).entries())
				await loadTensor(this.session, workload.program, places[i]!, root, (name) => this.job.folder.blob(name));
			return true;
		} catch (error) {
			if (error instanceof AssayError && UNUSABLE.has(error.code)) return false;
			throw error;
		}
	}

	private onMetric({ segment, step, tensor, bytes }: MetricLine): void {
		const { program, metrics } = this.job.workload;
		const { type, dims, name } = program.tensors[tensor]!;
		const elements = bytesToElements(bytes, type, elementCount(dims));
		this.values[step] ??= [];
		for (const [i, metric] of metrics.entries())
			if (metric.name === name && elements !== null) this.values[step]![i] = metric.read(elements);
		const values = this.values[step]!;
		if (metrics.length > 0 && values.filter((value) => value !== undefined).length === metrics.length)
			this.tell({ kind: "metrics", step: (segment - 1) * program.k + step, values, isRepeated: this.isKnown(segment) });
	}

	private isKnown(segment: number): boolean {
		return segment < this.journal.segments.length;
	}

	private onSegment({ segment, stateRoots, resultRoots }: SegmentDone): void {
		const { program, metrics } = this.job.workload;
		const after = stateHashOf(program, segment + 1, stateRoots, resultRoots);
		const known = this.states[segment + 1];
		if (known !== undefined && !equalBytes(known, after))
			throw new AssayError(
				"RUN_UNSTEADY",
				`segment ${segment} ended in ${bytesToHex(after)} now, in ${bytesToHex(known)} before`,
				{
					hint: codes.RUN_UNSTEADY.hint,
				},
			);
		if (known === undefined) {
			const columns = metrics.map(({ name }, i) => [name, this.values.map((one) => one[i]!)] as const);
			const line = {
				...{ segment, after: bytesToHex(after), state: hexRoots(stateRoots), results: hexRoots(resultRoots) },
				metrics: Object.fromEntries(columns),
			};
			this.job.folder.append(segmentText(line));
			this.states.push(after);
			this.lines.push(line);
		}
		this.values = [];
		this.isNew = true;
		this.next = segment + 1;
		this.tell({ kind: "segment", segment, isRepeated: known !== undefined });
	}

	private tell(event: RunEvent): void {
		this.job.onEvent?.(event);
	}

	async runWindow(count: number): Promise<void> {
		const { signal } = this.job;
		await this.session.run({
			first: this.next,
			count,
			...(signal && { signal }),
			onMetric: (line) => this.onMetric(line),
			onSegment: (done) => this.onSegment(done),
		});
	}

	/** The state is on disk and the journal says so, both durably, when this resolves; then older ones may go. */
	async save(keeping: Keeping): Promise<void> {
		const { folder } = this.job;
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
		const { folder } = this.job;
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

async function bytesNow({ job, session }: Run, tensor: number): Promise<Uint8Array> {
	const { type, dims } = job.workload.program.tensors[tensor]!;
	return session.fetch(tensor, 0, elementCount(dims) * bytesOf(type));
}

/** What the customer takes home, or sees before the end. */
async function writeFiles(run: Run, files: Workload["files"]): Promise<void> {
	const { folder, workload } = run.job;
	const { tensors } = workload.program;
	const named = new Map<string, Elements>();
	for (const name of new Set(files.flatMap((file) => file.tensors))) {
		const i = tensors.findIndex((tensor) => tensor.name === name);
		const { type, dims } = tensors[i]!;
		named.set(name, bytesToElements(await bytesNow(run, i), type, elementCount(dims))!);
	}
	for (const { name, make } of files) await folder.write(name, await make((tensor) => named.get(tensor)!));
}

async function writeOutcome(run: Run): Promise<void> {
	const { folder, workload } = run.job;
	for (const i of numbersOf(workload, "result")) {
		const { name, type, dims } = workload.program.tensors[i]!;
		await folder.write(`results/${name}.npy`, writeNpy(type, dims, await bytesNow(run, i)));
	}
	await writeFiles(run, workload.files);
}

async function writeClaim(run: Run): Promise<JobClaim> {
	const { folder, workload } = run.job;
	const { head } = run.journal;
	const results = rootBytes(run.lines.at(-1)!.results);
	const claim: JobClaim = {
		...NO_JOB,
		program: hexToBytes(head.program, 32)!,
		inputs: hexToBytes(head.inputs, 32)!,
		first: 0,
		segments: workload.segments + 1,
		segmentRoot: segmentTree(run.states).root,
		resultRoot: resultRootOf(workload.program, results),
	};
	await folder.write("states.bin", concatBytes(...run.states));
	await folder.write("claim.json", claimText(claim, workload.seed));
	return claim;
}

/** Throws AssayError; what was saved before stays. */
export async function runJob(job: RunJob): Promise<RunEnd> {
	const { workload, signal, nowMs, diskBytes } = job;
	const { program, seed, segments: last } = workload;
	const session = await job.open({ device: job.device, program: encodeProgram(program), seed });
	try {
		for (const i of numbersOf(workload, "constant", "input"))
			await session.write(i, elementsToBytes(workload.given[program.tensors[i]!.name]!));
		const given = new Map<number, Uint8Array>();
		for (const i of numbersOf(workload, "constant", "input")) given.set(i, await session.root(i));
		const inputs = numbersOf(workload, "input").map((i) => given.get(i)!);
		const journal = await claimFolder(job, inputsHashOf(program, seed, inputs), given);
		const run = new Run(job, session, journal, [...given.values()]);
		await run.resume();
		job.onEvent?.({ kind: "begun", plan: session.plan, from: run.next, last });
		const keeping: Keeping = { segments: last + 1, stateBytes: session.plan.stateBytes, diskBytes };
		const previews = workload.files.filter(({ isPreview }) => isPreview);
		let pace: Pace | null = null;
		while (run.next <= last && signal?.aborted !== true) {
			const [from, started] = [run.next, nowMs()];
			await run.runWindow(Math.min(windowSegments(keeping, pace), last + 1 - run.next));
			const ran = nowMs();
			await run.save(keeping);
			if (run.next <= last) await writeFiles(run, previews);
			pace = { segmentMs: (ran - started) / Math.max(1, run.next - from), saveMs: nowMs() - ran };
		}
		const isDone = run.next > last;
		if (isDone) await writeOutcome(run);
		const claim = isDone ? await writeClaim(run) : null;
		return {
			claim,
			claimHash: claim && claimHash(claim),
			done: run.next,
			segments: last + 1,
			metrics: run.lines,
			windowShare: windowSegments(keeping, pace) / (last + 1),
		};
	} finally {
		await session.release().catch(() => {});
	}
}

// A spot check of a finished run, docs/jobs.md §5: windows between kept states are drawn, run again on one's
// own engine, and every S in them compared. Everything that is run again is also checked, so a check of a
// share of the segments costs that share of the run, and the loading of states.
import type { MetricLine, OpenWorkSession, SegmentDone } from "../../engine/client/work-session.ts";
import { bytesToHex, equalBytes } from "../../protocol/bytes/bytes.ts";
import { hexRoots } from "../../work/runs/journal.ts";
import { MetricColumns } from "../../work/runs/metric-columns.ts";
import { stateHashOf } from "../../work/trace/commitments.ts";
import type { WorkloadMetric } from "../../work/workloads/workload.ts";
import { beginsWithZeros, type OpenedRun, replayOf } from "./open-run.ts";

export interface CheckRun {
	readonly run: OpenedRun;
	readonly open: OpenWorkSession;
	readonly device: number;
	/** At least so many segments. */
	readonly segments: number;
	/** Draws a whole number below. Fresh randomness: the runner must not have known it. */
	readonly draw: (below: number) => number;
	readonly signal?: AbortSignal;
	readonly onWindow?: (window: Window, done: number, of: number) => void;
	readonly onSegment?: (segment: number) => void;
	/** How metrics of the journal are read; null when that is not known, and they are not compared. */
	readonly metrics?: readonly WorkloadMetric[] | null;
}

/** Segments from … to − 1, from a kept state to the next one. */
export interface Window {
	readonly from: number;
	readonly to: number;
}

export interface CheckedRun {
	/** Those that were run again. */
	readonly windows: readonly Window[];
	/** Segments run again. */
	readonly checked: number;
	readonly segments: number;
	/** The first segment of the windows, in their order, that ends elsewhere; null: none. */
	readonly wrong: { readonly segment: number; readonly said: string; readonly right: string } | null;
	readonly journal: CheckedJournal;
	/** False when it was stopped before its end. */
	readonly isWhole: boolean;
	/** Chance that a run of which this share of the windows is false would have been caught. */
	readonly caughtShare: (falseShare: number) => number;
}

/** What was compared of the journal's lines while their segments were run again. */
export interface CheckedJournal {
	/** Segments whose roots were compared, and segments whose metrics were. */
	readonly roots: number;
	readonly metrics: number;
	/** The first line that says something else; null: none. */
	readonly wrong: { readonly segment: number; readonly what: "roots" | "metrics" } | null;
}

export function windowsOf({ segments, kept }: Pick<OpenedRun, "segments" | "kept">): Window[] {
	const ends = [0, ...kept.filter((before) => before < segments), segments];
	return ends.slice(1).map((to, i) => ({ from: ends[i]!, to }));
}

/** Windows, each segment as likely as any other to be in one, until so many segments are in them. */
export function drawWindows(windows: readonly Window[], segments: number, draw: (below: number) => number): Window[] {
	const left = [...windows];
	const drawn: Window[] = [];
	const size = ({ from, to }: Window) => to - from;
	const sum = (all: readonly Window[]) => all.reduce((total, one) => total + size(one), 0);
	while (left.length > 0 && sum(drawn) < segments) {
		let at = draw(sum(left));
		const found = left.findIndex((one) => {
			at -= size(one);
			return at < 0;
		});
		drawn.push(...left.splice(found, 1));
	}
	return drawn.sort((a, b) => a.from - b.from);
}

/** Lines of the journal beside segments as they are run again. */
class JournalCheck {
	private readonly lines: OpenedRun["journal"]["segments"];
	private readonly columns: MetricColumns | null;
	private found: { -readonly [K in keyof CheckedJournal]: CheckedJournal[K] } = { roots: 0, metrics: 0, wrong: null };

	constructor({ program, journal }: OpenedRun, metrics: readonly WorkloadMetric[] | null) {
		this.lines = journal.segments;
		this.columns = metrics && new MetricColumns(program, metrics);
	}

	add(line: MetricLine): void {
		this.columns?.add(line);
	}

	end({ segment, stateRoots, resultRoots }: SegmentDone): void {
		const right = this.columns?.end();
		const line = this.lines[segment];
		if (line === undefined) return;
		const isEqual = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
		this.found.roots += 1;
		if (!isEqual([line.state, line.results], [hexRoots(stateRoots), hexRoots(resultRoots)]))
			this.found.wrong ??= { segment, what: "roots" };
		if (right === undefined) return;
		this.found.metrics += 1;
		if (!isEqual(line.metrics, right)) this.found.wrong ??= { segment, what: "metrics" };
	}

	get result(): CheckedJournal {
		return { ...this.found };
	}
}

export async function checkRun(asked: CheckRun): Promise<CheckedRun> {
	const { run, open, device, segments, draw, signal, onWindow, metrics = null } = asked;
	const drawn = drawWindows(windowsOf(run), segments, draw);
	const replay = replayOf(run, open, device);
	const journal = new JournalCheck(run, metrics);
	const windows: Window[] = [];
	let wrong: CheckedRun["wrong"] = null;
	if (!beginsWithZeros(run)) wrong = { segment: -1, said: bytesToHex(run.states[0]!), right: "zeros" };
	try {
		for (const [i, window] of drawn.entries()) {
			if (wrong !== null || signal?.aborted === true) break;
			onWindow?.(window, i, drawn.length);
			let reached = window.from;
			const onSegment = (done: SegmentDone) => {
				const { segment, stateRoots, resultRoots } = done;
				reached = segment + 1;
				asked.onSegment?.(segment);
				const right = stateHashOf(run.program, segment + 1, stateRoots, resultRoots);
				const said = run.states[segment + 1]!;
				if (wrong === null && !equalBytes(said, right))
					wrong = { segment, said: bytesToHex(said), right: bytesToHex(right) };
				if (wrong === null) journal.end(done);
			};
			const onMetric = (line: MetricLine) => journal.add(line);
			await replay.replay(window.from, window.to, { onSegment, onMetric, ...(signal && { signal }) });
			if (reached === window.to) windows.push(window);
		}
	} finally {
		await replay.close();
	}
	const isAll = windows.length === windowsOf(run).length;
	return {
		...{ windows, wrong, journal: journal.result, isWhole: wrong !== null || windows.length === drawn.length },
		...{ checked: replay.replayed, segments: run.segments },
		caughtShare: (falseShare) => (isAll && falseShare > 0 ? 1 : 1 - (1 - Math.min(1, falseShare)) ** windows.length),
	};
}

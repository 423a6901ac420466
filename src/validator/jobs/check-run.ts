// A spot check of a finished run, docs/jobs.md §5: windows between kept states are drawn, run again on one's
// own engine, and every S in them compared. Everything that is run again is also checked, so a check of a
// share of the segments costs that share of the run, and the loading of states.
import type { OpenWorkSession } from "../../engine/client/work-session.ts";
import { bytesToHex, equalBytes } from "../../protocol/bytes/bytes.ts";
import { stateHashOf } from "../../work/trace/commitments.ts";
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
}

/** Segments from … to − 1, from a kept state to the next one. */
export interface Window {
	readonly from: number;
	readonly to: number;
}

export interface CheckedRun {
	readonly windows: readonly Window[];
	/** Segments run again. */
	readonly checked: number;
	readonly segments: number;
	/** The first segment of the windows, in their order, that ends elsewhere; null: none. */
	readonly wrong: { readonly segment: number; readonly said: string; readonly right: string } | null;
	/** Chance that a run of which this share of the segments is false would have been caught. */
	readonly caughtShare: (falseShare: number) => number;
}

export function windowsOf({ claim, kept }: OpenedRun): Window[] {
	const ends = [0, ...kept.filter((before) => before < claim.segments), claim.segments];
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

export async function checkRun({ run, open, device, segments, draw, signal, onWindow }: CheckRun): Promise<CheckedRun> {
	const windows = drawWindows(windowsOf(run), segments, draw);
	const replay = replayOf(run, open, device);
	let wrong: CheckedRun["wrong"] = null;
	if (!beginsWithZeros(run)) wrong = { segment: -1, said: bytesToHex(run.states[0]!), right: "zeros" };
	try {
		for (const [i, window] of windows.entries()) {
			if (wrong !== null || signal?.aborted === true) break;
			onWindow?.(window, i, windows.length);
			await replay.replay(window.from, window.to, ({ segment, stateRoots, resultRoots }) => {
				const right = stateHashOf(run.program, segment + 1, stateRoots, resultRoots);
				const said = run.states[segment + 1]!;
				if (wrong === null && !equalBytes(said, right))
					wrong = { segment, said: bytesToHex(said), right: bytesToHex(right) };
			});
		}
	} finally {
		await replay.close();
	}
	const count = windowsOf(run).length;
	return {
		windows,
		checked: replay.replayed,
		segments: run.claim.segments,
		wrong,
		caughtShare: (falseShare) => 1 - (1 - Math.min(1, falseShare)) ** Math.min(windows.length, count),
	};
}

// Whether a part can be done in the time that is left for it, by the windows that were run. Pure.
import type { RunEvent } from "./run-part.ts";

interface Mark {
	/** Segments before it are run and saved. */
	readonly before: number;
	readonly atMs: number;
}

/** What a run needs longer than it has. */
export interface Overrun {
	readonly leftMs: number;
	readonly needsMs: number;
}

/**
 * Takes a run's events as they come. After each saved window: how long the rest needs, if that is more than
 * is left; null: it may be done in time. The window with the init phase tells nothing about the others. A
 * moment in which the machine was busy ends nothing: two windows in a row must say so, each by itself and
 * with all before it.
 */
export function createPace({ first, count }: { readonly first: number; readonly count: number }) {
	let [begun, last]: [Mark | null, Mark | null] = [null, null];
	let overruns = 0;
	const msASegment = (since: Mark, { before, atMs }: Mark): number =>
		(atMs - since.atMs) / Math.max(1, before - since.before);
	return (event: RunEvent, nowMs: number, untilMs: number): Overrun | null => {
		if (event.kind === "begun") begun = last = { before: event.from, atMs: nowMs };
		if (event.kind !== "saved" || begun === null || last === null) return null;
		const now: Mark = { before: event.before, atMs: nowMs };
		if (last.before === 0) {
			begun = last = now;
			return null;
		}
		const pace = Math.min(msASegment(last, now), msASegment(begun, now));
		last = now;
		const needsMs = Math.ceil(pace * (first + count - now.before));
		const leftMs = untilMs - nowMs;
		overruns = needsMs > leftMs ? overruns + 1 : 0;
		return overruns >= 2 ? { leftMs, needsMs } : null;
	};
}

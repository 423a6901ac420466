// What failed a moment ago is not tried again at once, and what has failed for long is given up. In memory: a
// restart begins to count anew.
import { BoundedMap } from "../../../platform/bounded-map.ts";

const REST_MS = 5000;
const MOST_REMEMBERED = 10_000;

export type Tries = ReturnType<typeof createTries>;

interface Failures {
	readonly count: number;
	readonly sinceMs: number;
	/** Of the last one. */
	readonly atMs: number;
}

export function createTries(nowMs: () => number, mostMs: number) {
	const failures = new BoundedMap<string, Failures>(MOST_REMEMBERED);
	return {
		mayTry(name: string): boolean {
			const last = failures.get(name);
			return last === undefined || nowMs() - last.atMs >= REST_MS * 2 ** Math.min(6, last.count - 1);
		},
		failed(name: string): void {
			const before = failures.get(name);
			failures.set(name, { count: (before?.count ?? 0) + 1, sinceMs: before?.sinceMs ?? nowMs(), atMs: nowMs() });
		},
		succeeded: (name: string): void => void failures.delete(name),
		/** Never again while this process lives. */
		done: (name: string): void =>
			void failures.set(name, { count: 1, sinceMs: nowMs(), atMs: Number.POSITIVE_INFINITY }),
		/** It has failed, and nothing else, for `mostMs`. */
		isGivenUp: (name: string): boolean => nowMs() - (failures.get(name)?.sinceMs ?? nowMs()) >= mostMs,
	};
}

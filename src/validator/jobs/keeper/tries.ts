// What failed a moment ago is not tried again at once, and after some times no more. In memory: a restart begins to count anew.
import { BoundedMap } from "../../../platform/bounded-map.ts";

const REST_MS = 5000;
const MOST_FAILURES = 3;
const MOST_REMEMBERED = 10_000;

export type Tries = ReturnType<typeof createTries>;

export function createTries(nowMs: () => number) {
	const failures = new BoundedMap<string, { readonly count: number; readonly atMs: number }>(MOST_REMEMBERED);
	return {
		mayTry(name: string): boolean {
			const last = failures.get(name);
			return last === undefined || nowMs() - last.atMs >= REST_MS * 2 ** Math.min(6, last.count - 1);
		},
		failed(name: string): void {
			failures.set(name, { count: (failures.get(name)?.count ?? 0) + 1, atMs: nowMs() });
		},
		/** Never again while this process lives. */
		done: (name: string): void => void failures.set(name, { count: 1, atMs: Number.POSITIVE_INFINITY }),
		isGivenUp: (name: string): boolean => (failures.get(name)?.count ?? 0) >= MOST_FAILURES,
	};
}

// Starts a program again when it has ended without being asked to, after a pause that doubles each time and
// is short again once it has run for a while. Not here: what the program is (local-provider.ts).
import { type After, sleep } from "../../platform/abortable.ts";

export interface RunningProgram {
	/** Resolves when it is gone, with what it said last. */
	readonly ended: Promise<string>;
	stop(): Promise<void>;
}

const neverRan = (said: string): RunningProgram => ({ ended: Promise.resolve(said), stop: async () => {} });

export const PAUSES = { firstMs: 1000, mostMs: 60_000, calmMs: 60_000 };

export function keepRunning(o: {
	readonly first: RunningProgram;
	readonly start: () => Promise<RunningProgram>;
	/** It ended, and is started again after so long. */
	readonly onEnd: (said: string, againMs: number) => void;
	/** Monotonic. */
	readonly clockMs: () => number;
	readonly after: After;
}): { stop(): Promise<void> } {
	const stopping = new AbortController();
	let running = o.first;
	let pauseMs = PAUSES.firstMs;
	const watching = (async () => {
		for (;;) {
			const startedAtMs = o.clockMs();
			const said = await running.ended;
			if (stopping.signal.aborted) return;
			if (o.clockMs() - startedAtMs >= PAUSES.calmMs) pauseMs = PAUSES.firstMs;
			o.onEnd(said, pauseMs);
			if (!(await sleep(pauseMs, stopping.signal, o.after))) return;
			pauseMs = Math.min(2 * pauseMs, PAUSES.mostMs);
			running = await o.start().catch((error: unknown) => neverRan(String(error)));
			// Asked to stop while it started.
			if (stopping.signal.aborted) return running.stop();
		}
	})();
	return {
		async stop() {
			stopping.abort();
			await running.stop();
			await watching;
		},
	};
}

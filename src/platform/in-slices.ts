// Work of many small steps on this thread, with everybody else served between them. What is longer than a
// second in all belongs on a thread of its own (thread-file.ts).
import { setImmediate } from "node:timers/promises";

/** Throws the reason of `signal` between two steps. */
export async function inSlices<T>(steps: Generator<void, T>, signal?: AbortSignal): Promise<T> {
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
		await setImmediate();
		signal?.throwIfAborted();
	}
}

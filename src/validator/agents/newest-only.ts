// What a peer says again and again, taken at our pace: one at a time, with a rest after each, and of those
// that came meanwhile only the newest. Whatever it floods with, one value waits.
import { type After, sleep } from "../../platform/abortable.ts";

export function createNewestOnly<T>(
	o: { readonly restMs: number; readonly after: After; readonly signal: AbortSignal },
	take: (value: T) => Promise<void>,
): (value: T) => void {
	let waiting: { readonly value: T } | null = null;
	let isBusy = false;
	const work = async (): Promise<void> => {
		isBusy = true;
		while (waiting !== null && !o.signal.aborted) {
			const { value } = waiting;
			waiting = null;
			await take(value);
			await sleep(o.restMs, o.signal, o.after);
		}
		isBusy = false;
	};
	return (value) => {
		waiting = { value };
		if (!isBusy) void work();
	};
}

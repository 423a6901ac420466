// Waiting that can be cut short: a sleep, another's promise, the abort itself. Nothing here stops what it
// waits for. Uses what browsers have as well, for the API's client runs there.

/** Runs once after `ms`; gives back how to cancel it. */
export type After = (ms: number, run: () => void) => () => void;

/** setTimeout takes 31 bits; a longer wait would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const realAfter: After = (ms, run) => {
	const timer = setTimeout(run, Math.min(Math.max(0, ms), MAX_TIMER_MS));
	return () => clearTimeout(timer);
};

/** False: aborted before the time was over. */
export function sleep(ms: number, signal?: AbortSignal, after = realAfter): Promise<boolean> {
	return new Promise((resolve) => {
		const end = () => {
			cancel();
			signal?.removeEventListener("abort", end);
			resolve(!signal?.aborted);
		};
		const cancel = after(ms, end);
		signal?.addEventListener("abort", end, { once: true });
		if (signal?.aborted) end();
	});
}

/**
 * Rejects with the signal's reason when it is aborted before the time is over: whoever tries again after a
 * rest stops then, instead of trying without one.
 */
export async function sleepOrThrow(ms: number, signal: AbortSignal, after = realAfter): Promise<void> {
	if (!(await sleep(ms, signal, after))) throw signal.reason;
}

/** True when the promise was fulfilled within `ms`. Rejects when it is rejected in that time. */
export async function isInTime(promise: Promise<unknown>, ms: number, after = realAfter): Promise<boolean> {
	let cancel = () => {};
	const late = new Promise<boolean>((resolve) => {
		cancel = after(ms, () => resolve(false));
	});
	try {
		return await Promise.race([promise.then(() => true), late]);
	} finally {
		cancel();
	}
}

/** As the promise, unless `signal` is aborted first: then it rejects with that reason. */
export async function orAbort<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
	const { promise: aborted, reject } = Promise.withResolvers<never>();
	const stop = () => reject(signal?.reason);
	signal?.addEventListener("abort", stop, { once: true });
	if (signal?.aborted) stop();
	try {
		return await Promise.race([aborted, promise]);
	} finally {
		signal?.removeEventListener("abort", stop);
	}
}

export const untilAborted = (signal: AbortSignal): Promise<void> =>
	new Promise((resolve) => {
		if (signal.aborted) resolve();
		else signal.addEventListener("abort", () => resolve(), { once: true });
	});

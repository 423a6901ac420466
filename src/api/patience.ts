// Waiting out what passes: a server that is away, or that refuses for being busy. For Node and for browsers.
import { sleep } from "../platform/abortable.ts";
import type { AssayError } from "../protocol/assay-error.ts";
import { isPassing, retryAfterMs } from "../protocol/passing.ts";

export interface PatienceOptions {
	readonly signal?: AbortSignal;
	/** How long a server may be away, or refuse for being busy, before it is given up. Default 10 minutes. */
	readonly patienceMs?: number;
	/** Waits between tries; tests do not. */
	readonly sleepMs?: (ms: number, signal?: AbortSignal) => Promise<unknown>;
}

const PATIENCE_MS = 10 * 60_000;
const LONGEST_WAIT_MS = 10_000;

/**
 * Waits out what passes, longer each time, as long as there is patience; `renew` when something was achieved.
 * `mayPass`: where more than the common list does.
 */
export function createPatience(
	{ patienceMs = PATIENCE_MS, sleepMs = sleep, signal }: PatienceOptions = {},
	mayPass: (error: unknown) => error is AssayError = isPassing,
) {
	let waitedMs = 0;
	let tries = 0;
	async function wait(error: unknown): Promise<void> {
		signal?.throwIfAborted();
		if (!mayPass(error) || waitedMs >= patienceMs) throw error;
		const ms = Math.min(LONGEST_WAIT_MS, Math.max(retryAfterMs(error), 100 * 2 ** tries));
		tries = Math.min(tries + 1, 10);
		waitedMs += ms;
		await sleepMs(ms, signal);
		signal?.throwIfAborted();
	}
	return {
		wait,
		renew(): void {
			waitedMs = 0;
			tries = 0;
		},
		async until<T>(act: () => Promise<T>): Promise<T> {
			for (;;) {
				try {
					return await act();
				} catch (error) {
					await wait(error);
				}
			}
		},
	};
}

// What the validator service is given of the world: clocks, randomness, timers, a log. Real ones are made here for programs; tests and
// the simulation hand in their own. Nothing in this folder reads a clock or draws a number by any other way.
import { randomBytes } from "node:crypto";
import { destination, type Logger, pino } from "pino";
import { type After, realAfter } from "./abortable.ts";

export interface Environment {
	/** Wall clock, whole milliseconds since 1970. */
	readonly nowMs: () => number;
	/** Monotonic microseconds: every stamp of a probe is on this clock. */
	readonly clockUs: () => number;
	/** Monotonic microseconds for rates, pings and durations: the same clock, but for tests that let toy probes run on a slower one. */
	readonly ratesClockUs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
	/** A random whole number in [0, below). */
	readonly randomBelow: (below: number) => number;
	readonly after: After;
	/** For the engines that are started here, and for ssh. */
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly logger: Logger | null;
}

export function realEnvironment(more: Partial<Environment> = {}): Environment {
	const begun = process.hrtime.bigint();
	const clockUs = () => Number((process.hrtime.bigint() - begun) / 1000n);
	const bytes = more.randomBytes ?? ((size: number) => new Uint8Array(randomBytes(size)));
	return {
		nowMs: () => Date.now(),
		clockUs,
		ratesClockUs: clockUs,
		randomBytes: bytes,
		randomBelow: (below) => randomBelow(bytes, below),
		after: realAfter,
		env: process.env,
		logger: null,
		...more,
	};
}

/** 48 random bits: the bias is below 10⁻⁶ for everything that is drawn here (delays in milliseconds). */
function randomBelow(bytes: (size: number) => Uint8Array, below: number): number {
	let value = 0;
	for (const byte of bytes(6)) value = value * 256 + byte;
	return below <= 0 ? 0 : Math.floor((value / 2 ** 48) * below);
}

/** Repeats `run` with `everyMs` of rest between the end of one and the start of the next. Errors go to `onError` and do not end it. */
export function repeat(
	o: { readonly everyMs: number; readonly after: Environment["after"]; readonly onError: (error: unknown) => void },
	run: () => Promise<void>,
): { readonly now: () => Promise<void>; readonly stop: () => Promise<void> } {
	let stopped = false;
	let running: Promise<void> | null = null;
	let cancel = () => {};
	const once = (): Promise<void> => {
		if (stopped) return Promise.resolve();
		cancel();
		running ??= run()
			.catch(o.onError)
			.finally(() => {
				running = null;
				if (!stopped) cancel = o.after(o.everyMs, () => void once());
			});
		return running;
	};
	cancel = o.after(0, () => void once());
	return {
		now: once,
		async stop() {
			stopped = true;
			cancel();
			await running;
		},
	};
}

/** Structured lines on standard error: results on standard output stay clean. */
export function createLogger(level: "debug" | "info" | "warn" | "error"): Logger {
	return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination({ fd: 2, sync: false }));
}

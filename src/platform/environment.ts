// What a program is given of the world: clocks, randomness, timers, a log. Programs get the real ones; tests
// and the simulation pass in their own. Code that is given one reads no clock and draws no random number in
// any other way.
import { randomFillSync } from "node:crypto";
import { uptime } from "node:os";
import type { Logger } from "pino";
import { type After, realAfter } from "./abortable.ts";
import { createSteadyClock } from "./steady-clock.ts";

export interface Environment {
	/** Wall clock that does not jump, whole milliseconds since 1970. */
	readonly nowMs: () => number;
	/** Monotonic microseconds: every stamp of a probe is on this clock. */
	readonly clockUs: () => number;
	/**
	 * Monotonic microseconds for rates, pings and durations: the same clock, except in tests whose toy probes
	 * run on a slower one.
	 */
	readonly ratesClockUs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
	/** Random in [0, 1). */
	readonly random: () => number;
	readonly after: After;
	/** For the engines that are started here, and for ssh. */
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly logger: Logger | null;
}

export function realEnvironment(more: Partial<Environment> = {}): Environment {
	const begun = process.hrtime.bigint();
	const clockUs = () => Number((process.hrtime.bigint() - begun) / 1000n);
	const bytes = more.randomBytes ?? ((size: number) => randomFillSync(new Uint8Array(size)));
	return {
		nowMs: createSteadyClock({ wallMs: () => Date.now(), bootMs: () => uptime() * 1000 }),
		clockUs,
		ratesClockUs: clockUs,
		randomBytes: bytes,
		random: () => bytes(6).reduce((value, byte) => value * 256 + byte, 0) / 2 ** 48,
		after: realAfter,
		env: process.env,
		logger: null,
		...more,
	};
}

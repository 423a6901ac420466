// Whose turn it is when slots are scarce, how long a host may hold one, and how long it waits when it did not
// come to an end again and again. Pure rules of docs/schedule.md §3; who waits in which line is the store's
// and the scheduler's.
//
// A stall costs a host that stalls nothing and costs us a slot. So what counts is how long slots were held: a
// host is prompt while its last probe was valid and short, and whoever is not prompt shares a part of the
// slots.
import type { Params } from "../params.ts";
import type { ScheduleState } from "./schedule-state.ts";

type Past = Pick<ScheduleState, "stalls" | "provenInMs">;

/**
 * A host that was never at work. A proven one comes before it after one stall, and beside it when slow or
 * after two.
 */
const NEWCOMER = 2;

/**
 * The lowest first. 0: prompt. Of the others those come first that stalled less, with an allowance for the
 * proven.
 */
export function turnOf({ stalls, provenInMs }: Past, { promptMs }: Params): number {
	if (provenInMs === null) return NEWCOMER + stalls;
	if (stalls > 0) return stalls;
	return provenInMs <= promptMs ? 0 : NEWCOMER;
}

/**
 * How long it may be at work. Who has shown what it needs may need four times that; so may a valid host that
 * stalls now and then not hold more than a prompt one is worth. Everybody else: long enough for an honest
 * host's first probe.
 */
export function holdMs({ stalls, provenInMs }: Past, { promptMs, firstHoldMs }: Params): number {
	return provenInMs === null || stalls > 0 ? firstHoldMs : 4 * Math.max(promptMs, provenInMs);
}

/** A whole row of retries ended without an end: no more retries, and nothing makes it due sooner. */
export function isBackedOff({ stalls }: Past, { retries }: Params): boolean {
	return stalls > retries;
}

/**
 * From one probe to the next: the interval, and for who is backed off 1, 2, 4 … intervals. It has been gone
 * for as long when the pause begins: nobody waits much longer than it was away.
 */
export function pauseMs({ stalls }: Past, { retries, intervalMs, backOffMs }: Params): number {
	return Math.min(intervalMs * 2 ** Math.max(0, stalls - retries - 1), Math.max(intervalMs, backOffMs));
}

/** A crashed process of ours doubles its retry this often (store/queue). */
const CRASH_DOUBLINGS = 8;
const HOUR_MS = 3_600_000;

/**
 * Further ahead than any date that is set by these rules: one beyond it was set while the clock was wrong.
 */
export function farthestProbeMs({ intervalMs, backOffMs, jitterMs, retryFirstMs, retries }: Params): number {
	const retryMs = retryFirstMs * 2 ** Math.max(retries, CRASH_DOUBLINGS);
	return Math.max(intervalMs, backOffMs, retryMs) + jitterMs + HOUR_MS;
}

/**
 * How many of `places` those may have that are not prompt: at least one, or nobody new would ever come in.
 */
export function placesOfOthers(places: number, percent: number): number {
	return Math.max(1, Math.floor((places * percent) / 100));
}

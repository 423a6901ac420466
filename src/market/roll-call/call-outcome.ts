// Which calls a validator takes part in, and what a call counts for a host by what came of it. Pure;
// docs/roll-call.md §4.
import type { RollOutcome } from "./roll-call-rules.ts";

/** After a start hosts dial in again within their longest pause, a minute: before that nobody is missed. */
export const SETTLE_MS = 90_000;

export interface ExpectedHost {
	readonly isConnected: boolean;
	/** No call has counted for it yet. */
	readonly isNew: boolean;
	readonly isExcused: boolean;
	/** It has said, since it dialled in, that it answers no calls. */
	readonly isUncalled: boolean;
}

/** Not while hosts dial in again, and within its rest only where somebody has never been called. */
export function takesPart(
	hosts: readonly ExpectedHost[],
	{ upMs, sinceLastMs, restMs }: { readonly upMs: number; readonly sinceLastMs: number; readonly restMs: number },
): boolean {
	const expected = hosts.filter(({ isUncalled }) => !isUncalled);
	if (expected.length === 0) return false;
	const isSettled = upMs >= SETTLE_MS || expected.every(({ isConnected }) => isConnected);
	const isRested = sinceLastMs >= restMs;
	return isSettled && (isRested || expected.some(({ isNew, isExcused }) => isNew && !isExcused));
}

/** What a provider refuses a call with when its owner wants it to answer none. */
const OFF = "ROLL_CALL_OFF";
/** Its answer came in time and shows less work than was asked for: honest hosts that are busy say so. */
const TOO_LITTLE = "CALL_TOO_LITTLE";

export interface Outcome {
	readonly state: RollOutcome | "late" | "wrong" | "opening" | "uncalled";
	readonly code: string | null;
}

/** Of a host by the deadline. `found`: what was made of its reply when one came in time. */
export function outcomeAtDeadline(
	{ isConnected, isExcused, isUncalled }: Omit<ExpectedHost, "isNew">,
	heard: { readonly ms: number; readonly code: string | null } | undefined,
	found: { readonly ok: true } | { readonly ok: false; readonly code: string } | null,
	deadlineMs: number,
): Outcome {
	if (isUncalled || heard?.code === OFF) return { state: "uncalled", code: OFF };
	if (isExcused) return { state: "excused", code: null };
	if (found?.ok) return { state: "opening", code: null };
	if (found !== null) return { state: found.code === TOO_LITTLE ? "late" : "wrong", code: found.code };
	if (heard !== undefined && heard.code === null && heard.ms > deadlineMs) return { state: "late", code: null };
	return { state: "absent", code: heard?.code ?? (isConnected ? "AGENT_SILENT" : "AGENT_CLOSED") };
}

/** Who is rented and paid for cannot answer; who answers all the same has answered. */
export const isExcusedBy = (paidPpm: number | undefined, { state }: Pick<Outcome, "state">): paidPpm is number =>
	paidPpm !== undefined && state !== "answered" && state !== "excused";

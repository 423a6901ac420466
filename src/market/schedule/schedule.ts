// When is a provider probed next, and what does the last probe count for? Pure decisions on docs/schedule.md:
// the clock and the draw are arguments, the service carries the actions out. Suspicion over several providers
// is in suspicion.ts.
import type { Why } from "../../protocol/network/provider-memory.ts";
import type { Params } from "../params.ts";
import type { Decision, Outcome, ScheduleState } from "./schedule-state.ts";
import { isBackedOff, pauseMs, turnOf } from "./turns.ts";

/**
 * What an honest host can cause on a bad day, and a cheater causes every time: a host that is killed looks
 * like one that hangs up when it sees the draw; one that stands still for seconds in mid-stream (its link, or
 * its virtual machine) looks like one that makes its bytes anew.
 */
const MISHAPS: readonly string[] = ["OPENING_WITHHELD", "STREAM_WITHHELD", "STREAM_LATE"];
/** The one that proves nothing and yet counts: else a cheater would hang up instead of withholding. */
const CUT = "OPENING_CUT";

/** In a simultaneous probe lateness is the very sign that was looked for. */
function isMishap({ status, code, together }: Pick<Outcome, "status" | "code" | "together">): boolean {
	if (status !== "invalid" || code === null) return status === "inconclusive" && code === CUT;
	return MISHAPS.includes(code) && !(together === true && code === "STREAM_LATE");
}

/**
 * After a probe has ended. `random01` in [0, 1) is drawn for this call alone: it makes the moment of the next
 * probe unpredictable.
 */
export function nextProbe(state: ScheduleState, outcome: Outcome, params: Params, random01: number): Decision {
	if (!(random01 >= 0 && random01 < 1)) throw new RangeError("a draw must lie in [0, 1)");
	const past = pastOf(state, outcome);
	const judged = judge({ ...state, ...past }, outcome, params);
	const usual = judged.again
		? outcome.endedAtMs + judged.pauseMs
		: outcome.startedAtMs + pauseMs(past, params) + Math.floor(random01 * params.jitterMs);
	// A change that was reported while the probe ran was not what it proved.
	const stillChanged = state.changedAtMs !== null && state.changedAtMs > outcome.startedAtMs;
	const after: ScheduleState = {
		...state,
		...judged.patch,
		...past,
		turn: turnOf(past, params),
		retried: judged.again ? state.retried + 1 : 0,
		lastStartedAtMs: outcome.startedAtMs,
		changedAtMs: stillChanged ? state.changedAtMs : null,
	};
	const changed = stillChanged && !isBackedOff(past, params) ? changeDueAtMs(after, outcome.endedAtMs, params) : null;
	const due =
		changed !== null && changed < usual
			? dueAt({ ...after, changeProbeAtMs: changed }, changed, "changed")
			: dueAt(after, usual, judged.again ? "retry" : "interval");
	return { state: due, counts: judged.counts };
}

/** A host that was at work and did not come to an end has stalled; only a valid probe makes up for it. */
function pastOf(state: ScheduleState, outcome: Outcome): Pick<ScheduleState, "stalls" | "provenInMs"> {
	const { stalls, provenInMs } = state;
	const { status, heldMs, together } = outcome;
	// Those of a group wait for each other: that says nothing of how long they take.
	if (status === "valid")
		return { stalls: 0, provenInMs: together === true ? (provenInMs ?? heldMs) : (heldMs ?? provenInMs) };
	const hasStalled = heldMs !== null && (status === "inconclusive" || isMishap(outcome));
	return { stalls: hasStalled ? stalls + 1 : stalls, provenInMs };
}

interface Judged {
	readonly counts: Decision["counts"];
	readonly again: boolean;
	readonly pauseMs: number;
	readonly patch: Partial<ScheduleState>;
}

function judge(state: ScheduleState, outcome: Outcome, params: Params): Judged {
	const mayRetry = state.retried < params.retries && !isBackedOff(state, params);
	const pauseMs = params.retryFirstMs * 2 ** state.retried;
	const { status, code } = outcome;
	if (status !== "valid" && isMishap(outcome)) {
		// Repeated means: before enough valid proofs came in between. An inconclusive one in between does not
		// help.
		const since = state.validSinceWithheld;
		const isForgiven = since === null || since >= params.forgiveAfterValid;
		const failures = isForgiven ? state.failures : state.failures + 1;
		const patch = { lastVerdict: { status, code }, failures, validSinceWithheld: 0 };
		return { counts: isForgiven ? "nothing" : "failure", again: mayRetry, pauseMs, patch };
	}
	switch (status) {
		case "inconclusive":
			return { counts: "nothing", again: mayRetry, pauseMs, patch: { lastVerdict: { status, code } } };
		case "valid": {
			// One card that answers for two has memory for one of them.
			if (outcome.together === true && outcome.isMemoryDoubted === true)
				return { counts: "nothing", again: false, pauseMs: 0, patch: { lastVerdict: { status, code } } };
			const since = state.validSinceWithheld;
			const patch = {
				lastVerdict: { status, code },
				failures: 0,
				validSinceWithheld: since === null ? null : since + 1,
			};
			return { counts: "success", again: false, pauseMs: 0, patch };
		}
		case "invalid": {
			const patch = { lastVerdict: { status, code }, failures: state.failures + 1 };
			return { counts: "failure", again: false, pauseMs: 0, patch };
		}
	}
}

/**
 * Driver, device list or engine changed: due at once, at most once in `changedLimitMs`. A later one is kept,
 * not lost. Who is backed off is not: else a word about a driver would end every back-off.
 */
export function onChanged(state: ScheduleState, nowMs: number, params: Params): ScheduleState {
	const noted = { ...state, changedAtMs: nowMs };
	if (!isProbed(noted) || isBackedOff(noted, params)) return noted;
	const atMs = changeDueAtMs(noted, nowMs, params);
	if (noted.nextProbeAtMs !== null && noted.nextProbeAtMs <= atMs) return noted;
	return dueAt({ ...noted, changeProbeAtMs: atMs }, atMs, "changed");
}

export function isProbed({ status, rented }: ScheduleState): boolean {
	return status === "active" && !rented;
}

/**
 * The first moment at which a change may be proven: now, when it is already planned, or when the limiter
 * allows.
 */
function changeDueAtMs({ changeProbeAtMs }: ScheduleState, nowMs: number, { changedLimitMs }: Params): number {
	if (changeProbeAtMs === null) return nowMs;
	return changeProbeAtMs > nowMs ? changeProbeAtMs : Math.max(nowMs, changeProbeAtMs + changedLimitMs);
}

/** What is paused, removed or rented is never due, whatever ended meanwhile. */
export function dueAt(state: ScheduleState, atMs: number | null, why: Why): ScheduleState {
	if (isProbed(state)) return { ...state, nextProbeAtMs: atMs, why };
	const rest: Why = state.status === "active" ? "rented" : state.status;
	return { ...state, nextProbeAtMs: null, why: rest };
}

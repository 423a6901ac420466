// States for tests: a provider that has just registered, and the same one while it rests.
import type { ScheduleState } from "./schedule-state.ts";

export function freshState(nowMs: number): ScheduleState {
	return {
		status: "active",
		rented: false,
		nextProbeAtMs: nowMs,
		why: "registered",
		lastStartedAtMs: null,
		lastVerdict: null,
		failures: 0,
		retried: 0,
		validSinceWithheld: null,
		changeProbeAtMs: null,
		changedAtMs: null,
		suspicion: null,
		suspectProbeAtMs: null,
		stalls: 0,
		provenInMs: null,
		turn: 2,
	};
}

export function resting(state: ScheduleState, why: "rented" | "paused" | "removed"): ScheduleState {
	const rest = why === "rented" ? { rented: true } : { status: why };
	return { ...state, ...rest, nextProbeAtMs: null, why };
}

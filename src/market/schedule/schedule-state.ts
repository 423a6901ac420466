// What the schedule keeps of one provider and what can happen to it. Shapes only; the rules are in
// schedule.ts and suspicion.ts, the page is docs/schedule.md.

import type {
	FigureSeries,
	KeptTogether,
	PastProbe,
	ProviderMemory,
	ProviderState,
} from "../../protocol/network/provider-memory.ts";
import type { VerdictStatus } from "../../protocol/probe/verdict.ts";

/**
 * What of the state is remembered beside a provider's row; protocol/network/provider-memory.ts says what it
 * means.
 */
export type RememberedState = Pick<
	ProviderMemory,
	| "why"
	| "lastStartedAtMs"
	| "validSinceWithheld"
	| "changeProbeAtMs"
	| "changedAtMs"
	| "suspicion"
	| "suspectProbeAtMs"
	| "stalls"
	| "provenInMs"
	| "turn"
>;

export interface ScheduleState extends RememberedState {
	readonly status: ProviderState;
	readonly rented: boolean;
	/** Null: never (paused, removed, rented). */
	readonly nextProbeAtMs: number | null;
	readonly lastVerdict: { readonly status: VerdictStatus; readonly code: string | null } | null;
	/** Counted failures in a row. */
	readonly failures: number;
	/** Retries used up since the last probe that needed none. */
	readonly retried: number;
}

/** How one probe ended. */
export interface Outcome extends Pick<KeptTogether, "status" | "code" | "startedAtMs" | "endedAtMs"> {
	/** One of a simultaneous probe of suspects. */
	readonly together?: boolean;
	/** The memory of a GPU was asked for and did not count. */
	readonly isMemoryDoubted?: boolean;
	/**
	 * How long it was at work, beyond the load that was ordered. Null: it never came to that, or nobody knows.
	 */
	readonly heldMs: number | null;
}

/** What a probe that has ended makes of the state, and what it counts for. */
export interface Decision {
	readonly state: ScheduleState;
	readonly counts: PastProbe["counts"];
}

/** What suspicion.ts looks at, one a provider. */
export interface SuspectView {
	readonly providerId: string;
	readonly state: ScheduleState;
	/** GPUs of the last claim or proof. */
	readonly gpus: readonly {
		readonly uuid: string;
		/** When this provider first proved a device of this UUID; null: only claimed so far. */
		readonly firstProvenAtMs: number | null;
		readonly profile: string | null;
	}[];
	/** Of devices that signed under their vendors' roots. Nobody can utter another's; each is one card. */
	readonly deviceKeys?: readonly string[];
	/** GPU figures of valid probes, by device UUID and figure name, oldest first, the newest last. */
	readonly series: readonly FigureSeries[];
	/** Providers with whom this one passed a simultaneous probe since both claimed the UUIDs in question. */
	readonly clearedWith: readonly string[];
}

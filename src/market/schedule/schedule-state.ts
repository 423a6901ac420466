// What the schedule keeps of one provider, what can happen to it, and what is decided. Shapes only; the rules are in schedule.ts
// and suspicion.ts, the page is docs/schedule.md.

import type { FigureSeries, ProviderState, Suspicion, Why } from "../../protocol/network/provider-memory.ts";
import type { VerdictStatus } from "../../protocol/probe/verdict.ts";

export interface ScheduleState {
	readonly status: ProviderState;
	readonly rented: boolean;
	/** Null: never (paused, removed, rented). */
	readonly nextProbeAtMs: number | null;
	readonly why: Why;
	readonly lastStartedAtMs: number | null;
	readonly lastVerdict: { readonly status: VerdictStatus; readonly code: string | null } | null;
	/** Counted failures in a row. */
	readonly failures: number;
	/** Retries used up since the last probe that needed none. */
	readonly retried: number;
	/** Valid proofs since an answer was last withheld or late; null when none ever was. */
	readonly validSinceWithheld: number | null;
	/** When a change last made the provider due: the limiter of re-proving. */
	readonly changeProbeAtMs: number | null;
	/** When the newest change was reported; null once a probe that began later has ended. */
	readonly changedAtMs: number | null;
	readonly suspicion: Suspicion | null;
	/** When it last took part in a simultaneous probe: the limiter of suspicion. */
	readonly suspectProbeAtMs: number | null;
}

/** How one probe ended. `abandoned`: the process that ran it died before any evidence. */
export interface Outcome {
	readonly status: VerdictStatus | "abandoned";
	readonly code: string | null;
	readonly startedAtMs: number;
	readonly endedAtMs: number;
	/** One of a simultaneous probe of suspects. */
	readonly together?: boolean;
}

/** What the service has to do. */
export type Action =
	| { readonly do: "probe-at"; readonly atMs: number; readonly why: Why }
	| { readonly do: "rest"; readonly why: Why }
	| { readonly do: "count"; readonly as: "success" | "failure" | "nothing" }
	| { readonly do: "probe-together"; readonly providerIds: readonly string[]; readonly suspicion: Suspicion };

/** The new state, and the actions it stands for. Store the state in the transaction that does the actions. */
export interface Decision {
	readonly state: ScheduleState;
	readonly actions: readonly Action[];
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
	/** GPU figures of valid probes, by device UUID and figure name, oldest first, the newest last. */
	readonly series: readonly FigureSeries[];
	/** Providers with whom this one passed a simultaneous probe since both claimed the UUIDs in question. */
	readonly clearedWith: readonly string[];
}

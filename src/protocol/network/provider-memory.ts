// What a validator remembers of a provider between probes, beside its row: the finer state of the schedule,
// which proof the score stands on, figures of the last probes, whom it was cleared with. A shape only:
// market/schedule changes it, store/ keeps it. Every list is bounded there, so that no provider can make it
// grow without end.
import type { VerdictStatus } from "../probe/verdict.ts";

export type ProviderState = "active" | "paused" | "removed";

/** Why a provider is due, or is not. */
export type Why =
	| "registered"
	| "interval"
	| "retry"
	| "changed"
	| "rental-ended"
	| "suspected"
	| "rented"
	| "paused"
	| "removed";

export type Suspicion =
	| { readonly kind: "shared-uuid"; readonly sinceMs: number; readonly uuids: readonly string[] }
	/** Device keys of signed reports, docs/attestation.md. */
	| { readonly kind: "shared-key"; readonly sinceMs: number; readonly keys: readonly string[] }
	| { readonly kind: "fallen"; readonly sinceMs: number; readonly figures: readonly string[] };

/**
 * Where the score's inputs lie: figures and devices are in the probe's row, what that row does not hold is
 * here.
 */
interface KeptProof {
	readonly probeId: string;
	readonly evidence: string;
	readonly provenAtMs: number;
	readonly claimedRamBytes: number;
	/** Milliseconds of rental since, for rentals that have ended. */
	readonly rentedMs: number;
}

/** Values of one figure of one card, the newest last. */
export interface FigureSeries {
	readonly uuid: string;
	readonly name: string;
	readonly values: readonly number[];
}

/** One past probe as it was counted. */
export interface PastProbe {
	/** SHA-256 of its file, or its id where there is none; of a checked part of a job its name. */
	readonly evidence: string;
	readonly counts: "success" | "failure" | "nothing";
}

/** One member's part of a simultaneous probe, until the whole group can be judged. */
export interface KeptTogether {
	readonly group: string;
	readonly status: VerdictStatus;
	readonly code: string | null;
	readonly startedAtMs: number;
	readonly endedAtMs: number;
	/**
	 * From the start of the first stage that had to overlap to the end of the last; null when they did not all
	 * end, or when the memory of a GPU did not count.
	 */
	readonly window: { readonly fromMs: number; readonly toMs: number } | null;
}

export interface ProviderMemory {
	readonly why: Why;
	readonly lastStartedAtMs: number | null;
	/** Valid proofs since an answer was last withheld or late; null when none ever was. */
	readonly validSinceWithheld: number | null;
	/** When a change last made the provider due: the limiter of re-proving. */
	readonly changeProbeAtMs: number | null;
	/** When the newest change was reported; null once a probe that began later has ended. */
	readonly changedAtMs: number | null;
	readonly suspicion: Suspicion | null;
	/** When it last took part in a simultaneous probe: the limiter of suspicion. */
	readonly suspectProbeAtMs: number | null;
	/** Probes since the last valid one that were at work and did not come to an end. */
	readonly stalls: number;
	/**
	 * How long its last valid probe held a slot, beyond the load that was ordered; null when none was valid.
	 */
	readonly provenInMs: number | null;
	/**
	 * Whose turn it is when slots are scarce: the lowest first, 0 for prompt hosts (market/schedule/turns.ts).
	 */
	readonly turn: number;
	readonly proof: KeptProof | null;
	/** When each UUID was first proven here. */
	readonly firstProven: readonly { readonly uuid: string; readonly atMs: number }[];
	readonly series: readonly FigureSeries[];
	readonly clearedWith: readonly { readonly providerId: string; readonly atMs: number }[];
	/**
	 * The last probes that counted, oldest first, and the reliability before them: so that the score can name
	 * their evidence.
	 */
	readonly recent: readonly PastProbe[];
	readonly reliabilityBeforePpm: number | null;
	/** What its last simultaneous probe came to. */
	readonly together: KeptTogether | null;
	/**
	 * The roll calls that counted before it was last rented through the escrow, the newest first: its presence
	 * stands still meanwhile, and calls are forgotten sooner than a rental ends. Null: it never was.
	 */
	readonly callsBeforeRental: { readonly newestAtMs: number; readonly answered: readonly boolean[] } | null;
}

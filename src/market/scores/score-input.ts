// What a score is made from: the last valid verdict with what its evidence claims, and the provider's record.
// Shapes only. Figures and identities come from a verdict; claims are marked as such and may lower a score,
// never raise it. docs/scores.md.

import type { PastProbe } from "../../protocol/network/provider-memory.ts";
import type { Figure } from "../../protocol/probe/evidence.ts";
import type { AttestedLevel, Identity } from "../../protocol/probe/verdict.ts";

/**
 * A device as the evidence's claim lists it, in the claim's order: figures and identities name it by its
 * index.
 */
export interface ScoredDevice {
	readonly kind: "gpu" | "cpu" | "disk";
	/** A claim. Trimmed and lower-cased before it is compared. */
	readonly uuid: string;
}

/** The last valid verdict of a provider. */
export interface Proof {
	/** SHA-256 of the evidence file, hex. */
	readonly evidence: string;
	/** When the probe started. */
	readonly provenAtMs: number;
	readonly devices: readonly ScoredDevice[];
	readonly figures: readonly Figure[];
	/** For SN27's table alone, which goes by name. */
	readonly identity: readonly Pick<Identity, "device" | "profile">[];
	/** claim.host.ramBytes: a claim, which can only lower the RAM part. */
	readonly claimedRamBytes: number;
}

/** At most `rollCallWindow` calls. */
export interface Presence {
	readonly counted: number;
	readonly answered: number;
	/** At the newest one it answered no calls, as its owner wants: for the words of a score of 0 alone. */
	readonly isUncalled?: boolean;
}

/**
 * Of the last `rollCallWindow` calls, those in which the provider was rented and paid for through the escrow.
 */
export interface RentedCalls {
	readonly calls: number;
	/** What one of them counts for on average: market/rentals/paid-rental.ts. */
	readonly paidPpm: number;
}

/** Without roll calls nobody knows what was paid when: neither bonus nor excuse. */
export const NEVER_RENTED: RentedCalls = { calls: 0, paidPpm: 0 };

export interface ScoreInput {
	readonly providerId: string;
	readonly nowMs: number;
	/** Paused and removed providers score 0. */
	readonly active: boolean;
	readonly proof: Proof | null;
	readonly rented: RentedCalls;
	/**
	 * Milliseconds since the proof in which the provider was rented through the escrow and so not probed: they
	 * do not age the proof.
	 */
	readonly rentedMs: number;
	/**
	 * Reliability as it was kept before `history`; null: a new provider, or all of its past is in `history`.
	 */
	readonly reliabilityPpm: number | null;
	/**
	 * Oldest first. May be empty when `reliabilityPpm` already has them in it; with it, each probe is a term of
	 * the explanation.
	 */
	readonly history: readonly PastProbe[];
	/** The part of a job for which it was convicted in the last `jobConvictionMs`; null or absent: none. */
	readonly convicted?: string | null;
	/** The last roll calls, excused ones left out: presence.ts. Null: a network without roll calls. */
	readonly presence: Presence | null;
	/** What its cards signed, as it counts for this provider; absent: nothing. */
	readonly attested?: AttestedLevel;
	/** UUIDs that count for another provider: what `creditUuids` gives for this one. */
	readonly creditedElsewhere: readonly string[];
}

// What a validator knows of the epochs that are open, as `nextMoves` wants it: what the chain says, and what
// this validator holds of the others'. Plain data: who fills it in is validator/settlement. docs/epochs.md
// §4.
import type { Seat, Weights } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";

/** Seconds since 1970; each window ends where the next begins. */
interface EpochWindows {
	readonly endsAt: number;
	readonly revealsAt: number;
	/** From here on weights are signed and posted. */
	readonly signsAt: number;
	readonly signsUntil: number;
}

/** `absent`: we have not got its leaves. `malformed`: nobody may count it. */
export type ReportState = "absent" | "held" | "malformed";

/**
 * `right`: what we computed ourselves. `provable`: wrong, and we can show it to the chain. `wrong`: not what
 * we computed, but its leaves are not here, so nothing can be shown yet.
 */
export type Verdict = "unknown" | "right" | "wrong" | "provable";

/** Weights that somebody signed or posted. */
export interface KnownStatement {
	readonly id: Hex;
	readonly weights: Weights;
	/** Seats whose signature we hold and have checked. */
	readonly signers: bigint;
	readonly verdict: Verdict;
	/** What of `weights.set`, and whether its leaves, were here when we judged it last; null: never judged. */
	readonly judgedWith: { readonly set: bigint; readonly hadLeaves: boolean } | null;
	/** Since when we know what the next move waits for: a quorum's signatures, or a fault. Null: not yet. */
	readonly sinceS: number | null;
	/** Accounts that showed it to us. */
	readonly sources: readonly Hex[];
	/** The chain has it as wrong. */
	readonly isProven: boolean;
	/** Our announcement of its challenge is in a block. */
	readonly isAnnounced: boolean;
}

export interface EpochView {
	readonly epoch: number;
	readonly windows: EpochWindows;
	/** Voting stake at the epoch's end: all of it, and ours. */
	readonly totalStake: bigint;
	readonly ownStake: bigint;
	readonly own: {
		/** Our leaves are on disk. */
		readonly hasDraft: boolean;
		readonly isCommitted: boolean;
		readonly isRevealed: boolean;
		readonly isPublished: boolean;
	};
	readonly seats: readonly Seat[];
	/** Reveals are over, deep enough in the chain that no reorganisation gives a seat to another one. */
	readonly areSeatsFirm: boolean;
	/** By seat. */
	readonly reports: readonly ReportState[];
	readonly statements: readonly KnownStatement[];
	/** What stands on chain. */
	readonly posted: { readonly id: Hex; readonly finalAt: number } | null;
	/** Accounts that were slashed for this epoch's weights. */
	readonly punished: ReadonlySet<Hex>;
}

export interface SettlementView {
	/** Our account. */
	readonly self: Hex;
	readonly quorumPpm: number;
	/** The newest weights that stand; null: none yet. */
	readonly head: { readonly epoch: number; readonly id: Hex } | null;
	/** Weights whose leaves we hold, by id. */
	readonly leaves: ReadonlySet<Hex>;
	/** Oldest first. */
	readonly epochs: readonly EpochView[];
	/** Until which second whom, or whom for what, is not asked: see `askKey`. */
	readonly waits: ReadonlyMap<string, number>;
}

/** What one peer may be asked for; and the peer itself, which waits when it fails as such. */
export const askKey = {
	peer: (from: Hex) => from,
	report: (from: Hex, epoch: number, seat: number) => `${from}/report/${epoch}/${seat}`,
	statements: (from: Hex, epoch: number) => `${from}/statements/${epoch}`,
	leaves: (from: Hex, id: Hex) => `${from}/leaves/${id}`,
};

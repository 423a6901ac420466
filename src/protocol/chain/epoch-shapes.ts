// What an epoch puts on chain, by its leaves: a report's scores, the weights that a quorum signs, and how one
// leaf is shown. As in contracts/src/epochs/; how roots and shares follow from them is market/epochs/.
// Accounts and hashes in lower case. docs/epochs.md.
import type { Hex } from "./hex.ts";

/** More make a report malformed: what a challenge opens stays within a transaction. */
export const MAX_REPORT_LEAVES = 1 << 17;
/** `base` of the first weights. */
export const NO_BASE: Hex = `0x${"0".repeat(64)}`;

export interface ScoreLeaf {
	readonly provider: Hex;
	readonly scorePpm: number;
	/** SHA-256 of the evidence file that was scored; zeros when there is none. */
	readonly evidenceSha256: Hex;
}

/** A validator that has revealed its report, in the order of the reveals: its place is its number. */
export interface Seat {
	/** The account; not part of what the chain hashes. */
	readonly validator: Hex;
	readonly signer: Hex;
	/** Voting stake at the epoch's end. */
	readonly stake: bigint;
	readonly root: Hex;
}

export interface RewardLeaf {
	readonly account: Hex;
	/** Median of the set's reports; 0 for validators and for providers without a score. */
	readonly weightPpm: number;
	/** Sums over all leaves before this one. */
	readonly weightBefore: bigint;
	readonly earned: bigint;
	readonly earnedBefore: bigint;
	/** Earned in all epochs up to this one, claimed or not. */
	readonly total: bigint;
}

/** What validators sign: these weights follow from these reports. */
export interface Weights {
	readonly epoch: bigint;
	/** Id of the weights they continue; zeros: the first. */
	readonly base: Hex;
	/** Bit i: the report of seat i counts. */
	readonly set: bigint;
	readonly count: number;
	readonly totalWeight: bigint;
	readonly paid: bigint;
	readonly root: Hex;
}

/** One validator's word for weights. */
export interface WeightsSignature {
	readonly signer: Hex;
	/** 65 bytes, r ‖ s ‖ v; the chain gets EIP-2098's 64. */
	readonly signature: Hex;
}

/** A leaf under a root, with its path. */
export interface Opening<Leaf> {
	readonly index: number;
	readonly leaf: Leaf;
	readonly path: readonly Hex[];
}

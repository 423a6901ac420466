// What an epoch puts on chain, by its leaves: a report's scores, a proposal's weights, and how one leaf is shown.
// As in contracts/src/epochs/; how roots and shares follow from them is market/epochs/.
import type { Hex } from "./hex.ts";

export interface ScoreLeaf {
	readonly provider: Hex;
	readonly scorePpm: number;
	/** SHA-256 of the evidence file that was scored; zeros when there is none. */
	readonly evidenceSha256: Hex;
}

/** What the chain has of a report, with the stake of the epoch's end. */
export interface RevealedReport {
	readonly validator: Hex;
	readonly root: Hex;
	readonly stake: bigint;
	readonly voided: boolean;
}

export interface WeightLeaf {
	readonly provider: Hex;
	readonly weightPpm: number;
	/** Sums over all leaves before this one. */
	readonly weightBefore: bigint;
	readonly amountBefore: bigint;
}

export interface Proposal {
	readonly count: number;
	readonly totalWeight: bigint;
	readonly emission: bigint;
	/** Remainders above it get one unit more, and equal ones of providers up to `thresholdProvider`. */
	readonly thresholdRemainder: bigint;
	readonly thresholdProvider: Hex;
	readonly root: Hex;
}

/** A leaf under a root, with its path. */
export interface Opening<Leaf> {
	readonly index: number;
	readonly leaf: Leaf;
	readonly path: readonly Hex[];
}

/** The last bit of a kept root says that it is one: compare roots only so. */
export const keptRoot = (root: Hex): Hex => `0x${(BigInt(root) | 1n).toString(16).padStart(64, "0")}`;

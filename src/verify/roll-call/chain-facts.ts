// What a node said about the blocks that a roll call's file names. Facts only, asked for in
// read-chain-facts.ts; whether they fit the file is judged in check-chain.ts. Whoever asks chooses a node
// that he trusts: a node that lies is believed.
import type { DrandNetwork, StatedBlock } from "../../protocol/roll-call/roll-file.ts";

/** A Committed event. */
export interface CommittedFact {
	readonly validator: string;
	readonly call: number;
	/** Hex. */
	readonly root: string;
	readonly count: number;
}

export interface ChainFacts {
	readonly chainId: number;
	/** The contract that was asked. */
	readonly contract: string;
	/** Its settings. */
	readonly beacon: "block" | "drand";
	/** 0: there is no such contract. */
	readonly every: number;
	readonly windowS: number;
	/**
	 * By number, of those that the file names and of the one before the block that the places are drawn from.
	 * Null: there is none.
	 */
	readonly blocks: ReadonlyMap<number, StatedBlock | null>;
	/** The contract's events in the block of the commitment. */
	readonly commitments: readonly CommittedFact[];
}

/** What whoever asks knows already; all optional. */
export interface RollExpectations {
	readonly contract?: string;
	/** The host's key. */
	readonly host?: string;
	/** The call came no earlier than this, seconds since 1970. */
	readonly notBeforeS?: number;
	/** Networks of drand that are accepted; quicknet without. */
	readonly drand?: readonly DrandNetwork[];
}

// What a provider that follows the chain knows of roll calls: whether a block really calls, the account whose
// stake stands for its answers, and openings that are demanded of it. An interface only, so that a provider
// without a chain loads nothing of it; open-roll-chain.ts makes one.
import type { RollCallId } from "../../protocol/roll-call/roll-call.ts";

/** Somebody wants to see one leaf of one round of an answer. */
export interface DemandedOpening {
	readonly call: number;
	/** Hex. */
	readonly beta0: string;
	readonly device: number;
	/** Of the answer, hex. */
	readonly end: string;
	readonly round: number;
	readonly leaf: number;
	/** Sends the answer. `roots` are those of all rounds. */
	answer(opening: {
		readonly roots: readonly Uint8Array[];
		readonly leaf: Uint8Array;
		readonly path: readonly Uint8Array[];
	}): Promise<void>;
}

export interface RollChain {
	readonly chainId: number;
	/** 0x and 40 lower-case hex digits, as the account. */
	readonly contract: string;
	readonly account: string;
	/** Throws ROLL_CALL_NO_BLOCK: another chain or contract, another hash, or a block that does not call. */
	mustBeCall(call: RollCallId, beta0: Uint8Array): Promise<void>;
	/** The account's word on one leaf, 130 hex digits. */
	sign(call: number, beta0: Uint8Array, leaf: Uint8Array): Promise<string>;
	/** Those that wait for an answer now. */
	demands(): Promise<readonly DemandedOpening[]>;
}

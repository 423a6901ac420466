// What a provider that follows the chain knows of roll calls: whether a block really calls, and the account whose stake stands for its
// answers. An interface only, so that the provider without a chain loads nothing of it; roll-call/open-roll-chain.ts makes one.
import type { RollCallId } from "../../protocol/roll-call/roll-call.ts";

export interface RollChain {
	/** 0x and 40 lower-case hex digits. */
	readonly account: string;
	/** Throws ROLL_CALL_NO_BLOCK: another chain or contract, another hash, or a block that does not call. */
	mustBeCall(call: RollCallId, beta0: Uint8Array): Promise<void>;
	/** The account's word on one leaf, 130 hex digits. */
	sign(call: number, beta0: Uint8Array, leaf: Uint8Array): Promise<string>;
}

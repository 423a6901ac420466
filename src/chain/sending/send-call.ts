// Sign, send, wait: for acts that are not journalled. Publications that must happen once are publish.ts.
import type { TransactionReceipt } from "viem";
import type { ChainClient } from "../node/chain-client.ts";
import { memoryIntents, publish } from "./publish.ts";
import type { Call, ChainAccount } from "./sign.ts";

/**
 * ATTACK: a node that says each time that the nonce went to somebody else would have one act paid for again
 * and again.
 */
const MAX_ATTEMPTS = 3;

/** A reverted one is CHAIN_REFUSED. */
export async function sendCall(client: ChainClient, account: ChainAccount, call: Call): Promise<TransactionReceipt> {
	const act = { id: `this act of ${account.address}`, isDone: async () => false, call };
	// Null would be: done before.
	return (await publish(client, account, memoryIntents(), act, MAX_ATTEMPTS))!;
}

// Sign, send, wait: for acts that are not journalled. Publications that must happen once are publish.ts.
import type { TransactionReceipt } from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { broadcast, settle } from "./settle.ts";
import { type Call, type ChainAccount, signCall, signReplacement } from "./sign.ts";

const MAX_ATTEMPTS = 3;

/** A reverted one is CHAIN_REFUSED. */
export async function sendCall(client: ChainClient, account: ChainAccount, call: Call): Promise<TransactionReceipt> {
	// ATTACK: a node that says each time that the nonce went to somebody else would have one act paid for again
	// and again.
	for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
		const signed = await client.nonceLock.run(account.address, async () => {
			const first = await signCall(client, account, call);
			await broadcast(client, first);
			return first;
		});
		const receipt = await settle(client, [signed], (before) => signReplacement(client, account, before));
		if (receipt === null) continue;
		if (receipt.status !== "success")
			throw new AssayError("CHAIN_REFUSED", `transaction ${receipt.transactionHash} was reverted`, {
				hint: "The chain changed between the estimate and the block; read its state and try again.",
			});
		return receipt;
	}
	throw new AssayError("CHAIN_REFUSED", `other transactions of ${account.address} took the place of this one`, {
		hint: "Another program uses the account, or the node does not tell the truth: look with another node whether it was done.",
	});
}

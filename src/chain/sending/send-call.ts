// Sign, send, wait: for acts that are not journalled. Publications that must happen once are publish.ts.
import type { TransactionReceipt } from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { memoryIntents, publish } from "./publish.ts";
import { outcomeUnknown } from "./settle.ts";
import type { Call, ChainAccount } from "./sign.ts";

/**
 * One nonce, ever: nothing here knows whether the chain would take the act twice. A reverted one is
 * CHAIN_REFUSED, one that will never happen CHAIN_TAKEN. Whatever else goes wrong after it was signed is
 * CHAIN_UNKNOWN, with its hash.
 */
export async function sendCall(
	client: ChainClient,
	account: ChainAccount,
	call: Call,
	isPayment = true,
): Promise<TransactionReceipt> {
	const journal = memoryIntents();
	const id = `this act of ${account.address}`;
	try {
		// Null would be: done before.
		return (await publish(client, account, journal, { id, isDone: async () => false, call, isPayment }))!;
	} catch (error) {
		const left = (await journal.get(id))?.at(-1);
		if (left === undefined || (error instanceof AssayError && error.code === "CHAIN_UNKNOWN")) throw error;
		throw outcomeUnknown(left, error);
	}
}

const MOST_ATTEMPTS = 3;

/** An act that its contract takes once at most: done anew when another program took its nonce. */
export async function sendGuarded(client: ChainClient, account: ChainAccount, call: Call): Promise<TransactionReceipt> {
	for (let attempt = 1; ; attempt++)
		try {
			return await sendCall(client, account, call, false);
		} catch (error) {
			if (attempt === MOST_ATTEMPTS || !(error instanceof AssayError && error.code === "CHAIN_TAKEN")) throw error;
		}
}

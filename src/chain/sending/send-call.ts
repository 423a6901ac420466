// Sign, send, wait: for acts that are not journalled. Publications that must happen once are publish.ts.
import { concat, type Hex, keccak256, numberToHex, type TransactionReceipt } from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { type IntentJournal, memoryIntents, publish } from "./publish.ts";
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
	const id = `this act of ${account.address}`;
	// Null would be: done before.
	return (await seenThrough(client, account, memoryIntents(), { id, isDone: async () => false, call, isPayment }))!;
}

async function seenThrough(...[client, account, journal, intent]: Parameters<typeof publish>) {
	try {
		return await publish(client, account, journal, intent);
	} catch (error) {
		const left = (await journal.get(intent.id))?.at(-1);
		if (left === undefined || (error instanceof AssayError && error.code === "CHAIN_UNKNOWN")) throw error;
		throw outcomeUnknown(left, error);
	}
}

/**
 * As sendCall, for whoever may be cut and asked again: the same call of the same account, while one is not
 * seen through, is that one. One at a time by account.
 */
export async function sendKept(
	client: ChainClient,
	account: ChainAccount,
	call: Call,
	book: IntentJournal,
	onEarlier: (hash: Hex) => void,
): Promise<void> {
	const { to, data, value = 0n } = call;
	const numbers = [client.chainId, value].map((number) => numberToHex(number, { size: 32 }));
	const id = keccak256(concat([account.address, to ?? "0x", ...numbers, data]));
	const earlier = await book.get(id);
	if (earlier !== null) onEarlier(earlier.at(-1)!.hash);
	await seenThrough(client, account, book, { id, isDone: async () => false, call, isPayment: true });
	// The next one is another payment.
	await book.remove(id);
}

const MAX_ATTEMPTS = 3;

/** An act that its contract takes once at most: done anew when another program took its nonce. */
export async function sendGuarded(client: ChainClient, account: ChainAccount, call: Call): Promise<TransactionReceipt> {
	for (let attempt = 1; ; attempt++)
		try {
			return await sendCall(client, account, call, false);
		} catch (error) {
			if (attempt === MAX_ATTEMPTS || !(error instanceof AssayError && error.code === "CHAIN_TAKEN")) throw error;
		}
}

// Publication that happens once. An intent has a name; its signed transaction is written to a journal before any node sees it, so that whoever comes after a
// crash sends the same bytes again, whose nonce can be used once, instead of making new ones. And chain state is asked first: what is there is not sent.
import type { TransactionReceipt } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { AssayError } from "../protocol/assay-error.ts";
import { broadcast, type Call, type ChainClient, type SignedTransaction, settle, signCall } from "./chain-client.ts";

/** Durable before `put` resolves. One account's intents belong in one journal, of one process at a time. */
export interface IntentJournal {
	get(id: string): Promise<SignedTransaction | null>;
	put(id: string, signed: SignedTransaction): Promise<void>;
	remove(id: string): Promise<void>;
}

export interface Intent {
	/** Unique for what it does, for example "commit/17". */
	readonly id: string;
	/** Whether the chain shows it as done, by whomever. */
	readonly isDone: () => Promise<boolean>;
	/** Made only when it is needed. */
	readonly call: () => Promise<Call>;
}

/** A receipt when a transaction of ours did it, null when it was done already. Refused by the contract: CHAIN_REFUSED, and nothing stays behind. */
export async function publish(
	client: ChainClient,
	account: PrivateKeyAccount,
	journal: IntentJournal,
	intent: Intent,
): Promise<TransactionReceipt | null> {
	// What an earlier process sent comes first: until its nonce is settled nobody knows whether it was done.
	let signed = await journal.get(intent.id);
	for (let attempt = 0; attempt < 8; attempt++) {
		if (signed === null) {
			if (await intent.isDone()) return null;
			signed = await signCall(client, account, await intent.call());
			await journal.put(intent.id, signed);
		}
		try {
			await broadcast(client, signed);
		} catch (error) {
			// An outage says nothing about it: the bytes stay, and the next round sends them again.
			if (error instanceof AssayError && error.code === "CHAIN_REFUSED") await journal.remove(intent.id);
			throw error;
		}
		const receipt = await settle(client, signed);
		await journal.remove(intent.id);
		if (receipt?.status === "success") return receipt;
		if (receipt !== null && !(await intent.isDone()))
			throw new AssayError("CHAIN_REFUSED", `the transaction of ${intent.id} (${signed.hash}) was reverted`, {
				hint: "The chain changed between the estimate and the block; it is tried again with the next round.",
			});
		// Its nonce went to another transaction of this account: look again, and if need be sign anew.
		signed = null;
	}
	throw new AssayError("CHAIN_REFUSED", `${intent.id} lost its nonce to other transactions again and again`, {
		hint: "Another program uses the same account. Give this one its own.",
	});
}

export function memoryIntents(): IntentJournal & { readonly size: () => number } {
	const kept = new Map<string, SignedTransaction>();
	return {
		get: async (id) => kept.get(id) ?? null,
		put: async (id, signed) => void kept.set(id, signed),
		remove: async (id) => void kept.delete(id),
		size: () => kept.size,
	};
}

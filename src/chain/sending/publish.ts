// A publication that happens once. An intent has a name; its signed transaction is written to a journal
// before any node sees it, so that whoever comes after a crash sends the same bytes again, whose nonce can be
// used once, instead of making new ones. And chain state is asked first: what is there is not sent.
import type { TransactionReceipt } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { broadcast, settle } from "./settle.ts";
import { type Call, type SignedTransaction, signCall, signReplacement } from "./sign.ts";

/** Of one nonce, oldest first: the first, and what took its place for a higher fee. */
export type SentIntent = readonly SignedTransaction[];

/** Durable before `put` resolves. One account's intents belong in one journal, of one process at a time. */
export interface IntentJournal {
	get(id: string): Promise<SentIntent | null>;
	/** May refuse: then this process must not send, because another one does. */
	put(id: string, sent: SentIntent): Promise<void>;
	remove(id: string): Promise<void>;
}

export interface Intent {
	/** Unique for what it does, for example "commit/17". */
	readonly id: string;
	/** Whether the chain shows it as done, by whomever. */
	readonly isDone: () => Promise<boolean>;
	readonly call: Call;
}

/** Null: it was done already. Refused by the contract: CHAIN_REFUSED, and nothing stays behind. */
export async function publish(
	client: ChainClient,
	account: PrivateKeyAccount,
	journal: IntentJournal,
	intent: Intent,
	attempts = 8,
): Promise<TransactionReceipt | null> {
	// What an earlier process sent comes first: until its nonce is settled nobody knows whether it was done.
	let sent = await journal.get(intent.id);
	for (let attempt = 0; attempt < attempts; attempt++) {
		if (sent === null) {
			if (await intent.isDone()) return null;
			try {
				sent = await client.nonceLock.run<SentIntent>(account.address, async () => {
					const first = [await signCall(client, account, intent.call)];
					await journal.put(intent.id, first);
					await handIn(first);
					return first;
				});
			} catch (error) {
				// Refused because somebody did it meanwhile.
				const isRefused = error instanceof AssayError && error.code === "CHAIN_REFUSED";
				if (isRefused && (await journal.get(intent.id)) === null && (await intent.isDone())) return null;
				throw error;
			}
		} else await handIn(sent);
		let all: SentIntent = sent;
		const receipt = await settle(client, sent, async (newest) => {
			const better = await signReplacement(client, account, newest);
			if (better === null) return null;
			// Before any node sees it: whichever of them is mined, whoever comes after a crash knows it as ours.
			all = [...all, better];
			await journal.put(intent.id, all);
			return better;
		});
		await journal.remove(intent.id);
		if (receipt?.status === "success") return receipt;
		if (receipt !== null && !(await intent.isDone()))
			throw new AssayError(
				"CHAIN_REFUSED",
				`the transaction of ${intent.id} (${receipt.transactionHash}) was reverted`,
				{
					hint: "The chain changed between the estimate and the block; it is tried again with the next round.",
				},
			);
		// Its nonce went to another transaction of this account: look again, and sign again if needed.
		sent = null;
	}
	throw new AssayError("CHAIN_REFUSED", `${intent.id} lost its nonce to other transactions again and again`, {
		hint: "Another program uses the account (give this one its own), or the node does not tell the truth.",
	});

	async function handIn(signed: SentIntent): Promise<void> {
		try {
			await broadcast(client, signed.at(-1)!);
		} catch (error) {
			// An outage says nothing about it: the bytes stay, and the next round sends them again. So does a
			// refusal of what may have been sent before.
			const isOver = error instanceof AssayError && error.code === "CHAIN_REFUSED" && signed.length === 1;
			if (isOver && !(await isKnown(client, signed[0]!))) await journal.remove(intent.id);
			throw error;
		}
	}
}

/** Whether the node has heard of it, or its nonce is used: then it may still be mined, or was. */
async function isKnown(client: ChainClient, { hash, from, nonce }: SignedTransaction): Promise<boolean> {
	if ((await client.rpc("eth_getTransactionByHash", [hash])) !== null) return true;
	return (await client.viem.getTransactionCount({ address: from })) > nonce;
}

export function memoryIntents(): IntentJournal & { readonly size: () => number } {
	const kept = new Map<string, SentIntent>();
	return {
		get: async (id) => kept.get(id) ?? null,
		put: async (id, sent) => void kept.set(id, sent),
		remove: async (id) => void kept.delete(id),
		size: () => kept.size,
	};
}

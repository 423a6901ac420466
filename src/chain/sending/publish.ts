// A publication that happens once. An intent has a name; its signed transaction is written to a journal
// before any node sees it, so that whoever comes after a crash sends the same bytes again, whose nonce can be
// used once, instead of making new ones. And chain state is asked first: what is there is not sent.
import type { Hex, TransactionReceipt } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { broadcast, outcomeUnknown, settle } from "./settle.ts";
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

/** One that outlives its process. */
export interface KeptIntents extends IntentJournal {
	/** Their names. */
	list(): Promise<readonly string[]>;
}

export interface Intent {
	/** Unique for what it does, for example "commit/17". */
	readonly id: string;
	/** Whether the chain shows it as done, by whomever. */
	readonly isDone: () => Promise<boolean>;
	readonly call: Call;
	/**
	 * The chain would take it twice, so it has one nonce, ever; and its entry stays, as a book of payments.
	 */
	readonly isPayment?: boolean;
}

/**
 * Null: it was done already. Refused by the contract: CHAIN_REFUSED, and nothing stays behind. CHAIN_TAKEN:
 * another transaction of this account has its nonce, so it will never happen, and may be begun anew.
 * CHAIN_UNKNOWN: it may have happened; its entry stays, and whoever publishes it again looks at that one.
 */
export async function publish(
	client: ChainClient,
	account: PrivateKeyAccount,
	journal: IntentJournal,
	intent: Intent,
): Promise<TransactionReceipt | null> {
	// What an earlier process sent comes first: until its nonce is settled nobody knows whether it was done.
	let sent = await journal.get(intent.id);
	if (sent === null) {
		if (await intent.isDone()) return null;
		try {
			sent = await begin(client, account, journal, intent);
		} catch (error) {
			// Refused because somebody did it meanwhile.
			const isRefused = error instanceof AssayError && error.code === "CHAIN_REFUSED";
			if (isRefused && (await journal.get(intent.id)) === null && (await intent.isDone())) return null;
			throw error;
		}
	} else if (sent.at(-1)!.isMined) return null;
	else await handIn(client, journal, intent.id, sent);
	let all: SentIntent = sent;
	const { receipt, taker } = await settle(client, sent, async (newest) => {
		const better = await signReplacement(client, account, newest);
		if (better === null) return null;
		// Before any node sees it: whichever of them is mined, whoever comes after a crash knows it as ours.
		all = [...all, better];
		await journal.put(intent.id, all);
		return better;
	});
	if (receipt === null) {
		if (taker === null && intent.isPayment) throw outcomeUnknown(all.at(-1)!);
		await journal.remove(intent.id);
		if (await intent.isDone()) return null;
		throw nonceTaken(all.at(-1)!, taker);
	}
	await keepMined(journal, intent.id, all, receipt);
	if (receipt.status === "success") return receipt;
	if (await intent.isDone()) return null;
	throw new AssayError("CHAIN_REFUSED", `the transaction of ${intent.id} (${receipt.transactionHash}) was reverted`, {
		hint: "The chain changed between the estimate and the block; it is tried again with the next round.",
	});
}

/** Signed, kept and handed in, before the account's next one is signed. */
const begin = (client: ChainClient, account: PrivateKeyAccount, journal: IntentJournal, intent: Intent) =>
	client.nonceLock.run<SentIntent>(account.address, async () => {
		const signed = await signCall(client, account, intent.call);
		const first = [intent.isPayment ? ({ ...signed, isPayment: true } as const) : signed];
		await journal.put(intent.id, first);
		await handIn(client, journal, intent.id, first);
		return first;
	});

async function handIn(client: ChainClient, journal: IntentJournal, id: string, signed: SentIntent): Promise<void> {
	try {
		await broadcast(client, signed.at(-1)!);
	} catch (error) {
		// An outage says nothing about it: the bytes stay, and the next round sends them again. So does a
		// refusal of what may have been sent before.
		// The embedded chain says CHAIN_JOURNAL when its disk is full. It can be asked then whether it has the
		// transaction, but not when it does not know itself what became of a block.
		const isAnswer = error instanceof AssayError && ["CHAIN_REFUSED", "CHAIN_JOURNAL"].includes(error.code);
		if (!isAnswer) throw error;
		if (signed.length > 1 || (await isKnown(client, signed[0]!))) return;
		await journal.remove(id);
		throw error;
	}
}

/** A payment that was mined stays in the book, as what was paid; a reverted one paid nothing. */
async function keepMined(
	journal: IntentJournal,
	id: string,
	sent: SentIntent,
	{ transactionHash, status }: TransactionReceipt,
): Promise<void> {
	const mined = sent.find(({ hash }) => hash === transactionHash);
	if (mined === undefined || sent[0]!.isPayment !== true || status !== "success") return journal.remove(id);
	await journal.put(id, [{ ...mined, isPayment: true, isMined: true }]);
}

/**
 * Looks once more at what is left in a journal: what nobody publishes any more because its job is over, or
 * because its row could not be removed in time. One of them that is not settled yet is handed in again.
 */
export async function lookAgain(
	client: ChainClient,
	journal: KeptIntents,
	onUnsettled: (id: string, error: unknown) => void,
): Promise<void> {
	for (const id of await journal.list()) {
		const sent = await journal.get(id);
		if (sent === null || sent.at(-1)!.isMined) continue;
		try {
			const { receipt, taker } = await settle(client, sent, null, 1);
			if (receipt !== null) {
				await keepMined(journal, id, sent, receipt);
				continue;
			}
			await journal.remove(id);
			if (sent[0]!.isPayment) onUnsettled(id, nonceTaken(sent.at(-1)!, taker));
		} catch (error) {
			onUnsettled(id, error);
		}
	}
}

const nonceTaken = ({ hash, nonce }: SignedTransaction, taker: Hex | null): AssayError =>
	new AssayError(
		"CHAIN_TAKEN",
		`transaction ${hash} did not happen: ${taker ?? "another one"} has its nonce ${nonce}`,
		{
			hint: "Another program uses the account at the same time; give each its own. It can be done again now.",
		},
	);

/** A node that is behind, of several behind one address, does not answer every time. */
const MAX_DENIALS = 8;

/** Whether a node has heard of it, or its nonce is used: then it may still be mined, or was. */
async function isKnown(client: ChainClient, { hash, from, nonce, isPayment }: SignedTransaction): Promise<boolean> {
	for (let left = isPayment ? MAX_DENIALS : 1; ; ) {
		if ((await client.rpc("eth_getTransactionByHash", [hash])) !== null) return true;
		if ((await client.viem.getTransactionCount({ address: from })) > nonce) return true;
		if (--left === 0) return false;
		await client.sleep(client.pollMs);
	}
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

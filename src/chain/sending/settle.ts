// Sees a signed transaction through: handed in, again while it is in no block, replaced by a better paid one
// of the same nonce when blocks pass without it, and waited for until it is deep enough. INVARIANT: whatever
// happens, one of them at most is mined, because their nonce is used once. docs/epochs.md §4.
import { BaseError, type Hex, type TransactionReceipt } from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { RpcRefusal } from "../node/rpc.ts";
import { refusal } from "./refusal.ts";
import type { SignedTransaction } from "./sign.ts";

/** Ten minutes of polls. */
const MAX_POLLS = 300;
/**
 * Blocks without a transaction that was handed in, until it is replaced by a better paid one: twice the base
 * fee was offered, which rises by at most an eighth a block, so four are not chance.
 */
const STUCK_BLOCKS = 4n;
/** An eighth more each time: 28 times the first offer. */
const MAX_REPLACEMENTS = 28;

/** What nodes say of a transaction that they have, or whose nonce is used: `settle` finds out which. */
const KNOWN = /already known|already exists|known transaction|already imported|nonce|replacement/i;
const TOO_CHEAP = /underpriced|fee too low|less than (the )?(block )?base ?fee|max ?fee per gas|maxFeePerGas/i;

/** Hands it to the node. False: the node wants a higher fee before it takes it. */
export async function broadcast(client: ChainClient, { raw }: SignedTransaction): Promise<boolean> {
	try {
		await client.rpc("eth_sendRawTransaction", [raw]);
		return true;
	} catch (error) {
		if (!(error instanceof RpcRefusal)) throw error;
		if (TOO_CHEAP.test(error.message)) return false;
		if (!KNOWN.test(error.message)) throw refusal(error);
		return true;
	}
}

/** The next one, durable before it is returned; null: none may be made. */
export type Replace = (newest: SignedTransaction) => Promise<SignedTransaction | null>;

/** `sent` share a nonce, oldest first. Null: another transaction used that nonce. */
export async function settle(
	client: ChainClient,
	sent: readonly SignedTransaction[],
	replace: Replace | null = null,
): Promise<TransactionReceipt | null> {
	const { viem } = client;
	const tried = [...sent];
	let sinceBlock: bigint | null = null;
	for (let polls = 0; polls < MAX_POLLS; polls++) {
		const newest = tried.at(-1)!;
		const receipt = await anyReceipt(client, tried);
		const head = await viem.getBlockNumber();
		if (receipt !== null) {
			sinceBlock = null;
			if (head - receipt.blockNumber + 1n >= BigInt(client.confirmations)) return receipt;
		} else {
			const mined = await viem.getTransactionCount({ address: newest.from, blockNumber: deepest(client, head) });
			if (mined > newest.nonce) {
				// It may have been mined between the two questions.
				if ((await anyReceipt(client, tried)) !== null) continue;
				return null;
			}
			sinceBlock ??= head;
			const isTaken = await broadcast(client, newest);
			const isStuck = !isTaken || head - sinceBlock >= STUCK_BLOCKS;
			if (isStuck && replace !== null && tried.length <= MAX_REPLACEMENTS) {
				const better = await replace(newest);
				if (better !== null) {
					tried.push(better);
					await broadcast(client, better);
				}
				sinceBlock = head;
			}
			if (client.confirmations <= 1 && (await anyReceipt(client, tried)) !== null) continue;
		}
		await client.sleep(client.pollMs);
	}
	throw new AssayError("CHAIN_UNREACHABLE", `transaction ${tried.at(-1)!.hash} is not deep enough in the chain yet`, {
		hint: "The chain is slow, or asks for more than may be paid; it is waited for again with the next round.",
	});
}

async function anyReceipt(
	client: ChainClient,
	tried: readonly SignedTransaction[],
): Promise<TransactionReceipt | null> {
	for (const { hash } of tried.toReversed()) {
		const receipt = await receiptOf(client, hash);
		if (receipt !== null) return receipt;
	}
	return null;
}

/**
 * ATTACK: a node that makes receipts up, or is behind a balancer with another one. What does not fit its own
 * block is no receipt. One node that lies in everything cannot be caught by asking it: then the next round,
 * or an honest node, shows that it was not done.
 */
async function receiptOf({ viem, rpc }: ChainClient, hash: Hex): Promise<TransactionReceipt | null> {
	const receipt = await viem.getTransactionReceipt({ hash }).catch(notFound);
	if (receipt === null) return null;
	const block = (await rpc("eth_getBlockByNumber", [`0x${receipt.blockNumber.toString(16)}`, false])) as {
		readonly hash?: unknown;
		readonly transactions?: unknown;
	} | null;
	const isIn =
		receipt.transactionHash === hash &&
		block?.hash === receipt.blockHash &&
		Array.isArray(block.transactions) &&
		block.transactions.includes(hash);
	return isIn ? receipt : null;
}

const deepest = (client: ChainClient, head: bigint) => {
	const at = head - BigInt(client.confirmations) + 1n;
	return at > 0n ? at : 0n;
};

function notFound(error: unknown): null {
	if (error instanceof BaseError && error.walk((e) => (e as Error).name === "TransactionReceiptNotFoundError") !== null)
		return null;
	throw error;
}

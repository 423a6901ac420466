// Sees a signed transaction through: handed in, again while it is in no block, replaced by a better paid one
// of the same nonce when blocks pass without it, and waited for until it is deep enough. INVARIANT: whatever
// happens, one of them at most is mined, because their nonce is used once. docs/epochs.md §4.
import {
	BaseError,
	type Hex,
	keccak256,
	recoverTransactionAddress,
	type Signature,
	serializeTransaction,
	type Transaction,
	type TransactionReceipt,
	type TransactionSerializable,
	type TransactionSerialized,
} from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { RpcRefusal } from "../node/rpc.ts";
import { refusal } from "./refusal.ts";
import type { SignedTransaction } from "./sign.ts";

/** Ten minutes of polls. */
const MAX_POLLS = 300;
/**
 * Blocks by which a node behind a balancer may lag, with room to spare: some 30 s of a quick chain are 14.
 */
const LATE_BLOCKS = 32;
const MIN_DENIALS = 8;
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
export async function broadcast(client: ChainClient, { raw, from, nonce }: SignedTransaction): Promise<boolean> {
	try {
		await client.rpc("eth_sendRawTransaction", [raw]);
		client.nonces.used(from, nonce);
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

export interface Settled {
	/** Null: it was not mined, and its nonce is used. */
	readonly receipt: TransactionReceipt | null;
	/** Who used it instead; null: nobody knows, and poll after poll over many blocks denies that we did. */
	readonly taker: Hex | null;
}

/**
 * `sent` share a nonce, oldest first. "Not found" is not "lost": a node may be behind, or one of several
 * behind a balancer. So a nonce counts as another's only when the transaction that took it is found and
 * signed by this account. CHAIN_UNKNOWN: still nobody knows.
 */
export async function settle(
	client: ChainClient,
	sent: readonly SignedTransaction[],
	replace: Replace | null = null,
	mostPolls = MAX_POLLS,
): Promise<Settled> {
	const tried = [...sent];
	let sinceBlock: bigint | null = null;
	let goneAt: bigint | null = null;
	let denials = 0;
	let isOurs = false;
	let head = 0n;
	for (let polls = 0; polls < mostPolls; polls++) {
		const newest = tried.at(-1)!;
		const receipt = await anyReceipt(client, tried);
		head = larger(head, await client.viem.getBlockNumber());
		if (receipt !== null) {
			sinceBlock = null;
			if (head - receipt.blockNumber + 1n >= BigInt(client.confirmations)) {
				client.nonces.used(newest.from, newest.nonce);
				return { receipt, taker: null };
			}
		} else if (await isNonceUsed(client, newest, deepest(client, head))) {
			goneAt ??= head;
			const taker = isOurs ? null : await findTaker(client, newest, deepest(client, head));
			// It may have been mined between the two questions; and the node with the receipt may be behind.
			isOurs ||= tried.some(({ hash }) => hash === taker);
			if (taker !== null && !isOurs) {
				client.nonces.used(newest.from, newest.nonce);
				return { receipt: null, taker };
			}
			denials++;
			const isLong = head - goneAt > BigInt(client.confirmations + LATE_BLOCKS);
			if (!isOurs && isLong && denials >= MIN_DENIALS) return { receipt: null, taker: null };
		} else {
			isOurs = false;
			sinceBlock ??= head;
			// What refuses it now may be a node that is behind, and another one may have taken it.
			const isTaken = await broadcast(client, newest).catch(isHeldOpen);
			const isStuck = !isTaken || head - sinceBlock >= STUCK_BLOCKS;
			if (isStuck && goneAt === null && replace !== null && tried.length <= MAX_REPLACEMENTS) {
				const better = await replace(newest);
				if (better !== null) {
					tried.push(better);
					await broadcast(client, better).catch(isHeldOpen);
				}
				sinceBlock = head;
			}
			if (client.confirmations <= 1 && (await anyReceipt(client, tried)) !== null) continue;
		}
		if (polls + 1 < mostPolls) await client.sleep(client.pollMs);
	}
	throw outcomeUnknown(tried.at(-1)!);
}

function isHeldOpen(error: unknown): true {
	if (error instanceof AssayError && error.code === "CHAIN_REFUSED") return true;
	throw error;
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

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const deepest = (client: ChainClient, head: bigint) => larger(head - BigInt(client.confirmations) + 1n, 0n);

/** As the node that answers knows it; one that does not have the block yet knows of no use. */
async function isNonceUsed({ viem }: ChainClient, { from, nonce }: SignedTransaction, at: bigint): Promise<boolean> {
	try {
		return (await viem.getTransactionCount({ address: from, blockNumber: at })) > nonce;
	} catch (error) {
		if (isRefused(error)) return false;
		throw error;
	}
}

/**
 * The transaction that has this nonce, by halves from `deep` back, in whose block the nonce is used. Null:
 * the answers do not agree, or are not to be had. ATTACK: a node cannot make one up, as the account signed
 * it.
 */
async function findTaker(client: ChainClient, sent: SignedTransaction, deep: bigint): Promise<Hex | null> {
	let [low, high] = [deep, deep];
	for (let step = 1n; low > 0n && (await isNonceUsed(client, sent, low)); step *= 2n) {
		high = low;
		low = larger(low - step, 0n);
	}
	while (low < high) {
		const middle = (low + high) / 2n;
		if (await isNonceUsed(client, sent, middle)) high = middle;
		else low = middle + 1n;
	}
	const block = await client.viem.getBlock({ blockNumber: low, includeTransactions: true }).catch((error: unknown) => {
		if (isRefused(error) || isNotFound(error, "BlockNotFoundError")) return null;
		throw error;
	});
	const from = sent.from.toLowerCase();
	const found = block?.transactions.find((one) => one.from.toLowerCase() === from && one.nonce === sent.nonce);
	return found !== undefined && (await isSignedBy(found, from)) ? found.hash : null;
}

/** Whether the account signed what the node shows under this hash. */
async function isSignedBy(shown: Transaction, from: string): Promise<boolean> {
	try {
		const { input: data, r, s, v, yParity, ...rest } = shown;
		const signature = { r, s, v, ...(yParity === undefined ? {} : { yParity }) };
		const raw = serializeTransaction({ ...rest, data } as TransactionSerializable, signature as Signature);
		const signer = await recoverTransactionAddress({ serializedTransaction: raw as TransactionSerialized });
		return keccak256(raw) === shown.hash && signer.toLowerCase() === from;
	} catch {
		return false;
	}
}

const isNotFound = (error: unknown, name: string): boolean =>
	error instanceof BaseError && error.walk((e) => (e as Error).name === name) !== null;
const isRefused = (error: unknown): boolean =>
	error instanceof RpcRefusal || (error instanceof BaseError && error.walk((e) => e instanceof RpcRefusal) !== null);

function notFound(error: unknown): null {
	if (isNotFound(error, "TransactionReceiptNotFoundError")) return null;
	throw error;
}

/** It may still be mined, or was: nobody may do the same again under another nonce. */
export const outcomeUnknown = ({ hash }: SignedTransaction, cause?: unknown): AssayError =>
	new AssayError("CHAIN_UNKNOWN", `nobody knows yet what became of transaction ${hash}`, {
		hint: "It may have happened, or happen later: look for it at a node or an explorer of the chain before you do the same again. What a validator sends is looked at again by itself, and `assay chain send` with the same words looks at this one again.",
		cause,
	});

// The chain as public requests may read it: whatever many of them ask, a node is asked little. Everything is kept for as long as the newest block stays the same, all who
// ask at once share one question, few questions are open at a time, and a node that is silent is a clear answer within seconds. Sending is chain-round.ts's.
import type { Contracts } from "../../../chain/contracts/contracts.ts";
import { type ChainHistory, createChainHistory } from "../../../chain/history/chain-history.ts";
import { createChainClient } from "../../../chain/node/chain-client.ts";
import { httpRpc } from "../../../chain/node/http-rpc.ts";
import { type Rpc, RpcRefusal } from "../../../chain/node/rpc.ts";
import { isInTime } from "../../../platform/abortable.ts";
import { BoundedMap } from "../../../platform/bounded-map.ts";
import type { Environment } from "../../../platform/environment.ts";
import { createSemaphore } from "../../../platform/semaphore.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { ChainHome } from "../../settlement/home.ts";

interface ChainHead {
	readonly number: number;
	readonly hash: Hex;
	readonly atMs: number;
}

interface SentTransaction {
	readonly from: Hex;
	readonly gasUsed: number;
	readonly atMs: number;
}

export interface ChainReader {
	readonly contracts: Contracts;
	readonly history: () => ChainHistory;
	/** The newest block, with the history up to it. CHAIN_UNREACHABLE when the node does not answer. */
	head(): Promise<ChainHead>;
	/** What `make` gives for the newest block; asked once for each, whoever asks. */
	atHead<T>(key: string, make: (head: ChainHead) => Promise<T>): Promise<T>;
	/** What never changes. A failure is not kept. */
	once<T>(key: string, make: () => Promise<T>): Promise<T>;
	/** When a block was made. */
	blockAtMs(number: number): Promise<number>;
	/** Null when the node has no receipt of it. */
	transaction(hash: Hex, block: number): Promise<SentTransaction | null>;
}

/** Younger than this the newest block counts as the newest: blocks come every 12 s, and pages are told of what this validator does. */
const HEAD_US = 1_000_000;
const ANSWER_WITHIN_MS = 3000;
const READY_WITHIN_MS = 4000;
const MAX_OPEN = 8;
const MAX_WAITING = 2000;
const MAX_KEPT = 500;
const MAX_SETTLED = 20_000;

const unreachable = (why: string, cause?: unknown) =>
	new AssayError("CHAIN_UNREACHABLE", why, {
		hint: "Check the chain's node; what is shown elsewhere does not depend on it. Try again in a moment.",
		...(cause === undefined ? {} : { cause }),
	});

export async function createChainReader(
	home: Pick<ChainHome, "contracts" | "url">,
	env: Pick<Environment, "ratesClockUs" | "after">,
	node: Rpc = httpRpc(home.url),
): Promise<ChainReader> {
	const within = async <T>(ms: number, asked: Promise<T>, why: string): Promise<T> => {
		if (!(await isInTime(asked, ms, env.after))) throw unreachable(why);
		return asked;
	};

	// Not the client that sends: that one waits for minutes where a visitor should be told.
	const semaphore = createSemaphore(MAX_OPEN);
	const bounded: Rpc = async (method, params) => {
		// The id is known, and viem asks for it when it is made.
		if (method === "eth_chainId") return `0x${home.contracts.client.chainId.toString(16)}`;
		if (semaphore.waiting() >= MAX_WAITING) throw unreachable("too many questions wait for the chain's node");
		const release = await semaphore.acquire();
		try {
			return await within(ANSWER_WITHIN_MS, node(method, params), `the chain's node gave no answer to ${method}`);
		} catch (error) {
			if (error instanceof RpcRefusal || error instanceof AssayError) throw error;
			throw unreachable("the chain's node cannot be reached", error);
		} finally {
			release();
		}
	};
	const client = await createChainClient(bounded, { confirmations: home.contracts.client.confirmations });
	const contracts = { client, addresses: home.contracts.addresses };
	let history = createChainHistory(contracts);

	async function load(): Promise<ChainHead> {
		try {
			await history.refresh();
		} catch (error) {
			// Another chain than before, or deeper changes than are remembered: all is read again.
			if (error instanceof AssayError && error.code === "CHAIN_REORGANISED") {
				history = createChainHistory(contracts);
				throw unreachable("the chain changed deeply and is read again", error);
			}
			throw error;
		}
		const { number, hash, timestamp } = await client.viem.getBlock({ blockTag: "latest" });
		return { number: Number(number), hash, atMs: Number(timestamp) * 1000 };
	}

	let newest: { readonly atUs: number; readonly head: Promise<ChainHead> } | null = null;
	function head(): Promise<ChainHead> {
		const nowUs = env.ratesClockUs();
		if (newest === null || nowUs - newest.atUs >= HEAD_US) {
			const asked = within(READY_WITHIN_MS, told(load()), "the chain's history is still being read");
			// A failure, too, is shared by whoever asks within the second; the node is not asked again for each.
			asked.catch(() => {});
			newest = { atUs: nowUs, head: asked };
		}
		return newest.head;
	}

	const kept = new BoundedMap<string, { readonly hash: Hex; readonly value: Promise<unknown> }>(MAX_KEPT);
	const settled = new BoundedMap<string, Promise<unknown>>(MAX_SETTLED);

	function once<T>(key: string, make: () => Promise<T>): Promise<T> {
		const found = settled.get(key);
		if (found !== undefined) return found as Promise<T>;
		const value = told(make());
		settled.set(key, value);
		value.catch(() => settled.delete(key));
		return value;
	}

	async function atHead<T>(key: string, make: (head: ChainHead) => Promise<T>): Promise<T> {
		const now = await head();
		const found = kept.get(key);
		if (found?.hash === now.hash) return found.value as Promise<T>;
		const value = told(make(now));
		kept.set(key, { hash: now.hash, value });
		value.catch(() => {
			if (kept.get(key)?.value === value) kept.delete(key);
		});
		return value;
	}

	async function receiptOf(hash: Hex, block: number): Promise<SentTransaction | null> {
		const receipt = (await client.rpc("eth_getTransactionReceipt", [hash])) as {
			from?: string;
			gasUsed?: string;
			blockNumber?: string;
		} | null;
		// A node's answer: shown only when it is one, and of the block that the event was in.
		if (receipt === null || Number(receipt.blockNumber) !== block) return null;
		if (!/^0x[0-9a-fA-F]{40}$/.test(receipt.from ?? "") || !/^0x[0-9a-f]{1,13}$/i.test(receipt.gasUsed ?? ""))
			return null;
		const from = receipt.from!.toLowerCase() as Hex;
		return { from, gasUsed: Number(receipt.gasUsed), atMs: await blockAtMs(block) };
	}

	/** For ever when the block is deep; what may still be taken back is asked for again with each new one. */
	async function sinceBlock<T>(key: string, block: number, make: () => Promise<T>): Promise<T> {
		const isDeep = (await head()).number - block + 1 >= client.confirmations;
		return isDeep ? once(key, make) : atHead(key, make);
	}

	const blockAtMs = (number: number): Promise<number> =>
		sinceBlock(`block ${number}`, number, async () => {
			const { timestamp } = await client.viem.getBlock({ blockNumber: BigInt(number) });
			return Number(timestamp) * 1000;
		});

	return {
		contracts,
		history: () => history,
		head,
		once,
		atHead,
		blockAtMs,
		transaction: (hash, block) => sinceBlock(`transaction ${hash} ${block}`, block, () => receiptOf(hash, block)),
	};
}

/** Whatever viem wrapped it in: what may be told. */
async function told<T>(asked: Promise<T>): Promise<T> {
	try {
		return await asked;
	} catch (error) {
		for (let cause = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth++)
			if (cause instanceof AssayError) throw cause;
		throw unreachable("the chain's node gave no usable answer", error);
	}
}

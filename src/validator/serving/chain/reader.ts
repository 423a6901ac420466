// The chain as public requests may read it: whatever many of them ask, a node is asked little. Everything is
// kept for as long as the newest block stays the same, all who ask at once share one question, few questions
// are open at a time, and a node that is silent is a clear answer within seconds. Sending is settlement/'s.
import type { Contracts } from "../../../chain/contracts/contracts.ts";
import { ChainHistory } from "../../../chain/history/chain-history.ts";
import { createChainClient } from "../../../chain/node/chain-client.ts";
import { httpRpc } from "../../../chain/node/http-rpc.ts";
import { neverBehind } from "../../../chain/node/never-behind.ts";
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

type Clock = Pick<Environment, "ratesClockUs" | "after">;

/** How long the newest block is taken for the newest: blocks come every 12 s. */
const HEAD_US = 1_000_000;
const ANSWER_WITHIN_MS = 3000;
const READY_WITHIN_MS = 4000;
/**
 * Of a chain in this process, which is never away: where it is slow, so is all else here, and waiting helps.
 */
const OWN_CHAIN_TIMES = 20;
const MAX_OPEN = 8;
const MAX_WAITING = 2000;
const MAX_KEPT = 500;
const MAX_SETTLED = 20_000;

export async function createChainReader(
	home: Pick<ChainHome, "contracts" | "url" | "isHost" | "lateness">,
	clock: Clock,
	node: Rpc = neverBehind(httpRpc(home.url), home.lateness),
): Promise<ChainReader> {
	const { client, addresses } = home.contracts;
	// Not the client that sends: that one waits for minutes, and a visitor should get an answer.
	const patience = home.isHost ? OWN_CHAIN_TIMES : 1;
	const rpc = bounded(node, client.chainId, clock, patience * ANSWER_WITHIN_MS);
	const own = await createChainClient(rpc, { confirmations: client.confirmations });
	return new ChainReader({ client: own, addresses }, clock, patience * READY_WITHIN_MS);
}

export class ChainReader {
	readonly contracts: Contracts;
	private readonly clock: Clock;
	private readonly readyWithinMs: number;
	private past: ChainHistory;
	private newest: { readonly atUs: number; readonly head: Promise<ChainHead> } | null = null;
	private readonly kept = new BoundedMap<string, { readonly hash: Hex; readonly value: Promise<unknown> }>(MAX_KEPT);
	private readonly settled = new BoundedMap<string, Promise<unknown>>(MAX_SETTLED);

	constructor(contracts: Contracts, clock: Clock, readyWithinMs: number) {
		this.contracts = contracts;
		this.clock = clock;
		this.readyWithinMs = readyWithinMs;
		this.past = new ChainHistory(contracts);
	}

	/** As of the last `head`. */
	history(): ChainHistory {
		return this.past;
	}

	/** The newest block, with the history up to it. CHAIN_UNREACHABLE when the node does not answer. */
	head(): Promise<ChainHead> {
		const nowUs = this.clock.ratesClockUs();
		if (this.newest === null || nowUs - this.newest.atUs >= HEAD_US) {
			const why = "the chain's history is still being read";
			const asked = within(this.clock, this.readyWithinMs, told(this.load()), why);
			// A failure, too, is shared by whoever asks within the second; the node is not asked again for each.
			asked.catch(() => {});
			this.newest = { atUs: nowUs, head: asked };
		}
		return this.newest.head;
	}

	/** What `make` gives for the newest block; asked once for each, whoever asks. */
	async atHead<T>(key: string, make: (head: ChainHead) => Promise<T>): Promise<T> {
		const now = await this.head();
		const found = this.kept.get(key);
		if (found?.hash === now.hash) return found.value as Promise<T>;
		const value = told(make(now));
		this.kept.set(key, { hash: now.hash, value });
		value.catch(() => {
			if (this.kept.get(key)?.value === value) this.kept.delete(key);
		});
		return value;
	}

	/** What never changes. A failure is not kept. */
	once<T>(key: string, make: () => Promise<T>): Promise<T> {
		const found = this.settled.get(key);
		if (found !== undefined) return found as Promise<T>;
		const value = told(make());
		this.settled.set(key, value);
		value.catch(() => this.settled.delete(key));
		return value;
	}

	/** When a block was made. */
	blockAtMs(number: number): Promise<number> {
		return this.sinceBlock(`block ${number}`, number, async () => {
			const { timestamp } = await this.contracts.client.viem.getBlock({ blockNumber: BigInt(number) });
			return Number(timestamp) * 1000;
		});
	}

	/** Null when the node has no receipt of it. */
	transaction(hash: Hex, block: number): Promise<SentTransaction | null> {
		return this.sinceBlock(`transaction ${hash} ${block}`, block, () => this.receiptOf(hash, block));
	}

	/** For ever when the block is deep; what may still be taken back is asked for again with each new one. */
	private async sinceBlock<T>(key: string, block: number, make: () => Promise<T>): Promise<T> {
		const isDeep = (await this.head()).number - block + 1 >= this.contracts.client.confirmations;
		return isDeep ? this.once(key, make) : this.atHead(key, make);
	}

	private async load(): Promise<ChainHead> {
		try {
			await this.past.refresh();
		} catch (error) {
			if (!(error instanceof AssayError && error.code === "CHAIN_REORGANISED")) throw error;
			// Another chain than before, or deeper changes than are remembered: all is read again.
			this.past = new ChainHistory(this.contracts);
			throw unreachable("the chain changed deeply and is read again", error);
		}
		const { number, hash, timestamp } = await this.contracts.client.viem.getBlock({ blockTag: "latest" });
		return { number: Number(number), hash, atMs: Number(timestamp) * 1000 };
	}

	private async receiptOf(hash: Hex, block: number): Promise<SentTransaction | null> {
		const receipt = (await this.contracts.client.rpc("eth_getTransactionReceipt", [hash])) as {
			from?: string;
			gasUsed?: string;
			blockNumber?: string;
		} | null;
		// A node's answer: shown only when it is one, and of the block that the event was in.
		if (receipt === null || Number(receipt.blockNumber) !== block) return null;
		const { from = "", gasUsed = "" } = receipt;
		if (!/^0x[0-9a-fA-F]{40}$/.test(from) || !/^0x[0-9a-f]{1,13}$/i.test(gasUsed)) return null;
		return { from: from.toLowerCase() as Hex, gasUsed: Number(gasUsed), atMs: await this.blockAtMs(block) };
	}
}

/** The node, with few questions open at a time and an answer, or CHAIN_UNREACHABLE, within seconds. */
function bounded(node: Rpc, chainId: number, clock: Clock, answerWithinMs: number): Rpc {
	const semaphore = createSemaphore(MAX_OPEN);
	return async (method, params) => {
		// The id is known, and asked for when a client is made.
		if (method === "eth_chainId") return `0x${chainId.toString(16)}`;
		if (semaphore.waiting() >= MAX_WAITING) throw unreachable("too many questions wait for the chain's node");
		const release = await semaphore.acquire();
		try {
			const why = `the chain's node gave no answer to ${method}`;
			return await within(clock, answerWithinMs, node(method, params), why);
		} catch (error) {
			if (error instanceof RpcRefusal || error instanceof AssayError) throw error;
			throw unreachable("the chain's node cannot be reached", error);
		} finally {
			release();
		}
	};
}

async function within<T>(clock: Clock, ms: number, asked: Promise<T>, why: string): Promise<T> {
	if (!(await isInTime(asked, ms, clock.after))) throw unreachable(why);
	return asked;
}

const unreachable = (why: string, cause?: unknown) =>
	new AssayError("CHAIN_UNREACHABLE", why, {
		hint: "Check the chain's node; what is shown elsewhere does not depend on it. Try again in a moment.",
		...(cause === undefined ? {} : { cause }),
	});

/** What a node says in answer to nonsense is for its log, not for a visitor. */
const told = <T>(asked: Promise<T>): Promise<T> =>
	asked.catch((error) => {
		throw error instanceof AssayError ? error : unreachable("the chain's node gave no usable answer", error);
	});

// A chain of one's own in a folder: an EVM in this process whose blocks are journalled and replayed at the
// next start, hash for hash. For one machine, trials and tests: whoever can write the folder can rewrite the
// chain. docs/chain.md.
//
// The EVM cannot dump its state; but the same transactions at the same timestamps make the same blocks, so
// the journal is the state. A block is on disk before anyone hears of it. Blocks are made when a transaction
// comes, and otherwise at most every BLOCK_EVERY_MS, and only when somebody looks at blocks.
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder, readIfPresent, syncFolder, writeDurably } from "../../platform/durable-file.ts";
import { type FolderLock, lockFolder } from "../../platform/folder-lock.ts";
import { createMutex } from "../../platform/keyed-mutex.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { createEdrProvider, type Genesis } from "./edr-provider.ts";
import type { Rpc } from "./rpc.ts";

export type EmbeddedChain = Awaited<ReturnType<typeof openLocked>>;

export interface EmbeddedOptions {
	readonly folder: string;
	/** Used when the folder is new. */
	readonly genesis: Genesis;
	readonly nowMs: () => number;
}

interface Line {
	/** Timestamp in seconds. */
	readonly t: number;
	/** Raw transactions that came before this block. */
	readonly x?: readonly string[];
	readonly h: string;
}

interface Block {
	readonly hash: string;
	readonly timestamp: string;
}

/** Longest age of the newest block while somebody asks for it. */
const BLOCK_EVERY_MS = 12_000;
/** Calls need no block to see the time: a waiting validator makes 288 blocks a day instead of 7,200. */
const BLOCK_FOR_CALLS = 25;
/** What outsiders may ask. Setting balances, clocks or code would make state that is not in the journal. */
const READS = new Set(
	(
		"eth_blockNumber eth_call eth_chainId eth_estimateGas eth_feeHistory eth_gasPrice eth_getBalance eth_getBlockByHash eth_getBlockByNumber " +
		"eth_getCode eth_getLogs eth_getStorageAt eth_getTransactionByHash eth_getTransactionCount eth_getTransactionReceipt eth_maxPriorityFeePerGas " +
		"eth_accounts eth_syncing net_version net_listening web3_clientVersion"
	).split(" "),
);
/** Answers depend on the newest block or on the clock. */
const LOOKS_AT_NOW = new Set(["eth_blockNumber", "eth_call", "eth_estimateGas", "eth_getBlockByNumber", "eth_getLogs"]);
/** Whoever asks these wants to know what the newest block is. */
const LOOKS_AT_BLOCKS = new Set(["eth_blockNumber", "eth_getBlockByNumber"]);

export async function openEmbeddedChain(options: EmbeddedOptions): Promise<EmbeddedChain> {
	await makeFolder(options.folder);
	// Two processes on one journal would destroy it.
	const lock = await lockFolder(options.folder);
	if (lock === null)
		throw new AssayError("CHAIN_BUSY", "another process runs the embedded chain of this folder", {
			hint: "Ask that one over its RPC URL, or stop it.",
		});
	try {
		return await openLocked(options, lock);
	} catch (error) {
		await lock.release();
		throw error;
	}
}

async function openLocked(options: EmbeddedOptions, lock: FolderLock) {
	const genesis = await loadGenesis(options);
	const evm = await createEdrProvider(genesis);
	const path = join(options.folder, "blocks.jsonl");
	const file = await open(path, "a+", 0o600);
	await syncFolder(options.folder);
	const journal = await readFile(path, "utf8");
	// A line without its end was being written when the process died: nobody heard of that block.
	const whole = journal.slice(0, journal.lastIndexOf("\n") + 1);
	if (whole.length < journal.length) await file.truncate(Buffer.byteLength(whole));

	let headS = genesis.timestamp;
	let isBroken = false;
	const timeS = () => Math.max(headS, Math.floor(options.nowMs() / 1000));

	async function makeBlock(atS: number): Promise<string> {
		await evm("evm_setNextBlockTimestamp", [atS]);
		await evm("evm_mine", []);
		const block = (await evm("eth_getBlockByNumber", ["latest", false])) as Block;
		headS = Number(block.timestamp);
		return block.hash;
	}

	for (const [number, text] of whole.split("\n").entries()) {
		if (text === "") continue;
		const line = JSON.parse(text) as Line;
		for (const raw of line.x ?? []) await evm("eth_sendRawTransaction", [raw]);
		const hash = await makeBlock(line.t);
		if (hash !== line.h)
			throw new AssayError("CHAIN_JOURNAL", `block ${number + 1} of the embedded chain does not come out as it was`, {
				hint: "The journal was changed, or another version of the EVM made it. Restore the folder, or begin a new chain in another.",
			});
	}

	async function block(raws: readonly string[]): Promise<void> {
		const t = timeS();
		try {
			const h = await makeBlock(t);
			await file.appendFile(`${JSON.stringify({ t, ...(raws.length > 0 ? { x: raws } : {}), h } satisfies Line)}\n`);
			await file.datasync();
		} catch (cause) {
			// The EVM is ahead of the journal now: nothing it says may be believed any more.
			isBroken = true;
			throw new AssayError("CHAIN_JOURNAL", "a block of the embedded chain could not be kept", {
				hint: "Look for a full disk, then start again.",
				cause,
			});
		}
	}

	async function answer(method: string, params: readonly unknown[]): Promise<unknown> {
		if (method === "eth_sendRawTransaction") {
			const hash = await evm(method, params);
			await block([params[0] as string]);
			return hash;
		}
		if (!READS.has(method))
			throw new AssayError("CHAIN_METHOD", `the embedded chain does not answer ${method.slice(0, 60)}`, {
				hint: "It knows the reading methods of eth_, and eth_sendRawTransaction.",
			});
		if (LOOKS_AT_NOW.has(method)) {
			const mostMs = LOOKS_AT_BLOCKS.has(method) ? BLOCK_EVERY_MS : BLOCK_EVERY_MS * BLOCK_FOR_CALLS;
			if ((timeS() - headS) * 1000 >= mostMs) await block([]);
			// For calls and estimates on the pending block.
			await evm("evm_setNextBlockTimestamp", [timeS()]);
		}
		return evm(method, params);
	}

	// One at a time: nobody sees a block before it is on disk.
	const mutex = createMutex();
	let closed = false;
	const queued = <T>(run: () => Promise<T>): Promise<T> =>
		mutex.run(() => {
			if (closed || isBroken)
				throw new AssayError("CHAIN_CLOSED", "the embedded chain is closed", { hint: "Start it again." });
			return run();
		});
	return {
		rpc: ((method, params) => queued(() => answer(method, params))) satisfies Rpc as Rpc,
		async close(): Promise<void> {
			if (closed) return;
			await mutex.run(async () => {
				closed = true;
			});
			await file.close();
			await lock.release();
		},
	};
}

async function loadGenesis({ folder, genesis }: EmbeddedOptions): Promise<Genesis> {
	const path = join(folder, "genesis.json");
	const kept = await readIfPresent(path);
	if (kept !== null) return JSON.parse(String(kept)) as Genesis;
	await writeDurably(path, `${JSON.stringify(genesis)}\n`);
	return genesis;
}

// A chain of one's own in a folder: an EVM in this process whose blocks are journalled and replayed at the
// next start, hash for hash. For one machine, trials and tests: whoever can write the folder can rewrite the
// chain. docs/chain.md.
//
// The EVM cannot dump its state; but the same transactions at the same timestamps make the same blocks, so
// the journal is the state. A block is on disk before anyone hears of it. Blocks are made when a transaction
// comes, and otherwise at most every BLOCK_EVERY_MS, and only when somebody looks at blocks.
import { join } from "node:path";
import { parseTransaction } from "viem";
import { makeFolder, readIfPresent, syncFolder, writeDurably } from "../../platform/durable-file.ts";
import { type FolderLock, lockFolder } from "../../platform/folder-lock.ts";
import { createMutex } from "../../platform/keyed-mutex.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { type BlockJournal, type JournalBlock, type JournalFault, openJournal } from "./block-journal.ts";
import { createEdrProvider, edrVersion, type Genesis } from "./edr-provider.ts";
import { replayJournal } from "./replay-journal.ts";
import { type Rpc, RpcRefusal } from "./rpc.ts";

export type EmbeddedChain = ReturnType<typeof runChain>;

export interface EmbeddedOptions {
	readonly folder: string;
	/** Used when the folder is new. */
	readonly genesis: Genesis;
	readonly nowMs: () => number;
	/** How long another process may still have it. Default 0. */
	readonly waitMs?: number;
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
	const lock = await lockChain(options.folder, options.waitMs);
	try {
		return await openLocked(options, lock);
	} catch (error) {
		await lock.release();
		throw error;
	}
}

/** Two processes on one journal would destroy it. */
async function lockChain(folder: string, waitMs = 0): Promise<FolderLock> {
	const lock = await lockFolder(folder, waitMs);
	if (lock !== null) return lock;
	throw new AssayError("CHAIN_BUSY", "another process runs the embedded chain of this folder", {
		hint: "Ask that one over its RPC URL, or stop it.",
	});
}

/**
 * Cuts the journal before the first block that is damaged, does not come out as it was or lies in the future,
 * and keeps a copy of the rest. `lost` is null when nothing is wrong.
 */
export async function repairEmbeddedChain(folder: string, nowMs: number) {
	const lock = await lockChain(folder);
	try {
		const genesis = await readGenesis(folder);
		if (genesis === null)
			throw new AssayError("CHAIN_MISSING", `there is no embedded chain in ${folder}`, {
				hint: "`assay up` creates one.",
			});
		const journal = await openJournal(folder);
		try {
			const { fault: changed } = await remake(folder, genesis, journal.blocks);
			// Nothing would be left, and the journal is not what is wrong.
			if (changed?.kept === 0) throw damaged(changed, journal.blocks.length);
			const ahead = firstAhead(journal.blocks.slice(0, changed?.kept), nowMs);
			const fault = ahead ?? changed ?? journal.fault;
			if (fault === null) return { kept: journal.blocks.length, lost: null };
			return { kept: fault.kept, lost: { why: fault.why, ...(await journal.cut(fault.kept)) } };
		} finally {
			await journal.close();
		}
	} finally {
		await lock.release();
	}
}

async function openLocked(options: EmbeddedOptions, lock: FolderLock) {
	const genesis = await loadGenesis(options);
	const journal = await openJournal(options.folder);
	try {
		await syncFolder(options.folder);
		if (journal.fault !== null) throw damaged(journal.fault, journal.blocks.length);
		const { evm, fault } = await remake(options.folder, genesis, journal.blocks);
		if (fault !== null) throw damaged(fault, journal.blocks.length);
		const ahead = firstAhead(journal.blocks, options.nowMs());
		if (ahead !== null)
			throw new AssayError("CHAIN_AHEAD", `${ahead.why}; ${ahead.kept} blocks before it do not`, {
				hint: "Check this machine's clock. If it is right now, `assay chain repair` takes back the blocks that were made while it was not.",
			});
		const edr = edrVersion();
		if (genesis.edr !== edr) await keepGenesis(options.folder, { ...genesis, edr });
		return runChain(options, { lock, journal, evm, headS: journal.blocks.at(-1)?.t ?? genesis.timestamp });
	} catch (error) {
		await journal.close();
		throw error;
	}
}

/**
 * The chain in an EVM, and where its blocks do not come out as they were. What another version of the EVM
 * cannot make again is not the journal's fault.
 */
async function remake(folder: string, genesis: KeptGenesis, blocks: readonly JournalBlock[]) {
	const installed = edrVersion();
	const otherEvm = (why: string, cause?: unknown) =>
		new AssayError(
			"CHAIN_EVM_OTHER",
			`version ${genesis.edr} of the EVM made the embedded chain, and version ${installed} does not make it again: ${why}`,
			{
				hint: `npm install @nomicfoundation/edr@${genesis.edr} beside assay. Or move ${folder} away: the next start begins a new chain.`,
				cause,
			},
		);
	const evm = await createEdrProvider(genesis).catch((error: Error) => {
		throw error instanceof AssayError || genesis.edr === installed ? error : otherEvm(error.message, error);
	});
	const fault = await replayJournal(evm, blocks);
	if (fault !== null && genesis.edr !== installed) throw otherEvm(fault.why);
	return { evm, fault };
}

/** A clock may be a little slow. */
const MOST_AHEAD_S = 3600;

/** Made while the clock was wrong: until that time comes, none of the chain's windows would ever end. */
function firstAhead(blocks: readonly JournalBlock[], nowMs: number): JournalFault | null {
	const kept = blocks.findIndex(({ t }) => t > nowMs / 1000 + MOST_AHEAD_S);
	if (kept < 0) return null;
	const time = new Date((blocks[kept]?.t ?? 0) * 1000).toISOString();
	return { kept, why: `block ${kept + 1} of the embedded chain lies in the future, at ${time}` };
}

const damaged = ({ kept, why }: JournalFault, read: number) =>
	new AssayError(
		"CHAIN_JOURNAL",
		`${why}; ${kept} blocks before it are whole${read > kept ? `, ${read - kept} from it on are readable` : ""}`,
		{
			hint:
				"Restore the folder if you have a copy. Else `assay chain repair` goes back to the last whole block and keeps the rest in a file." +
				" (If block 1 already differs, genesis.json was changed.)",
		},
	);

function runChain(
	options: EmbeddedOptions,
	{ lock, journal, evm, ...from }: { lock: FolderLock; journal: BlockJournal; evm: Rpc; headS: number },
) {
	let { headS } = from;
	let isBroken = false;
	const timeS = () => Math.max(headS, Math.floor(options.nowMs() / 1000));

	/** Gives the hash of the transaction, if there is one. */
	async function makeBlock(raws: readonly string[]): Promise<unknown> {
		for (const raw of raws) await mustPay(evm, raw);
		const t = timeS();
		const keep = await journal.reserve(t, raws);
		let hash: unknown = null;
		for (const raw of raws) hash = await evm("eth_sendRawTransaction", [raw]);
		try {
			await evm("evm_mine", [t]);
			await keep(((await evm("eth_getBlockByNumber", ["latest", false])) as { readonly hash: string }).hash);
		} catch (cause) {
			// The EVM is ahead of the journal now: nothing it says may be believed any more.
			isBroken = true;
			throw new AssayError("CHAIN_JOURNAL", "a block of the embedded chain could not be kept", {
				hint: "Look for a full or broken disk, then start again.",
				cause,
			});
		}
		headS = t;
		return hash;
	}

	async function answer(method: string, params: readonly unknown[]): Promise<unknown> {
		if (method === "eth_sendRawTransaction") return makeBlock([String(params[0])]);
		if (!READS.has(method))
			throw new AssayError("CHAIN_METHOD", `the embedded chain does not answer ${method.slice(0, 60)}`, {
				hint: "It knows the reading methods of eth_, and eth_sendRawTransaction.",
			});
		if (LOOKS_AT_NOW.has(method)) {
			const mostMs = LOOKS_AT_BLOCKS.has(method) ? BLOCK_EVERY_MS : BLOCK_EVERY_MS * BLOCK_FOR_CALLS;
			if ((timeS() - headS) * 1000 >= mostMs) await makeBlock([]);
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
			if (closed || isBroken) throw codedError("CHAIN_CLOSED", "the embedded chain is closed");
			return run();
		});
	return {
		rpc: ((method, params) => queued(() => answer(method, params))) satisfies Rpc as Rpc,
		async close(): Promise<void> {
			if (closed) return;
			await mutex.run(async () => {
				closed = true;
			});
			await journal.close();
			await lock.release();
		},
	};
}

/**
 * What offers less than the base fee is never mined; it would only fill the journal, and cost its sender
 * nothing.
 */
async function mustPay(evm: Rpc, raw: string): Promise<void> {
	const { baseFeePerGas } = (await evm("eth_getBlockByNumber", ["pending", false])) as {
		readonly baseFeePerGas: string;
	};
	let offered: bigint;
	try {
		const { maxFeePerGas, gasPrice } = parseTransaction(raw as `0x${string}`);
		offered = maxFeePerGas ?? gasPrice ?? 0n;
	} catch {
		throw new RpcRefusal({ code: -32602, message: "this is not a transaction" });
	}
	if (offered < BigInt(baseFeePerGas))
		throw new RpcRefusal({ code: -32000, message: "max fee per gas less than block base fee" });
}

interface KeptGenesis extends Genesis {
	/** The version of @nomicfoundation/edr that made the newest blocks. */
	readonly edr: string;
}

async function loadGenesis({ folder, genesis }: EmbeddedOptions): Promise<KeptGenesis> {
	const kept = await readGenesis(folder);
	if (kept !== null) return kept;
	// A new chain has the newest rules; one that is kept has those that it began with.
	const made: KeptGenesis = { hardfork: "Osaka", ...genesis, edr: edrVersion() };
	await keepGenesis(folder, made);
	return made;
}

const genesisPath = (folder: string) => join(folder, "genesis.json");
const keepGenesis = (folder: string, genesis: KeptGenesis) =>
	writeDurably(genesisPath(folder), `${JSON.stringify(genesis)}\n`);

async function readGenesis(folder: string): Promise<KeptGenesis | null> {
	const kept = await readIfPresent(genesisPath(folder));
	if (kept === null) return null;
	let genesis: KeptGenesis;
	try {
		genesis = JSON.parse(String(kept)) as KeptGenesis;
	} catch (cause) {
		throw new AssayError("CHAIN_JOURNAL", "the embedded chain's genesis.json is damaged", {
			hint: "Restore it from a copy; else move the folder `chain` away, and the next start begins a new chain.",
			cause,
		});
	}
	if (typeof genesis.edr === "string") return genesis;
	throw new AssayError("CHAIN_EVM_OTHER", "the embedded chain is of before the first release", {
		hint: "Move the folder `chain` away, and the next start begins a new chain. Nothing in it was changed.",
	});
}

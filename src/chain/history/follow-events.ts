// Events read so that a reorganisation of the chain takes back what it took back. Blocks are handed on as
// soon as they are seen; each remembers its parent, and when the chain no longer has the block we stand on,
// the reader is told to roll back to the last one both have, then reads on. docs/chain.md. Blocks deeper than
// `confirmations` are forgotten: a reorganisation that deep is an error, not a rollback.
import { type Abi, type ContractEventName, type Hex, type Log, parseEventLogs } from "viem";
import { codedError } from "../../protocol/coded-error.ts";
import type { ChainClient } from "../node/chain-client.ts";

export interface SeenBlock {
	readonly number: number;
	readonly hash: Hex;
}

/** Newest last, at most `confirmations` of them. */
export interface EventCursor {
	load(): Promise<readonly SeenBlock[]>;
	save(blocks: readonly SeenBlock[]): Promise<void>;
}

export interface FollowOptions<TAbi extends Abi> {
	readonly abi: TAbi;
	readonly addresses: readonly Hex[];
	/** Where to begin when the cursor is empty. */
	readonly fromBlock: number;
	readonly cursor: EventCursor;
	/** Events of one or more whole blocks, in order; each block once, unless it was rolled back. */
	readonly take: (events: readonly FollowedEvent<TAbi>[]) => Promise<void>;
	/** Forget everything of blocks above this number. */
	readonly rollback: (toBlock: number) => Promise<void>;
	/** Blocks a request; nodes bound it. */
	readonly step?: number;
}

export type FollowedEvent<TAbi extends Abi> = Log<
	bigint,
	number,
	false,
	undefined,
	true,
	TAbi,
	ContractEventName<TAbi>
>;

const STEP = 500;

/** One round: up to the head of now. Returns how many blocks were taken back. */
export async function followEvents<const TAbi extends Abi>(
	client: ChainClient,
	options: FollowOptions<TAbi>,
): Promise<number> {
	let seen = [...(await options.cursor.load())];
	const takenBack = await rollBackForks(client, options, seen);
	seen = seen.slice(0, seen.length - takenBack.blocks);
	const head = Number(await client.viem.getBlockNumber());
	let next = (seen.at(-1)?.number ?? options.fromBlock - 1) + 1;
	while (next <= head) {
		// Far from the head nothing reorganises any more: many blocks at once. Near it each block's hash is kept.
		const solid = head - client.confirmations;
		const to = next <= solid ? Math.min(solid, next + (options.step ?? STEP) - 1) : next;
		const block = await client.viem.getBlock({ blockNumber: BigInt(to) });
		const before = seen.at(-1);
		// The chain changed under us in the middle of a round: the next one begins with a rollback.
		if (before !== undefined && before.number === to - 1 && block.parentHash !== before.hash) break;
		const logs =
			to === next
				? await client.viem.getLogs({ address: [...options.addresses], blockHash: block.hash })
				: await client.viem.getLogs({ address: [...options.addresses], fromBlock: BigInt(next), toBlock: BigInt(to) });
		const events = parseEventLogs({
			abi: options.abi,
			logs,
			strict: true,
		}) as unknown as readonly FollowedEvent<TAbi>[];
		if (events.length > 0) await options.take(events);
		seen = [...seen, { number: to, hash: block.hash }].slice(-client.confirmations - 1);
		await options.cursor.save(seen);
		next = to + 1;
	}
	return takenBack.depth;
}

async function rollBackForks<TAbi extends Abi>(
	client: ChainClient,
	options: FollowOptions<TAbi>,
	seen: readonly SeenBlock[],
): Promise<{ readonly blocks: number; readonly depth: number }> {
	let kept = seen.length;
	while (kept > 0 && !(await stands(client, seen[kept - 1]!))) kept--;
	if (kept === seen.length) return { blocks: 0, depth: 0 };
	if (kept === 0 && seen[0]!.number > options.fromBlock)
		throw codedError("CHAIN_REORGANISED", `the chain took back more than ${seen.length} blocks`);
	const toBlock = kept === 0 ? options.fromBlock - 1 : seen[kept - 1]!.number;
	// First what was taken, then the cursor: dying in between repeats the rollback, which forgets nothing
	// twice.
	await options.rollback(toBlock);
	await options.cursor.save(seen.slice(0, kept));
	return { blocks: seen.length - kept, depth: seen.at(-1)!.number - toBlock };
}

async function stands(client: ChainClient, { number, hash }: SeenBlock): Promise<boolean> {
	const block = (await client.rpc("eth_getBlockByNumber", [`0x${number.toString(16)}`, false])) as { hash: Hex } | null;
	return block?.hash === hash;
}

export function memoryCursor(): EventCursor {
	let kept: readonly SeenBlock[] = [];
	return {
		load: async () => kept,
		save: async (blocks) => {
			kept = blocks;
		},
	};
}

// Nodes bound how many blocks, or events, one eth_getLogs may span, each by its own number and in its own
// words. A request that is refused is cut in halves until the node answers; the width that it took is
// remembered. Only that: what a node refuses for other reasons is refused for the smallest piece as well.
import { type Rpc, RpcRefusal } from "./rpc.ts";

/** A node that takes fewer blocks than this refuses for another reason. */
const LEAST_BLOCKS = 64;

interface Filter {
	readonly fromBlock?: unknown;
	readonly toBlock?: unknown;
	readonly blockHash?: unknown;
}

export function splitLogs(rpc: Rpc): Rpc {
	/** Blocks that the node was seen to take at once. */
	let widest = Number.POSITIVE_INFINITY;

	async function logs(filter: Filter, from: number, to: number): Promise<readonly unknown[]> {
		const found: unknown[] = [];
		for (let next = from; next <= to; ) {
			const end = Math.min(to, next + widest - 1);
			try {
				const range = { fromBlock: hex(next), toBlock: hex(end) };
				for (const log of (await rpc("eth_getLogs", [{ ...filter, ...range }])) as unknown[]) found.push(log);
				next = end + 1;
			} catch (error) {
				const blocks = end - next + 1;
				if (!(error instanceof RpcRefusal) || blocks <= LEAST_BLOCKS) throw error;
				widest = Math.max(LEAST_BLOCKS, Math.floor(blocks / 2));
			}
		}
		return found;
	}

	return async (method, params) => {
		const [filter] = params as readonly [Filter | undefined];
		const isRange = method === "eth_getLogs" && filter !== undefined && filter.blockHash === undefined;
		const from = Number(filter?.fromBlock);
		if (!isRange || !Number.isSafeInteger(from)) return rpc(method, params);
		if (widest === Number.POSITIVE_INFINITY) {
			try {
				return await rpc(method, params);
			} catch (error) {
				if (!(error instanceof RpcRefusal)) throw error;
			}
		}
		const to = Number(filter.toBlock);
		// "latest", or nothing: the head of now.
		return logs(filter, from, Number.isSafeInteger(to) ? to : Number(await rpc("eth_blockNumber", [])));
	};
}

const hex = (block: number): string => `0x${block.toString(16)}`;

// One connection never sees its chain go back. An address mostly stands for several nodes, and some of them
// are blocks behind: what one of those does not know yet is no news. So whatever is asked of the newest block
// is asked of a block by its number, the highest that this connection was ever told of; a node that does not
// have it is asked again, like one that is out of reach. Gas is estimated, and the pending block read, where
// the node stands: nothing is concluded from either.
//
// Events are the exception: a node that is behind leaves out what it does not know, and says nothing. So that
// an event is not there is never taken as a sign of anything.
//
// ATTACK: a node that names a block which is far ahead makes all others seem behind, until we start again.
// That is the outage that it could make anyhow; what it says is not believed for it.
import { type Rpc, RpcRefusal } from "./rpc.ts";

/** The node does not have a block that was seen. Another try may find one that does. */
export class NodeBehind extends Error {}

/** Since when something that follows the chain waits for a node that is behind. */
export interface Lateness {
	late(what: string): void;
	current(what: string): void;
	/** By our own clock; null: nothing waits. */
	sinceMs(): number | null;
}

export function createLateness(nowMs: () => number = Date.now): Lateness {
	const all = new Map<string, { readonly sinceMs: number; readonly saidMs: number }>();
	return {
		late(what) {
			const saidMs = nowMs();
			all.set(what, { sinceMs: all.get(what)?.sinceMs ?? saidMs, saidMs });
		},
		current: (what) => void all.delete(what),
		sinceMs() {
			for (const [what, { saidMs }] of all) if (nowMs() - saidMs > FORGOTTEN_MS) all.delete(what);
			return all.size === 0 ? null : Math.min(...Array.from(all.values(), ({ sinceMs }) => sinceMs));
		},
	};
}

/** Whoever waits says so at each look. One that says nothing any more does not wait: it is done elsewhere. */
const FORGOTTEN_MS = 60_000;

/** Which of the parameters names the block whose state is asked for. */
export const STATE_AT: Readonly<Record<string, number>> = {
	...{ eth_call: 1, eth_getBalance: 1, eth_getCode: 1, eth_getTransactionCount: 1, eth_getStorageAt: 2 },
	eth_getBlockByNumber: 0,
};

/** Nodes say it in many ways; an unknown one is told as the refusal that it is. */
const UNKNOWN_BLOCK =
	/header not found|(unknown|future|invalid) block|block[^.]{0,90}not found|out ?of ?range|unfinalized/i;
const isUnknownBlock = (error: unknown): boolean =>
	error instanceof RpcRefusal && !/revert/i.test(error.message) && UNKNOWN_BLOCK.test(error.message);

export function neverBehind(rpc: Rpc, lateness: Lateness = createLateness()): Rpc {
	let seen = 0;
	const isNewest = (tag: unknown) => tag === undefined || tag === "latest";
	const see = (block: unknown) => {
		if (typeof block === "string") seen = Math.max(seen, Number(block));
	};
	/** The highest that there is; one that was seen is there, whoever does not know of it. */
	async function newest(): Promise<string> {
		see(await rpc("eth_blockNumber", []));
		return `0x${seen.toString(16)}`;
	}
	async function askAt(method: string, params: readonly unknown[], at: number): Promise<unknown> {
		const pinned = [...params];
		if (isNewest(params[at])) pinned[at] = await newest();
		const isSeen = () => Number(pinned[at]) <= seen;
		// At once a second time: of two nodes by turns the other one is asked then.
		for (let left = 2; left > 0; left--) {
			const answer = await rpc(method, pinned).catch((error: unknown) => {
				if (!isUnknownBlock(error) || !isSeen()) throw error;
				return null;
			});
			if (answer === null && isSeen()) continue;
			lateness.current("node");
			return answer;
		}
		lateness.late("node");
		throw new NodeBehind(`it does not have block ${seen}, which was seen before`);
	}
	return async (method, params) => {
		if (method === "eth_blockNumber") return newest();
		const at = STATE_AT[method];
		if (at !== undefined) return askAt(method, params, at);
		const [filter] = params as readonly [Readonly<Record<string, unknown>> | undefined];
		if (method === "eth_getLogs" && filter?.blockHash === undefined && isNewest(filter?.toBlock))
			return rpc(method, [{ ...filter, toBlock: await newest() }]);
		const answer = await rpc(method, params);
		if (method === "eth_getTransactionReceipt") see((answer as { readonly blockNumber?: unknown } | null)?.blockNumber);
		return answer;
	};
}

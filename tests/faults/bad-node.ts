// A chain's node as it is on bad days, before a real one: behind its chain, two of them by turns, deaf,
// forgetful, slow, busy, and of another chain. What is behind answers as if its newest blocks were not there:
// reads are of an older block, receipts and logs above it are hidden. Over HTTP.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { keccak256 } from "viem";
import { type Rpc, RpcRefusal } from "../../src/chain/node/rpc.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";

/** Shares are of 1. */
export interface NodeFaults {
	/** Answers of a node that is so many blocks behind… */
	readonly behind: number;
	/** …are so many of all: 1 is one node, half of them are two behind a balancer. */
	readonly behindShare: number;
	/** Transactions that are taken and forgotten. */
	readonly dropShare: number;
	/** Transactions that are handed on twice. */
	readonly twiceShare: number;
	/** Transactions that are handed on, after which the answer is lost. */
	readonly lostShare: number;
	/** Requests that wait for so long. */
	readonly lateMs: number;
	readonly lateShare: number;
	/** Requests that are answered with an HTTP status. */
	readonly failShare: number;
	readonly status: 429 | 500;
	/** Another chain's id. */
	readonly chainId: Hex | null;
}
const SOUND: NodeFaults = {
	...{ behind: 0, behindShare: 1, dropShare: 0, twiceShare: 0, lostShare: 0, lateMs: 0, lateShare: 0 },
	...{ failShare: 0, status: 500, chainId: null },
};

const hex = (n: number): Hex => `0x${n.toString(16)}`;
/** Where the block stands among the parameters. */
const BLOCK_AT: Readonly<Record<string, number>> = {
	...{ eth_call: 1, eth_estimateGas: 1, eth_getBalance: 1, eth_getCode: 1, eth_getTransactionCount: 1 },
	...{ eth_getStorageAt: 2, eth_getBlockByNumber: 0, eth_feeHistory: 1 },
};
/** A block by its number, not "latest" or "pending". */
const isNumber = (block: unknown): block is string => typeof block === "string" && block.startsWith("0x");
const isAbove = (block: unknown, head: number) => isNumber(block) && Number(block) > head;
const isNewest = (block: unknown) =>
	["latest", "pending", "safe", "finalized", null, undefined].includes(block as string);

/** The same node, so many blocks ago. */
function behindBy(rpc: Rpc, blocks: number): Rpc {
	return async (method, params) => {
		const head = Math.max(0, Number(await rpc("eth_blockNumber", [])) - blocks);
		if (method === "eth_blockNumber") return hex(head);
		if (method === "eth_getLogs") {
			const asked = params[0] as Readonly<Record<string, unknown>>;
			if ("blockHash" in asked) return rpc(method, params);
			if (isAbove(asked.fromBlock, head)) return [];
			const within = (block: unknown) => (isNewest(block) || isAbove(block, head) ? hex(head) : block);
			return rpc(method, [{ ...asked, fromBlock: within(asked.fromBlock), toBlock: within(asked.toBlock) }]);
		}
		const at = BLOCK_AT[method];
		if (at === undefined) {
			const answer = await rpc(method, params);
			const { blockNumber, number } = (answer ?? {}) as Readonly<Record<string, unknown>>;
			const isHidden = isAbove(blockNumber, head) || (method === "eth_getBlockByHash" && isAbove(number, head));
			return isHidden ? null : answer;
		}
		if (isNewest(params[at])) return rpc(method, Object.assign([...params], { [at]: hex(head) }));
		if (!isAbove(params[at], head)) return rpc(method, params);
		if (method === "eth_getBlockByNumber") return null;
		throw new RpcRefusal({ code: -32000, message: "header not found" });
	};
}

/** `draw`: a number from 0 to 1, for each choice. */
export async function openBadNode(rpc: Rpc, draw: () => number) {
	let faults = SOUND;
	/** What it did, by name. */
	const done: Record<string, number> = {};
	const note = (what: string): true => {
		done[what] = (done[what] ?? 0) + 1;
		return true;
	};
	const falls = (share: number, what: string): boolean => share > 0 && draw() < share && note(what);

	async function send(response: ServerResponse, raw: Hex): Promise<unknown> {
		if (falls(faults.dropShare, "dropped")) return keccak256(raw);
		const isTwice = falls(faults.twiceShare, "twice");
		const answer = await rpc("eth_sendRawTransaction", [raw]);
		if (isTwice) await rpc("eth_sendRawTransaction", [raw]).catch(() => {});
		if (falls(faults.lostShare, "lost")) response.destroy();
		return answer;
	}
	async function answer(response: ServerResponse, method: string, params: readonly unknown[]): Promise<unknown> {
		if (method === "eth_sendRawTransaction") return send(response, params[0] as Hex);
		if (method === "eth_chainId" && faults.chainId !== null) return faults.chainId;
		const isBehind = faults.behind > 0 && falls(faults.behindShare, "behind");
		return (isBehind ? behindBy(rpc, faults.behind) : rpc)(method, params);
	}
	const server = createServer(async (request, response) => {
		const body = await text(request).catch(() => null);
		if (body === null) return;
		if (falls(faults.lateShare, "late")) await sleep(faults.lateMs);
		if (falls(faults.failShare, "failed")) return void response.writeHead(faults.status).end("<html>");
		const { id, method, params = [] } = JSON.parse(body);
		const said = await answer(response, method, params).then(
			(result) => ({ result: result ?? null }),
			(error: Error) =>
				error instanceof RpcRefusal
					? { error: { code: error.code, message: error.message, data: error.data } }
					: { error: { code: -32603, message: error.message } },
		);
		if (!response.destroyed) response.end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		done,
		/** What is not named is sound. */
		set(some: Partial<NodeFaults>): void {
			faults = { ...SOUND, ...some };
		},
		close: () =>
			new Promise<void>((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

// A node for chaos: a real EVM that makes a block twice a second, over HTTP, whose line can be cut, whose
// newest blocks can be replaced by others, and whose fees can leap. What a fork drops waits in the pool
// again, or is forgotten, as it happens.
import { setTimeout as sleep } from "node:timers/promises";
import type { Rpc } from "../../../src/chain/node/rpc.ts";
import { serveRpc } from "../../../src/chain/node/serve-rpc.ts";
import { createToyNode, TOY_GENESIS_S } from "../../../src/chain/node/toy-node.test-kit.ts";
import { createMutex } from "../../../src/platform/keyed-mutex.ts";
import { openLine } from "../../faults/line.ts";

const BLOCK_MS = 500;
/** Raw transactions that a fork may bring back. */
const REMEMBERED = 50;

export type ChaosNode = Awaited<ReturnType<typeof openChaosNode>>;

export async function openChaosNode(genesisS = TOY_GENESIS_S) {
	const node = await createToyNode(genesisS);
	const startMs = Date.now();
	let aheadS = 0;
	let isOver = false;
	const raws: string[] = [];
	const rpc: Rpc = (method, params) => {
		if (method === "eth_sendRawTransaction") raws.push(params[0] as string);
		raws.splice(0, raws.length - REMEMBERED);
		return node.rpc(method, params);
	};
	const gate = createMutex();
	const block = () =>
		gate.run(async () => {
			node.nowS = Math.max(node.nowS, genesisS + aheadS + Math.floor((Date.now() - startMs) / 1000));
			await node.mine(1, 0);
		});
	const server = await serveRpc(rpc);
	const line = await openLine(Number(new URL(server.url).port));
	let mining: Promise<void> | null = null;
	return {
		node,
		/** Not over the line. */
		rpc,
		/** Over the line. */
		url: server.url.replace(/:\d+$/, `:${line.port}`),
		cut: line.cut,
		/** From now on transactions wait for their block. */
		startMining(): void {
			node.isPooling = true;
			mining = (async () => {
				while (!isOver) {
					await block();
					await sleep(BLOCK_MS);
				}
			})();
		},
		/** Takes back so many blocks; of the transactions in them each comes again if `isKept` says so. */
		fork: (depth: number, isKept: () => boolean) =>
			gate.run(async () => {
				await node.fork(depth);
				// Those that were mined before, or whose nonce is taken, are refused.
				for (const raw of raws) if (isKept()) await node.rpc("eth_sendRawTransaction", [raw]).catch(() => {});
			}),
		/** Moves the chain's clock. */
		async pass(seconds: number): Promise<void> {
			aheadS += seconds;
			await block();
		},
		async close(): Promise<void> {
			isOver = true;
			await mining;
			await line.close();
			await server.close();
		},
	};
}

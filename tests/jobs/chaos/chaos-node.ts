// A node for chaos: a real EVM that makes a block twice a second, over HTTP, whose line can be cut, whose
// newest blocks can be replaced by others, and whose fees can leap. What a fork drops waits in the pool
// again, or is forgotten, as it happens.
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Rpc } from "../../../src/chain/node/rpc.ts";
import { serveRpc } from "../../../src/chain/node/serve-rpc.ts";
import { createToyNode, TOY_GENESIS_S } from "../../../src/chain/node/toy-node.test-kit.ts";
import { createMutex } from "../../../src/platform/keyed-mutex.ts";

const BLOCK_MS = 500;
/** Raw transactions that a fork may bring back. */
const REMEMBERED = 50;

export type ChaosNode = Awaited<ReturnType<typeof openChaosNode>>;

export async function openChaosNode() {
	const node = await createToyNode();
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
			node.nowS = Math.max(node.nowS, TOY_GENESIS_S + aheadS + Math.floor((Date.now() - startMs) / 1000));
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

/** A port that leads to another one, until it is cut. */
async function openLine(to: number) {
	const sockets = new Set<Socket>();
	const server = createServer((socket) => {
		const far = connect(to, "127.0.0.1");
		for (const [from, other] of [
			[socket, far],
			[far, socket],
		] as const) {
			sockets.add(from);
			from.pipe(other);
			from.on("error", () => {});
			from.on("close", () => {
				sockets.delete(from);
				other.destroy();
			});
		}
	});
	const listen = (port: number) =>
		new Promise<void>((resolve, reject) => {
			server.once("error", reject);
			server.listen(port, "127.0.0.1", () => {
				server.off("error", reject);
				resolve();
			});
		});
	const end = () =>
		new Promise<void>((resolve) => {
			server.close(() => resolve());
			for (const socket of sockets) socket.destroy();
		});
	await listen(0);
	const { port } = server.address() as AddressInfo;
	return {
		port,
		async cut(ms: number): Promise<void> {
			await end();
			await sleep(ms);
			await listen(port);
		},
		close: end,
	};
}

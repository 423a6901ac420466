// The harness's own parts: a line that freezes and drops, and a node that is behind, forgetful or deaf.
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { test } from "node:test";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import { createToyNode, TREASURER } from "../../src/chain/node/toy-node.test-kit.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { signCall } from "../../src/chain/sending/sign.ts";
import { openBadNode } from "./bad-node.ts";
import { openLine } from "./line.ts";

const to = "0x00000000000000000000000000000000000000f1";

/** A chain of its own, and the bad node before it. */
async function withBadNode(act: (stage: Awaited<ReturnType<typeof stageOf>>) => Promise<void>): Promise<void> {
	const stage = await stageOf();
	try {
		await act(stage);
	} finally {
		await stage.bad.close();
	}
}
async function stageOf() {
	const node = await createToyNode();
	const bad = await openBadNode(node.rpc, Math.random);
	const sound = await createChainClient(node.rpc, { confirmations: 1, pollMs: 1 });
	return { node, bad, sound, rpc: httpRpc(bad.url, { withinMs: 30_000 }) };
}

test("a frozen connection says nothing, a new one works, and what was held comes when it thaws", async () => {
	const echo = createServer((socket) => {
		// A line that is dropped may reset it.
		socket.on("error", () => {});
		socket.pipe(socket);
	}).listen(0, "127.0.0.1");
	await once(echo, "listening");
	const line = await openLine((echo.address() as AddressInfo).port);
	const dial = () => connect(line.port, "127.0.0.1").setEncoding("utf8");
	const say = async (socket: ReturnType<typeof dial>, words: string) => {
		const heard = once(socket, "data");
		socket.write(words);
		return (await heard)[0];
	};
	try {
		const old = dial();
		assert.equal(await say(old, "one"), "one");
		line.freeze();
		let isHeard = false;
		const held = say(old, "two").finally(() => {
			isHeard = true;
		});
		const fresh = dial();
		assert.equal(await say(fresh, "three"), "three");
		assert.equal(isHeard, false);
		line.thaw();
		assert.equal(await held, "two");
		const ends = [old, fresh].map(
			(socket) => new Promise((resolve) => socket.on("error", () => {}).once("close", resolve)),
		);
		line.drop();
		await Promise.all(ends);
	} finally {
		await line.close();
		echo.close();
	}
});

test("a node that is behind answers as one that has not seen the newest blocks", () =>
	withBadNode(async ({ node, bad, sound, rpc }) => {
		const { viem } = await createChainClient(rpc);
		const send = () => sendCall(sound, TREASURER, { to, data: "0x", value: 5n });
		await send();
		await node.mine(3);
		const { transactionHash: hash, blockNumber } = await send();
		const seen = async () => ({
			head: await viem.getBlockNumber(),
			balance: await viem.getBalance({ address: to, blockTag: "pending" }),
			nonce: await viem.getTransactionCount({ address: TREASURER.address }),
			receipt: (await viem.getTransactionReceipt({ hash }).catch(() => null))?.blockNumber ?? null,
			block: (await viem.getBlock({ blockNumber }).catch(() => null))?.number ?? null,
		});
		const now = { head: blockNumber, balance: 10n, nonce: 2, receipt: blockNumber, block: blockNumber };
		assert.deepEqual(await seen(), now);
		bad.set({ behind: 1 });
		assert.deepEqual(await seen(), { head: blockNumber - 1n, balance: 5n, nonce: 1, receipt: null, block: null });
		assert.deepEqual(await viem.getLogs({ fromBlock: blockNumber }), []);
		await assert.rejects(viem.getBalance({ address: to, blockNumber }), /header not found/);
		assert.equal(await viem.getBalance({ address: to, blockNumber: 1n }), 5n);
		assert.deepEqual(Object.keys(bad.done), ["behind"]);
		bad.set({});
		assert.deepEqual(await seen(), now);
	}));

test("transactions are dropped, sent twice, or carried out without an answer; requests are late or refused", () =>
	withBadNode(async ({ bad, sound, rpc }) => {
		const before = await sound.viem.getBalance({ address: to });
		const hand = async () => {
			const { raw } = await signCall(sound, TREASURER, { to, data: "0x", value: 1n });
			return rpc("eth_sendRawTransaction", [raw]).then(
				() => "answered",
				() => "nothing",
			);
		};
		const gained = async () => (await sound.viem.getBalance({ address: to })) - before;
		bad.set({ dropShare: 1 });
		assert.deepEqual([await hand(), await gained()], ["answered", 0n]);
		bad.set({ lostShare: 1 });
		assert.deepEqual([await hand(), await gained()], ["nothing", 1n]);
		bad.set({ twiceShare: 1 });
		assert.deepEqual([await hand(), await gained()], ["answered", 2n]);
		bad.set({ failShare: 1, status: 429 });
		assert.equal(await hand(), "nothing");
		bad.set({ chainId: "0x1" });
		assert.equal(await httpRpc(bad.url)("eth_chainId", []), "0x1");
		assert.deepEqual(Object.keys(bad.done).sort(), ["dropped", "failed", "lost", "twice"]);
	}));

// Each transfer arrives once, or is said to be unknown with its hash, behind a pair of nodes of which one is
// behind. bench/faults/transfers.ts does ten thousand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc, withRetries } from "../../src/chain/node/http-rpc.ts";
import { createToyNode, TREASURER } from "../../src/chain/node/toy-node.test-kit.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { openBadNode } from "./bad-node.ts";
import { runTransfers } from "./transfers.ts";

test("40 transfers by a bad pair of nodes", async () => {
	const { told, faults, wrong } = await runTransfers("one", 40, 4);
	assert.deepEqual(wrong, [], JSON.stringify({ told, faults }));
	assert.equal(
		Object.values(told).reduce((sum, n) => sum + n),
		40,
	);
	assert.ok(told.mined! >= 30, JSON.stringify(told));
	for (const fault of ["behind", "dropped", "twice", "lost"]) assert.ok(faults[fault]! > 0, fault);
});

test("two nodes by their URLs, one of them behind, then down, then of another chain", async (t) => {
	const node = await createToyNode();
	const [first, second] = [await openBadNode(node.rpc, () => 0.5), await openBadNode(node.rpc, () => 0.5)];
	t.after(() => Promise.all([first.close(), second.close()]));
	const rpc = withRetries(httpRpc(`${first.url}, ${second.url}`), { firstDelayMs: 1, patienceMs: 50 });
	const client = await createChainClient(rpc, { confirmations: 2, sleep: () => node.mine(1) });
	const to = `0x${"ab".repeat(20)}` as const;
	const pay = () => sendCall(client, TREASURER, { to, data: "0x", value: 1n });
	const arrived = async () => BigInt((await node.rpc("eth_getBalance", [to, "latest"])) as string);
	second.set({ behind: 5 });
	await node.mine(9);
	await pay();
	await pay();
	assert.equal(await arrived(), 2n);
	second.set({ failShare: 1 });
	await pay();
	assert.equal(await arrived(), 3n);
	await assert.rejects(
		async () => {
			second.set({ chainId: "0x1" });
			await createChainClient(withRetries(httpRpc(`${first.url},${second.url}`), { patienceMs: 10 }));
		},
		{ code: "CHAIN_DISAGREE" },
	);
});

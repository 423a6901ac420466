// A connection that was told of a block is not answered from before it: by nodes that are late, that refuse a
// block they do not have, each in its own words, and by pairs that answer by turns.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withRetries } from "./http-rpc.ts";
import { createLateness, NodeBehind, neverBehind } from "./never-behind.ts";
import { type Rpc, RpcRefusal } from "./rpc.ts";

const hex = (number: number) => `0x${number.toString(16)}`;

/** Its state is the number of the block it is asked at. */
const nodeAt = (head: () => number, words = "header not found"): Rpc & { asked: unknown[] } => {
	const rpc = async (method: string, params: readonly unknown[]) => {
		rpc.asked.push([method, ...params]);
		if (method === "eth_blockNumber") return hex(head());
		if (method === "eth_getLogs") return [(params[0] as { toBlock?: unknown }).toBlock ?? null];
		const tag = params[method === "eth_getBlockByNumber" ? 0 : 1];
		const block = tag === undefined || tag === "latest" || tag === "pending" ? head() : Number(tag);
		if (method === "eth_getBlockByNumber") return block > head() ? null : { number: hex(block) };
		if (block > head()) throw new RpcRefusal({ code: -32000, message: words });
		return hex(block);
	};
	rpc.asked = [] as unknown[];
	return rpc;
};

test("what is asked of the newest block is asked of a number; a lower one than before is never told", async () => {
	let head = 10;
	const node = nodeAt(() => head);
	const rpc = neverBehind(node);
	assert.equal(await rpc("eth_call", [{}, "latest"]), hex(10));
	assert.deepEqual(node.asked.at(-1), ["eth_call", {}, hex(10)]);
	assert.deepEqual(await rpc("eth_getLogs", [{ fromBlock: "0x1" }]), [hex(10)]);
	assert.deepEqual(await rpc("eth_getLogs", [{ blockHash: "0xab" }]), [null], "one block by its hash is that block");
	head = 9;
	assert.equal(await rpc("eth_blockNumber", []), hex(10), "it is there, whoever does not know of it");
	await assert.rejects(rpc("eth_call", [{}, "latest"]), NodeBehind);
	await assert.rejects(rpc("eth_getBalance", ["0xaa"]), NodeBehind);
	await assert.rejects(rpc("eth_getBlockByNumber", ["latest", false]), NodeBehind);
	await assert.rejects(rpc("eth_getBlockByNumber", [hex(10), false]), NodeBehind);
	assert.equal(await rpc("eth_getBlockByNumber", [hex(11), false]), null, "one that nobody has seen is not there");
	assert.equal(await rpc("eth_call", [{}, hex(4)]), hex(4), "the past is where it was");
	head = 12;
	assert.equal(await rpc("eth_call", [{}, "latest"]), hex(12));
});

test("a block that the node does not have is told in many words; a contract's refusal is none of them", async () => {
	for (const words of [
		...["header not found", "Unknown block", "block not found: 0xb", "BlockOutOfRange: height is 9"],
		...["Received invalid block tag 11. Latest block number is 10", "Block with number 11 not found"],
	]) {
		let head = 11;
		const rpc = neverBehind(nodeAt(() => head, words));
		await rpc("eth_blockNumber", []);
		head = 10;
		await assert.rejects(rpc("eth_call", [{}]), NodeBehind, words);
	}
	const refusing = neverBehind(async (method) => {
		if (method === "eth_blockNumber") return "0x1";
		throw new RpcRefusal({ code: 3, message: "execution reverted: header not found", data: "0x12345678" });
	});
	await assert.rejects(refusing("eth_call", [{}]), RpcRefusal);
});

test("of two nodes by turns the one that has the block answers; one that stays behind is named after its time", async () => {
	let [turn, head] = [0, 20];
	const pair = [nodeAt(() => head), nodeAt(() => head - 3)] as const;
	const lateness = createLateness(() => 7000);
	const rpc = withRetries((method, params) => pair[turn++ % 2]!(method, params), {
		...{ lateness, firstDelayMs: 1, patienceMs: 1000 },
	});
	for (let told = 0; head < 40; head++) {
		const now = Number(await rpc("eth_call", [{}, "latest"]));
		assert.ok(now >= told, `${now} after ${told}`);
		told = now;
	}
	assert.equal(lateness.sinceMs(), null);
	turn = 0;
	const late = withRetries((method, params) => pair[turn === 0 ? 0 : 1]!(method, params), {
		...{ lateness, firstDelayMs: 1, patienceMs: 30 },
	});
	await late("eth_blockNumber", []);
	turn = 1;
	await assert.rejects(late("eth_call", [{}, "latest"]), { code: "CHAIN_BEHIND" });
	assert.equal(lateness.sinceMs(), 7000);
});

// Requests for events that a node finds too wide: cut until it answers, nothing twice, nothing left out;
// other refusals stay refusals.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Rpc, RpcRefusal } from "./rpc.ts";
import { splitLogs } from "./split-logs.ts";

function bounded(most: number, head = 10_000) {
	const asked: [number, number][] = [];
	const rpc: Rpc = async (method, [filter]) => {
		if (method === "eth_blockNumber") return `0x${head.toString(16)}`;
		if (method !== "eth_getLogs") return "other";
		const { fromBlock, toBlock, blockHash } = filter as { fromBlock: string; toBlock?: string; blockHash?: string };
		if (blockHash !== undefined) return [blockHash];
		const [from, to] = [Number(fromBlock), toBlock === undefined || toBlock === "latest" ? head : Number(toBlock)];
		asked.push([from, to]);
		if (to - from + 1 > most) throw new RpcRefusal({ code: -32000, message: "block range is too wide" });
		return Array.from({ length: to - from + 1 }, (_, i) => from + i).filter((block) => block % 100 === 0);
	};
	return { rpc: splitLogs(rpc), asked };
}
const hundreds = (from: number, to: number) =>
	Array.from({ length: to - from + 1 }, (_, i) => from + i).filter((block) => block % 100 === 0);

test("a node without a bound is asked once; one with a bound until it answers, and no wider the next time", async () => {
	const free = bounded(Number.POSITIVE_INFINITY);
	assert.deepEqual(await free.rpc("eth_getLogs", [{ fromBlock: "0x1" }]), hundreds(1, 10_000));
	assert.equal(free.asked.length, 1);

	const narrow = bounded(1000);
	for (const toBlock of [undefined, "latest", "0x2710"]) {
		const before = narrow.asked.length;
		assert.deepEqual(await narrow.rpc("eth_getLogs", [{ fromBlock: "0x1", toBlock }]), hundreds(1, 10_000));
		const refused = narrow.asked.slice(before).filter(([from, to]) => to - from + 1 > 1000);
		assert.equal(refused.length > 0, before === 0);
	}
	assert.deepEqual(await narrow.rpc("eth_getLogs", [{ blockHash: "0xab" }]), ["0xab"]);
	assert.equal(await narrow.rpc("eth_call", []), "other");
});

test("a refusal that no narrowing helps is told after a few tries", async () => {
	const deaf = bounded(0);
	await assert.rejects(deaf.rpc("eth_getLogs", [{ fromBlock: "0x0" }]), RpcRefusal);
	assert.ok(deaf.asked.length < 12, String(deaf.asked.length));
});

// Several nodes of one chain: one that is down is done without, one that is behind is waited for, one that
// lies is not believed, and nothing is read of a block below one that was seen.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Rpc, RpcRefusal } from "./rpc.ts";
import { NodesDisagree, severalNodes } from "./several-nodes.ts";

/** A chain on which an account has as many coins as there are blocks. */
function toyNode(head: number) {
	const node = { head, isDown: false, lies: 0, sent: 0, receipt: null as object | null };
	const rpc: Rpc = async (method, params) => {
		if (node.isDown) throw new Error("the line is dead");
		if (method === "eth_blockNumber") return `0x${node.head.toString(16)}`;
		if (method === "eth_getBalance") {
			const at = params[1] === "latest" ? node.head : Number(params[1]);
			if (at > node.head) throw new RpcRefusal({ code: -32000, message: "header not found" });
			return `0x${(at + node.lies).toString(16)}`;
		}
		if (method === "eth_getTransactionReceipt") return node.receipt;
		if (method === "eth_getTransactionCount") return `0x${node.head.toString(16)}`;
		if (method === "eth_sendRawTransaction") node.sent++;
		return "0x1";
	};
	return { node, rpc };
}

function three(...heads: number[]) {
	const all = heads.map(toyNode);
	let nowMs = 0;
	const rpc = severalNodes(
		all.map((one) => one.rpc),
		() => nowMs,
	);
	const balance = async () => Number(await rpc("eth_getBalance", ["0x", "latest"]));
	const later = () => {
		nowMs += 60_000;
	};
	return { nodes: all.map(({ node }) => node), rpc, balance, later };
}

test("what two nodes have is read; one that is down or behind is done without", async () => {
	const { nodes, balance, rpc, later } = three(20, 19, 6);
	assert.equal(await balance(), 19);
	await assert.rejects(rpc("eth_getBalance", ["0x", "0x14"]), /not all nodes have this block/);
	nodes[1]!.isDown = true;
	await assert.rejects(balance(), NodesDisagree, "block 19 was seen, and only one node has it");
	nodes[2]!.head = 20;
	assert.equal(await balance(), 20);
	assert.equal(Number(await rpc("eth_getTransactionCount", ["0x", "pending"])), 20);
	await rpc("eth_sendRawTransaction", ["0x"]);
	assert.deepEqual([nodes[0]!.sent, nodes[2]!.sent], [1, 1]);
	nodes[0]!.isDown = true;
	assert.equal(await balance(), 20, "the only one that answers");
	nodes[2]!.isDown = true;
	await assert.rejects(balance(), /dead/);
	later();
	for (const node of nodes) Object.assign(node, { isDown: false, head: 30 });
	assert.equal(await balance(), 30);
});

test("a contradiction is no answer, nor is a node that is far ahead of all others", async () => {
	const { nodes, balance } = three(20, 20);
	nodes[1]!.lies = 1;
	await assert.rejects(balance(), NodesDisagree);
	nodes[1]!.lies = 0;
	assert.equal(await balance(), 20);
	nodes[1]!.head = 10_000;
	await assert.rejects(balance(), NodesDisagree);
});

test("a receipt that one node does not know yet is one; two that differ are none", async () => {
	const { nodes, rpc } = three(20, 20);
	const receipt = { transactionHash: "0xAB", blockHash: "0x1", status: "0x1", gasUsed: "0x5", logs: [] };
	const ask = () => rpc("eth_getTransactionReceipt", ["0xab"]);
	assert.equal(await ask(), null);
	nodes[0]!.receipt = receipt;
	assert.equal(await ask(), receipt);
	// Nodes of different makers write it differently.
	nodes[1]!.receipt = { ...receipt, transactionHash: "0xab", type: "0x2" };
	assert.equal(await ask(), receipt);
	nodes[1]!.receipt = { ...receipt, blockHash: "0x2" };
	await assert.rejects(ask(), NodesDisagree);
});

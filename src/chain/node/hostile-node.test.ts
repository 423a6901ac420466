// A node that is broken or hostile: answers without end, without sense, for another request or of another
// chain, sockets that hang or send us elsewhere. Bounded in time and memory, told by a code, and nothing of
// it believed. The twin is the honest answer of the same server.
import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { createChainClient } from "./chain-client.ts";
import { httpRpc, type RetryOptions, withRetries } from "./http-rpc.ts";
import { RpcRefusal } from "./rpc.ts";

type Answer = (response: ServerResponse, asked: { id: number; method: string }) => void;

const honest: Answer = (response, { id, method }) =>
	response.end(JSON.stringify({ jsonrpc: "2.0", id, result: method === "eth_chainId" ? "0x7" : "0x10" }));
/** Bytes that somebody took of an answer without end. */
let streamed = 0;

/**
 * Each test, and each way to answer badly, has a path of its own: a request that was given up may still
 * arrive when the next one is asked, and must not be taken for it.
 */
interface Node {
	answer: Answer;
	readonly url: string;
	asked: number;
	authorization: string | undefined;
}
const nodes: Node[] = [];
const server = createServer(async (request, response) => {
	// Or a request might go into a socket that the answer before it has shut.
	response.shouldKeepAlive = false;
	const node = nodes[Number(request.url!.slice(1))]!;
	node.asked++;
	node.authorization = request.headers.authorization;
	const body = await text(request).catch(() => null);
	if (body !== null) node.answer(response, JSON.parse(body));
});
before(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
after(() => {
	server.close();
	server.closeAllConnections();
});
function nodeThat(answer: Answer): Node {
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${nodes.length}`;
	const node: Node = { answer, url, asked: 0, authorization: undefined };
	nodes.push(node);
	return node;
}

/** Five tries at most: 2, 4, 8 and 16 ms apart. */
const impatient: Partial<RetryOptions> = { patienceMs: 30, firstDelayMs: 2 };
const ask = (answer: Answer, options: Parameters<typeof httpRpc>[1] = {}, method = "eth_blockNumber") =>
	withRetries(httpRpc(nodeThat(answer).url, options), impatient)(method, []);
/** The right chain, and this for everything else. */
const resulting =
	(result: unknown): Answer =>
	(response, { id, method }) =>
		response.end(JSON.stringify({ id, result: method === "eth_chainId" ? "0x7" : result }));
const saying =
	(text: string, status = 200): Answer =>
	(response) => {
		response.writeHead(status);
		response.end(text);
	};

test("the honest answer, and a refusal that is only words", async () => {
	assert.equal(await ask(honest), "0x10");
	const refusing: Answer = (response, { id, method }) =>
		method === "eth_chainId"
			? honest(response, { id, method })
			: response.end(JSON.stringify({ id, error: { code: "x", message: `\u001b[2J${"a".repeat(1_000_000)}` } }));
	await assert.rejects(ask(refusing), (error: unknown) => {
		assert.ok(error instanceof RpcRefusal);
		assert.ok(error.message.length <= 600 && !error.message.includes("\u001b"));
		return error.code === -32000;
	});
});

test("nonsense of every kind is no answer", async () => {
	const nonsense: Record<string, Answer> = {
		"no JSON": saying("<html>"),
		"a list": saying("[]"),
		null: saying("null"),
		"nothing at all": saying(""),
		"another request's": (response, { id }) => response.end(JSON.stringify({ id: id + 1, result: "0x7" })),
		"an error that is a word": (response, { id }) => response.end(JSON.stringify({ id, error: "no" })),
		"deep beyond any stack": saying(`${"[".repeat(100_000)}`),
	};
	for (const [name, one] of Object.entries(nonsense)) await assert.rejects(ask(one), { code: "CHAIN_NODE" }, name);
	for (const result of ["16", "0xzz", 16, null, {}, `0x${"f".repeat(65)}`, ["0x10"]])
		await assert.rejects(ask(resulting(result)), { code: "CHAIN_NODE" }, JSON.stringify(result));
	const shaped = {
		eth_getLogs: [{}],
		eth_getTransactionReceipt: {},
		eth_getBlockByNumber: { hash: "0x1" },
		eth_call: "0x1",
	};
	for (const [method, result] of Object.entries(shaped))
		await assert.rejects(ask(resulting(result), {}, method), { code: "CHAIN_NODE" }, method);
});

test("an answer without end is cut off", async () => {
	const endless: Answer = (response) => {
		const part = Buffer.alloc(1 << 16, 32);
		const more = () => {
			while (!response.destroyed && response.write(part)) streamed += part.length;
		};
		response.on("drain", more);
		more();
	};
	await assert.rejects(ask(endless, { mostBytes: 1 << 20 }), { code: "CHAIN_NODE" });
	// Five tries, each with what lies in sockets' buffers besides.
	assert.ok(streamed < 64 << 20, String(streamed));
});

test("a socket that hangs, one that trickles, one that is shut, one that leads elsewhere: an outage, in bounded time", async () => {
	const outages: Record<string, Answer> = {
		hangs: () => {},
		trickles: (response) => void response.write(" "),
		shut: (response) => void response.destroy(),
		elsewhere: (response) => {
			response.writeHead(307, { location: nodeThat(honest).url });
			response.end();
		},
		"a proxy's page": saying("<html>", 502),
		busy: saying(JSON.stringify({ id: 1, error: { code: -32005, message: "limit" } }), 429),
	};
	for (const [name, one] of Object.entries(outages)) {
		const node = nodeThat(one);
		const rpc = withRetries(httpRpc(node.url, { withinMs: 100 }), impatient);
		await assert.rejects(rpc("eth_blockNumber", []), { code: "CHAIN_UNREACHABLE" }, name);
		assert.ok(node.asked <= 6, name);
	}
	const stop = new AbortController();
	const { url } = nodeThat(() => stop.abort());
	const waiting = withRetries(httpRpc(url, { signal: stop.signal }), { signal: stop.signal });
	await assert.rejects(waiting("eth_blockNumber", []), { code: "CHAIN_CLOSED" });
});

test("another chain behind the same address is noticed after an outage, and nothing of it believed", async () => {
	const node = nodeThat(honest);
	const rpc = withRetries(httpRpc(node.url), { firstDelayMs: 2 });
	const client = await createChainClient(rpc);
	assert.equal(await client.viem.getBlockNumber(), 16n);
	let failures = 0;
	node.answer = (response, one) => {
		if (failures++ === 0) return void response.destroy();
		response.end(JSON.stringify({ id: one.id, result: "0x8" }));
	};
	// By the client too: viem's wrapping does not hide the code.
	await assert.rejects(client.viem.getBlockNumber(), { code: "CHAIN_OTHER" });
	await assert.rejects(client.viem.getBalance({ address: `0x${"11".repeat(20)}` }), { code: "CHAIN_OTHER" });
	node.answer = honest;
	assert.equal(await client.viem.getBlockNumber(), 16n, "and it is well again with the right one");
});

test("a name and a password of the address go into a header", async () => {
	const node = nodeThat(honest);
	await withRetries(httpRpc(node.url.replace("//", "//me:p%40ss@")), impatient)("eth_blockNumber", []);
	assert.equal(node.authorization, `Basic ${Buffer.from("me:p@ss").toString("base64")}`);
	await withRetries(httpRpc(node.url), impatient)("eth_blockNumber", []);
	assert.equal(node.authorization, undefined);
});

test("an outage of minutes is waited out, asked every 15 seconds at most; a longer one is told", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
	const asking = async (downMs: number) => {
		const [from, askedMs] = [Date.now(), [] as number[]];
		let isOver = false;
		const rpc = withRetries(async () => {
			askedMs.push(Date.now() - from);
			if (Date.now() - from < downMs) throw new Error("the line is dead");
			return "0x10";
		});
		const answer = rpc("eth_blockNumber", []).finally(() => {
			isOver = true;
		});
		answer.catch(() => {});
		for (; !isOver; t.mock.timers.tick(100)) await new Promise((resolve) => setImmediate(resolve));
		assert.ok(askedMs.every((ms, i) => ms - (askedMs[i - 1] ?? 0) <= 15_000));
		return answer;
	};
	assert.equal(await asking(300_000), "0x10");
	await assert.rejects(asking(3_600_000), { code: "CHAIN_UNREACHABLE" });
});

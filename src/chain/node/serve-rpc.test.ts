// The embedded chain's door: programs of this machine may ask, pages in a browser may not; other users of the
// machine may read a little.
import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, test } from "node:test";
import { withoutLogin } from "../../protocol/network/without-login.ts";
import { signCall } from "../sending/sign.ts";
import { createChainClient } from "./chain-client.ts";
import { httpRpc } from "./http-rpc.ts";
import { type RpcServer, serveRpc } from "./serve-rpc.ts";
import { createToyNode, type ToyNode, TREASURER } from "./toy-node.test-kit.ts";

let server: RpcServer;
let node: ToyNode;
/** net_listening is answered when this is. */
let held = Promise.resolve();
before(async () => {
	node = await createToyNode();
	server = await serveRpc(async (method, params) => {
		if (method === "net_listening") await held;
		return node.rpc(method, params);
	});
});
after(() => server.close());

const call = (method: string) => JSON.stringify({ jsonrpc: "2.0", id: 7, method, params: [] });

function post(
	headers: Record<string, string>,
	body: string,
	method = "POST",
): Promise<{ status: number; text: string }> {
	return new Promise((resolve, reject) => {
		const sent = request(server.url, { method, headers, agent: false }, (answer) => {
			let text = "";
			answer.setEncoding("utf8").on("data", (part) => {
				text += part;
			});
			answer.on("end", () => resolve({ status: answer.statusCode!, text }));
		});
		sent.on("error", reject);
		sent.end(body);
	});
}
const json = { "content-type": "application/json" };

test("requests, batches, refusals", async () => {
	assert.equal(await httpRpc(server.url)("eth_chainId", []), "0x1ccd");
	const batch = await post(json, `[${call("eth_chainId")},${call("no_such")},5]`);
	const [first, second, third] = JSON.parse(batch.text) as { id: number; result?: string; error?: { code: number } }[];
	assert.deepEqual([first?.id, first?.result], [7, "0x1ccd"]);
	assert.equal(typeof second?.error?.code, "number");
	assert.equal(third?.error?.code, -32600);
	await assert.rejects(httpRpc(server.url)("eth_getBalance", ["nobody", "latest"]), { name: "Error" });
});

test("what a foreign page could send is refused", async () => {
	assert.equal((await post({ ...json, host: "evil.example" }, call("eth_chainId"))).status, 403);
	assert.equal((await post({ "content-type": "text/plain" }, call("eth_chainId"))).status, 415);
	assert.equal((await post(json, "", "GET")).status, 405);
	assert.equal((await post(json, "{")).status, 400);
	assert.equal((await post(json, `[${Array(101).fill(call("eth_chainId"))}]`)).status, 413);
	assert.equal((await post(json, " ".repeat(3 << 20))).status, 413);
});

test("a stranger on this machine reads, but sends nothing and computes little; a wrong secret is refused", async () => {
	const stranger = httpRpc(withoutLogin(server.url));
	const owner = httpRpc(server.url);
	assert.equal(await stranger("eth_chainId", []), "0x1ccd");
	const client = await createChainClient(owner, { confirmations: 1 });
	const { raw } = await signCall(client, TREASURER, { to: TREASURER.address, data: "0x" });
	await assert.rejects(stranger("eth_sendRawTransaction", [raw]), /CHAIN_METHOD/);
	assert.equal(node.sent, 0);
	await owner("eth_sendRawTransaction", [raw]);
	assert.equal(node.sent, 1);
	const wrong = { ...json, authorization: `Basic ${btoa(`assay:${"0".repeat(48)}`)}` };
	assert.equal((await post(wrong, call("eth_chainId"))).status, 401);
	// GAS, and give it back: how much a call may burn.
	const code = "0x5a60005260206000f3";
	const gasOf = async (rpc: typeof owner, gas?: string) =>
		Number(await rpc("eth_call", [{ data: code, ...(gas === undefined ? {} : { gas }) }, "latest"]));
	for (const gas of [undefined, "0x7270e00", "0x3938700"]) {
		assert.ok((await gasOf(stranger, gas)) <= 3_000_000, `${gas}`);
		assert.ok((await gasOf(owner, gas)) <= 2 ** 24, `${gas}`);
	}
	assert.ok((await gasOf(owner)) > 12_000_000);
	assert.ok((await gasOf(stranger, "0x186a0")) <= 100_000);
});

test("strangers wait in a short line, and the owner not behind them", async () => {
	let open = () => {};
	held = new Promise((resolve) => {
		open = resolve;
	});
	const plain = withoutLogin(server.url);
	const ask = () => fetch(plain, { method: "POST", headers: json, body: call("net_listening") });
	const asked = Array.from({ length: 40 }, ask);
	// Beyond 16 they are turned away at once, while the rest wait.
	let refused = 0;
	const all = asked.map(async (answer) => {
		const { status } = await answer;
		if (status !== 429) return;
		if (++refused === 24) {
			assert.equal(await httpRpc(server.url)("eth_chainId", []), "0x1ccd");
			open();
		}
	});
	await Promise.all(all);
	assert.equal(refused, 24);
	assert.equal((await ask()).status, 200);
});

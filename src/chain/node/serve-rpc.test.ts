// The embedded chain's door: programs of this machine may ask, pages in a browser may not.
import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, test } from "node:test";
import { httpRpc } from "./http-rpc.ts";
import { type RpcServer, serveRpc } from "./serve-rpc.ts";
import { createToyNode } from "./toy-node.test-kit.ts";

let server: RpcServer;
before(async () => {
	const node = await createToyNode();
	server = await serveRpc(node.rpc);
});
after(() => server.close());

const call = (method: string) => JSON.stringify({ jsonrpc: "2.0", id: 7, method, params: [] });

function post(
	headers: Record<string, string>,
	body: string,
	method = "POST",
): Promise<{ status: number; text: string }> {
	return new Promise((resolve, reject) => {
		const sent = request(server.url, { method, headers }, (answer) => {
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

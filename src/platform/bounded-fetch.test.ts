// Bounded fetches against a real server that redirects, trickles, never ends, refuses, or is busy.
import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { fetchBounded, readBounded } from "./bounded-fetch.ts";

const paths: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
	"/whole": (response) => response.end("x".repeat(1000)),
	"/empty": (response) => response.end(),
	"/endless": (response) => {
		const more = () => !response.destroyed && response.write("x".repeat(100_000), () => setImmediate(more));
		more();
	},
	"/trickle": (response) => response.write("x"),
	"/redirect": (response) => response.writeHead(302, { location: "/whole" }).end(),
	"/none": (response) => response.writeHead(404).end("none"),
	"/busy": (response) => response.writeHead(429).end("later"),
};
let ended: Promise<unknown> = Promise.resolve();
const server = createServer((request, response) => {
	ended = new Promise((resolve) => response.once("close", resolve));
	paths[request.url!]!(response);
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
after(() => {
	server.closeAllConnections();
	server.close();
});
const get = (path: string, withinMs = 20_000) =>
	fetchBounded(new URL(path, `http://127.0.0.1:${(server.address() as AddressInfo).port}`), {
		mostBytes: 1000,
		withinMs,
	});

test("what fits comes whole; what is absent or too large is null, and its transfer ends", async () => {
	assert.equal((await get("/whole"))?.toString(), "x".repeat(1000));
	assert.equal((await get("/empty"))?.length, 0);
	assert.equal(await get("/none"), null);
	assert.equal(await get("/endless"), null);
	await ended;
});

test("redirects are not followed, trickling bodies are cut, busy servers are an error", async () => {
	await assert.rejects(get("/redirect"));
	await assert.rejects(get("/trickle", 200), { name: "TimeoutError" });
	await assert.rejects(get("/busy"), /busy \(429\)/);
});

test("a body is read up to its bound, to the byte", async () => {
	const body = () => [new Uint8Array(4), new Uint8Array(6)];
	assert.equal((await readBounded(body(), 10))?.length, 10);
	assert.equal(await readBounded(body(), 9), null);
});

// Pages of others in a browser on this machine: a DNS name that was rebound to a loopback address, and a
// WebSocket that any page may open. Neither gets an answer.
import assert from "node:assert/strict";
import { request } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { startToyApi } from "./toy-api.test-kit.ts";

const statusUnder = (url: string, host: string): Promise<number> =>
	new Promise((resolve, reject) => {
		request(`${url}/v1/health`, { headers: { host }, agent: false }, (answer) => {
			answer.resume();
			resolve(answer.statusCode!);
		})
			.on("error", reject)
			.end();
	});

test("a rebound name is refused, addresses and localhost are not", async () => {
	const api = await startToyApi();
	for (const host of ["evil.example", "evil.example:7373", "127.0.0.1.evil.example", "localhost.evil.example", "x y"])
		assert.equal(await statusUnder(api.url, host), 403, host);
	for (const host of ["127.0.0.1", "127.0.0.1:7373", "localhost", "LOCALHOST:1", "[::1]:7373", "10.0.0.7:80"])
		assert.equal(await statusUnder(api.url, host), 200, host);
	await api.server.close();
	const behind = await startToyApi({ trustProxy: ["127.0.0.1"] });
	assert.equal(await statusUnder(behind.url, "validator.example"), 200);
	await behind.server.close();
});

test("a page's WebSocket is refused; an agent's is handed on", async () => {
	let upgrades = 0;
	const api = await startToyApi({
		onUpgrade(_, socket) {
			upgrades++;
			socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\n");
		},
	});
	const upgrade = (...headers: string[]): Promise<string> =>
		new Promise((resolve, reject) => {
			const { hostname, port } = new URL(api.url);
			const lines = ["GET /agent HTTP/1.1", "connection: upgrade", "upgrade: websocket", ...headers, "", ""];
			let said = "";
			connect({ host: hostname, port: Number(port) })
				.on("error", reject)
				.on("data", (part) => {
					said += part;
				})
				.on("end", () => resolve(said.slice(9, 12)))
				.write(lines.join("\r\n"));
		});
	assert.equal(await upgrade("host: 127.0.0.1"), "101");
	assert.equal(await upgrade("host: 127.0.0.1", "origin: https://evil.example"), "403");
	assert.equal(await upgrade("host: 127.0.0.1", "origin: null"), "403");
	assert.equal(await upgrade("host: evil.example"), "403");
	assert.equal(upgrades, 1);
	await api.server.close();
});

// Clients that ask and do not read, or fetch without end: what they cost the server is bounded, and the pages
// that are the same for everyone are made once.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { STREAM_BYTES } from "../../src/api/server/unread-replies.ts";
import { startToyApi, type ToyApi } from "./toy-api.test-kit.ts";
import { toyHandlers } from "./toy-handlers.test-kit.ts";
import { EVIDENCE } from "./toy-network.test-kit.ts";

const PIECE = new Uint8Array(64 * 1024);
const PIECES = 1024;

/** Evidence of 64 MiB, and how much of it was read for anybody. */
function largeEvidence() {
	const read = { bytes: 0 };
	async function* pieces() {
		for (let piece = 0; piece < PIECES; piece++) {
			read.bytes += PIECE.length;
			yield PIECE;
		}
	}
	const getEvidence = () => ({ bytes: pieces(), sizeBytes: PIECES * PIECE.length, sha256: EVIDENCE });
	return { read, handlers: { ...toyHandlers, getEvidence } as typeof toyHandlers };
}

/** Asks and does not read: the kernel's buffer fills, then the server waits. */
async function askAndSleep(api: ToyApi, path: string): Promise<Socket> {
	const { hostname, port } = new URL(api.url);
	const socket = connect({ host: hostname, port: Number(port) });
	socket.on("error", () => {});
	await once(socket, "connect");
	socket.pause();
	socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`);
	return socket;
}

async function until(isSo: () => boolean): Promise<void> {
	while (!isSo()) await sleep(5);
}

const FREE = { downloadBytesPerS: 1e12, downloadBytesPerSInAll: 1e12 };
const evidencePath = `/v1/evidence/${EVIDENCE}`;

test("evidence that nobody reads is not read from the disk, and who does not read gets no more", {
	timeout: 300_000,
}, async () => {
	const { read, handlers } = largeEvidence();
	const open = 8;
	const api = await startToyApi({ handlers, limits: { ...FREE, unreadBytes: open * STREAM_BYTES } });
	const sockets: Socket[] = [];
	for (let reader = 1; reader <= open; reader++) {
		sockets.push(await askAndSleep(api, evidencePath));
		await until(() => api.server.unreadBytes() === reader * STREAM_BYTES);
	}
	const refused = await fetch(`${api.url}${evidencePath}`);
	assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "1"]);
	assert.equal(((await refused.json()) as { code: string }).code, "RATE_LIMITED");
	assert.ok(read.bytes < (open * PIECES * PIECE.length) / 2, `${read.bytes} bytes were read for nobody`);
	for (const socket of sockets) socket.destroy();
	await until(() => api.server.unreadBytes() === 0);
	assert.equal((await fetch(`${api.url}/v1/health`)).status, 200);
	await api.server.close();
});

test("a reader that takes too long is cut off", { timeout: 300_000 }, async () => {
	const { handlers } = largeEvidence();
	const api = await startToyApi({ handlers, limits: { downloadGraceMs: 10, downloadLeastBytesPerS: 1e12 } });
	const socket = await askAndSleep(api, evidencePath);
	await until(() => api.server.unreadBytes() > 0);
	await until(() => api.server.unreadBytes() === 0);
	socket.destroy();
	await api.server.close();
});

test("an idle connection is closed", { timeout: 300_000 }, async () => {
	const api = await startToyApi({ limits: { idleMs: 20 } });
	const { hostname, port } = new URL(api.url);
	const socket = connect({ host: hostname, port: Number(port) });
	await once(socket.resume(), "close");
	await api.server.close();
});

test("bytes of evidence have a budget; asking for their head is free", async () => {
	const api = await startToyApi({ limits: { downloadBytesPerS: 5000 } });
	const get = async (init: RequestInit = {}) => {
		const answer = await fetch(`${api.url}${evidencePath}`, init);
		await answer.arrayBuffer();
		return answer;
	};
	for (let head = 0; head < 5; head++) {
		const { status, headers } = await get({ method: "HEAD" });
		assert.deepEqual([status, headers.get("content-length")], [200, "3000"]);
	}
	// The clock stands still: 3000, then 2000 and 1000 lent, then nothing.
	assert.deepEqual([(await get()).status, (await get()).status], [200, 200]);
	const refused = await get();
	assert.deepEqual([refused.status, refused.headers.get("etag")], [429, null]);
	assert.equal((await get({ headers: { "if-none-match": `"${EVIDENCE}"` } })).status, 304);
	api.clock.nowMs += 1000;
	assert.equal((await get()).status, 200);
	await api.server.close();
});

test("fixed pages are made once and have a tag; metrics are made once a second", async () => {
	const api = await startToyApi();
	for (const path of ["/v1/openapi.json", "/v1/codes"]) {
		const first = await fetch(api.url + path);
		const tag = first.headers.get("etag");
		assert.match(String(tag), /^"[0-9a-f]{32}"$/, path);
		const second = await fetch(api.url + path);
		assert.equal(await second.text(), await first.text());
		assert.equal((await fetch(api.url + path, { headers: { "if-none-match": tag! } })).status, 304);
	}
	const [one, two] = [await fetch(`${api.url}/metrics`), await fetch(`${api.url}/metrics`)];
	assert.equal(await one.text(), await two.text());
	await api.server.close();
});

test("a search counts for more than one request", async () => {
	const api = await startToyApi({ limits: { readsPerS: 4 } });
	const statuses = [];
	for (let ask = 0; ask < 3; ask++) statuses.push((await fetch(`${api.url}/v1/providers`)).status);
	assert.deepEqual(statuses, [200, 200, 429]);
	await api.server.close();
});

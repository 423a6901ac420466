// Bodies of bytes: which routes take them, how long they may be, how they are signed and counted; and that
// those that come slowly hold little.
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import { blobNameOf, bodyNameOf, signRequest } from "../../src/api/request-signature.ts";
import { pieceRoot } from "../../src/platform/blob-tree.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { signerOf, startToyApi, tokenOf } from "./toy-api.test-kit.ts";
import { inputs } from "./toy-inputs.test-kit.ts";
import { AUDIENCE, EVIDENCE, NOW_MS } from "./toy-network.test-kit.ts";

const MiB = 1 << 20;
async function start(overrides: Parameters<typeof startToyApi>[0] = {}) {
	const api = await startToyApi(overrides);
	after(() => api.server.close());
	return api;
}
const path = `/v1/blobs/${EVIDENCE}`;
const as = (role: "customer" | "provider" | "admin") => ({ authorization: `Bearer ${tokenOf(role)}` });
const BYTES = { "content-type": "application/octet-stream" };

async function patch(
	url: string,
	body: Uint8Array | string,
	headers: Record<string, string>,
	query = "size=3000&offset=0",
) {
	const response = await fetch(`${url}${path}?${query}`, { method: "PATCH", body: body as BodyInit, headers });
	return { status: response.status, body: (await response.json()) as { offset?: number; code?: string } };
}

test("bytes arrive as they are, up to a MiB and not one more; JSON and bytes are not taken for each other", async () => {
	const api = await start();
	const sent = Uint8Array.from({ length: MiB }, (_, i) => (i * 7) & 255);
	const whole = await patch(api.url, sent, { ...BYTES, ...as("customer") });
	assert.deepEqual(whole, { status: 200, body: { offset: MiB } });
	const { call } = api.calls.at(-1)!;
	assert.ok(Buffer.from(call.body as unknown as Uint8Array).equals(sent));
	const calls = api.calls.length;
	const refused = async (body: Uint8Array | string, headers: Record<string, string>, query?: string) => {
		const { status, body: problem } = await patch(api.url, body, { ...as("customer"), ...headers }, query);
		return `${status} ${problem.code}`;
	};
	assert.equal(await refused(new Uint8Array(MiB + 1), BYTES), "413 BODY_TOO_LARGE");
	assert.equal(await refused("{}", { "content-type": "application/json" }), "415 CONTENT_TYPE_WRONG");
	assert.equal(await refused(sent, { "content-type": "application/octet-streams" }), "415 CONTENT_TYPE_WRONG");
	assert.equal(await refused(sent, BYTES, "size=3000"), "400 REQUEST_BAD");
	assert.equal(await refused(sent, BYTES, "size=3000&offset=-1"), "400 REQUEST_BAD");
	assert.equal(await refused(sent, BYTES, `size=${2 ** 35 + 1}&offset=0`), "400 REQUEST_BAD");
	assert.equal(await refused(sent, BYTES, "size=3000&offset=0&holder=../x"), "400 REQUEST_BAD");
	const json = await fetch(`${api.url}/v1/rentals`, {
		method: "POST",
		body: sent,
		headers: { ...BYTES, ...as("customer") },
	});
	assert.equal(json.status, 415);
	// Without a length nobody knows how much memory it takes.
	const stream = new ReadableStream({
		start(controller) {
			controller.enqueue(new Uint8Array(10));
			controller.close();
		},
	});
	const streamed = await fetch(`${api.url}${path}?size=3000&offset=0`, {
		...{ method: "PATCH", body: stream, duplex: "half", headers: { ...BYTES, ...as("customer") } },
	} as RequestInit);
	assert.equal(streamed.status, 400);
	assert.equal(api.calls.length, calls, "none of these reached its handler");
});

test("a signature covers every byte; a piece may be sent twice, what changes something may not", async () => {
	const api = await start();
	const sent = Uint8Array.from({ length: MiB }, (_, i) => (i * 7) & 255);
	const search = `${path}?size=3000&offset=0`;
	const blobName = `${bytesToHex(await pieceRoot(sent))}-${MiB}`;
	assert.equal(blobNameOf(sent), blobName, "by the portable hash and by the quick one");
	const named = {
		audience: AUDIENCE,
		method: "PATCH",
		path: search,
		timeMs: NOW_MS,
		nonce: "a".repeat(32),
	};
	const parts = { ...named, bodyName: blobName };
	const headers = { ...BYTES, ...signRequest(parts, signerOf("provider")) };
	assert.equal((await patch(api.url, sent, headers)).status, 200);
	assert.equal((await patch(api.url, sent, headers)).status, 200, "an answer that was lost");
	const other = sent.slice();
	other[MiB - 1]! ^= 1;
	assert.equal((await patch(api.url, other, headers)).body.code, "REQUEST_SIGNATURE");
	assert.equal((await patch(api.url, sent, headers, "size=3001&offset=0")).body.code, "REQUEST_SIGNATURE");
	// Zeros at the end are in no tree: the length is signed beside it.
	const short = sent.slice(0, MiB - 1);
	const padded = new Uint8Array(MiB);
	padded.set(short);
	const ofShort = {
		...BYTES,
		...signRequest({ ...named, bodyName: blobNameOf(short) }, signerOf("provider")),
	};
	assert.equal((await patch(api.url, padded, ofShort)).body.code, "REQUEST_SIGNATURE");
	assert.equal((await patch(api.url, short, ofShort)).status, 200);
	const asJson = { ...BYTES, ...signRequest({ ...named, bodyName: bodyNameOf(sent) }, signerOf("provider")) };
	assert.equal((await patch(api.url, sent, asJson)).body.code, "REQUEST_SIGNATURE");
	const gone = { ...named, method: "DELETE", path: `${path}?size=3000`, bodyName: bodyNameOf(new Uint8Array(0)) };
	const release = async () =>
		(await fetch(api.url + gone.path, { method: "DELETE", headers: signRequest(gone, signerOf("provider")) })).status;
	assert.deepEqual([await release(), await release()], [200, 401]);
});

test("L4: a begin that was recorded does not begin again what its owner has let go", async () => {
	const api = await start();
	const roots = new Uint8Array(32);
	const begin = `${path}?size=3000`;
	const parts = { audience: AUDIENCE, method: "POST", path: begin, timeMs: NOW_MS, nonce: "b".repeat(32) };
	const headers = { ...BYTES, ...signRequest({ ...parts, bodyName: blobNameOf(roots) }, signerOf("provider")) };
	const send = async () => (await fetch(api.url + begin, { method: "POST", body: roots, headers })).status;
	assert.deepEqual([await send(), await send()], [200, 401]);
});

test("pieces are counted by themselves: 200 a second of an address, and other writes as ever", async () => {
	const api = await start({ limits: { readsPerS: 12, writesPerS: 2, transfersPerS: 200 } });
	const client = createApiClient({ baseUrl: api.url, token: tokenOf("customer"), retries: 0 });
	for (let i = 0; i < 200; i++)
		if (i % 2 === 0) await client.putBlob(inputs.putBlob);
		else await client.getBlob(inputs.getBlob);
	await assert.rejects(client.putBlob(inputs.putBlob), { code: "RATE_LIMITED" });
	for (let i = 0; i < 2; i++) await client.releaseBlob(inputs.releaseBlob);
	await assert.rejects(client.releaseBlob(inputs.releaseBlob), { code: "RATE_LIMITED" });
	for (let i = 0; i < 3; i++) await client.listBlobs({});
	await assert.rejects(client.listBlobs({}), { code: "RATE_LIMITED" });
});

test("pieces that have come are bounded by address, and give their room back when they are cut", async () => {
	const api = await start({ limits: { piecesBytes: 4 * MiB - 4 } });
	const { hostname, port } = new URL(api.url);
	const head = [
		`PATCH ${path}?size=3000&offset=0 HTTP/1.1`,
		`host: ${hostname}`,
		`authorization: Bearer ${tokenOf("customer")}`,
		"content-type: application/octet-stream",
		`content-length: ${MiB}`,
	].join("\r\n");
	const slow = await Promise.all(
		Array.from(
			{ length: 4 },
			() =>
				new Promise<ReturnType<typeof connect>>((resolve) => {
					const socket = connect(Number(port), hostname, () =>
						socket.write(`${head}\r\n\r\n${"x".repeat(MiB - 1)}`, () => resolve(socket)),
					);
				}),
		),
	);
	const put = async () => (await patch(api.url, new Uint8Array(3000), { ...BYTES, ...as("customer") })).status;
	const until = async (status: number) => {
		for (let tries = 0; tries < 200; tries++) {
			if ((await put()) === status) return;
			await new Promise((resolve) => setTimeout(resolve, 10));
		}
		assert.fail(`never ${status}`);
	};
	await until(429);
	// Whoever asks for something else is answered.
	assert.equal((await fetch(`${api.url}/v1/blobs`, { headers: as("customer") })).status, 200);
	for (const socket of slow) socket.destroy();
	await until(200);
});

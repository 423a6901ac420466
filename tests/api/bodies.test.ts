// What a stranger's body may cost before anybody knows who it is: its signature comes before its bytes and
// before its JSON, announced lengths take nobody's room, those that come slowly are cut, and those that are
// cut are nobody's mistake.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Writable } from "node:stream";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { blobNameOf, bodyNameOf, signRequest } from "../../src/api/request-signature.ts";
import { routeRows } from "../../src/api/routes.ts";
import { signerOf, startToyApi, tokenOf } from "./toy-api.test-kit.ts";
import { toyHandlers } from "./toy-handlers.test-kit.ts";
import { inputs } from "./toy-inputs.test-kit.ts";
import { AUDIENCE, EVIDENCE, NOW_MS } from "./toy-network.test-kit.ts";

const MiB = 1 << 20;
const JSON_TYPE = { "content-type": "application/json" };
const customer = { authorization: `Bearer ${tokenOf("customer")}` };

async function start(overrides: Parameters<typeof startToyApi>[0] = {}) {
	const api = await startToyApi(overrides);
	after(() => api.server.close());
	return api;
}

let nonces = 0;
function signed(method: string, path: string, bodyName: string): Record<string, string> {
	const nonce = (nonces++).toString(16).padStart(32, "0");
	return signRequest({ audience: AUDIENCE, method, path, bodyName, timeMs: NOW_MS, nonce }, signerOf("customer"));
}
/** As anybody can write them. */
const madeUp = (headers: Record<string, string>) => ({ ...headers, "assay-signature": "01".repeat(64) });

async function post(url: string, path: string, body: string, headers: Record<string, string>): Promise<string> {
	const response = await fetch(url + path, { method: "POST", body, headers: { ...JSON_TYPE, ...headers } });
	const { code } = (await response.json()) as { code?: string };
	return `${response.status} ${code ?? ""}`.trim();
}

/** A head, so much of a body, and no more. */
async function begin(url: string, lines: Record<string, string>, sent = "", path = UPLOAD): Promise<Socket> {
	const { hostname, port } = new URL(url);
	const socket = connect(Number(port), hostname);
	await once(socket, "connect");
	const headers = { host: hostname, "content-type": "application/octet-stream", ...lines };
	const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
	socket.on("error", () => {});
	socket.write(`${path === UPLOAD ? "PATCH" : "POST"} ${path} HTTP/1.1\r\n${head.join("")}\r\n${sent}`);
	return socket;
}
const UPLOAD = `/v1/blobs/${EVIDENCE}?size=${MiB}&offset=0`;
const heard = async (socket: Socket): Promise<string> => String(((await once(socket, "data")) as [Buffer])[0]);

test("H2 a body is not parsed before its signature was found right", async (t) => {
	const api = await start();
	const path = "/v1/jobs/quote";
	const parsed: string[] = [];
	const parse = JSON.parse;
	t.mock.method(JSON, "parse", (text: string, ...rest: []) => {
		parsed.push(text);
		return parse(text, ...rest);
	});
	const body = `{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":0`).join(",")}}`;
	const bodyName = bodyNameOf(Buffer.from(body));
	assert.equal(await post(api.url, path, body, madeUp(signed("POST", path, bodyName))), "401 REQUEST_SIGNATURE");
	// Also where the signature is right, and the body another.
	const other = bodyNameOf(Buffer.from("{}"));
	assert.equal(await post(api.url, path, body, signed("POST", path, other)), "401 REQUEST_SIGNATURE");
	assert.equal(parsed.includes(body), false);
	assert.equal(await post(api.url, path, body, signed("POST", path, bodyName)), "400 BODY_SHAPE");
	assert.equal(parsed.includes(body), true);
	// And it has no say in what is wrong first.
	assert.equal(await post(api.url, path, "{", madeUp(signed("POST", path, other))), "401 REQUEST_SIGNATURE");
});

test("H2 whoever did not sign is told so without a byte of the body", async () => {
	const api = await start();
	const path = "/v1/jobs/quote";
	const head = { ...JSON_TYPE, "content-length": "900000" };
	const socket = await begin(api.url, { ...head, ...madeUp(signed("POST", path, "ab".repeat(32))) }, "", path);
	assert.match(await heard(socket), /^HTTP\/1\.1 401 [\s\S]*REQUEST_SIGNATURE/);
	socket.destroy();
});

test("H2 only routes that need it take more than 64 KiB of JSON, and none takes more keys and values than it needs", async () => {
	const api = await start();
	const long = (bytes: number) => `"${"x".repeat(bytes - 2)}"`;
	for (const [, route] of routeRows) {
		const { method, path, role, mostJsonBytes = 64 * 1024, mostBytes } = route;
		if (method !== "POST" || mostBytes !== undefined || role === "public") continue;
		const url = path.replaceAll(/:([a-z0-9]+)/gi, "x");
		const as = { authorization: `Bearer ${tokenOf("admin")}` };
		assert.equal(await post(api.url, url, long(mostJsonBytes + 1), as), "413 BODY_TOO_LARGE", path);
		assert.match(await post(api.url, url, long(mostJsonBytes), as), /^400 (BODY_SHAPE|REQUEST_BAD)$/, path);
	}
	const quote = "/v1/jobs/quote";
	assert.equal(await post(api.url, quote, `[${"0,".repeat(50_000)}0]`, customer), "400 BODY_BAD");
	const given = Array.from({ length: 4096 }, (_, tensor) => ({ tensor, root: "ab".repeat(32), size: 2 ** 35 }));
	const { spec, ...rest } = inputs.quoteJob.body;
	const most = JSON.stringify({ ...rest, spec: { ...spec, given } });
	assert.equal(await post(api.url, quote, most, customer), "200", "the longest list of inputs");
});

test("H2 a write counts by its length, as it is announced", async () => {
	const api = await start({ limits: { writesPerS: 10 } });
	const path = "/v1/jobs/quote";
	const head = { ...JSON_TYPE, "content-length": "900000" };
	const socket = await begin(api.url, { ...head, ...madeUp(signed("POST", path, "ab".repeat(32))) }, "", path);
	assert.match(await heard(socket), /^HTTP\/1\.1 401 /);
	socket.destroy();
	// Five of a quote and thirteen of its length: more than the ten that were there.
	assert.equal(await post(api.url, path, "{}", customer), "429 RATE_LIMITED");
});

test("M1 announced lengths shut nobody out, whoever signed them", async () => {
	const api = await start({ limits: { piecesBytes: 4 * MiB, piecesBytesInAll: 4 * MiB } });
	const bytes = new Uint8Array(MiB);
	const name = blobNameOf(bytes);
	const head = { "content-length": String(MiB) };
	const strangers = await Promise.all(
		Array.from({ length: 12 }, () => begin(api.url, { ...head, ...madeUp(signed("PATCH", UPLOAD, name)) })),
	);
	for (const socket of strangers) assert.match(await heard(socket), /^HTTP\/1\.1 401 [\s\S]*REQUEST_SIGNATURE/);
	const customers = await Promise.all(
		Array.from({ length: 12 }, () => begin(api.url, { ...head, ...signed("PATCH", UPLOAD, name) }, "a few bytes")),
	);
	// Whatever they announced, a real piece has room beside them.
	const put = await fetch(api.url + UPLOAD, {
		...{ method: "PATCH", body: bytes },
		headers: { "content-type": "application/octet-stream", ...signed("PATCH", UPLOAD, name) },
	});
	assert.equal(put.status, 200);
	for (const socket of [...strangers, ...customers]) socket.destroy();
});

test("M1 what has come of pieces counts, and has its bound", async () => {
	const api = await start({ limits: { piecesBytes: MiB, piecesBytesInAll: MiB } });
	const bytes = new Uint8Array(MiB);
	const name = blobNameOf(bytes);
	const headers = () => ({ ...signed("PATCH", UPLOAD, name), "content-length": String(MiB) });
	const most = await begin(api.url, headers(), "x".repeat(MiB - 1));
	const second = async () => {
		const socket = await begin(api.url, headers(), "x".repeat(MiB));
		const answer = await heard(socket);
		socket.destroy();
		return answer;
	};
	// Until the first has arrived the second may have room: it bears another name, and is refused for that.
	for (let answer = await second(); ; answer = await second()) {
		if (/^HTTP\/1\.1 429 [\s\S]*RATE_LIMITED/.test(answer)) break;
		assert.match(answer, /REQUEST_SIGNATURE/);
	}
	most.destroy();
});

test("M1 a body that comes too slowly is cut with its sender, of bytes and of JSON", async () => {
	const api = await start({ limits: { bodyWindowMs: 100 } });
	const piece = blobNameOf(new Uint8Array(MiB));
	const slow = await begin(api.url, { ...signed("PATCH", UPLOAD, piece), "content-length": String(MiB) }, "few");
	const quote = "/v1/jobs/quote";
	const head = { ...JSON_TYPE, "content-length": "9", ...signed("POST", quote, "ab".repeat(32)) };
	const json = await begin(api.url, head, "{", quote);
	await Promise.all([once(slow, "close"), once(json, "close")]);
});

test("L6 whoever hangs up is no mistake of ours", async () => {
	const lines: { level: number; msg: string; code?: string }[] = [];
	const log = new Writable({
		write(line, _, done) {
			lines.push(JSON.parse(String(line)));
			done();
		},
	});
	let reached = () => {};
	const isAsked = new Promise<void>((resolve) => {
		reached = resolve;
	});
	const api = await start({
		logger: pino(log),
		handlers: {
			...toyHandlers,
			network: ({ signal }) => {
				reached();
				return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
			},
		},
	});
	const name = blobNameOf(new Uint8Array(MiB));
	const upload = await begin(api.url, { ...signed("PATCH", UPLOAD, name), "content-length": String(MiB) }, "few");
	const asking = new AbortController();
	const asked = fetch(`${api.url}/v1/network`, { signal: asking.signal }).catch(() => null);
	await isAsked;
	upload.destroy();
	asking.abort();
	await asked;
	while (lines.filter(({ level, msg }) => level >= 50 || msg === "the client hung up").length < 2) await sleep(5);
	assert.deepEqual(
		lines.filter(({ level }) => level >= 50),
		[],
	);
});

// The server around the routes: limits, headers, what leaks and what does not, files, upgrades, logs,
// metrics, the end.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { test } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { pino } from "pino";
import { createApiClient } from "../../src/api/create-client.ts";
import type { Handlers } from "../../src/api/routes.ts";
import { createApiServer } from "../../src/api/server/create-server.ts";
import type { ApiServerOptions } from "../../src/api/server/server-options.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { signerOf, startToyApi, type ToyApi, tokenOf } from "./toy-api.test-kit.ts";
import { toyHandlers } from "./toy-handlers.test-kit.ts";
import { inputs } from "./toy-inputs.test-kit.ts";
import { EVIDENCE, evidenceBytes, NOW_MS, probe, provider } from "./toy-network.test-kit.ts";

async function withApi<T>(overrides: Partial<ApiServerOptions>, use: (api: ToyApi) => Promise<T>): Promise<T> {
	const api = await startToyApi(overrides);
	try {
		return await use(api);
	} finally {
		await api.server.close();
	}
}

const problemOf = async (response: Response) => {
	const { code } = (await response.json()) as { code: string };
	return [response.status, code];
};

test("reads and writes have buckets of their own, which fill again", () =>
	withApi({ limits: { readsPerS: 5, writesPerS: 2 } }, async ({ url, clock }) => {
		const read = () => fetch(`${url}/v1/health`);
		const write = () => fetch(`${url}/v1/rentals`, { method: "POST" });
		for (let i = 0; i < 5; i++) assert.equal((await read()).status, 200);
		const refused = await read();
		assert.equal(refused.headers.get("retry-after"), "1");
		assert.deepEqual(await problemOf(refused), [429, "RATE_LIMITED"]);
		// What is not there costs as much as what is: else 404s would be a way around.
		assert.equal((await fetch(`${url}/v1/nothing`)).status, 429);
		for (let i = 0; i < 2; i++) assert.deepEqual(await problemOf(await write()), [401, "CREDENTIALS_MISSING"]);
		assert.equal((await write()).status, 429);
		clock.nowMs += 200;
		assert.equal((await read()).status, 200);
		assert.equal((await read()).status, 429);
	}));

test("X-Forwarded-For is believed from known proxies only", async () => {
	const spread = (api: ToyApi) =>
		Promise.all(
			[1, 2, 3].map((n) => fetch(`${api.url}/v1/health`, { headers: { "x-forwarded-for": `198.51.100.${n}` } })),
		);
	const limits = { readsPerS: 1 };
	const statuses = async (api: ToyApi) => (await spread(api)).map(({ status }) => status).sort();
	assert.deepEqual(await withApi({ limits }, statuses), [200, 429, 429]);
	assert.deepEqual(await withApi({ limits, trustProxy: ["127.0.0.1"] }, statuses), [200, 200, 200]);
});

test("every reply carries strict headers and a request id", () =>
	withApi({}, async ({ url }) => {
		for (const path of ["/v1/network", "/v1/nothing", "/v1/events", `/v1/evidence/${EVIDENCE}`]) {
			const { headers, body } = await fetch(url + path);
			const policy = headers.get("content-security-policy") ?? "";
			assert.match(policy, /default-src 'none'/, path);
			assert.doesNotMatch(policy, /unsafe-inline|'unsafe-eval'|\*/, path);
			assert.equal(headers.get("x-content-type-options"), "nosniff", path);
			assert.equal(headers.get("x-frame-options"), "SAMEORIGIN", path);
			assert.match(headers.get("x-request-id") ?? "", /^request-\d+$/, path);
			assert.equal(headers.get("access-control-allow-origin"), null, path);
			assert.equal(headers.get("x-powered-by"), null, path);
			await body?.cancel();
		}
	}));

test("what a schema does not declare does not leave", () =>
	withApi(
		{
			handlers: {
				...toyHandlers,
				getProvider: () => ({ ...provider, password: "hunter2", claim: null }) as typeof provider,
				listProviders: () => ({ rows: [{ ...provider, target: "ssh://root@secret" }], cursor: null }),
			},
		},
		async ({ url }) => {
			const one = await (await fetch(`${url}/v1/providers/${provider.id}`)).text();
			const list = await (await fetch(`${url}/v1/providers`)).text();
			assert.doesNotMatch(one, /hunter2/);
			assert.doesNotMatch(list, /secret/);
			assert.equal(JSON.parse(one).id, provider.id);
		},
	));

test("a handler that fails, or gives something else, is a 500 that tells nothing", () =>
	withApi(
		{
			handlers: {
				...toyHandlers,
				network: () => {
					throw new Error("password is hunter2");
				},
				getProbe: () => ({ ...probe, id: "not an id, hunter2" }),
				getChainEpoch: () => {
					throw new AssayError("SSH_FAILED", "hunter2");
				},
				listChainEpochs: () => {
					throw new AssayError("SSH_FAILED", "told");
				},
				ready: () => {
					throw new AssayError("NOT_READY", "the database is away");
				},
			},
		},
		async ({ url }) => {
			for (const path of ["/v1/network", `/v1/probes/${probe.id}`, "/v1/chain/epochs/7"]) {
				const response = await fetch(url + path);
				const text = await response.text();
				assert.equal(response.status, 500, path);
				assert.equal(JSON.parse(text).code, "SERVER_FAILED");
				assert.doesNotMatch(text, /hunter2/, path);
			}
			assert.deepEqual(await problemOf(await fetch(`${url}/v1/ready`)), [503, "NOT_READY"]);
		},
	));

test("codes of what lies behind the API get a status of their own; one without is a mistake of ours", () =>
	withApi(
		{
			handlers: {
				...toyHandlers,
				network: () => {
					throw new AssayError("AGENT_SILENT", "told");
				},
				ready: () => {
					throw new AssayError("SSH_FAILED", "not told");
				},
			},
		},
		async ({ url }) => {
			assert.deepEqual(await problemOf(await fetch(`${url}/v1/network`)), [504, "AGENT_SILENT"]);
			assert.deepEqual(await problemOf(await fetch(`${url}/v1/ready`)), [500, "SERVER_FAILED"]);
		},
	));

test("evidence is cached for ever, and not sent to those who have it", () =>
	withApi({}, async ({ url }) => {
		for (const path of [`/v1/evidence/${EVIDENCE}`, `/v1/probes/${probe.id}/evidence`]) {
			const response = await fetch(url + path);
			assert.equal(response.headers.get("cache-control"), "public, max-age=31536000, immutable");
			assert.equal(response.headers.get("content-length"), String(evidenceBytes.length));
			assert.equal(response.headers.get("etag"), `"${EVIDENCE}"`);
			assert.deepEqual(new Uint8Array(await response.arrayBuffer()), evidenceBytes);
			const held = await fetch(url + path, { headers: { "if-none-match": `"x", "${EVIDENCE}"` } });
			assert.equal(held.status, 304);
			assert.equal((await fetch(url + path, { headers: { "if-none-match": '"other"' } })).status, 200);
		}
	}));

/** Paths that climb, hide, or hold what no file name of ours has. */
const ODD_PATHS = ["/a/%2e%2e%2findex.html", "/%2e%2e/x", "/.git/config", "/a%00b", "/a%5cb", "//index.html", "/%zz"];

test("public files: what the hook gives, nothing else, nothing under /v1", async () => {
	const asked: string[] = [];
	const staticFile = async (path: string) => {
		asked.push(path);
		return path === "/chain/a.json"
			? { bytes: Uint8Array.of(60), contentType: "application/json", cacheControl: "public, max-age=60" }
			: null;
	};
	await withApi({ staticFile }, async ({ url }) => {
		const file = await fetch(`${url}/chain/a.json`);
		assert.deepEqual(
			[file.status, file.headers.get("cache-control"), await file.text()],
			[200, "public, max-age=60", "<"],
		);
		assert.match(file.headers.get("content-security-policy") ?? "", /script-src 'self'/);
		for (const path of ["/other", "/v1/chain/a.json", "/v1", ...ODD_PATHS])
			assert.ok([400, 404].includes((await fetch(url + path)).status), path);
		assert.equal((await fetch(`${url}/chain/a.json`, { method: "POST" })).status, 404);
		assert.deepEqual(asked.slice(0, 2), ["/chain/a.json", "/other"]);
		assert.ok(
			asked.every((path) => !path.includes("..") && !path.includes("/.")),
			asked.join(" "),
		);
		// Without a dashboard nothing is a page, whatever a browser accepts.
		assert.equal((await fetch(url, { headers: { accept: "text/html" } })).status, 404);
	});
});

test("the dashboard: one document for all pages, files by their names, compressed, with tags and times", async () => {
	const folder = mkdtempSync(join(tmpdir(), "assay-dashboard-"));
	const script = "export {};".repeat(20);
	for (const [name, content] of Object.entries({
		"index.html": "<p>",
		"main-ABCD1234.js": script,
		"main-ABCD1234.js.br": brotliCompressSync(script),
		"main-ABCD1234.js.gz": gzipSync(script),
		"verifier-worker-ABCD1234.js": "//",
		"secret.key": "s",
	}))
		writeFileSync(join(folder, name), content);
	await withApi({ dashboard: folder }, async ({ url }) => {
		const get = (path: string, headers: Record<string, string> = {}) => fetch(url + path, { headers });
		for (const path of ["/", "/providers", "/providers/abc", "/verify?x=1"]) {
			const page = await get(path);
			const { headers } = page;
			assert.deepEqual([page.status, headers.get("content-type")], [200, "text/html; charset=utf-8"], path);
			assert.deepEqual([headers.get("cache-control"), await page.text()], ["no-cache", "<p>"], path);
			assert.match(headers.get("content-security-policy") ?? "", /script-src 'self'/);
			// By hand: fetch asks for a fresh copy whenever it names a tag.
			const again = `GET ${path} HTTP/1.1\r\nhost: localhost\r\nif-none-match: ${headers.get("etag")}\r\nconnection: close\r\n\r\n`;
			assert.match(await raw(url, again), /^HTTP\/1\.1 304 /, path);
		}
		for (const [accepted, encoding] of [
			["gzip, deflate, br", "br"],
			["gzip, deflate", "gzip"],
			["br;q=0, identity", null],
			["", null],
		] as const) {
			const file = await get("/main-ABCD1234.js", { "accept-encoding": accepted });
			assert.deepEqual([file.status, file.headers.get("content-encoding")], [200, encoding], accepted);
			assert.match(file.headers.get("content-type")!, /^text\/javascript|^application\/javascript/);
			assert.equal(file.headers.get("cache-control"), "public, max-age=31536000, immutable");
			assert.equal(file.headers.get("vary"), "accept-encoding");
			assert.equal(await file.text(), script);
		}
		const worker = await get("/verifier-worker-ABCD1234.js");
		assert.equal(worker.headers.get("content-security-policy"), "default-src 'none';script-src 'wasm-unsafe-eval'");
		const head = await fetch(`${url}/main-ABCD1234.js`, { method: "HEAD" });
		assert.deepEqual([head.status, await head.text()], [200, ""]);
		const none = ["/secret.key", "/main-ABCD1234.js.br", "/index.html/x", "/providers/a/b", "/other", "/v1/index.html"];
		for (const path of [...none, ...ODD_PATHS]) assert.ok([400, 404].includes((await get(path)).status), path);
		assert.equal((await fetch(`${url}/main-ABCD1234.js`, { method: "POST" })).status, 404);
		const lost = await get("/nowhere/at/all", { accept: "text/html,*/*" });
		assert.deepEqual([lost.status, await lost.text()], [404, "<p>"]);
	});
	rmSync(folder, { recursive: true });
});

function raw(url: string, text: string): Promise<string> {
	const { hostname, port } = new URL(url);
	return new Promise((resolve, reject) => {
		let heard = "";
		const socket = connect(Number(port), hostname, () => socket.write(text));
		socket.on("data", (chunk) => {
			heard += chunk;
		});
		socket.on("close", () => resolve(heard));
		socket.on("error", reject);
	});
}
const upgrade = (path: string) =>
	`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`;

test("upgrades go to their handler on /agent only, and are ended with the server", async () => {
	const paths: (string | undefined)[] = [];
	const onUpgrade: ApiServerOptions["onUpgrade"] = (request, socket) => {
		paths.push(request.url);
		socket.write("HTTP/1.1 101 Switching\r\n\r\nhello");
	};
	const api = await startToyApi({ onUpgrade, limits: { closeGraceMs: 1 } });
	assert.match(await raw(api.url, upgrade("/other")), /^HTTP\/1\.1 404/);
	const open = raw(api.url, upgrade("/agent?x=1"));
	while (paths.length === 0) await new Promise(setImmediate);
	await api.server.close();
	assert.match(await open, /hello$/);
	assert.deepEqual(paths, ["/agent?x=1"]);
});

test("without an upgrade handler an upgrade is a request like others", () =>
	withApi({}, async ({ url }) => {
		const text = upgrade("/agent").replace("connection: upgrade", "connection: close, upgrade");
		assert.match(await raw(url, text), /^HTTP\/1\.1 404 /);
	}));

test("logs tell who did what, and hold no secrets", async () => {
	let log = "";
	const logger = pino(
		new Writable({
			write(chunk, _, done) {
				log += chunk;
				done();
			},
		}),
	);
	await withApi({ logger }, async ({ url }) => {
		const query = { q: "private words" };
		await createApiClient({ baseUrl: url, token: tokenOf("admin") }).listProviders({ query });
		await createApiClient({ baseUrl: url, token: tokenOf("admin") }).makeToken(inputs.makeToken);
		const signer = { ...signerOf("customer"), sign: (hash: Uint8Array) => signerOf("customer").sign(hash) };
		await createApiClient({ baseUrl: url, signer, nowMs: () => NOW_MS }).rent(inputs.rent);
	});
	const lines = log
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line));
	assert.deepEqual(
		lines.map(({ route, status, role }) => [route, status, role]),
		[
			["listProviders", 200, "admin"],
			["makeToken", 201, "admin"],
			["health", 200, "public"],
			["rent", 201, "customer"],
		],
	);
	assert.doesNotMatch(log, /assay_admin_|assay_customer_|ttttt|xxxxx|signature|private|ssh-ed25519/);
});

test("metrics name routes, never paths", () =>
	withApi({}, async ({ url, server }) => {
		await (await fetch(`${url}/v1/providers/${provider.id}`)).text();
		await (await fetch(`${url}/secret-path`)).text();
		const text = await server.registry.metrics();
		assert.match(text, /assay_http_request_seconds_count\{route="getProvider",method="GET",status="200"\} 1/);
		assert.match(text, /assay_http_request_seconds_count\{route="unknown",method="GET",status="404"\} 1/);
		assert.match(text, /assay_http_problems_total\{code="ROUTE_UNKNOWN"\} 1/);
		assert.doesNotMatch(text, /secret-path|bbbbbb/);
	}));

test("close lets a running request finish, then nobody in", async () => {
	let finish = () => {};
	let entered = () => {};
	const inside = new Promise<void>((resolve) => {
		entered = resolve;
	});
	const network: Handlers["network"] = async (call) => {
		entered();
		await new Promise<void>((resolve) => {
			finish = resolve;
		});
		return toyHandlers.network(call);
	};
	const api = await startToyApi({ handlers: { ...toyHandlers, network } });
	const { hostname, port } = new URL(api.url);
	let heard = "";
	const socket = connect(Number(port), hostname, () =>
		socket.write("GET /v1/network HTTP/1.1\r\nhost: localhost\r\n\r\n"),
	);
	socket.on("data", (chunk) => {
		heard += chunk;
	});
	await inside;
	const closed = api.server.close();
	// A second one on a connection that is in use comes too late.
	const isHere = new Promise((resolve) => api.server.httpServer.once("request", resolve));
	socket.write("GET /v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n");
	await isHere;
	finish();
	await Promise.all([closed, once(socket, "close")]);
	assert.match(heard, /^HTTP\/1\.1 200 OK[\s\S]*HTTP\/1\.1 503 [\s\S]*"code":"NOT_READY"/);
	await api.server.close();
	await assert.rejects(fetch(`${api.url}/v1/health`));
});

test("a request whose caller is gone is told to its handler", async () => {
	let gone = () => {};
	const aborted = new Promise<void>((resolve) => {
		gone = resolve;
	});
	const network: Handlers["network"] = async (call) => {
		call.signal.addEventListener("abort", gone);
		caller.abort();
		await aborted;
		return toyHandlers.network(call);
	};
	const caller = new AbortController();
	await withApi({ handlers: { ...toyHandlers, network } }, async ({ url }) => {
		await assert.rejects(fetch(`${url}/v1/network`, { signal: caller.signal }), { name: "AbortError" });
		await aborted;
	});
});

// Checked by the compiler and never run: handlers that are missing or surplus do not fit.
void ((rest: Omit<ApiServerOptions, "handlers">, { network: _, ...fewer }: typeof toyHandlers) => [
	// @ts-expect-error a handler is missing
	() => createApiServer({ ...rest, handlers: fewer }),
	// @ts-expect-error a handler is surplus
	() => createApiServer({ ...rest, handlers: { ...toyHandlers, health: () => 1 } }),
]);

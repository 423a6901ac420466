// Every route through the typed client and a real server: what a handler gives is what the client returns.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { type ApiClient, createApiClient } from "../../src/api/create-client.ts";
import { routeRows } from "../../src/api/routes.ts";
import { problemDocument, STATUS_OF_CODE } from "../../src/api/server/problem.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { collect, signerOf, startToyApi, type ToyApi, tokenOf } from "./toy-api.test-kit.ts";
import { toyHandlers } from "./toy-handlers.test-kit.ts";
import { inputs } from "./toy-inputs.test-kit.ts";
import { event, evidenceBytes, NOW_MS, provider } from "./toy-network.test-kit.ts";

let api: ToyApi;
let admin: ApiClient;
before(async () => {
	api = await startToyApi();
	admin = createApiClient({ baseUrl: api.url, token: tokenOf("admin") });
});
after(() => api.server.close());

const signing = (role: "admin" | "validator" | "customer") =>
	createApiClient({ baseUrl: api.url, signer: signerOf(role), nowMs: () => NOW_MS });

for (const [name, route] of routeRows)
	test(`${name} goes there and back`, async () => {
		const call = admin[name] as (input: unknown) => Promise<unknown> & AsyncIterable<unknown>;
		const before = api.calls.length;
		if (route.kind === "events") {
			assert.deepEqual(await collect(call(inputs[name])), [event(1), event(2), event(3)]);
		} else {
			const reply = await call(inputs[name]);
			if (route.kind === "binary") assert.deepEqual(reply, evidenceBytes);
			else if (route.kind === "text") assert.match(reply as string, /assay_http_request_seconds_bucket/);
			else if (name in toyHandlers) {
				const { call: seen } = api.calls[before]!;
				const given = await (toyHandlers[name as keyof typeof toyHandlers] as (call: unknown) => unknown)(seen);
				assert.deepEqual(reply, route.reply!.parse(given));
			}
		}
		assert.equal(api.calls.length - before, name in toyHandlers ? 1 : 0);
	});

test("defaults and types arrive as the schema says", async () => {
	await admin.listProviders({ query: { minDevices: 2, rented: true } });
	const { call } = api.calls.at(-1)!;
	assert.deepEqual({ ...(call.query as object) }, { minDevices: 2, rented: true, sort: "score", limit: 50 });
	await admin.getChainEpoch({ params: { number: 12 } });
	assert.deepEqual({ ...(api.calls.at(-1)!.call.params as object) }, { number: 12 });
});

test("a client whose clock is wrong signs by the server's, within a day", async () => {
	const job = { params: { id: "0".repeat(64) } };
	for (const [aheadMs, code] of [
		[3_600_000, null],
		[-23 * 3_600_000, null],
		[25 * 3_600_000, "REQUEST_STALE"],
	] as const) {
		const client = createApiClient({ baseUrl: api.url, signer: signerOf("customer"), nowMs: () => NOW_MS + aheadMs });
		const before = api.calls.length;
		const said = await client.getJob(job).then(
			() => null,
			(error: AssayError) => error.code,
		);
		assert.equal(said, code, `${aheadMs} ms`);
		if (code === null) await client.getJob(job);
		// The handler was reached each time, and the time was asked for once.
		assert.equal(api.calls.length - before, code === null ? 2 : 0);
	}
});

test("pages follow one another until the last", async () => {
	const names = (await collect(admin.rows("listProviders"))).map((row) => row.name);
	assert.deepEqual(names, ["one", "two"]);
});

test("a server that gives the same cursor again and again is left", async () => {
	const stuck = await startToyApi({
		handlers: { ...toyHandlers, listProviders: () => ({ rows: [provider], cursor: "same" }) },
	});
	try {
		const rows = createApiClient({ baseUrl: stuck.url }).rows("listProviders");
		await assert.rejects(collect(rows), { code: "API_REPLY_BAD" });
	} finally {
		await stuck.server.close();
	}
});

test("a problem document becomes an AssayError with its code and hint", async () => {
	const failing = await startToyApi({
		handlers: {
			...toyHandlers,
			getProvider: () => {
				throw new AssayError("PROVIDER_UNKNOWN", "never heard of it");
			},
		},
	});
	try {
		const client = createApiClient({ baseUrl: failing.url });
		await assert.rejects(client.getProvider({ params: { id: provider.id } }), (error: AssayError) => {
			assert.equal(error.code, "PROVIDER_UNKNOWN");
			assert.equal(error.message, "never heard of it");
			assert.match(error.hint, /assay providers/);
			return true;
		});
	} finally {
		await failing.server.close();
	}
});

test("reads are tried again, writes are not", async () => {
	let tries = 0;
	const waits: number[] = [];
	const client = createApiClient({
		baseUrl: api.url,
		token: tokenOf("admin"),
		sleepMs: async (ms) => void waits.push(ms),
		fetch: async (input, init) => {
			tries += 1;
			if (tries < 3) throw new TypeError("no network");
			return fetch(input, init);
		},
	});
	assert.equal((await client.getProvider({ params: { id: provider.id } })).id, provider.id);
	assert.deepEqual([tries, waits], [3, [200, 400]]);
	tries = 0;
	await assert.rejects(client.removeProvider({ params: { id: provider.id } }), { code: "API_UNREACHABLE" });
	assert.equal(tries, 1);
});

test("a read is tried again after every refusal that the server answers with 429 or 503, a write after none but its rate's", async () => {
	const refusals = Object.entries(STATUS_OF_CODE).filter(([, status]) => status === 429 || status === 503);
	assert.ok(refusals.some(([code]) => code === "STORE_UNREACHABLE"));
	for (const [code, status] of refusals) {
		let tries = 0;
		const refuse = async () => {
			tries += 1;
			return Response.json(problemDocument({ code, status, detail: "away", hint: "", isOurs: false }, "1"), { status });
		};
		const client = createApiClient({ baseUrl: api.url, retries: 2, sleepMs: async () => {}, fetch: refuse });
		await assert.rejects(client.network(), { code });
		assert.equal(tries, 3, code);
		await assert.rejects(collect(client.watchEvents()), { code });
		assert.equal(tries, 6, code);
		await assert.rejects(client.removeProvider({ params: { id: provider.id } }), { code });
		assert.equal(tries, 7, code);
	}
});

test("a write that was refused for its rate is sent again when the server says, and not after a long wait", async () => {
	let refusals = 4;
	let retryAfter = "1";
	let tries = 0;
	const waits: number[] = [];
	const client = createApiClient({
		baseUrl: api.url,
		token: tokenOf("admin"),
		retries: 1,
		sleepMs: async (ms) => void waits.push(ms),
		fetch: async (input, init) => {
			tries += 1;
			if (refusals-- <= 0) return fetch(input, init);
			// A proxy in between has no problem document.
			return new Response("too many", { status: 429, headers: { "retry-after": retryAfter } });
		},
	});
	const write = () => client.changeProvider({ params: { id: provider.id }, body: { name: "a name" } });
	await write();
	assert.deepEqual([tries, waits], [5, [1000, 1000, 1000, 1600]]);
	[refusals, retryAfter, tries] = [1, "3600", 0];
	await assert.rejects(write(), { code: "RATE_LIMITED" });
	assert.equal(tries, 1, "an hour is the caller's to wait");
	[refusals, retryAfter, tries] = [1_000, "1", 0];
	await assert.rejects(write(), { code: "RATE_LIMITED" });
	assert.equal(tries, 11, "it does not ask for ever");
});

test("a caller can give up", async () => {
	const controller = new AbortController();
	controller.abort(new Error("enough"));
	await assert.rejects(admin.network({}, { signal: controller.signal }), { message: "enough" });
});

test("a reply of another shape is not believed", async () => {
	const odd = (body: string) =>
		createApiClient({ baseUrl: api.url, fetch: async () => new Response(body, { status: 200 }) }).network();
	await assert.rejects(odd('{"version":5}'), { code: "API_REPLY_BAD" });
	await assert.rejects(odd("<html>"), { code: "API_REPLY_BAD" });
});

test("signed clients ask for the audience once, and are known by their key", async () => {
	const client = signing("customer");
	const rentals = await client.listRentals();
	assert.equal(rentals.rows.length, 1);
	await client.listRentals();
	assert.deepEqual(api.calls.at(-1)!.call.caller, {
		role: "customer",
		key: signerOf("customer").key,
		tokenId: null,
	});
});

test("the client needs nothing of Node: it runs in a browser", () => {
	const seen = new Set<string>();
	const visit = (file: URL): void => {
		if (seen.has(file.href)) return;
		seen.add(file.href);
		const source = readFileSync(file, "utf8");
		const later = [...source.matchAll(/\bimport\("([^"]+)"\)/g)].map(([, name]) => name);
		const first = [...source.matchAll(/^(?:import|export)( type)? [^;]*?from "([^"]+)"/gm)]
			.filter(([, isType]) => isType === undefined)
			.map(([, , name]) => name);
		for (const name of [...first, ...later]) {
			assert.ok(!name!.startsWith("node:"), `${file.pathname} imports ${name}`);
			assert.ok(
				name!.startsWith(".") || /^(zod|eventsource-parser|@noble)\b/.test(name!),
				`${file.pathname} imports ${name}`,
			);
			if (name!.startsWith(".")) visit(new URL(name!, file));
		}
	};
	visit(new URL("../../src/api/create-client.ts", import.meta.url));
	assert.ok(
		[...seen].some((file) => file.endsWith("/request-signature.ts")),
		"nor what it loads to sign",
	);
	assert.ok(seen.size > 15);
});

// Who may call what: every route against every role, by token and by signature; and what a signature must
// hold.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import { bodyNameOf, signRequest } from "../../src/api/request-signature.ts";
import type { Route } from "../../src/api/route.ts";
import { routeRows, routes } from "../../src/api/routes.ts";
import { ROLES, signerOf, startToyApi, type ToyApi, tokenOf } from "./toy-api.test-kit.ts";
import { inputs } from "./toy-inputs.test-kit.ts";
import { AUDIENCE, NOW_MS, provider } from "./toy-network.test-kit.ts";

let api: ToyApi;
before(async () => {
	api = await startToyApi();
});
after(() => api.server.close());

interface Sent {
	readonly status: number;
	readonly code: string | undefined;
}

const pathOf = (route: Route, input: object): string =>
	route.path.replaceAll(/:([a-z0-9]+)/gi, (_, key) =>
		String((input as { params: Record<string, unknown> }).params[key]),
	);

const BYTES = "application/octet-stream";
const lets = (role: string, needed: string): boolean =>
	role === "admin" || role === needed || (needed === "member" && ["customer", "provider", "validator"].includes(role));

async function send(route: Route, input: object, headers: Record<string, string>): Promise<Sent> {
	const { body, query } = input as { body?: unknown; query?: Record<string, string> };
	const search = query === undefined ? "" : `?${new URLSearchParams(query)}`;
	const isBytes = route.mostBytes !== undefined;
	const response = await fetch(`${api.url}${pathOf(route, input)}${search}`, {
		method: route.method,
		headers: { ...headers, ...(body === undefined ? {} : { "content-type": isBytes ? BYTES : "application/json" }) },
		...(body === undefined ? {} : { body: isBytes ? (body as BodyInit) : JSON.stringify(body) }),
	});
	const text = await response.text();
	return { status: response.status, code: response.ok ? undefined : JSON.parse(text).code };
}

test("every route lets its role and admins in by token, and nobody else", async () => {
	for (const [name, route] of routeRows) {
		const needed = name === "registerProvider" ? "admin" : route.role;
		for (const role of ["public", ...ROLES] as const) {
			const headers: Record<string, string> = role === "public" ? {} : { authorization: `Bearer ${tokenOf(role)}` };
			const before = api.calls.length;
			const { status, code } = await send(route, inputs[name], headers);
			const where = `${name} as ${role}`;
			const allowed = needed === "public" || lets(role, needed);
			assert.equal(status, allowed ? route.status : status === 401 ? 401 : 403, where);
			if (allowed) continue;
			const expected = role === "public" ? "CREDENTIALS_MISSING" : "ROLE_WRONG";
			assert.equal(code, expected, where);
			assert.equal(api.calls.length, before, `${where} reached its handler`);
		}
	}
});

test("every route lets its role and admins in by signature, and nobody else", async () => {
	for (const [name, route] of routeRows) {
		if (route.kind === "events" || route.role === "public") continue;
		const needed = name === "registerProvider" ? "admin" : route.role;
		for (const role of ["customer", "provider", "validator", "admin"] as const) {
			const client = createApiClient({
				baseUrl: api.url,
				signer: signerOf(role),
				audience: AUDIENCE,
				nowMs: () => NOW_MS,
			});
			const call = (client[name] as (input: unknown) => Promise<unknown>)(inputs[name]);
			if (lets(role, needed)) await call;
			else await assert.rejects(call, { code: "ROLE_WRONG" }, `${name} as ${role}`);
		}
	}
});

test("a provider may register itself, and nothing else", async () => {
	const client = createApiClient({ baseUrl: api.url, token: tokenOf("provider") });
	await client.registerProvider({ body: { link: "agent", key: provider.id } });
	await assert.rejects(client.registerProvider({ body: { link: "local" } }), { code: "ROLE_WRONG" });
	await assert.rejects(client.registerProvider({ body: { link: "ssh", target: "ssh://a@b" } }), { code: "ROLE_WRONG" });
});

test("a token that is unknown or malformed is refused even where nobody needs one", async () => {
	for (const authorization of [
		"Bearer assay_admin_short",
		`Bearer ${tokenOf("admin").replace("tt", "uu")}`,
		"Basic YTpi",
		"Bearer",
		"",
	])
		for (const name of ["network", "listTokens"] as const)
			assert.deepEqual(
				await send(routes[name], inputs[name], { authorization }),
				{ status: 401, code: "CREDENTIALS_REFUSED" },
				authorization,
			);
});

const body = JSON.stringify(inputs.rent.body);
const good = {
	audience: AUDIENCE,
	method: "POST",
	path: "/v1/rentals",
	bodyName: bodyNameOf(new TextEncoder().encode(body)),
	timeMs: NOW_MS,
	nonce: "0".repeat(32),
};
let nonces = 1;
const fresh = () => ({ ...good, nonce: (nonces++).toString(16).padStart(32, "0") });

async function rent(headers: Record<string, string>, sent = body, path = good.path): Promise<Sent> {
	const response = await fetch(api.url + path, {
		method: "POST",
		headers: { ...headers, "content-type": "application/json" },
		body: sent,
	});
	const value = (await response.json()) as { code?: string };
	return { status: response.status, code: response.ok ? undefined : value.code };
}

test("a signed request is let in once", async () => {
	const headers = signRequest(fresh(), signerOf("customer"));
	assert.deepEqual(await rent(headers), { status: 201, code: undefined });
	assert.deepEqual(await rent(headers), { status: 401, code: "REQUEST_REPLAYED" });
	assert.deepEqual(await rent(signRequest(fresh(), signerOf("customer"))), { status: 201, code: undefined });
});

test("a signature holds for nothing but the request that it was made for", async () => {
	const customer = signerOf("customer");
	const signature = { status: 401, code: "REQUEST_SIGNATURE" };
	const tampered: [string, Promise<Sent>][] = [
		["body", rent(signRequest(fresh(), customer), body.replace("3600000", "3600001"))],
		["spelling of the body", rent(signRequest(fresh(), customer), `${body} `)],
		["query", rent(signRequest(fresh(), customer), body, `${good.path}?a=1`)],
		["path", rent(signRequest({ ...fresh(), path: "/v1/tokens" }, customer))],
		["method", rent(signRequest({ ...fresh(), method: "PATCH" }, customer))],
		["audience", rent(signRequest({ ...fresh(), audience: "b".repeat(64) }, customer))],
		["time", rent({ ...signRequest(fresh(), customer), "assay-time": String(NOW_MS + 1) })],
		["nonce", rent({ ...signRequest(fresh(), customer), "assay-nonce": "f".repeat(32) })],
		["key", rent({ ...signRequest(fresh(), customer), "assay-key": signerOf("admin").key })],
		["name of the body", rent({ ...signRequest(fresh(), customer), "assay-body": "f".repeat(64) })],
		["signature", rent({ ...signRequest(fresh(), customer), "assay-signature": "0".repeat(128) })],
		["half of it", rent({ "assay-key": customer.key })],
		["spelling of the key", rent({ ...signRequest(fresh(), customer), "assay-key": customer.key.toUpperCase() })],
	];
	for (const [what, sent] of tampered) assert.deepEqual(await sent, signature, what);
});

test("a stale signature is refused, one just in time is not", async () => {
	const at = (timeMs: number) => rent(signRequest({ ...fresh(), timeMs }, signerOf("customer")));
	for (const offMs of [-60_000, 60_000]) assert.equal((await at(NOW_MS + offMs)).status, 201);
	for (const offMs of [-60_001, 60_001])
		assert.deepEqual(await at(NOW_MS + offMs), { status: 401, code: "REQUEST_STALE" });
});

test("a key without a role, and both kinds of credentials at once, are refused", async () => {
	const nobody = signerOf("reader");
	assert.deepEqual(await rent(signRequest(fresh(), nobody)), { status: 401, code: "CREDENTIALS_REFUSED" });
	const both = { ...signRequest(fresh(), signerOf("customer")), authorization: `Bearer ${tokenOf("customer")}` };
	assert.deepEqual(await rent(both), { status: 400, code: "REQUEST_BAD" });
});

test("a refused request does not use up its nonce", async () => {
	const parts = fresh();
	assert.equal(
		(await rent({ ...signRequest(parts, signerOf("customer")), "assay-signature": "0".repeat(128) })).status,
		401,
	);
	assert.equal((await rent(signRequest(parts, signerOf("customer")))).status, 201);
});

// Hostile requests: whatever comes, the answer is a problem document with a code below 500, and the server
// goes on.
import assert from "node:assert/strict";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { routeRows } from "../../src/api/routes.ts";
import { problem } from "../../src/api/schemas/network.ts";
import { codes } from "../../src/protocol/codes.ts";
import { fc, scaled } from "../fuzz.test-kit.ts";
import { startToyApi, type ToyApi, tokenOf } from "./toy-api.test-kit.ts";
import { inputs } from "./toy-inputs.test-kit.ts";
import { provider } from "./toy-network.test-kit.ts";

let api: ToyApi;
const agent = new Agent({ keepAlive: true, maxSockets: 8 });
before(async () => {
	// Many of these end their connection.
	api = await startToyApi({ limits: { connectionsPerAddress: 100_000 } });
});
after(async () => {
	agent.destroy();
	await api.server.close();
});

interface Answer {
	readonly status: number;
	readonly code: string | null;
	readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** node:http and not fetch: it sends what it is told, however odd. */
function send(
	method: string,
	path: string,
	body?: Uint8Array | string,
	headers: Record<string, string> = {},
): Promise<Answer> {
	return new Promise((resolve, reject) => {
		const { hostname, port } = new URL(api.url);
		const all = {
			authorization: `Bearer ${tokenOf("admin")}`,
			...(body === undefined ? {} : { "content-type": "application/json" }),
			...headers,
		};
		const sent = request({ hostname, port, method, path, headers: all, agent }, (response) => {
			const chunks: Buffer[] = [];
			response.on("data", (chunk) => chunks.push(chunk));
			response.on("error", reject);
			response.on("end", () => {
				try {
					resolve(read(method, response, Buffer.concat(chunks).toString()));
				} catch (error) {
					reject(error);
				}
			});
		});
		sent.on("error", reject);
		sent.end(body);
	});
}

function read(method: string, response: IncomingMessage, text: string): Answer {
	const { statusCode: status = 0, headers } = response;
	if (status < 400 || method === "HEAD") return { status, code: null, headers };
	assert.match(String(headers["content-type"]), /^application\/problem\+json/, `${status} ${text}`);
	const { code, status: told } = problem.parse(JSON.parse(text));
	assert.equal(told, status);
	assert.ok(code in codes, code);
	return { status, code, headers };
}

const rent = (body: Uint8Array | string, headers?: Record<string, string>) =>
	send("POST", "/v1/rentals", body, headers);
const rentJson = JSON.stringify(inputs.rent.body);
const withField = (field: string) => `${rentJson.slice(0, -1)},${field}}`;

test("bodies that are not what they should be", async () => {
	assert.equal((await rent(rentJson)).status, 201);
	const cases: [string, string | Uint8Array, number, string][] = [
		["nothing", "", 400, "BODY_SHAPE"],
		["not JSON", "{", 400, "BODY_BAD"],
		["a list", "[]", 400, "BODY_SHAPE"],
		["null", "null", 400, "BODY_SHAPE"],
		["a surplus field", withField('"x":1'), 400, "BODY_SHAPE"],
		["a missing field", '{"durationMs":3600000}', 400, "BODY_SHAPE"],
		["deep", `${"[".repeat(30_000)}${"]".repeat(30_000)}`, 400, "BODY_BAD"],
		["deep objects", `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`, 400, "BODY_BAD"],
		["__proto__", withField('"__proto__":{"role":"admin"}'), 400, "BODY_BAD"],
		["__proto__, escaped", withField('"\\u005f_proto__":{"role":"admin"}'), 400, "BODY_BAD"],
		["__proto__, nested", withField('"want":{"__proto__":{}}'), 400, "BODY_BAD"],
		["constructor", withField('"constructor":{"prototype":{}}'), 400, "BODY_BAD"],
		["a huge number", rentJson.replace("3600000", "1e999"), 400, "BODY_SHAPE"],
		["an unsafe number", rentJson.replace("3600000", "9007199254740993"), 400, "BODY_SHAPE"],
		["a fraction", rentJson.replace("3600000", "3600000.5"), 400, "BODY_SHAPE"],
		["a negative number", rentJson.replace("3600000", "-1"), 400, "BODY_SHAPE"],
		["a number of 60,000 digits", rentJson.replace("3600000", "9".repeat(60_000)), 400, "BODY_SHAPE"],
		["NUL", withField('"x":"\\u0000"'), 400, "BODY_BAD"],
		["half a character", withField('"x":"\\ud800"'), 400, "BODY_BAD"],
		["a raw control character", '{"x":"\u0001"}', 400, "BODY_BAD"],
		["invalid UTF-8", Uint8Array.of(0x22, 0xff, 0xfe, 0x22), 400, "BODY_BAD"],
		["a byte order mark", `\ufeff${rentJson}`, 400, "BODY_BAD"],
		["both", withField('"want":{}'), 400, "BODY_SHAPE"],
		["an ssh key with options", rentJson.replace("ssh-ed25519", 'command=\\"sh\\" ssh-ed25519'), 400, "BODY_SHAPE"],
		["two ssh keys", rentJson.replace(" me", "\\nssh-ed25519 AAAA"), 400, "BODY_SHAPE"],
		["N21: a key twice", rentJson.replace("{", '{"durationMs":1,'), 400, "BODY_BAD"],
		["N21: a key twice, escaped", rentJson.replace("{", '{"\\u0064urationMs":1,'), 400, "BODY_BAD"],
		["N21: a key twice, nested", withField('"want":{"model":"a:b","model":"a"}'), 400, "BODY_BAD"],
		["too large", `"${"x".repeat(64 * 1024)}"`, 413, "BODY_TOO_LARGE"],
	];
	for (const [what, body, status, code] of cases) {
		const answer = await rent(body);
		assert.deepEqual([answer.status, answer.code], [status, code], what);
	}
});

test("content types other than JSON are not taken", async () => {
	for (const type of [
		"text/plain",
		"application/x-www-form-urlencoded",
		"multipart/form-data; boundary=x",
		"application/xml",
		"x",
		"application/jsonx",
		"text/json",
	])
		assert.equal((await rent(rentJson, { "content-type": type })).code, "CONTENT_TYPE_WRONG", type);
	for (const type of ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON"])
		assert.equal((await rent(rentJson, { "content-type": type })).status, 201, type);
	assert.equal((await rent(rentJson, { "content-encoding": "gzip" })).status, 201, "nothing is unpacked");
});

test("paths and queries that are not what they should be", async () => {
	const cases: [string, number, string][] = [
		["/v1/providers?limit=0", 400, "REQUEST_BAD"],
		["/v1/providers?limit=501", 400, "REQUEST_BAD"],
		["/v1/providers?limit=1e2", 400, "REQUEST_BAD"],
		["/v1/providers?limit=007", 400, "REQUEST_BAD"],
		["/v1/providers?limit=", 400, "REQUEST_BAD"],
		["/v1/providers?limit=5&limit=5", 400, "REQUEST_BAD"],
		["/v1/providers?q=a&q=b", 400, "REQUEST_BAD"],
		["/v1/providers?rented=1", 400, "REQUEST_BAD"],
		["/v1/providers?__proto__=x", 400, "REQUEST_BAD"],
		["/v1/providers?__proto__[a]=x", 400, "REQUEST_BAD"],
		["/v1/providers?colour=red", 400, "REQUEST_BAD"],
		["/v1/providers?q=%00", 400, "REQUEST_BAD"],
		["/v1/providers?q=%1b%5b2J", 400, "REQUEST_BAD"],
		["/v1/providers?cursor=a'b", 400, "REQUEST_BAD"],
		["/v1/network?x=1", 400, "REQUEST_BAD"],
		["/v1/providers/abc", 400, "REQUEST_BAD"],
		[`/v1/providers/${provider.id.toUpperCase()}`, 400, "REQUEST_BAD"],
		[`/v1/providers/${"b".repeat(10_000)}`, 414, "REQUEST_BAD"],
		["/v1/providers/%00", 400, "REQUEST_BAD"],
		["/v1/providers/%ff", 400, "REQUEST_BAD"],
		["/v1/chain/epochs/4294967296", 400, "REQUEST_BAD"],
		["/v1/chain/epochs/99999999999999999999", 400, "REQUEST_BAD"],
		["/v1/chain/epochs/-1", 400, "REQUEST_BAD"],
		["/v1/chain/epochs/1.5/weights", 400, "REQUEST_BAD"],
		["/v1/chain/epochs/4294967296/transactions", 400, "REQUEST_BAD"],
		["/v1/chain/epochs?limit=501", 400, "REQUEST_BAD"],
		["/v1/chain?x=1", 400, "REQUEST_BAD"],
		[`/v1/chain/accounts/0x${"A".repeat(40)}`, 400, "REQUEST_BAD"],
		["/v1/chain/accounts/0x12", 400, "REQUEST_BAD"],
		["/v1/providers/abc/chain", 400, "REQUEST_BAD"],
		["/v1/evidence/../../etc/passwd", 404, "ROUTE_UNKNOWN"],
		["/v1/nothing", 404, "ROUTE_UNKNOWN"],
		["/", 404, "ROUTE_UNKNOWN"],
		["//", 404, "ROUTE_UNKNOWN"],
		["/v1/providers/", 400, "REQUEST_BAD"],
	];
	for (const [path, status, code] of cases) {
		const answer = await send("GET", path);
		assert.deepEqual([answer.status, answer.code], [status, code], path.slice(0, 100));
	}
	assert.equal((await send("GET", "/v1/providers?limit=5&q=a%20b")).status, 200);
});

test("methods: HEAD as GET without its body, OPTIONS tells, others are refused", async () => {
	for (const [name, { method, path }] of routeRows) {
		const url = path.replaceAll(
			/:([a-z0-9]+)/gi,
			(_, key) => (inputs[name] as { params: Record<string, string> }).params[key]!,
		);
		const options = await send("OPTIONS", url);
		assert.equal(options.status, 204, name);
		assert.ok(String(options.headers.allow).split(", ").includes(method), name);
		const refused = await send("PUT", url);
		assert.deepEqual([refused.status, refused.code], [405, "METHOD_WRONG"], name);
		assert.equal(refused.headers.allow, options.headers.allow);
		const { query = {} } = inputs[name] as { query?: Record<string, string> };
		if (method === "GET") assert.equal((await send("HEAD", `${url}?${new URLSearchParams(query)}`)).status, 200, name);
	}
	assert.equal((await send("OPTIONS", "/v1/nothing")).code, "ROUTE_UNKNOWN");
	assert.equal(api.server.openStreams(), 0, "a HEAD of a stream leaves none open");
});

test("what is not HTTP gets an answer too", async () => {
	const { hostname, port } = new URL(api.url);
	const speak = (text: string): Promise<string> =>
		new Promise((resolve, reject) => {
			let heard = "";
			const socket = connect(Number(port), hostname, () => socket.write(text));
			socket.on("data", (chunk) => {
				heard += chunk;
			});
			socket.on("end", () => resolve(heard));
			socket.on("error", reject);
		});
	assert.match(await speak("hello\r\n\r\n"), /^HTTP\/1\.1 400 [\s\S]*"code":"REQUEST_BAD"/);
	assert.match(
		await speak(`GET / HTTP/1.1\r\nhost: localhost\r\nx: ${"y".repeat(100_000)}\r\n\r\n`),
		/^HTTP\/1\.1 431 [\s\S]*REQUEST_BAD/,
	);
	assert.match(
		await speak("POST /v1/rentals HTTP/1.1\r\nhost: localhost\r\ncontent-length: -5\r\n\r\n"),
		/^HTTP\/1\.1 400 /,
	);
	assert.equal((await send("GET", "/v1/health")).status, 200);
});

const writes = routeRows.filter(([, { method }]) => method !== "GET");
/** Valid bodies with one field changed, random JSON, and random bytes. */
const hostileBody = (valid: unknown): fc.Arbitrary<string | Uint8Array> => {
	const odd = fc.oneof(
		fc.jsonValue(),
		fc.constantFrom<unknown>(
			"\u0000",
			"__proto__",
			"\ud800",
			"' OR 1=1 --",
			"9".repeat(400),
			-1,
			2 ** 53,
			1e308,
			-0,
			"",
			[],
			{},
			null,
		),
	);
	const fields = Object.keys((valid as object | undefined) ?? {});
	const spoiled = fc.tuple(fc.constantFrom("extra", "__proto__", "constructor", ...fields), odd).map(([key, value]) => {
		const own = Object.entries((valid as object | undefined) ?? {}).filter(([name]) => name !== key);
		return `{${[...own, [key, value]].map(([name, field]) => `${JSON.stringify(name)}:${JSON.stringify(field)}`).join(",")}}`;
	});
	return fc.oneof(
		{ weight: 6, arbitrary: spoiled },
		{ weight: 2, arbitrary: odd.map((value) => JSON.stringify(value)) },
		{ weight: 1, arbitrary: fc.string() },
		{ weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
	);
};

test("10,000 fuzzed bodies: never a 5xx", async () => {
	const cases = writes.map(([name, route]) => {
		const input = inputs[name] as { params?: Record<string, string>; body?: unknown };
		const path = route.path.replaceAll(/:([a-z0-9]+)/gi, (_, key) => input.params![key]!);
		return hostileBody(input.body).map((body) => ({ name, method: route.method, path, body }));
	});
	const seen = new Map<number, number>();
	// Sampled and sent eight at a time: a property with one request each would wait for 10,000 round trips.
	const all = fc.sample(fc.oneof(...cases), { numRuns: scaled(2000), seed: 27 });
	// Drawing them takes seconds in a deep run: meanwhile the server has given up earlier tests' connections.
	agent.destroy();
	let next = 0;
	const sendAll = async (): Promise<void> => {
		while (next < all.length) {
			const { name, method, path, body } = all[next++]!;
			const { status } = await send(method, path, body);
			seen.set(status, (seen.get(status) ?? 0) + 1);
			assert.ok(status < 500, `${name} ${status} ${String(body)}`);
		}
	};
	await Promise.all(Array.from({ length: 8 }, sendAll));
	assert.ok((seen.get(400) ?? 0) > all.length / 2, "most are refused");
	assert.ok(
		(seen.get(200) ?? 0) + (seen.get(201) ?? 0) > all.length / 100,
		"some are right, so the handlers were reached",
	);
	assert.equal(({} as { role?: string }).role, undefined, "no prototype was changed");
});

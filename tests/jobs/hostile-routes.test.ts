// Routes of jobs and blobs against whoever lies: another customer's job and another provider's part are
// unknown on every route; random bodies, specs and agent messages are refused by a code, never by a crash,
// and what is refused tells nothing of the inside. 400 of them here, 10,000 in the deep tier.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import { blobNameOf, bodyNameOf, signRequest } from "../../src/api/request-signature.ts";
import type { Route } from "../../src/api/route.ts";
import { type RouteName, routeRows } from "../../src/api/routes.ts";
import type { Job } from "../../src/api/types.ts";
import { decodeMessage } from "../../src/engine/agent/agent-messages.ts";
import { createNodeSigner } from "../../src/platform/node-ed25519.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { codes } from "../../src/protocol/codes.ts";
import { inputs } from "../api/toy-inputs.test-kit.ts";
import { fc, scaled } from "../fuzz.test-kit.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { openStage, prepare, type Stage } from "./job-stage.test-kit.ts";

type Input = { params?: Record<string, unknown>; query?: Record<string, unknown>; body?: unknown };

let stage: Stage;
let job: Job;
let body: { spec: unknown; offer: unknown };
before(async () => {
	// In a long run fetch makes more than fifty new connections a second.
	const limits = { readsPerS: 1e6, writesPerS: 1e6, transfersPerS: 1e6, dialsPerS: 1e6 };
	// A provider that says nothing by itself, and has time for that: what is said of the part is said by these
	// tests.
	const params = { jobAcceptMs: 3_600_000, jobBeatMs: 3_600_000, jobLeastWorkMs: 3_600_000 };
	stage = await openStage({ hasChain: false, params, settings: { api: { limits } } });
	await stage.worker(1, { isDeaf: true });
	body = (await prepare(stage, { method: { name: "optimistic", count: 0 } })) as never;
	const { id } = await stage.customer.submitJob({ body: body as never });
	job = await eventually(async () => {
		const found = await stage.customer.getJob({ params: { id } });
		return found.record.parts[0]!.state === "assigned" && found;
	});
	const worker = createApiClient({ baseUrl: stage.validator.url, signer: SIGNERS[1]! });
	await worker.acceptPart({ params: { id, part: 0 }, body: { attempt: 1 } });
});
after(() => stage?.close());

const ofJobs = routeRows.filter(([, { path }]) => /^\/v1\/(jobs|blobs|claims|frauds)\b/.test(path));
/** The toys' inputs, for the job that is there. */
function inputOf(name: RouteName, id = job.id): Input {
	const { params, query, ...more } = inputs[name] as Input;
	const found = name === "getJobBlob" ? body.spec : null;
	const { root, size } = (found as { program: { root: string; size: number } } | null)?.program ?? {};
	return {
		...more,
		...(params && { params: { ...params, ...("id" in params && { id }), ...(root && { root }) } }),
		...(query && { query: { ...query, ...(size && { size }) } }),
	};
}

test("another's job, and one that is not there, are unknown on every route, to whoever asks; nothing changes", async () => {
	const stranger = createApiClient({
		...{
			baseUrl: stage.validator.url,
			audience: stage.validator.key,
			signer: createNodeSigner(new Uint8Array(32).fill(77)),
		},
	});
	const { version } = (await stage.validator.store.jobs.summary(job.id))!;
	const closed = ofJobs.filter(([, { path, role }]) => path.includes("/jobs/:id") && role !== "public");
	assert.ok(closed.length >= 11);
	for (const [name, route] of closed)
		for (const id of [job.id, "0".repeat(64)]) {
			const call = async () => {
				const reply = (stranger[name] as (input: unknown) => unknown)(inputOf(name, id));
				if (route.kind !== "events") return await reply;
				for await (const event of reply as AsyncIterable<unknown>) return event;
			};
			await assert.rejects(
				call,
				(error) => error instanceof AssayError && error.code === "JOB_UNKNOWN" && error.hint !== "",
				`${name} of ${id}`,
			);
		}
	assert.deepEqual((await stranger.listJobs({})).rows, []);
	assert.equal((await stage.validator.store.jobs.summary(job.id))!.version, version);
	// The same words of its own customer are heard.
	assert.equal((await stage.customer.getJob(inputOf("getJob") as never)).id, job.id);
	assert.ok((await stage.customer.getJobBlob(inputOf("getJobBlob") as never)).length > 0);
	// Another customer cannot hand in what was offered to this one.
	await assert.rejects(stranger.submitJob({ body: body as never }), AssayError);
});

const odd = fc.oneof(
	fc.constantFrom(
		null,
		true,
		-1,
		0,
		1,
		0.5,
		2 ** 31,
		2 ** 35,
		2 ** 53,
		-(2 ** 53),
		1e300,
		"",
		"0",
		"-1",
		"\u0000",
		"é",
		"\ud800",
	),
	fc.constantFrom(
		"0".repeat(64),
		"f".repeat(64),
		"F".repeat(64),
		`0x${"0".repeat(40)}`,
		"x".repeat(5000),
		{},
		[],
		[[]],
	),
	fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>,
);

/** Somewhere in it a value is another, gone, doubled or moved. */
function spoiled(value: unknown, path: readonly number[], by: unknown, how: number): unknown {
	if (typeof value !== "object" || value === null || path.length === 0) return how === 0 ? [value, by] : by;
	const keys = Object.keys(value);
	const key = keys[path[0]! % Math.max(1, keys.length)];
	if (key === undefined) return by;
	const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
	if (path.length > 1) copy[key] = spoiled(copy[key], path.slice(1), by, how);
	else if (how === 1) delete copy[key];
	else if (how === 2) copy[`${key}x`] = by;
	else copy[key] = by;
	return copy;
}

/**
 * Signed as the customer's, the provider's that has the part, or a stranger's; sent as it is, whatever it
 * holds.
 */
async function send(route: Route, { params = {}, query = {}, body: sent }: Input, who: number) {
	const signer = SIGNERS[who % SIGNERS.length]!;
	const path = route.path.replaceAll(/:([a-z0-9]+)/gi, (_, key) =>
		encodeURIComponent(textOf(params[key])).slice(0, 400),
	);
	const search = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, textOf(value)]));
	const url = `${path === "" ? "/" : path}?${search}`;
	const isBytes = route.mostBytes !== undefined;
	const raw =
		sent === undefined ? new Uint8Array(0) : isBytes ? bytesOf(sent) : new TextEncoder().encode(JSON.stringify(sent));
	const { key: audience } = stage.validator;
	const nonce = (nonces++).toString(16).padStart(32, "0");
	const bodyName = isBytes ? blobNameOf(raw) : bodyNameOf(raw);
	const headers = signRequest(
		{ audience, method: route.method, path: url, bodyName, timeMs: Date.now(), nonce },
		signer,
	);
	const type = { "content-type": isBytes ? "application/octet-stream" : "application/json" };
	const response = await fetch(stage.validator.url + url, {
		method: route.method,
		headers: { ...headers, ...(sent === undefined ? {} : type) },
		...(sent === undefined ? {} : { body: raw }),
	});
	// An answer that is not read keeps its connection, and the server allows 256 of them.
	if (route.kind !== "events" || !response.ok) return { status: response.status, text: await response.text() };
	await response.body?.cancel();
	return { status: response.status, text: "" };
}
let nonces = 1;
const SIGNERS = [90, 101, 78].map((n) => createNodeSigner(new Uint8Array(32).fill(n)));
const textOf = (value: unknown): string =>
	typeof value === "string" && value.isWellFormed() ? value : (JSON.stringify(value) ?? "");
const bytesOf = (value: unknown): Uint8Array<ArrayBuffer> =>
	value instanceof Uint8Array ? new Uint8Array(value) : new TextEncoder().encode(JSON.stringify(value) ?? "");

test("random bodies, paths and queries: a code and a hint for each, no crash, no word of the inside", async () => {
	const seen = new Map<number, number>();
	const spoiler = fc.record({
		route: fc.nat(ofJobs.length - 1),
		where: fc.constantFrom("body", "body", "body", "params", "query"),
		path: fc.array(fc.nat(40), { minLength: 1, maxLength: 4 }),
		by: odd,
		how: fc.nat(3),
		who: fc.nat(2),
	});
	await fc.assert(
		fc.asyncProperty(spoiler, async ({ route: at, where, path, by, how, who }) => {
			const [name, route] = ofJobs[at]!;
			const whole = name === "submitJob" ? { body } : inputOf(name);
			const input = where in whole ? { ...whole, [where]: spoiled(whole[where as keyof Input], path, by, how) } : whole;
			const { status, text } = await send(route, input as Input, who);
			seen.set(status, (seen.get(status) ?? 0) + 1);
			assert.ok(status < 500, `${name}: ${status} ${text}`);
			if (status < 400) return;
			const problem = JSON.parse(text) as { code: string; hint: string; detail: string };
			assert.ok(problem.code in codes && problem.hint !== "", text);
			assert.doesNotMatch(text, /\.ts:|node_modules|\/src\/|\bat async\b|SELECT |postgres/i);
		}),
		{ numRuns: scaled(400) },
	);
	assert.ok([...seen.values()].reduce((sum, count) => sum + count, 0) >= scaled(400));
	assert.ok((seen.get(400) ?? 0) > scaled(400) / 10, "most of them are refused for what they are");
	assert.equal((await stage.customer.getJob({ params: { id: job.id } })).record.parts.length, job.record.parts.length);
	assert.equal((await fetch(`${stage.validator.url}/v1/ready`)).status, 200);
});

test("random messages about jobs on the agent link: read as what they are, or refused; nothing else", () => {
	const name = "a".repeat(64);
	const attempt = { job: name, part: 0, attempt: 1 };
	const messages = [
		["validator", { type: "job", ...attempt, audit: null, device: 0 }],
		["validator", { type: "ask", ...attempt, question: "{}" }],
		["validator", { type: "stop", ...attempt }],
		["provider", { type: "offered", job: name }],
		["provider", { type: "answer", job: name, answer: "{}", signature: null }],
		["provider", { type: "stopped", job: name }],
	] as const;
	for (const [from, message] of messages) decodeMessage(from, JSON.stringify(message));
	fc.assert(
		fc.property(fc.nat(5), fc.array(fc.nat(9), { minLength: 1, maxLength: 2 }), odd, fc.nat(3), (at, path, by, how) => {
			const [from, message] = messages[at]!;
			try {
				const read = decodeMessage(from, JSON.stringify(spoiled(message, path, by, how)) ?? "");
				assert.equal(read.type, message.type);
			} catch (error) {
				if (!(error instanceof AssayError)) throw error;
				assert.ok(error.code in codes);
			}
		}),
		{ numRuns: scaled(400) },
	);
});

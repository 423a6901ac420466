// A webhook before a real server that fails, refuses, redirects, is silent or away.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { After } from "./abortable.ts";
import { createWebhook, webhookSignature } from "./webhook.ts";

interface Got {
	readonly body: string;
	readonly headers: IncomingMessage["headers"];
}

/** `answer` is asked for each request, in their order. */
async function serve(answer: (n: number, response: ServerResponse) => void) {
	const got: Got[] = [];
	let wake = Promise.withResolvers<void>();
	const server = createServer(async (request, response) => {
		let body = "";
		for await (const chunk of request) body += chunk;
		got.push({ body, headers: request.headers });
		answer(got.length, response);
		wake.resolve();
		wake = Promise.withResolvers();
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		got,
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/secret-path`,
		async until(count: number) {
			while (got.length < count) await wake.promise;
		},
		async close() {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

const end =
	(status: number, headers = {}) =>
	(_n: number, response: ServerResponse) =>
		void response.writeHead(status, headers).end("x".repeat(100));
/** Rests are noted and take no time. */
function quick(): { readonly after: After; readonly rests: number[] } {
	const rests: number[] = [];
	const after: After = (ms, run) => {
		rests.push(ms);
		const timer = setImmediate(run);
		return () => clearImmediate(timer);
	};
	return { after, rests };
}

function ends() {
	const seen: string[] = [];
	let wake = Promise.withResolvers<void>();
	return {
		seen,
		onEnd(how: string, why: string) {
			seen.push(`${how} ${why}`.trim());
			wake.resolve();
			wake = Promise.withResolvers();
		},
		async until(count: number) {
			while (seen.length < count) await wake.promise;
		},
	};
}

test("a message arrives once, signed over time and body; without a secret it is not signed", async () => {
	const server = await serve(end(204));
	for (const secret of ["hush", null]) {
		const ended = ends();
		const webhook = createWebhook({ url: server.url, secret, nowMs: () => 1_700_000_000_999, onEnd: ended.onEnd });
		webhook.send({ text: "ä" });
		await ended.until(1);
		assert.deepEqual(ended.seen, ["sent"]);
		const { body, headers } = server.got.at(-1)!;
		assert.equal(body, '{"text":"ä"}');
		const id = headers["webhook-id"];
		assert.match(String(id), /^msg_[0-9a-f-]{36}$/);
		assert.equal(headers["webhook-timestamp"], "1700000000");
		const expected = createHmac("sha256", "hush").update(`${id}.1700000000.${body}`).digest("base64");
		assert.equal(headers["webhook-signature"], secret === null ? undefined : `v1,${expected}`);
		await webhook.stop();
	}
	assert.equal(server.got.length, 2);
	await server.close();
});

test("a signature of the specification's own example", () => {
	const [secret, id] = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"];
	const signature = webhookSignature(secret, id, 1614265330, '{"test": 2432232314}');
	assert.equal(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

test("a failing server is tried again with growing rests, in order; in the end it is given up", async () => {
	const server = await serve((n, response) => end(n <= 3 ? 503 : n === 4 ? 429 : 200)(n, response));
	const { after, rests } = quick();
	const ended = ends();
	const webhook = createWebhook({ url: server.url, secret: null, nowMs: () => 0, after, onEnd: ended.onEnd });
	webhook.send({ n: 1 });
	webhook.send({ n: 2 });
	await ended.until(2);
	assert.deepEqual(ended.seen, ["sent", "sent"]);
	assert.deepEqual(rests, [1000, 2000, 4000, 8000]);
	assert.deepEqual(
		server.got.map(({ body }) => JSON.parse(body).n),
		[1, 1, 1, 1, 1, 2],
	);
	const ids = server.got.map(({ headers }) => headers["webhook-id"]);
	assert.equal(new Set(ids.slice(0, 5)).size, 1);
	assert.notEqual(ids[5], ids[0]);
	await webhook.stop();
	await server.close();

	const away = ends();
	const nobody = createWebhook({ url: server.url, secret: null, nowMs: () => 0, after, onEnd: away.onEnd });
	nobody.send({});
	await away.until(1);
	assert.deepEqual(away.seen, ["failed ECONNREFUSED"]);
	await nobody.stop();
});

test("a refusal is final, and nobody is sent elsewhere", async () => {
	const inside = await serve(end(200));
	for (const [status, headers] of [
		[400, {}],
		[302, { location: inside.url }],
		[307, { location: inside.url }],
	] as const) {
		const server = await serve(end(status, headers));
		const ended = ends();
		const webhook = createWebhook({ url: server.url, secret: null, nowMs: () => 0, onEnd: ended.onEnd });
		webhook.send({});
		await ended.until(1);
		assert.deepEqual([ended.seen, server.got.length], [[`failed status ${status}`], 1]);
		await webhook.stop();
		await server.close();
	}
	assert.equal(inside.got.length, 0);
	await inside.close();
});

test("a queue behind a silent server is bounded, and stopping waits for nobody", async () => {
	const server = await serve(() => {});
	const ended = ends();
	const webhook = createWebhook({ url: server.url, secret: null, nowMs: () => 0, onEnd: ended.onEnd });
	for (let n = 0; n < 300; n++) webhook.send({ n });
	assert.equal(ended.seen.filter((one) => one === "dropped too many wait").length, 199);
	await server.until(1);
	await webhook.stop();
	assert.equal(ended.seen.length, 300);
	assert.equal(server.got.length, 1);
	webhook.send({});
	assert.equal(ended.seen.at(-1), "dropped stopped");
	await server.close();
});

// Event streams over a real server: going on after the last event, heartbeats, the cap, slow readers, the
// end.
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import { readEventStream } from "../../src/api/read-event-stream.ts";
import type { Handlers } from "../../src/api/routes.ts";
import type { ApiLimits } from "../../src/api/server/server-options.ts";
import type { NetworkEvent } from "../../src/api/types.ts";
import { collect, startToyApi, type ToyApi } from "./toy-api.test-kit.ts";
import { toyHandlers } from "./toy-handlers.test-kit.ts";
import { event, probe } from "./toy-network.test-kit.ts";

async function withApi(
	overrides: { watchEvents?: Handlers["watchEvents"]; limits?: Partial<ApiLimits> },
	use: (api: ToyApi) => Promise<void>,
): Promise<void> {
	const { watchEvents = toyHandlers.watchEvents, limits = {} } = overrides;
	const api = await startToyApi({ handlers: { ...toyHandlers, watchEvents }, limits });
	try {
		await use(api);
	} finally {
		await api.server.close();
	}
}

/** Says nothing until it is told to stop. */
async function* silent({ signal }: { signal: AbortSignal }): AsyncGenerator<NetworkEvent> {
	await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

const settled = async (isTrue: () => boolean): Promise<void> => {
	while (!isTrue()) await new Promise(setImmediate);
};

const noSleep = async (): Promise<void> => {};

test("a reader goes on after the event that it names, by header or by query", () =>
	withApi({}, async ({ url, calls }) => {
		const client = createApiClient({ baseUrl: url });
		const ids = async (source: AsyncIterable<NetworkEvent>) => (await collect(source)).map(({ id }) => id);
		assert.deepEqual(await ids(client.watchEvents()), ["1", "2", "3"]);
		assert.deepEqual(await ids(client.watchEvents({}, { lastEventId: "41" })), ["42", "43", "44"]);
		assert.deepEqual(await ids(client.watchProbe({ params: { id: probe.id }, query: { after: "6" } })), [
			"7",
			"8",
			"9",
		]);
		assert.deepEqual(
			calls.map(({ call }) => call.lastEventId),
			[null, "41", "6"],
		);
		const odd = await fetch(`${url}/v1/events`, { headers: { "last-event-id": "a b\u00e9" } });
		assert.equal(odd.status, 400);
	}));

test("the client comes back after a broken stream, without a gap or a repeat", () => {
	let broken = 0;
	return withApi(
		{
			async *watchEvents({ lastEventId }) {
				const first = Number(lastEventId ?? 0) + 1;
				yield event(first);
				if (broken++ < 2) throw new Error("the source broke");
				yield event(first + 1);
			},
		},
		async ({ url }) => {
			const client = createApiClient({ baseUrl: url, sleepMs: noSleep });
			assert.deepEqual(
				(await collect(client.watchEvents())).map(({ id }) => id),
				["1", "2", "3", "4"],
			);
			assert.equal(broken, 3);
		},
	);
});

test("the client gives up on a stream that never brings anything", () =>
	withApi(
		{
			// biome-ignore lint/correctness/useYield: it breaks before it has anything to tell
			async *watchEvents() {
				throw new Error("the source broke");
			},
		},
		async ({ url, calls }) => {
			const client = createApiClient({ baseUrl: url, sleepMs: noSleep, retries: 2 });
			await assert.rejects(collect(client.watchEvents()), { code: "STREAM_BROKEN" });
			assert.equal(calls.length, 3);
		},
	));

test("an event that its schema does not know is left out, and undeclared fields with it", () =>
	withApi(
		{
			async *watchEvents() {
				yield { ...event(1), customer: "hunter2" } as NetworkEvent;
				yield { ...event(2), kind: "Not A Kind\ndata: forged" };
				yield event(3);
			},
		},
		async ({ url }) => {
			const text = await (await fetch(`${url}/v1/events`)).text();
			assert.doesNotMatch(text, /hunter2|forged/);
			const read = await collect(readEventStream(new Blob([text]).stream()));
			assert.deepEqual(
				read.map(({ id, event }) => [id, event]),
				[
					["1", "probe.progress"],
					["3", "probe.progress"],
					[undefined, "end"],
				],
			);
		},
	));

test("heartbeats keep a silent stream alive", () =>
	withApi({ watchEvents: silent, limits: { heartbeatMs: 1 } }, async ({ url }) => {
		const reader = (await fetch(`${url}/v1/events`)).body!.getReader();
		let heard = "";
		while (heard.split(": \n\n").length < 4) heard += new TextDecoder().decode((await reader.read()).value);
		await reader.cancel();
	}));

test("an address has a cap of streams, and gets one back when it closes one", () =>
	withApi({ watchEvents: silent, limits: { streamsPerAddress: 2 } }, async ({ url, server }) => {
		const open = () => fetch(`${url}/v1/events`);
		const first = await open();
		await open();
		assert.equal(server.openStreams(), 2);
		const third = await open();
		assert.equal(third.status, 429);
		assert.equal(((await third.json()) as { code: string }).code, "STREAMS_TOO_MANY");
		await first.body!.cancel();
		await settled(() => server.openStreams() === 1);
		assert.equal((await open()).status, 200);
		assert.match(await server.registry.metrics(), /assay_http_event_streams 2/);
	}));

/** As many as the reader takes, until somebody stops it. */
const flood = (told: { ended: boolean; sent: number }): Handlers["watchEvents"] =>
	async function* ({ signal }) {
		try {
			for (let n = 0; !signal.aborted; n++) {
				yield { ...event(n), detail: "x".repeat(64 * 1024) };
				told.sent = n;
				await new Promise(setImmediate);
			}
		} finally {
			told.ended = true;
		}
	};

test("a reader that does not read is cut off; its source ends", () => {
	const told = { ended: false, sent: 0 };
	return withApi({ watchEvents: flood(told) }, async ({ url, server }) => {
		const { hostname, port } = new URL(url);
		const socket: Socket = connect(Number(port), hostname);
		socket.pause();
		socket.on("error", () => {});
		socket.write("GET /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n");
		await settled(() => told.ended && server.openStreams() === 0);
		assert.match(await server.registry.metrics(), /assay_http_event_stream_ends_total\{why="slow"\} 1/);
		socket.destroy();
	});
});

test("a reader that keeps up gets more than the bound", () => {
	const told = { ended: false, sent: 0 };
	return withApi({ watchEvents: flood(told) }, async ({ url, server }) => {
		const reader = (await fetch(`${url}/v1/events`)).body!.getReader();
		let bytes = 0;
		while (bytes < 4 * 1024 * 1024) bytes += (await reader.read()).value?.length ?? Number.NaN;
		assert.equal(server.openStreams(), 1);
		await reader.cancel();
		await settled(() => told.ended);
	});
});

test("close ends open streams and tells their sources", async () => {
	const api = await startToyApi({ handlers: { ...toyHandlers, watchEvents: silent } });
	const response = await fetch(`${api.url}/v1/events`);
	await api.server.close();
	assert.equal(api.server.openStreams(), 0);
	// No "end": the reader is to come back to the next server.
	assert.equal(await response.text(), "retry: 2000\n\n");
});

test("lines are read however they are cut; a line or an event without end is refused", async () => {
	const bytes = new TextEncoder().encode(
		": hi\r\nid: 7\r\nevent: a\r\ndata: é1\r\ndata: 2\r\n\r\ndata:x\n\ndata: lost",
	);
	const streamOf = (next: () => Uint8Array<ArrayBuffer> | undefined) =>
		new ReadableStream<Uint8Array<ArrayBuffer>>({
			pull(controller) {
				const chunk = next();
				if (chunk === undefined) controller.close();
				else controller.enqueue(chunk);
			},
		});
	for (const size of [1, 2, 3, 1000]) {
		const cut = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.slice(i * size, (i + 1) * size));
		assert.deepEqual(await collect(readEventStream(streamOf(() => cut.shift()))), [
			{ id: "7", event: "a", data: "é1\n2" },
			{ id: undefined, event: undefined, data: "x" },
		]);
	}
	for (const part of ["x".repeat(1024 * 1024), `data: ${"x".repeat(1024)}\n`]) {
		const endless = streamOf(() => new TextEncoder().encode(part));
		await assert.rejects(collect(readEventStream(endless)), { code: "API_REPLY_BAD" });
	}
});

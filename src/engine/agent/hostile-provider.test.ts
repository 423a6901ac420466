// Providers that do not keep to the page, before a real door: each costs one slot for a bounded time, is told
// why it is sent away, and leaves nothing behind. A right twin stands beside: the same steps done honestly
// are let in (agent-link.test.ts).
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import {
	CLAIM,
	dialOptions,
	dialRaw,
	makeSigner,
	OFFER,
	openRaw,
	type RawProvider,
	type RawSocket,
	random,
	startDoor,
	startMiddle,
	type TestDoor,
} from "./agent.test-kit.ts";
import type { AgentBounds } from "./agent-bounds.ts";
import { createNonce } from "./agent-handshake.ts";
import { AGENT_VERSION } from "./agent-messages.ts";
import { dialAgent } from "./dial-agent.ts";

const PROBE = { probe: "0f".repeat(16), limits: { memoryBytes: 1e9, minutes: 3 } };
const isCode = (code: string) => (error: unknown) => error instanceof AssayError && error.code === code;
const key = () => makeSigner().key;

async function withDoor(run: (door: TestDoor) => Promise<void>, bounds: Partial<AgentBounds> = {}): Promise<void> {
	const door = await startDoor({ bounds });
	try {
		await run(door);
	} finally {
		await door.stop();
	}
}

/** Said before anything is proven; all end with the close code and the code. */
const strangers: Readonly<Record<string, [say: (raw: RawSocket) => void, closeCode: number, code: string]>> = {
	"text that is no JSON": [(raw) => raw.ws.send("hello"), 4000, "AGENT_MESSAGE_BAD"],
	"bytes first": [(raw) => raw.ws.send(random(100)), 4000, "AGENT_MESSAGE_BAD"],
	"proof first": [
		(raw) => raw.ws.send(JSON.stringify({ type: "proof", signature: "00".repeat(64), claim: CLAIM, offer: OFFER })),
		4000,
		"AGENT_MESSAGE_BAD",
	],
	"another version": [
		(raw) => raw.ws.send(JSON.stringify({ type: "hello", version: AGENT_VERSION - 1, key: key(), nonce: key() })),
		4000,
		"AGENT_MESSAGE_BAD",
	],
	"a nonce that is no key": [
		(raw) => raw.ws.send(JSON.stringify({ type: "hello", version: AGENT_VERSION, key: key(), nonce: "00".repeat(32) })),
		4001,
		"AGENT_PROOF_WRONG",
	],
	"hello twice": [
		(raw) => {
			const hello = JSON.stringify({
				type: "hello",
				version: AGENT_VERSION,
				key: key(),
				nonce: createNonce(random(32)).nonce,
			});
			raw.ws.send(hello);
			raw.ws.send(hello);
		},
		4000,
		"AGENT_MESSAGE_BAD",
	],
	"a megabyte": [(raw) => raw.ws.send("x".repeat(1 << 20)), 1009, ""],
	"a thousand fragments": [
		(raw) => {
			for (let i = 0; i < 1000; i++) raw.ws.send("x", { fin: false });
		},
		1008,
		"",
	],
	"pings without end": [
		(raw) => {
			for (let i = 0; i < 500; i++) raw.ws.ping();
		},
		4004,
		"AGENT_FLOOD",
	],
	"pongs that nobody asked for": [
		(raw) => {
			for (let i = 0; i < 500; i++) raw.ws.pong(random(16));
		},
		4004,
		"AGENT_FLOOD",
	],
};
for (const [name, [say, closeCode, code]] of Object.entries(strangers))
	test(`a stranger is sent away: ${name}`, () =>
		withDoor(async (door) => {
			const raw = await openRaw(door.url);
			say(raw);
			const end = await raw.closed;
			assert.deepEqual([end.closeCode, end.reason], [closeCode, code]);
			const refusal = await door.nextRefusal();
			assert.match(refusal.code, /^AGENT_/);
			assert.equal(door.door.connections.size, 0);
		}));

test("who says nothing is sent away", () =>
	withDoor(
		async (door) => {
			const raw = await openRaw(door.url);
			assert.deepEqual(await raw.closed, { closeCode: 4002, reason: "AGENT_SILENT" });
			assert.equal((await door.nextRefusal()).code, "AGENT_SILENT");
		},
		{ handshakeMs: 50 },
	));

test("who trickles a message is sent away: half a message is no life", () =>
	withDoor(
		async (door) => {
			const { hostname, port } = new URL(door.url);
			const socket = connect({ host: hostname, port: Number(port) });
			socket.on("error", () => {});
			const closed = new Promise((resolve) => socket.once("close", resolve));
			socket.write(
				`GET /agent HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.from(random(16)).toString("base64")}\r\n\r\n`,
			);
			await new Promise((resolve) => socket.once("data", resolve));
			// A masked text frame of 1000 bytes, one byte at a time.
			socket.write(Buffer.from([0x81, 0xfe, 0x03, 0xe8, 0, 0, 0, 0]));
			const drip = setInterval(() => socket.write("x"), 5);
			assert.equal((await door.nextRefusal()).code, "AGENT_SILENT");
			clearInterval(drip);
			await closed;
		},
		{ handshakeMs: 100 },
	));

const badProofs: Readonly<Record<string, [proof: object, code: string]>> = {
	"another's signature": [{ signature: "11".repeat(64) }, "AGENT_PROOF_WRONG"],
	"no claim": [{ claim: {} }, "CLAIM_BAD"],
	"a claim without devices": [{ claim: { ...CLAIM, devices: [] } }, "CLAIM_BAD"],
	"a negative price": [{ offer: { ...OFFER, pricePerHourMicros: -1 } }, "AGENT_MESSAGE_BAD"],
	"a name with an escape": [{ offer: { ...OFFER, name: "\u001b[2J" } }, "AGENT_MESSAGE_BAD"],
	"an ssh host that is an option": [{ offer: { ...OFFER, ssh: { host: "-oX", port: 1 } } }, "AGENT_MESSAGE_BAD"],
	"a field more": [{ admin: true }, "AGENT_MESSAGE_BAD"],
};
for (const [name, [proof, code]] of Object.entries(badProofs))
	test(`a proof is refused: ${name}`, () =>
		withDoor(async (door) => {
			const raw = await dialRaw(door.url, { proof, until: "welcome" });
			assert.equal((await raw.closed).reason, code);
			assert.equal((await door.nextRefusal()).code, code);
		}));

test("a key cannot be claimed without its signature, nor with the validator's own words shown back", () =>
	withDoor(async (door) => {
		const raw = await openRaw(door.url);
		const own = createNonce(random(32));
		// The validator's own key as ours: its signature comes back in prove, and would be ours to show.
		raw.ws.send(JSON.stringify({ type: "hello", version: AGENT_VERSION, key: door.signer.key, nonce: own.nonce }));
		const prove = JSON.parse((await raw.next()).data.toString()) as { signature: string; nonce: string };
		const honest = await dialRaw(door.url, { proof: { signature: prove.signature }, until: "welcome" });
		assert.equal((await honest.closed).reason, "AGENT_PROOF_WRONG");
		raw.ws.close();
	}));

test("a recorded handshake played again opens nothing", () =>
	withDoor(async (door) => {
		const relay = await startMiddle(door.url);
		const near = await dialAgent(dialOptions(relay.url));
		await door.next();
		await near.close();
		const replay = await openRaw(door.url);
		replay.ws.send(relay.fromProvider[0]!.toString());
		await replay.next();
		replay.ws.send(relay.fromProvider[1]!, { binary: true });
		assert.equal((await replay.closed).reason, "AGENT_PROOF_WRONG");
		await relay.stop();
	}));

/** Said by a provider that is proven and welcome. */
const members: Readonly<Record<string, [say: (provider: RawProvider) => void, code: string]>> = {
	"text after the handshake": [(p) => p.ws.send("{}"), "AGENT_MESSAGE_BAD"],
	"bytes that it did not seal": [(p) => p.ws.send(random(64)), "AGENT_PROOF_WRONG"],
	"opened without open": [
		(p) => p.send({ type: "opened", channel: 1, engineSha256: null, commitment: "ab".repeat(32) }),
		"AGENT_MESSAGE_BAD",
	],
	"data of no channel": [(p) => p.sendData(1, random(10)), "AGENT_MESSAGE_BAD"],
	"a rental that nobody asked for": [(p) => p.send({ type: "unrented", rental: "00".repeat(16) }), "AGENT_MESSAGE_BAD"],
	"a validator's words": [(p) => p.send({ type: "open", channel: 1, ...PROBE }), "AGENT_MESSAGE_BAD"],
	"a claim that is none": [(p) => p.send({ type: "changed", claim: { devices: 1 } }), "CLAIM_BAD"],
	"changes without end": [
		(p) => {
			for (let i = 0; i < 2000; i++) p.send({ type: "changed", claim: CLAIM });
		},
		"AGENT_FLOOD",
	],
};
for (const [name, [say, code]] of Object.entries(members))
	test(`a proven provider is sent away: ${name}`, () =>
		withDoor(async (door) => {
			const provider = await dialRaw(door.url);
			const connection = await door.next();
			say(provider);
			assert.equal((await connection.closed).code, code);
			assert.equal((await provider.closed).reason, code);
			assert.equal(door.door.connections.size, 0);
			await assert.rejects(connection.openLink(PROBE), isCode("AGENT_CLOSED"));
		}));

test("an engine that is never opened costs a bounded time", () =>
	withDoor(
		async (door) => {
			await dialRaw(door.url);
			const connection = await door.next();
			await assert.rejects(connection.openLink(PROBE), isCode("AGENT_SILENT"));
			assert.equal((await connection.closed).code, "AGENT_SILENT");
		},
		{ openMs: 50 },
	));

test("a roll call left unanswered costs a bounded time", () =>
	withDoor(
		async (door) => {
			await dialRaw(door.url);
			const connection = await door.next();
			const call = {
				beta0: "00".repeat(32),
				chainId: 1,
				contract: "00".repeat(20),
				call: 1,
				deadlineMs: 1,
				devices: [],
			};
			await assert.rejects(connection.ask("call", call), isCode("AGENT_SILENT"));
		},
		{ callMs: 50 },
	));

test("questions about jobs left unanswered cost a bounded time", () =>
	withDoor(
		async (door) => {
			const about = { job: "00".repeat(32), part: 0, attempt: 1 };
			await dialRaw(door.url);
			await assert.rejects(
				(await door.next()).ask("job", { ...about, audit: null, device: 0 }),
				isCode("AGENT_SILENT"),
			);
			await dialRaw(door.url);
			await assert.rejects((await door.next()).ask("ask", { ...about, question: "{}" }), isCode("AGENT_SILENT"));
		},
		{ jobMs: 50, askMs: 50 },
	));

test("rental questions left unanswered cost a bounded time", () =>
	withDoor(
		async (door) => {
			await dialRaw(door.url);
			const connection = await door.next();
			await assert.rejects(connection.ask("check", { rental: "00".repeat(16) }), isCode("AGENT_SILENT"));
		},
		{ rentalMs: 50 },
	));

/** Opens a channel on a provider made by hand. */
async function openOn(door: TestDoor) {
	const provider = await dialRaw(door.url);
	const connection = await door.next();
	const opening = connection.openLink(PROBE);
	assert.equal((await provider.receive()).type, "open");
	provider.send({ type: "opened", channel: 1, engineSha256: null, commitment: "ab".repeat(32) });
	return { provider, connection, link: await opening };
}

test("an engine whose end is never confirmed costs the connection", () =>
	withDoor(
		async (door) => {
			const { connection, link } = await openOn(door);
			await link.close();
			assert.equal((await connection.closed).code, "AGENT_SILENT");
		},
		{ closeMs: 50 },
	));

test("data for a closed channel is dropped, but not without end", () =>
	withDoor(
		async (door) => {
			const { provider, connection, link } = await openOn(door);
			const closing = link.close();
			assert.equal((await provider.receive()).type, "close");
			for (let i = 0; i < 40; i++) provider.sendData(1, random(64 << 10));
			assert.equal((await connection.closed).code, "AGENT_FLOOD");
			await closing;
		},
		{ bufferedBytes: 1 << 20 },
	));

test("a flood of tiny data messages ends the connection", () =>
	withDoor(
		async (door) => {
			const { provider, connection, link } = await openOn(door);
			link.output.resume();
			for (let i = 0; i < 3000; i++) provider.sendData(1, random(1));
			assert.equal((await connection.closed).code, "AGENT_FLOOD");
			await link.closed;
		},
		// So few that even a machine too busy to read them within seconds finds them too many.
		{ dataPerS: 50 },
	));

test("a provider that does not read does not fill our memory", () =>
	withDoor(
		async (door) => {
			const { provider, connection, link } = await openOn(door);
			provider.ws.pause();
			// One write at a time is handed to the socket, so what waits is at most what the kernel did not take.
			link.input.on("error", () => {});
			for (let i = 0; i < 200; i++) link.input.write(random(64 << 10));
			assert.equal((await connection.closed).code, "AGENT_SILENT");
			await link.closed;
		},
		// Until it reads no more it must be heard, also where this process stands still for a while.
		{ pingMs: 50, deadMs: 5000 },
	));

test("a dead connection is noticed", () =>
	withDoor(
		async (door) => {
			const provider = await dialRaw(door.url);
			const connection = await door.next();
			// Reads nothing any more and so answers no ping; TCP itself would not notice for hours.
			provider.ws.pause();
			const end = await connection.closed;
			assert.deepEqual([end.closeCode, end.code], [4002, "AGENT_SILENT"]);
		},
		{ pingMs: 50, deadMs: 600 },
	));

test("one address gets a bounded number of links that prove nothing; a place that is left is given again", async () => {
	const door = await startDoor({ perAddress: 2 });
	const [first] = [await openRaw(door.url), await openRaw(door.url)];
	await assert.rejects(openRaw(door.url), /429/);
	assert.equal((await door.nextRefusal()).code, "AGENT_CROWDED");
	first.ws.terminate();
	await door.nextRefusal();
	const near = await dialAgent(dialOptions(door.url));
	await near.close();
	await door.stop();
});

test("N18: five addresses that prove nothing keep no honest provider out; they lose their oldest link", async () => {
	const from = (address: string) => ({ headers: { "x-from": address } });
	const door = await startDoor({
		...{ perAddress: 4, unproven: 10 },
		addressOf: (request) => String(request.headers["x-from"] ?? "honest"),
	});
	const squatters = [];
	for (let n = 0; n < 10; n++) squatters.push(await openRaw(door.url, from(`squatter ${n % 5}`)));
	// All places are taken: a sixth of theirs would only drive out one of as many.
	await assert.rejects(openRaw(door.url, from("squatter 0")), /429/);
	for (let n = 0; n < 3; n++) {
		await dialAgent(dialOptions(door.url));
		await squatters[n]!.closed;
		squatters.push(await openRaw(door.url, from(`squatter ${n}`)));
	}
	assert.deepEqual(
		squatters.map(({ ws }) => ws.readyState === ws.OPEN),
		[...Array(3).fill(false), ...Array(10).fill(true)],
	);
	await door.stop();
});

test("N10: providers that have proven their keys do not count against their address", async () => {
	const door = await startDoor({ perAddress: 1 });
	for (let n = 0; n < 5; n++) await dialAgent(dialOptions(door.url));
	assert.equal(door.door.connections.size, 5);
	await openRaw(door.url);
	await assert.rejects(openRaw(door.url), /429/);
	await door.stop();
});

test("addresses of one customer count as one", async () => {
	let last = 0;
	const door = await startDoor({
		perAddress: 2,
		addressOf: () => `2001:db8:1:2::${++last}`,
		groupOf: (address) => address.slice(0, "2001:db8:1:2".length),
	});
	await openRaw(door.url);
	await openRaw(door.url);
	await assert.rejects(openRaw(door.url), /429/);
	await door.stop();
});

test("one address gets a bounded number of knocks", async () => {
	// No time passes between them, however long they take.
	const door = await startDoor({ knocksPerS: 1, knocksAtOnce: 2, clockUs: () => 0 });
	await openRaw(door.url);
	await openRaw(door.url);
	await assert.rejects(openRaw(door.url), /429/);
	await door.stop();
});

// Both ends of the agent link, honest, over real WebSockets: the handshake, engines over channels, rentals,
// changes, ends.
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Link, LinkEnd } from "../links/link.ts";
import { CLAIM, dialOptions, makeSigner, NO_HANDLERS, OFFER, random, startDoor } from "./agent.test-kit.ts";
import { dialAgent, parseValidatorUrl } from "./dial-agent.ts";

const PROBE = "0f".repeat(16);
const LIMITS = { memoryBytes: 1e9, minutes: 3 };
const isCode = (code: string) => (error: unknown) => error instanceof AssayError && error.code === code;

/** An engine that sends back what it is sent. */
function createEcho(): Link & { exit(): void } {
	const stream = new PassThrough();
	const { promise: closed, resolve } = Promise.withResolvers<LinkEnd>();
	const exit = () => {
		stream.end();
		resolve({ code: 0, signal: null, stderrTail: "" });
	};
	const close = async () => exit();
	const facts = { kind: "local", engineSha256: "ee".repeat(32), hostKey: null, handshakeUs: null } as const;
	return { ...facts, input: stream, output: stream, closed, close, exit };
}

test("both ends know each other, the claim and the offer; a change is told", async () => {
	const door = await startDoor();
	const signer = makeSigner();
	const asked: string[] = [];
	const near = await dialAgent(dialOptions(door.url, { signer, trust: (key) => void asked.push(key) }));
	const far = await door.next();
	assert.equal(far.providerKey, signer.key);
	assert.equal(near.validatorKey, door.signer.key);
	assert.deepEqual(asked, [door.signer.key]);
	assert.deepEqual(far.claim, CLAIM);
	assert.deepEqual(far.offer, OFFER);
	assert.equal(far.address, "127.0.0.1");
	const changed = new Promise((resolve) => far.onChanged(resolve));
	near.sendChanged({ ...CLAIM, why: "another" });
	await changed;
	assert.equal(far.claim.why, "another");
	await near.close();
	assert.deepEqual([(await far.closed).closeCode, (await far.closed).code], [1001, "PROVIDER_STOPPING"]);
	assert.equal(door.door.connections.size, 0);
	await door.stop();
});

test("an engine's bytes come through whole, both ways, more than fits any buffer", async () => {
	const door = await startDoor();
	const echo = createEcho();
	const asked: unknown[] = [];
	const open = async (o: unknown) => {
		asked.push(o);
		return echo;
	};
	// The provider may hold all of it: with the usual bound it would close an engine that reads as slowly as
	// this test can on a busy machine.
	const bounds = { bufferedBytes: 32 << 20 };
	const near = await dialAgent(dialOptions(door.url, { handlers: { ...NO_HANDLERS, open }, bounds }));
	const far = await door.next();
	const link = await far.openLink({ probe: PROBE, limits: LIMITS });
	assert.deepEqual(asked, [{ probe: PROBE, limits: LIMITS, receipts: null, validatorKey: door.signer.key }]);
	assert.equal(link.kind, "agent");
	assert.equal(link.engineSha256, "ee".repeat(32));
	assert.equal(link.hostKey, `ed25519:${far.providerKey}`);
	assert.ok(link.handshakeUs! > 0);

	const sent = Buffer.from(random(24 << 20));
	const got: Buffer[] = [];
	let left = sent.length;
	// Nobody reads for a while: the bytes wait, they are not lost and the connection stays.
	link.input.write(sent);
	while (link.output.readableLength < 1 << 20) await new Promise((resolve) => setImmediate(resolve));
	await new Promise<void>((resolve) => {
		link.output.on("data", (chunk: Buffer) => {
			got.push(chunk);
			left -= chunk.length;
			if (left === 0) resolve();
		});
	});
	assert.ok(Buffer.concat(got).equals(sent));
	await link.close();
	await echo.closed;
	assert.equal(far.isClosed, false);
	await near.close();
	await door.stop();
});

test("an engine that ends by itself ends its link, with its last bytes", async () => {
	const door = await startDoor();
	const echo = createEcho();
	const near = await dialAgent(dialOptions(door.url, { handlers: { ...NO_HANDLERS, open: async () => echo } }));
	const far = await door.next();
	const link = await far.openLink({ probe: PROBE, limits: LIMITS });
	echo.input.write("last words");
	echo.exit();
	const chunks: Buffer[] = [];
	for await (const chunk of link.output) chunks.push(chunk as Buffer);
	assert.equal(Buffer.concat(chunks).toString(), "last words");
	await link.closed;
	await link.close();
	assert.equal(far.isClosed, false);
	await near.close();
	await door.stop();
});

test("what the provider refuses with is what the validator gets; unknown words become AGENT_REFUSED", async () => {
	const door = await startDoor();
	let error = new AssayError("PROVIDER_BUSY", "busy here");
	const open = async () => {
		throw error;
	};
	const near = await dialAgent(dialOptions(door.url, { handlers: { ...NO_HANDLERS, open } }));
	const far = await door.next();
	await assert.rejects(far.openLink({ probe: PROBE, limits: LIMITS }), isCode("PROVIDER_BUSY"));
	error = new AssayError("SIGNATURE_WRONG", "a word that is not for refusing");
	await assert.rejects(far.openLink({ probe: PROBE, limits: LIMITS }), isCode("AGENT_REFUSED"));
	assert.equal(far.isClosed, false);
	await near.close();
	await assert.rejects(far.openLink({ probe: PROBE, limits: LIMITS }), isCode("AGENT_CLOSED"));
	await door.stop();
});

test("rentals are asked for and answered; one that is not known counts as ended", async () => {
	const door = await startDoor();
	const rental = "aa".repeat(16);
	const hostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
	const access = { host: "10.0.0.1", port: 2222, user: "assay-00112233", hostKey };
	const calls: unknown[] = [];
	const note = (name: string) => async (o: object) => {
		calls.push([name, o]);
	};
	const unknown = async () => {
		throw new AssayError("RENTAL_UNKNOWN", "never heard of it");
	};
	const handlers = {
		...NO_HANDLERS,
		rent: async (o: object) => {
			calls.push(["rent", o]);
			return { ssh: access };
		},
		extend: note("extend"),
		unrent: unknown,
		check: async () => ({ healthy: false, detail: "tired\u001b[2J" }),
	};
	const near = await dialAgent(dialOptions(door.url, { handlers }));
	const far = await door.next();
	const request = { rental, publicKey: hostKey, untilMs: 77, devices: ["GPU-1"] };
	assert.deepEqual((await far.ask("rent", request)).ssh, access);
	await far.ask("extend", { rental, untilMs: 99 });
	const validatorKey = door.signer.key;
	assert.deepEqual(calls, [
		["rent", { ...request, validatorKey }],
		["extend", { rental, untilMs: 99, validatorKey }],
	]);
	await far.ask("unrent", { rental });
	assert.deepEqual(await far.ask("check", { rental }), { healthy: false, detail: "tired [2J" });
	await near.close();
	await door.stop();
});

test("an engine is asked for only when the end of a rental is through, however it went", async () => {
	const door = await startDoor();
	const order: string[] = [];
	const { promise: removed, resolve: remove } = Promise.withResolvers<void>();
	const handlers = {
		...NO_HANDLERS,
		unrent: async () => {
			await removed;
			order.push("removed");
			throw new AssayError("RENTAL_FAILED", "its user could not be removed");
		},
		open: async () => {
			order.push("open");
			return createEcho();
		},
	};
	const near = await dialAgent(dialOptions(door.url, { handlers }));
	const far = await door.next();
	const ended = assert.rejects(far.ask("unrent", { rental: "aa".repeat(16) }), isCode("RENTAL_FAILED"));
	const opening = far.openLink({ probe: PROBE, limits: LIMITS });
	// The other way is open meanwhile: a question sent after both is answered before either.
	await assert.rejects(far.ask("check", { rental: "bb".repeat(16) }));
	assert.deepEqual(order, []);
	remove();
	await ended;
	await (await opening).close();
	assert.deepEqual(order, ["removed", "open"]);
	await near.close();
	await door.stop();
});

test("a provider that is sent away learns why", async () => {
	const admit = () => {
		throw new AssayError("AGENT_CROWDED", "full");
	};
	const door = await startDoor({ admit });
	await assert.rejects(dialAgent(dialOptions(door.url)), isCode("AGENT_CROWDED"));
	await door.stop();
});

test("who proves the same key again replaces its older connection", async () => {
	const door = await startDoor();
	const signer = makeSigner();
	const first = await dialAgent(dialOptions(door.url, { signer }));
	await door.next();
	const second = await dialAgent(dialOptions(door.url, { signer }));
	const held = await door.next();
	assert.equal((await first.closed).code, "AGENT_REPLACED");
	assert.deepEqual([...door.door.connections.values()], [held]);
	await second.close();
	await door.stop();
});

test("a validator that vanishes ends the provider's engines", async () => {
	const door = await startDoor();
	const echo = createEcho();
	const near = await dialAgent(dialOptions(door.url, { handlers: { ...NO_HANDLERS, open: async () => echo } }));
	const far = await door.next();
	const link = await far.openLink({ probe: PROBE, limits: LIMITS });
	await door.stop();
	await echo.closed;
	await near.closed;
	await link.closed;
	await link.close();
});

test("nobody there is told as such", async () => {
	await assert.rejects(dialAgent(dialOptions("ws://127.0.0.1:1/agent")), isCode("VALIDATOR_UNREACHABLE"));
});

test("validators' URLs", () => {
	assert.equal(parseValidatorUrl("wss://v.example"), "wss://v.example/agent");
	assert.equal(parseValidatorUrl("https://v.example:8443/x/agent"), "wss://v.example:8443/x/agent");
	assert.equal(parseValidatorUrl("http://[::1]:80/"), "ws://[::1]/agent");
	for (const bad of [
		"",
		"v.example",
		"ftp://v.example",
		"ws://u:p@v.example",
		"ws://v.example/?a=1",
		"ws://v.example/#a",
		"file:///etc",
	])
		assert.throws(() => parseValidatorUrl(bad), isCode("TARGET_BAD"), bad);
});

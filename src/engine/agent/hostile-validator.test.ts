// Validators that do not keep to the page, and those in the middle, before a real provider's end: it tells
// nothing of itself before it knows whom it talks to, does nothing it was not asked for in turn, and ends at
// the first wrong word.
import assert from "node:assert/strict";
import { PassThrough, Writable } from "node:stream";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Link, LinkEnd } from "../links/link.ts";
import {
	dialOptions,
	type Middle,
	makeSigner,
	NO_HANDLERS,
	type RawGreeted,
	type RawValidatorCall,
	random,
	startDoor,
	startMiddle,
	startRawValidator,
} from "./agent.test-kit.ts";
import { type DialAgentOptions, dialAgent } from "./dial-agent.ts";

const isCode = (code: string) => (error: unknown) => error instanceof AssayError && error.code === code;
const PROBE = { probe: "0f".repeat(16), limits: { memoryBytes: 1e9, minutes: 3 }, receipts: null };

async function withValidator(
	onCaller: (call: RawValidatorCall) => void | Promise<void>,
	run: (url: string) => Promise<void>,
): Promise<void> {
	const validator = await startRawValidator(onCaller);
	try {
		await run(validator.url);
	} finally {
		await validator.stop();
	}
}

/** Options of a provider that fails the test when it tells of itself or does anything. */
function wary(url: string, more: Partial<DialAgentOptions> = {}): DialAgentOptions {
	const never = () => {
		throw new Error("this must not be reached");
	};
	return dialOptions(url, {
		claim: never,
		handlers: { open: never, rent: never, extend: never, unrent: never, check: never },
		...more,
	});
}

const impostors: Readonly<Record<string, [(call: RawValidatorCall) => unknown, code: string]>> = {
	"a wrong signature": [(call) => call.greet({ prove: { signature: "22".repeat(64) } }), "AGENT_PROOF_WRONG"],
	"a key that it does not hold": [(call) => call.greet({ prove: { key: makeSigner().key } }), "AGENT_PROOF_WRONG"],
	"another nonce than it signed": [(call) => call.greet({ prove: { nonce: makeSigner().key } }), "AGENT_PROOF_WRONG"],
	"a nonce of small order": [(call) => call.greet({ prove: { nonce: "00".repeat(32) } }), "AGENT_PROOF_WRONG"],
	"open instead of prove": [
		(call) => call.ws.send(JSON.stringify({ type: "open", channel: 1, ...PROBE })),
		"AGENT_MESSAGE_BAD",
	],
	"rent instead of prove": [
		(call) =>
			call.ws.send(JSON.stringify({ type: "rent", rental: "00".repeat(16), publicKey: "k", untilMs: 1, devices: [] })),
		"AGENT_MESSAGE_BAD",
	],
	"hello shown back": [async (call) => call.ws.send((await call.next()).data.toString()), "AGENT_MESSAGE_BAD"],
	garbage: [(call) => call.ws.send("\u0000\u0001"), "AGENT_MESSAGE_BAD"],
	"ten megabytes": [(call) => call.ws.send("x".repeat(10 << 20)), "AGENT_FLOOD"],
	silence: [() => {}, "AGENT_SILENT"],
	"a slammed door": [(call) => call.ws.terminate(), "AGENT_CLOSED"],
	"a reason of its own": [(call) => call.ws.close(4003, "rm -rf /"), "AGENT_CLOSED"],
};
for (const [name, [say, code]] of Object.entries(impostors))
	test(`an impostor learns nothing: ${name}`, () =>
		withValidator(
			(call) => void say(call),
			async (url) => {
				// Silence is not waited for any longer than the others need.
				const more = code === "AGENT_SILENT" ? { bounds: { handshakeMs: 300 } } : {};
				await assert.rejects(dialAgent(wary(url, more)), isCode(code));
			},
		));

test("a proven validator that is not trusted learns nothing either", () =>
	withValidator(
		(call) => void call.greet(),
		async (url) => {
			const trust = async () => {
				throw new AssayError("VALIDATOR_KEY_CHANGED", "another key");
			};
			await assert.rejects(dialAgent(wary(url, { trust })), isCode("VALIDATOR_KEY_CHANGED"));
		},
	));

test("welcome for somebody else ends it", () =>
	withValidator(
		(call) => void call.greet({ welcome: { providerId: makeSigner().key } }),
		async (url) => {
			await assert.rejects(dialAgent(dialOptions(url)), isCode("AGENT_MESSAGE_BAD"));
		},
	));

/** Said after the handshake; nothing of it may reach a handler. */
const tyrants: Readonly<Record<string, [(greeted: RawGreeted, call: RawValidatorCall) => void, code: string]>> = {
	"data of no channel": [(g) => g.sendData(1, random(8)), "AGENT_MESSAGE_BAD"],
	"close of no channel": [(g) => g.send({ type: "close", channel: 3 }), "AGENT_MESSAGE_BAD"],
	"channel 0": [(g) => g.send({ type: "open", channel: 0, ...PROBE }), "AGENT_MESSAGE_BAD"],
	"no limits": [(g) => g.send({ type: "open", channel: 1, probe: PROBE.probe, receipts: null }), "AGENT_MESSAGE_BAD"],
	"limits without end": [
		(g) =>
			g.send({
				type: "open",
				channel: 1,
				probe: PROBE.probe,
				limits: { memoryBytes: 1, minutes: 1e9 },
				receipts: null,
			}),
		"AGENT_MESSAGE_BAD",
	],
	"a command of its own": [(g) => g.send({ type: "exec", command: "id" }), "AGENT_MESSAGE_BAD"],
	"a rental with a path as id": [
		(g) => g.send({ type: "unrent", rental: "../../../../etc/passwd" }),
		"AGENT_MESSAGE_BAD",
	],
	"a device that is an option": [
		(g) => g.send({ type: "rent", rental: "00".repeat(16), publicKey: "k", untilMs: 1, devices: ["--privileged"] }),
		"AGENT_MESSAGE_BAD",
	],
	"a roll call without end": [
		(g) =>
			g.send({
				...{ type: "call", beta0: "00".repeat(32), chainId: 1, contract: "00".repeat(20), call: 1, devices: [] },
				deadlineMs: 1e9,
			}),
		"AGENT_MESSAGE_BAD",
	],
	"a part of a job with a path as id": [
		(g) => g.send({ type: "job", job: `${"../".repeat(21)}x`, part: 0, attempt: 1, audit: null }),
		"AGENT_MESSAGE_BAD",
	],
	"a question about a job before the last one was answered": [
		(g) => {
			const about = { job: "00".repeat(32), part: 0, attempt: 1 };
			g.send({ type: "ask", ...about, question: "{}" });
			g.send({ type: "stop", ...about });
		},
		"AGENT_MESSAGE_BAD",
	],
	"a question without end": [
		(g) => g.send({ type: "ask", job: "00".repeat(32), part: 0, attempt: 1, question: "x".repeat(5000) }),
		"AGENT_MESSAGE_BAD",
	],
	"text in clear": [(_, call) => call.ws.send('{"type":"unrent"}'), "AGENT_MESSAGE_BAD"],
	"bytes that it did not seal": [(_, call) => call.ws.send(random(50)), "AGENT_PROOF_WRONG"],
	"prove again": [
		(g) => g.send({ type: "prove", key: "00".repeat(32), nonce: "00".repeat(32), signature: "00".repeat(64) }),
		"AGENT_MESSAGE_BAD",
	],
	"pings without end": [
		(_, call) => {
			for (let i = 0; i < 500; i++) call.ws.ping();
		},
		"AGENT_FLOOD",
	],
};
for (const [name, [say, code]] of Object.entries(tyrants))
	test(`a validator is left: ${name}`, () =>
		withValidator(
			async (call) => say(await call.greet(), call),
			async (url) => {
				const near = await dialAgent(wary(url, { claim: dialOptions(url).claim }));
				assert.equal((await near.closed).code, code);
			},
		));

test("engines asked for without end are refused one by one until that ends it", () =>
	withValidator(
		async (call) => {
			const greeted = await call.greet();
			for (let channel = 1; channel <= 300; channel++) greeted.send({ type: "open", channel, ...PROBE });
		},
		async (url) => {
			let asked = 0;
			const open = async () => {
				asked += 1;
				throw new AssayError("PROVIDER_BUSY", "busy");
			};
			const near = await dialAgent(dialOptions(url, { handlers: { ...NO_HANDLERS, open } }));
			assert.match((await near.closed).code, /^AGENT_(FLOOD|MESSAGE_BAD)$/);
			assert.ok(asked <= 101, `${asked}`);
		},
	));

/** An engine that reads nothing. */
function createDeaf(): Link & { readonly wasClosed: Promise<void> } {
	const { promise: closed, resolve } = Promise.withResolvers<LinkEnd>();
	const output = new PassThrough();
	const close = async () => {
		output.end();
		resolve({ code: null, signal: "SIGKILL", stderrTail: "" });
	};
	const facts = { kind: "local", engineSha256: null, hostKey: null, handshakeUs: null } as const;
	const input = new Writable({ write: () => {} });
	return { ...facts, input, output, closed, close, wasClosed: closed.then(() => {}) };
}

test("what an engine does not read ends the engine, not the connection", async () => {
	const deaf = createDeaf();
	const heard = Promise.withResolvers<unknown>();
	await withValidator(
		async (call) => {
			const greeted = await call.greet();
			greeted.send({ type: "open", channel: 1, ...PROBE });
			assert.equal((await greeted.receive()).type, "opened");
			for (let i = 0; i < 40; i++) greeted.sendData(1, random(64 << 10));
			assert.deepEqual(await greeted.receive(), { type: "close", channel: 1 });
			greeted.send({ type: "open", channel: 2, ...PROBE });
			heard.resolve(await greeted.receive());
		},
		async (url) => {
			let first = true;
			const open = async () => {
				if (!first) throw new AssayError("PROVIDER_BUSY", "once is enough");
				first = false;
				return deaf;
			};
			const options = { handlers: { ...NO_HANDLERS, open }, bounds: { bufferedBytes: 1 << 20 } };
			const near = await dialAgent(dialOptions(url, options));
			await deaf.wasClosed;
			assert.equal(((await heard.promise) as { code: string }).code, "PROVIDER_BUSY");
			await near.close();
		},
	);
});

test("a relay under another validator's key is refused by a provider that knows whom it dials", async () => {
	const door = await startDoor();
	const middle = await startMiddle(door.url);
	const pinned = makeSigner().key;
	const trust = (key: string) => {
		if (key !== pinned) throw new AssayError("VALIDATOR_KEY_CHANGED", "not the pinned one");
	};
	await assert.rejects(dialAgent(wary(middle.url, { trust })), isCode("VALIDATOR_KEY_CHANGED"));
	await middle.stop();
	await door.stop();
});

test("a relay that is let through can neither read, add, repeat nor change a message", async () => {
	const evil: Readonly<Record<string, (middle: Middle) => void>> = {
		"its own rent, in clear": (m) =>
			m.toProvider(
				Buffer.from(JSON.stringify({ type: "rent", rental: "00".repeat(16), publicKey: "k", untilMs: 1, devices: [] })),
				false,
			),
		"its own rent, as bytes": (m) =>
			m.toProvider(Buffer.from(`\u0000${JSON.stringify({ type: "unrent", rental: "00".repeat(16) })}`), true),
		"welcome again": (m) => m.toProvider(m.fromValidator.at(-1)!, true),
		"the provider's own words shown back": (m) => m.toProvider(m.fromProvider.at(-1)!, true),
	};
	for (const [name, attack] of Object.entries(evil)) {
		const door = await startDoor();
		const middle = await startMiddle(door.url);
		const near = await dialAgent(wary(middle.url, { claim: dialOptions("").claim }));
		await door.next();
		// All it saw of the conversation after the keys is sealed.
		assert.ok(!Buffer.concat(middle.fromProvider).includes("a host"), name);
		attack(middle);
		assert.match((await near.closed).code, /^AGENT_(PROOF_WRONG|MESSAGE_BAD)$/, name);
		await middle.stop();
		await door.stop();
	}
});

test("a relay cannot speak for the provider either", async () => {
	const door = await startDoor();
	const middle = await startMiddle(door.url);
	const near = await dialAgent(dialOptions(middle.url));
	const far = await door.next();
	middle.toValidator(middle.fromProvider.at(-1)!, true);
	assert.equal((await far.closed).code, "AGENT_PROOF_WRONG");
	await near.closed;
	await middle.stop();
	await door.stop();
});

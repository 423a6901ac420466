// Receipts over a real agent link: what the handler is given to sign is what the engine answered, and no
// answer, a late one or a dead engine costs neither end its connection.
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { factsOfGemm, type ReceiptFacts } from "../../protocol/chain/probe-receipt.ts";
import { claimHash, endOfRun, wrongInWord } from "../../protocol/probe/countersign.ts";
import type { Link, LinkEnd } from "../links/link.ts";
import type { GemmRequest } from "../wire/frame-table.ts";
import { encodeReply, encodeRequest } from "../wire/frames.ts";
import { CLAIM, dialOptions, NO_HANDLERS, startDoor, startRawValidator } from "./agent.test-kit.ts";
import type { AgentBounds } from "./agent-bounds.ts";
import type { AgentHandlers } from "./dial-agent.ts";
import { dialAgent } from "./dial-agent.ts";

const PROBE = "0f".repeat(16);
const LIMITS = { memoryBytes: 1e9, minutes: 3 };
const WANTED = { chainId: 7, slashing: "5a".repeat(20) };
const SIGNATURE = "ab".repeat(65);
const seed = new Uint8Array(32).fill(7);
const root = new Uint8Array(32).fill(1);
const gemm: GemmRequest = {
	...{ session: 1, device: 0, precision: "int8", m: 128, n: 512, k: 128, rounds: 1, keep: 1 },
	seed,
} as const;
const right = factsOfGemm(0, gemm, seed, [root]);

/** An engine whose words the test writes. */
function createPuppet() {
	const input = new PassThrough();
	const output = new PassThrough();
	const { promise: closed, resolve } = Promise.withResolvers<LinkEnd>();
	const close = async () => {
		output.end();
		resolve({ code: 0, signal: null, stderrTail: "" });
	};
	input.resume();
	const link: Link = {
		...{ kind: "local", engineSha256: null, hostKey: null, handshakeUs: null },
		...{ input, output, closed, close },
	} as const;
	return { link, say: (bytes: Uint8Array) => void output.write(bytes), close };
}

/** Both ends with a gemm asked and answered, and the answer arrived. */
async function talking(
	signReceipts: AgentHandlers["signReceipts"],
	o: { readonly receipts?: typeof WANTED | null; readonly bounds?: Partial<AgentBounds> } = {},
) {
	const door = await startDoor(o.bounds === undefined ? {} : { bounds: o.bounds });
	const puppet = createPuppet();
	const handlers = { ...NO_HANDLERS, open: async () => puppet.link, ...(signReceipts && { signReceipts }) };
	const dialled = dialOptions(door.url, { handlers });
	const near = await dialAgent(dialled);
	const far = await door.next();
	const receipts = o.receipts === undefined ? WANTED : o.receipts;
	const link = await far.openLink({ probe: PROBE, limits: LIMITS, receipts });
	const asked = new Promise((resolve) => puppet.link.input.once("data", resolve));
	link.input.write(
		Buffer.concat([encodeRequest(1, { kind: "hello", version: 3 }), encodeRequest(2, { kind: "gemm", ...gemm })]),
	);
	await asked;
	const answered = new Promise((resolve) => link.output.once("data", resolve));
	puppet.say(
		Buffer.concat([
			encodeReply(1, { kind: "claim", json: JSON.stringify(CLAIM) }),
			encodeReply(2, { kind: "root", index: 0, root }),
			encodeReply(2, { kind: "done", count: 1, cancelled: false }),
		]),
	);
	await answered;
	const stop = async () => {
		await near.close();
		await door.stop();
	};
	const receiptsOf = async (...challenges: number[]) =>
		(await link.countersigner!.sign({ stage: 0, runs: [], challenges }))?.receipts ?? null;
	return { door, dialled, far, link, puppet, receiptsOf, stop };
}

test("the provider is given what its engine answered, once, and the validator its signatures", async () => {
	const seen: unknown[] = [];
	const { link, far, door, receiptsOf, stop } = await talking(async ({ facts, ...rest }) => {
		seen.push([facts, rest]);
		return facts.map(({ challenge }) => ({ challenge, signature: SIGNATURE }));
	});
	assert.deepEqual(await receiptsOf(0, 1, 2), [{ challenge: 0, signature: SIGNATURE }]);
	assert.deepEqual(seen, [[[right], { validatorKey: door.signer.key, probe: PROBE, wanted: WANTED }]]);
	// Asked again, of the same or of nothing: there is nothing more to sign.
	assert.deepEqual(await receiptsOf(0), []);
	assert.deepEqual(await receiptsOf(), []);
	assert.equal(seen.length, 1);
	await link.close();
	assert.equal(await receiptsOf(0), null);
	assert.equal(far.isClosed, false);
	await stop();
});

const unwilling: Readonly<Record<string, [AgentHandlers["signReceipts"], typeof WANTED | null]>> = {
	"a provider that never signs": [undefined, WANTED],
	"a provider whose signing fails": [async () => Promise.reject(new Error("no key")), WANTED],
	"a channel that was opened without": [async () => [{ challenge: 0, signature: SIGNATURE }], null],
};
for (const [name, [sign, receipts]] of Object.entries(unwilling))
	test(`no receipts, and all goes on: ${name}`, async () => {
		const { receiptsOf, far, stop } = await talking(sign, { receipts });
		assert.deepEqual(await receiptsOf(0), []);
		assert.equal(far.isClosed, false);
		await stop();
	});

test("a silent provider is waited for once; its late answer harms nobody", async () => {
	const late = Promise.withResolvers<void>();
	const { link, far, puppet, receiptsOf, stop } = await talking(
		async ({ facts }) => {
			await late.promise;
			return facts.map(({ challenge }) => ({ challenge, signature: SIGNATURE }));
		},
		{ bounds: { signMs: 30 } },
	);
	assert.equal(await receiptsOf(0), null);
	// Still unanswered: not asked again.
	assert.equal(await receiptsOf(0), null);
	late.resolve();
	const echoed = new Promise((resolve) => link.output.once("data", resolve));
	puppet.say(encodeReply(3, { kind: "pong", payload: new Uint8Array(1) }));
	await echoed;
	assert.equal(far.isClosed, false);
	// Each question waits 30 ms: on a busy machine the first ones may run out.
	let answer = await receiptsOf(0);
	for (let tries = 0; answer === null && tries < 1000; tries++) answer = await receiptsOf(0);
	assert.deepEqual(answer, []);
	await stop();
});

test("an engine that ends while its receipts are made ends the question, not the connection", async () => {
	const never = Promise.withResolvers<never>();
	const { link, far, puppet, receiptsOf, stop } = await talking(() => never.promise);
	const answer = receiptsOf(0);
	await puppet.close();
	assert.equal(await answer, null);
	await link.closed;
	assert.equal(far.isClosed, false);
	await stop();
});

test("a validator's own frames, in both directions' shapes, get nothing signed", async () => {
	const given: (readonly ReceiptFacts[])[] = [];
	const puppet = createPuppet();
	const answers: unknown[] = [];
	const validator = await startRawValidator(async (call) => {
		const g = await call.greet();
		g.send({ type: "open", channel: 1, probe: PROBE, limits: LIMITS, receipts: WANTED });
		await g.receive();
		// Request and answer both from here; then a channel that is not open, and one challenge twice in one
		// question.
		g.sendData(1, encodeRequest(1, { kind: "gemm", ...gemm }));
		g.sendData(1, encodeReply(1, { kind: "root", index: 0, root }));
		g.sendData(1, encodeReply(1, { kind: "done", count: 1, cancelled: false }));
		g.send({ type: "sign", channel: 1, stage: 0, runs: [bytesToHex(seed)], challenges: [0, 0] });
		answers.push(await g.receive());
		g.send({ type: "sign", channel: 2, stage: 0, runs: [], challenges: [0] });
		await call.closed;
	});
	const near = await dialAgent(
		dialOptions(validator.url, {
			handlers: {
				...NO_HANDLERS,
				open: async () => puppet.link,
				signReceipts: async ({ facts }) => {
					given.push(facts);
					return [];
				},
			},
		}),
	);
	assert.equal((await near.closed).code, "AGENT_MESSAGE_BAD");
	assert.deepEqual(answers, [{ type: "signed", channel: 1, word: null, receipts: [] }]);
	assert.deepEqual(given, []);
	await validator.stop();
});

test("the provider's word: each stage once, in order, on what its engine answered, and right", async () => {
	const { link, door, dialled, stop } = await talking(undefined);
	const { key, commitment, sign } = link.countersigner!;
	const ask = async (stage: number, ...runs: Uint8Array[]) =>
		(await sign({ stage, runs: runs.map(bytesToHex), challenges: [] }))?.word ?? null;
	assert.equal(key, dialled.signer.key);
	assert.equal(await ask(1, seed), null, "a later stage's nonce is not told");
	assert.equal(await ask(0), null, "a word on nothing");
	assert.equal(await ask(0, seed, root), null, "a run that it did not see");
	const word = await ask(0, seed);
	const nonce = hexToBytes(word!.nonce, 32)!;
	const expected = {
		...{ key, previous: hexToBytes(commitment, 32)! },
		of: { probeId: PROBE, verifier: door.signer.key, claim: claimHash(CLAIM), stage: 0 },
		runs: [{ end: endOfRun(seed, [root]), tookUs: 60e6 }],
	};
	assert.equal(wrongInWord(word!, expected), null);
	assert.equal(wrongInWord(word!, { ...expected, runs: [{ ...expected.runs[0]!, tookUs: 0 }] }), "spansUs");
	assert.equal(wrongInWord(word!, { ...expected, of: { ...expected.of, claim: nonce } }), "signature");
	assert.equal(await ask(0, seed), null, "a second time");
	assert.equal(await ask(1, seed), null, "an answer of the stage before");
	await stop();
});

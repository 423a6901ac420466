// Control messages as hostile text: each kind is read when it is right, and refused with any field missing,
// surplus or of the wrong kind.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc, scaled } from "../../../tests/fuzz.test-kit.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { CLAIM, OFFER } from "./agent.test-kit.ts";
import { AGENT_VERSION, type AgentMessage, decodeMessage, errorToRefusal, verdictNotice } from "./agent-messages.ts";

const HEX = "ab".repeat(32);
const RENTAL = "cd".repeat(16);
const hostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";

const ROLL = { device: 1, m: 512, n: 512, k: 64, rounds: 1024, keep: 1, end: HEX, last: HEX };

const provider: readonly AgentMessage[] = [
	{ type: "hello", version: AGENT_VERSION, key: HEX, nonce: HEX },
	{ type: "proof", signature: HEX + HEX, claim: CLAIM, offer: OFFER },
	{ type: "proof", signature: HEX + HEX, claim: CLAIM, offer: { ...OFFER, ssh: { host: "a.example", port: 22 } } },
	{
		...{ type: "proof", signature: HEX + HEX, claim: CLAIM },
		offer: {
			...OFFER,
			jobs: {
				...{
					account: "ab".repeat(20),
					consent: "cd".repeat(65),
					pricePerHourMicros: 0,
					mostBondMicros: 1,
					memoryBytes: 1e9,
				},
				...{ minutes: 30, methods: ["sampled", "redundant"], devices: [0, 63] },
			},
		},
	},
	{ type: "opened", channel: 1, engineSha256: HEX, commitment: HEX },
	{ type: "refused", channel: 1, code: "PROVIDER_BUSY", detail: "busy" },
	{ type: "refused", rental: RENTAL, code: "PROVIDER_BUSY", detail: "busy" },
	{ type: "close", channel: 0xffff_ffff },
	{ type: "changed", claim: CLAIM },
	{ type: "signed", channel: 1, word: null, receipts: [{ challenge: 3, signature: "ab".repeat(65) }] },
	{ type: "signed", channel: 1, word: { nonce: HEX, signature: HEX + HEX, spansUs: [1] }, receipts: [] },
	{ type: "rented", rental: RENTAL, ssh: { host: "10.0.0.1", port: 2222, user: "assay-0011aabb", hostKey } },
	{ type: "extended", rental: RENTAL },
	{ type: "unrented", rental: RENTAL },
	{ type: "checked", rental: RENTAL, healthy: false, detail: "gone" },
	{ type: "called", beta0: HEX, account: null, answers: [], signature: HEX + HEX, accountSignatures: null },
	{
		...{ type: "called", beta0: HEX, account: "ab".repeat(20), answers: [ROLL] },
		...{ signature: HEX + HEX, accountSignatures: ["ab".repeat(65)] },
	},
	{ type: "offered", job: HEX },
	{ type: "answer", job: HEX, answer: '{"root":"00"}', signature: "ab".repeat(65) },
	{ type: "stopped", job: HEX },
	{ type: "refused", job: HEX, code: "JOB_DECLINED", detail: "none" },
	{ type: "refused", beta0: HEX, code: "ROLL_CALL_TOO_OFTEN", detail: "again" },
];
const validator: readonly AgentMessage[] = [
	{ type: "prove", key: HEX, nonce: HEX, signature: HEX + HEX },
	{ type: "welcome", providerId: HEX },
	{ type: "verdict", probe: RENTAL, status: "invalid", code: "ELEMENT_WRONG", findings: [] },
	verdictNotice({
		...{ probe: RENTAL, status: "valid", code: null },
		findings: Array.from({ length: 20 }, () => ({ code: "DEVICE_ELSEWHERE", detail: "\0\u202e".repeat(900) })),
	}),
	{ type: "open", channel: 1, probe: RENTAL, limits: { memoryBytes: 1e9, minutes: 5 }, receipts: null },
	{
		type: "open",
		channel: 1,
		probe: RENTAL,
		limits: { memoryBytes: 1e9, minutes: 5 },
		receipts: { chainId: 2 ** 40, slashing: "ab".repeat(20) },
	},
	{ type: "sign", channel: 1, stage: 255, runs: [HEX], challenges: [0, 1023] },
	{ type: "close", channel: 1 },
	{ type: "rent", rental: RENTAL, publicKey: hostKey, untilMs: 1, devices: ["GPU-0", "GPU-1"] },
	{ type: "extend", rental: RENTAL, untilMs: 5 },
	{ type: "unrent", rental: RENTAL },
	{ type: "check", rental: RENTAL },
	{
		...{ type: "call", beta0: HEX, chainId: 2 ** 40, contract: "ab".repeat(20), call: 17, deadlineMs: 24_000 },
		devices: [{ device: 0, megaOps: 2 ** 40, bytes: 2 ** 40 }],
	},
	{ type: "job", job: HEX, part: 3, attempt: 1, audit: null, device: 0 },
	{ type: "job", job: HEX, part: 0, attempt: 0xffff, audit: 1023, device: 63 },
	{ type: "ask", job: HEX, part: 3, attempt: 1, question: '{"kind":"state","before":4}' },
	{ type: "stop", job: HEX, part: 3, attempt: 1 },
];

const isBad = (error: unknown) => error instanceof AssayError && /^(AGENT_MESSAGE|CLAIM)_BAD$/.test(error.code);

for (const [name, decode, messages] of [
	["provider", decodeMessage.bind(null, "provider"), provider],
	["validator", decodeMessage.bind(null, "validator"), validator],
] as const)
	for (const message of messages)
		test(`${name}'s ${message.type} is read as it was written, and spoilt in no way`, () => {
			assert.deepEqual(decode(JSON.stringify(message)), message);
			for (const field of Object.keys(message)) {
				const { [field]: _, ...rest } = message as unknown as Record<string, unknown>;
				assert.throws(() => decode(JSON.stringify(rest)), isBad, `without ${field}`);
				for (const value of [null, -1, 0.5, 2 ** 53, "\u001b[2J", "x".repeat(61_000), [], {}, [[]], { a: 1 }])
					if (
						!(
							(["engineSha256", "word", "account", "accountSignatures", "audit"].includes(field) ||
								(field === "receipts" && message.type === "open") ||
								(field === "code" && message.type === "verdict") ||
								(field === "signature" && message.type === "answer")) &&
							value === null
						) &&
						!(
							["devices", "challenges", "receipts", "runs", "answers", "accountSignatures", "findings"].includes(
								field,
							) &&
							message.type !== "open" &&
							Array.isArray(value) &&
							value.length === 0
						)
					)
						assert.throws(
							() => decode(JSON.stringify({ ...message, [field]: value })),
							isBad,
							`${field} ${JSON.stringify(value)}`,
						);
			}
			assert.throws(() => decode(JSON.stringify({ ...message, more: 1 })), isBad);
			assert.throws(() => decode(JSON.stringify([message])), isBad);
		});

test("each end reads only what the other may say", () => {
	for (const message of provider)
		if (message.type !== "close") assert.throws(() => decodeMessage("validator", JSON.stringify(message)), isBad);
	for (const message of validator)
		if (message.type !== "close") assert.throws(() => decodeMessage("provider", JSON.stringify(message)), isBad);
});

const rented = provider.find(({ type }) => type === "rented") as Extract<AgentMessage, { type: "rented" }>;
for (const [what, ssh] of Object.entries({
	"a host that is an option of ssh": { ...rented.ssh, host: "-oProxyCommand=id" },
	"a host with a space": { ...rented.ssh, host: "a b" },
	"a user that is an option of ssh": { ...rented.ssh, user: "-lroot" },
	"a user with an at sign": { ...rented.ssh, user: "root@other" },
	"port 0": { ...rented.ssh, port: 0 },
	"a host key with a second line": { ...rented.ssh, hostKey: `${hostKey}\nevil` },
}))
	test(`a rental's access is refused with ${what}`, () => {
		assert.throws(() => decodeMessage("provider", JSON.stringify({ ...rented, ssh })), isBad);
	});

test("text that is no message is refused, whatever it is", () => {
	const deep = "[".repeat(40_000);
	for (const json of [
		"",
		"null",
		"1",
		'"hello"',
		"{",
		deep,
		`{"type":${deep}`,
		'{"type":"__proto__"}',
		'{"type":"toString"}',
		"x".repeat(70_000),
	]) {
		assert.throws(() => decodeMessage("provider", json), isBad);
		assert.throws(() => decodeMessage("validator", json), isBad);
	}
	fc.assert(
		fc.property(fc.oneof(fc.string(), fc.json()), (json) => {
			assert.throws(() => decodeMessage("provider", json), isBad);
			assert.throws(() => decodeMessage("validator", json), isBad);
		}),
		{ numRuns: scaled(500) },
	);
});

test("a claim of a message is read by the claim's own rules", () => {
	const evil = { ...CLAIM, devices: [] };
	assert.throws(() => decodeMessage("provider", JSON.stringify({ type: "changed", claim: evil })), isBad);
	const shown = decodeMessage(
		"provider",
		JSON.stringify({ type: "changed", claim: { ...CLAIM, why: "\u001b[31mred" } }),
	);
	assert.ok(shown.type === "changed" && !shown.claim.why.includes("\u001b"));
});

test("of an error only its code and its sentence are told", () => {
	assert.deepEqual(errorToRefusal(new AssayError("PROVIDER_BUSY", "no\u0007w", { hint: "secret" })), {
		code: "PROVIDER_BUSY",
		detail: "no\uFFFDw",
	});
	assert.deepEqual(errorToRefusal(new Error("/etc/secret")), {
		code: "AGENT_REFUSED",
		detail: "a fault of the provider itself",
	});
});

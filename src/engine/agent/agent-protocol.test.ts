// The order of messages: what an honest conversation does, and every way to speak out of turn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc, scaled } from "../../../tests/fuzz.test-kit.ts";
import { CLAIM, OFFER } from "./agent.test-kit.ts";
import type { AgentSide } from "./agent-handshake.ts";
import { AGENT_VERSION, type AgentMessage } from "./agent-messages.ts";
import { type AgentState, judgeData, nextState, START } from "./agent-protocol.ts";

type Said = readonly [AgentSide, AgentMessage];
const HEX = "ab".repeat(32);
const RENTAL = "cd".repeat(16);
const limits = { memoryBytes: 1, minutes: 1 };
const P = (message: AgentMessage): Said => ["provider", message];
const V = (message: AgentMessage): Said => ["validator", message];

const handshake: readonly Said[] = [
	P({ type: "hello", version: AGENT_VERSION, key: HEX, nonce: HEX }),
	V({ type: "prove", key: HEX, nonce: HEX, signature: HEX + HEX }),
	P({ type: "proof", signature: HEX + HEX, claim: CLAIM, offer: OFFER }),
	V({ type: "welcome", providerId: HEX }),
];
const open = (channel: number) => V({ type: "open", channel, probe: RENTAL, limits, receipts: null });
const opened = (channel: number) => P({ type: "opened", channel, engineSha256: null, commitment: HEX });
const refused = (channel: number) => P({ type: "refused", channel, code: "PROVIDER_BUSY", detail: "" });
const closeBy = (side: AgentSide, channel: number): Said => [side, { type: "close", channel }];
const ssh = { host: "h", port: 1, user: "u", hostKey: "k" };
const rent = V({ type: "rent", rental: RENTAL, publicKey: "", untilMs: 1, devices: [] });
const rented = P({ type: "rented", rental: RENTAL, ssh });
const check = V({ type: "check", rental: RENTAL });
const checked = P({ type: "checked", rental: RENTAL, healthy: true, detail: "" });
const sign = (channel: number) => V({ type: "sign", channel, stage: 0, runs: [HEX], challenges: [0] });
const signed = (channel: number) => P({ type: "signed", channel, word: null, receipts: [] });
const call = V({
	type: "call",
	beta0: HEX,
	chainId: 1,
	contract: "ab".repeat(20),
	call: 1,
	deadlineMs: 1,
	devices: [],
});
const called = P({
	type: "called",
	beta0: HEX,
	account: null,
	answers: [],
	signature: HEX + HEX,
	accountSignatures: null,
});
const changed = P({ type: "changed", claim: CLAIM });
const judged = V({ type: "verdict", probe: RENTAL, status: "valid", code: null, findings: [] });

/** The state after all of it, or what was wrong. */
function play(said: readonly Said[], from: AgentState = START): AgentState | string {
	let state = from;
	for (const [side, message] of said) {
		const step = nextState(state, side, message);
		if (!step.ok) return step.detail;
		state = step.state;
	}
	return state;
}

const talking = play(handshake) as AgentState;

const fine: Readonly<Record<string, readonly Said[]>> = {
	"an engine that ends by itself": [open(1), opened(1), closeBy("provider", 1)],
	"an engine that is closed": [open(1), opened(1), closeBy("validator", 1), closeBy("provider", 1)],
	"closes that cross": [open(1), opened(1), closeBy("provider", 1), closeBy("validator", 1)],
	"a refusal, then another try": [open(1), refused(1), open(2), opened(2)],
	"a second channel that is refused while the first is open": [open(1), opened(1), open(5), refused(5)],
	"receipts, twice": [open(1), opened(1), sign(1), signed(1), sign(1), signed(1), closeBy("provider", 1)],
	"a question that crosses the engine's end": [open(1), opened(1), closeBy("provider", 1), sign(1)],
	"an answer that crosses our close": [open(1), opened(1), sign(1), closeBy("validator", 1), signed(1)],
	"an engine that ends before its receipts": [open(1), opened(1), sign(1), closeBy("provider", 1)],
	"a roll call beside a probe": [open(1), opened(1), call, sign(1), called, signed(1)],
	"rent, check, change": [rent, rented, check, checked, changed, judged],
	"a refused rental": [rent, P({ type: "refused", rental: RENTAL, code: "PROVIDER_RENTED", detail: "" }), rent, rented],
};
for (const [name, said] of Object.entries(fine))
	test(`fits: ${name}`, () => assert.equal(typeof play(said, talking), "object"));

const wrong: Readonly<Record<string, readonly Said[]>> = {
	"opened without open": [opened(1)],
	"opened twice": [open(1), opened(1), opened(1)],
	"opened for another channel": [open(1), opened(2)],
	"open of a used channel": [open(1), opened(1), closeBy("provider", 1), open(1)],
	"open of a lower channel": [open(7), open(3)],
	"close without open": [closeBy("provider", 1)],
	"close before the answer": [open(1), closeBy("validator", 1)],
	"a provider's close after a refusal": [open(1), refused(1), closeBy("provider", 1)],
	"close twice by the provider": [open(1), opened(1), closeBy("provider", 1), closeBy("provider", 1)],
	"close twice by the validator": [open(1), opened(1), closeBy("validator", 1), closeBy("validator", 1)],
	"a validator's close of a channel that never was": [closeBy("validator", 9)],
	"refused after opened": [open(1), opened(1), refused(1)],
	"sign for a channel that never was": [sign(1)],
	"sign before the answer to open": [open(1), sign(1)],
	"sign after our own close": [open(1), opened(1), closeBy("validator", 1), sign(1)],
	"two questions about one channel": [open(1), opened(1), sign(1), sign(1)],
	"signed without sign": [open(1), opened(1), signed(1)],
	"sign refused": [open(1), opened(1), sign(1), refused(1)],
	"signed twice": [open(1), opened(1), sign(1), signed(1), signed(1)],
	"signed after close": [open(1), opened(1), sign(1), closeBy("provider", 1), signed(1)],
	"signed for another channel": [open(1), opened(1), open(2), opened(2), sign(1), signed(2)],
	"sign by the provider": [open(1), opened(1), ["provider", sign(1)[1]]],
	"signed by the validator": [open(1), opened(1), sign(1), ["validator", signed(1)[1]]],
	"rented without rent": [rented],
	"rented twice": [rent, rented, rented],
	"an answer to another question": [check, rented],
	"two questions about one rental": [rent, check],
	"one roll call asked for twice at once": [call, call],
	"an answer to no roll call": [called],
	"open by the provider": [["provider", open(1)[1]]],
	"rent by the provider": [["provider", rent[1]]],
	"changed by the validator": [["validator", changed[1]]],
	"a verdict by the provider": [["provider", judged[1]]],
	"opened by the validator": [open(1), ["validator", opened(1)[1]]],
	"hello again": [handshake[0]!],
	"welcome again": [handshake[3]!],
	"65 unanswered questions": Array.from({ length: 65 }, (_, i) =>
		V({ type: "check", rental: i.toString(16).padStart(32, "0") }),
	),
	"65 open channels": Array.from({ length: 65 }, (_, i) => [open(i + 1), opened(i + 1)]).flat(),
	"65 channels": Array.from({ length: 65 }, (_, i) => open(i + 1)),
};
for (const [name, said] of Object.entries(wrong))
	test(`out of turn: ${name}`, () => assert.equal(typeof play(said, talking), "string"));

test("the handshake allows one order only", () => {
	for (let i = 0; i < handshake.length; i++) {
		const before = play(handshake.slice(0, i)) as AgentState;
		for (const [j, [side, message]] of handshake.entries()) {
			const other: AgentSide = side === "provider" ? "validator" : "provider";
			assert.equal(nextState(before, side, message).ok, i === j);
			assert.equal(nextState(before, other, message).ok, false);
		}
		for (const [side, message] of [open(1), rent, changed, closeBy("validator", 1)])
			assert.equal(nextState(before, side, message).ok, false);
		assert.equal(judgeData(before, "provider", 1), "wrong");
	}
});

test("data belongs to an open channel; late data is told from wrong data", () => {
	const after = (...said: readonly Said[]) => play(said, talking) as AgentState;
	assert.equal(judgeData(after(open(1)), "provider", 1), "wrong");
	assert.equal(judgeData(after(open(1), opened(1)), "provider", 1), "fits");
	assert.equal(judgeData(after(open(1), opened(1)), "validator", 1), "fits");
	assert.equal(judgeData(after(open(1), opened(1)), "provider", 2), "wrong");
	const closing = after(open(1), opened(1), closeBy("validator", 1));
	assert.equal(judgeData(closing, "provider", 1), "late");
	const gone = after(open(1), opened(1), closeBy("provider", 1));
	assert.equal(judgeData(gone, "provider", 1), "wrong");
	assert.equal(judgeData(gone, "validator", 1), "late");
	assert.equal(judgeData(gone, "validator", 2), "wrong");
	assert.equal(judgeData(gone, "validator", 0), "wrong");
});

test("whatever is said, the state stays small", () => {
	const any = fc.constantFrom(
		...[open(1), open(2), open(3), opened(1), opened(2), refused(1), refused(2), rent, rented, check, checked, changed],
		...[sign(1), sign(2), signed(1), signed(2)],
		...[closeBy("provider", 1), closeBy("validator", 1), closeBy("provider", 2), closeBy("validator", 2)],
	);
	fc.assert(
		fc.property(fc.array(any, { maxLength: 60 }), (said) => {
			let state = talking;
			for (const [side, message] of said) {
				const step = nextState(state, side, message);
				if (step.ok) state = step.state;
				assert.ok(state.channels.size <= 64 && state.asks.size <= 64);
				for (const subject of state.asks.keys()) assert.ok(typeof subject === "string" || state.channels.has(subject));
				for (const channel of state.channels.keys()) assert.ok(channel <= state.lastChannel);
			}
		}),
		{ numRuns: scaled(300) },
	);
});

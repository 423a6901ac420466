// Each check of a roll call's file at its edge: the last value that passes and the first that does not. Found
// by changing one comparison at a time and looking which change no other test saw.
import assert from "node:assert/strict";
import { test } from "node:test";
import { signedRound, TOY_DRAND } from "../../protocol/roll-call/drand.test-kit.ts";
import { rollBytes, rollOps } from "../../protocol/roll-call/roll-call.ts";
import type { RollBeacon, RollCallBody } from "../../protocol/roll-call/roll-file.ts";
import { roundAtS } from "../../protocol/roll-call/roll-file.ts";
import type { Fault } from "../hardware/fault.ts";
import { checkSizes } from "./check-answer.ts";
import { checkChain, checkOrder } from "./check-chain.ts";
import { checkDrand } from "./check-drand.ts";
import { BEACON, block, CALLED, COMMITTED, DRAWN, SPEC, toyCall, toyFacts } from "./toy-roll-call.test-kit.ts";
import { verifyRollCall } from "./verify-roll-call.ts";

const CALL = toyCall();
const body = (changes: Partial<RollCallBody>) => ({ ...CALL.stated, ...changes }) as RollCallBody;
const said = (found: Fault | null) => (found === null ? null : `${found.code} ${found.where}`);

test("a commitment comes after the call, in number and in time, and before the draw", () => {
	const order = (number: number, atS: number) => said(checkOrder(body({ committed: { ...COMMITTED, number, atS } })));
	const { number, atS } = CALLED;
	assert.equal(order(number + 1, atS + 1), null);
	assert.equal(order(number + 1, atS), "CALL_TIMES committed", "work of no time at all");
	assert.equal(order(number, atS + 1), "CALL_TIMES committed", "in the very block");
	assert.equal(order(DRAWN.number - 1, DRAWN.atS), null);
	assert.equal(order(DRAWN.number, DRAWN.atS), "CALL_COMMITTED_LATE committed");
	assert.equal(said(checkOrder(body({ call: number + 1 }))), "CALL_BLOCK_OTHER call");
	const drand: RollBeacon = { kind: "drand", ...TOY_DRAND, called: signedRound(9), drawn: signedRound(29) };
	const round = (at: number, call = 9) =>
		said(checkOrder(body({ beacon: drand, call, committed: { ...COMMITTED, atS: roundAtS(TOY_DRAND, 9) + at } })));
	assert.deepEqual([round(0), round(1), round(59)], ["CALL_TIMES committed", null, null]);
	assert.deepEqual([round(60), round(1, 8)], ["CALL_COMMITTED_LATE committed", "CALL_BLOCK_OTHER call"]);
});

test("a file whose commitment is of the second of its call is refused, not divided by nothing", () => {
	const committed = { ...block(CALLED.number + 1), atS: CALLED.atS };
	const verdict = verifyRollCall(toyCall({ committed }).file, null);
	assert.equal(verdict.status === "invalid" && verdict.code, "CALL_TIMES");
});

test("sizes: the least and the most of each, and one step beyond", () => {
	const sizes = (changes: Partial<typeof SPEC>) =>
		said(checkSizes(body({ answer: { ...CALL.stated.answer, ...changes } })));
	const right = [{ m: 128 }, { n: 512 }, { k: 128 }, { m: 65536 }, { n: 65536 }, { k: 65536 }];
	for (const one of [
		...right,
		{ rounds: 1, keep: 1 },
		{ rounds: 1024, keep: 1024 },
		{ rounds: 1024, keep: 1 },
		{ rounds: 2, keep: 2 },
	])
		assert.equal(sizes(one), null, JSON.stringify(one));
	for (const [changes, field] of [
		[{ m: 0 }, "m"],
		[{ m: 65536 + 128 }, "m"],
		[{ m: 192 }, "m"],
		[{ n: 0 }, "n"],
		[{ n: 65536 + 512 }, "n"],
		[{ n: 768 }, "n"],
		[{ k: 0 }, "k"],
		[{ k: 65536 + 128 }, "k"],
		[{ k: 192 }, "k"],
		[{ rounds: 0 }, "rounds"],
		[{ rounds: 1025 }, "rounds"],
		[{ keep: 0 }, "keep"],
		[{ rounds: 2, keep: 3 }, "keep"],
	] as const)
		assert.equal(sizes(changes), `SPEC_LIMITS answer.${field}`, JSON.stringify(changes));
	const one = toyCall({ spec: { ...SPEC, rounds: 1, keep: 1 } });
	assert.equal(verifyRollCall(one.file, toyFacts(one)).status, "valid", "one round is a call like any other");
});

test("the draw: the first block whose second is the window's last, and none before it", () => {
	const facts = (windowS: number) => said(checkChain(body({}), toyFacts(CALL, { windowS })));
	const S = DRAWN.atS - CALLED.atS;
	assert.deepEqual([facts(S), facts(S + 1)], [null, "CALL_DRAW_OTHER beacon.drawn"]);
	// 12 s before it there was a block.
	assert.deepEqual([facts(S - 11), facts(S - 12)], [null, "CALL_DRAW_OTHER beacon.drawn"]);
	const { blocks } = toyFacts(CALL);
	const without = new Map([...blocks].filter(([number]) => number !== DRAWN.number - 1));
	assert.equal(said(checkChain(body({}), toyFacts(CALL, { blocks: without }))), "CALL_BLOCK_OTHER beacon.drawn.number");
});

test("the contract's settings and its events decide, each on its own", () => {
	const { commitments } = toyFacts(CALL);
	const [own, other] = commitments as [(typeof commitments)[number], (typeof commitments)[number]];
	const judge = (...changed: typeof commitments) =>
		said(checkChain(body({}), toyFacts(CALL, { commitments: changed })));
	assert.equal(judge(own), null);
	assert.equal(judge(other, own), null);
	assert.equal(judge(), "CALL_UNCOMMITTED validator");
	assert.equal(judge(other), "CALL_UNCOMMITTED validator");
	assert.equal(judge({ ...own, call: own.call + 1 }), "CALL_UNCOMMITTED validator");
	assert.equal(judge({ ...own, root: other.root }), "CALL_UNCOMMITTED tree.root");
	assert.equal(judge({ ...own, count: own.count + 1 }), "CALL_UNCOMMITTED tree.count");
	assert.equal(said(checkChain(body({}), toyFacts(CALL, { every: 0 }))), "CALL_UNCOMMITTED chain.contract");
	assert.equal(said(checkChain(body({}), toyFacts(CALL, { every: 1 }))), null, "every block calls");
	assert.equal(said(checkChain(body({}), toyFacts(CALL, { beacon: "drand" }))), "CALL_BEACON_UNKNOWN beacon.kind");
	const fork = body({
		beacon: { ...BEACON, called: { ...CALLED, hash: block(CALLED.number, "fork").hash } } as RollBeacon,
	});
	assert.equal(said(checkChain(fork, toyFacts(CALL))), "CALL_BLOCK_OTHER beacon.called.hash");
});

test("of several networks of drand that are accepted one must be the file's, in every field", () => {
	const beacon: RollBeacon = { kind: "drand", ...TOY_DRAND, called: signedRound(9), drawn: signedRound(29) };
	const other = { ...TOY_DRAND, genesisS: TOY_DRAND.genesisS + 1 };
	assert.equal(checkDrand(beacon, [TOY_DRAND]), null);
	assert.equal(checkDrand(beacon, [other, TOY_DRAND]), null);
	for (const accepted of [[other], [{ ...TOY_DRAND, periodS: 4 }], [{ ...TOY_DRAND, publicKey: "ab".repeat(96) }], []])
		assert.equal(checkDrand(beacon, accepted)?.code, "CALL_BEACON_UNKNOWN");
});

test("figures: what is held is what there was to keep, and a speed beyond 2^53 is stated as at least that", () => {
	assert.equal(rollBytes({ m: 128, n: 512, k: 128, rounds: 2, keep: 5 }), 2 * 2 * 128 * 512);
	assert.equal(rollBytes({ m: 128, n: 512, k: 128, rounds: 5, keep: 2 }), 2 * 2 * 128 * 512);
	assert.ok(rollOps({ m: 65536, n: 65536, k: 65536, rounds: 1024, keep: 1 }) / 12n > BigInt(Number.MAX_SAFE_INTEGER));
});

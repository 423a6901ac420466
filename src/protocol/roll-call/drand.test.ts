// Rounds of drand, by one of the real network and by a key of our own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { signedRound, TOY_DRAND } from "./drand.test-kit.ts";
import { isDrandRound, QUICKNET } from "./drand.ts";
import { roundAt, roundAtS } from "./roll-file.ts";

/** Round 1000 of quicknet, as drand published it. */
const REAL = {
	round: 1000,
	signature: "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39",
};

test("a real round of quicknet is right, and right for that round alone", () => {
	assert.ok(isDrandRound(QUICKNET, REAL));
	assert.ok(isDrandRound(QUICKNET, REAL), "and is remembered");
	assert.ok(!isDrandRound(QUICKNET, { ...REAL, round: 1001 }));
	assert.ok(!isDrandRound(TOY_DRAND, REAL), "another network's key");
});

test("a key of our own: right, of another round, of another key, no point, everybody's point", () => {
	const round = signedRound(7);
	assert.ok(isDrandRound(TOY_DRAND, round));
	assert.ok(!isDrandRound(TOY_DRAND, { ...round, round: 8 }));
	assert.ok(!isDrandRound(QUICKNET, round));
	assert.ok(!isDrandRound(TOY_DRAND, { ...round, signature: "00".repeat(48) }));
	assert.ok(!isDrandRound(TOY_DRAND, { ...round, signature: `c0${"00".repeat(47)}` }), "the point at infinity");
	assert.ok(!isDrandRound({ ...TOY_DRAND, publicKey: `c0${"00".repeat(95)}` }, round));
});

test("the timetable: which round is the first at or after a time", () => {
	for (const round of [1, 2, 1000]) {
		const atS = roundAtS(QUICKNET, round);
		assert.equal(roundAt(QUICKNET, atS), round);
		assert.equal(roundAt(QUICKNET, atS + 1), round + 1);
		assert.equal(roundAt(QUICKNET, atS - 1), round === 1 ? 1 : round);
	}
	assert.equal(roundAt(QUICKNET, 0), 1);
});

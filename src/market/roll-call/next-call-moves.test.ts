// What comes next in a roll call, state by state; and whose turn it is to open a host.
import assert from "node:assert/strict";
import { test } from "node:test";
import { takesPart } from "./call-outcome.ts";
import { type CallView, nextCallMoves, type OpeningHost, waitKey } from "./next-call-moves.ts";
import { openingTurn, turnMs } from "./opening-turns.ts";

const HOST: OpeningHost = { id: "h", afterMs: 0, absentAfterMs: 0, others: [], listedBy: new Set() };
const VIEW: CallView = {
	...{ nowMs: 1000, isHeard: true, isCommitted: true, drawnAtMs: 900, left: [HOST], waits: new Map(), fault: null },
	...{ commitByMs: 2000, drawByMs: 3000, openByMs: 4000, most: 10, isReachable: () => true },
};
const kinds = (over: Partial<CallView>) =>
	nextCallMoves({ ...VIEW, ...over }).map((move) => ("host" in move ? `${move.kind} ${move.host}` : move.kind));

test("one step after the other, and each has its time", () => {
	assert.deepEqual(kinds({ isHeard: false, isCommitted: false, drawnAtMs: null }), ["ask"]);
	const heard = { isCommitted: false, drawnAtMs: null };
	assert.deepEqual(kinds({ ...heard, nowMs: 2000 }), ["commit"]);
	assert.deepEqual(kinds({ ...heard, nowMs: 2001 }), ["void"]);
	assert.deepEqual(kinds({ drawnAtMs: null, nowMs: 3000 }), ["draw"]);
	assert.deepEqual(kinds({ drawnAtMs: null, nowMs: 3001 }), ["void"]);
	assert.deepEqual(kinds({ nowMs: 4000 }), ["open h"]);
	assert.deepEqual(kinds({ nowMs: 4001 }), ["void"]);
	assert.deepEqual(kinds({ nowMs: 4001, left: [] }), ["finish"], "what is opened counts, however long it took");
	for (const isHeard of [false, true]) assert.deepEqual(kinds({ isHeard, fault: "broken" }), ["void"]);
});

test("a host is opened in one's own turn, not before, and only where it can be reached", () => {
	const host = { ...HOST, afterMs: 100 };
	assert.deepEqual(kinds({ left: [host] }), ["open h"]);
	assert.deepEqual(kinds({ left: [host], nowMs: 999 }), []);
	assert.deepEqual(kinds({ left: [host], isReachable: () => false }), []);
	const many = Array.from({ length: 30 }, (_, i) => ({ ...HOST, id: String(i) }));
	assert.equal(kinds({ left: many }).length, 10, "so many at a time");
});

test("before one's turn the others are asked what they have; what they have is fetched, at any time", () => {
	const later = { ...HOST, afterMs: 5000, others: ["a", "b"] };
	const moves = (over: Partial<CallView>) => nextCallMoves({ ...VIEW, ...over });
	const lists = [
		{ kind: "list", from: "a" },
		{ kind: "list", from: "b" },
	];
	assert.deepEqual(moves({ left: [later] }), lists);
	assert.deepEqual(moves({ left: [later], waits: new Map([[waitKey.list("a"), 1001]]) }), lists.slice(1));
	assert.deepEqual(moves({ left: [later], waits: new Map([[waitKey.peer("b"), 1001]]) }), lists.slice(0, 1));
	assert.deepEqual(moves({ left: [later], waits: new Map([[waitKey.list("a"), 1000]]) }), lists);
	for (const afterMs of [0, 5000]) {
		const listed = { ...later, afterMs, listedBy: new Set(["b"]) };
		assert.deepEqual(moves({ left: [listed] }), [{ kind: "fetch", host: "h", from: "b" }]);
		// ATTACK: a peer that lists and does not give, or gives rubbish, costs one question.
		for (const wait of [waitKey.peer("b"), waitKey.file("b", "h")]) {
			const waits = new Map([[wait, Number.POSITIVE_INFINITY]]);
			const own = moves({ left: [listed], waits });
			assert.equal(own[0]?.kind, afterMs === 0 ? "open" : "list", wait);
			assert.ok(own.every(({ kind }) => kind !== "fetch"));
		}
	}
});

test("a host that was not connected is looked for again a little later; the others are asked meanwhile", () => {
	const host = { ...HOST, others: ["a"] };
	const waits = new Map([[waitKey.host("h"), 1001]]);
	assert.deepEqual(kinds({ left: [host], waits }), ["list"]);
	assert.deepEqual(kinds({ left: [host], waits, nowMs: 1001 }), ["open h"]);
});

test("a peer is asked for eight files at a time", () => {
	const host = { ...HOST, others: ["a", "b"], listedBy: new Set(["a"]) };
	const left = Array.from({ length: 30 }, (_, i) => ({
		...host,
		id: String(i),
		listedBy: new Set([i < 20 ? "a" : "b"]),
	}));
	const froms = nextCallMoves({ ...VIEW, left }).map((move) => ("from" in move ? move.from : move.kind));
	assert.deepEqual(froms, [...Array(8).fill("a"), ...Array(8).fill("b")]);
});

test("every host has an order of validators that is the same for all; nobody waits for more than two", () => {
	const accounts = Array.from({ length: 5 }, (_, i) => `0x${String(i).repeat(40)}`);
	const beta2 = new Uint8Array(32).fill(9);
	const first = new Map(accounts.map((one) => [one, 0]));
	for (let i = 0; i < 256; i++) {
		const host = { key: i.toString(16).padStart(2, "0").repeat(32), beta2, deadlineMs: 5000 };
		const turns = accounts.map((self) => openingTurn(host, self, accounts));
		const waited = turns.map(({ afterMs }) => afterMs / turnMs(5000)).sort();
		assert.deepEqual(waited, [0, 1, 2, 2, 2]);
		for (const { absentAfterMs } of turns) assert.equal(absentAfterMs, 3 * turnMs(5000), "all that are waited for");
		const own = accounts[turns.findIndex(({ afterMs }) => afterMs === 0)]!;
		first.set(own, first.get(own)! + 1);
		for (const [v, { others }] of turns.entries()) {
			assert.deepEqual(others, openingTurn(host, accounts[v]!, accounts.toReversed()).others);
			assert.ok(!others.includes(accounts[v]!) && others.length === 4);
		}
		assert.equal(openingTurn(host, `0x${"f".repeat(40)}`, accounts).afterMs, 0, "who did not commit waits for nobody");
		assert.equal(openingTurn(host, accounts[0]!, accounts.slice(0, 1)).absentAfterMs, turnMs(5000));
	}
	for (const [one, hosts] of first) assert.ok(hosts > 25 && hosts < 80, `${one} opens ${hosts} of 256`);
	const at = (fill: number) =>
		openingTurn({ key: "00".repeat(32), beta2: new Uint8Array(32).fill(fill), deadlineMs: 1 }, "", accounts).others[0];
	assert.ok(new Set(Array.from({ length: 16 }, (_, i) => at(i))).size > 1, "another draw, another order");
});

test("a validator takes part when hosts have had time to dial in, and not in its rest unless somebody is new", () => {
	const host = { isConnected: true, isNew: false, isExcused: false, isUncalled: false };
	const calm = { upMs: 90_000, sinceLastMs: 50, restMs: 50 };
	assert.equal(takesPart([host], calm), true);
	assert.equal(takesPart([], calm), false);
	const away = { ...host, isConnected: false };
	assert.equal(takesPart([host, away], calm), true);
	assert.equal(takesPart([host, away], { ...calm, upMs: 89_999 }), false);
	assert.equal(takesPart([host], { ...calm, upMs: 0 }), true);
	const resting = { ...calm, sinceLastMs: 49 };
	assert.equal(takesPart([host], resting), false);
	assert.equal(takesPart([host, { ...host, isNew: true }], resting), true);
	assert.equal(takesPart([host, { ...host, isNew: true, isExcused: true }], resting), false);
	// Who answers no calls is waited for by nobody, and makes nobody call.
	const uncalled = { ...host, isNew: true, isUncalled: true };
	assert.equal(takesPart([uncalled], calm), false);
	assert.equal(takesPart([host, uncalled], resting), false);
	assert.equal(takesPart([host, { ...uncalled, isConnected: false }], { ...calm, upMs: 89_999 }), true);
});

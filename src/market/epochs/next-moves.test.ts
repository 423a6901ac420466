// The rules of an epoch: what one validator does when, and what ten of them come to when some are silent,
// slow or show different things to different peers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { scaled, seed } from "../../../tests/fuzz.test-kit.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { askKey, type EpochView, type SettlementView } from "./epoch-view.ts";
import {
	type Answers,
	openEpoch,
	QUORUM_PPM,
	rightId,
	type SimResult,
	seatOf,
	simulate,
	statement,
	WINDOWS,
	weightsOf,
} from "./next-moves.test-kit.ts";
import { type Move, nextMoves, rankOf, turnSeconds } from "./next-moves.ts";
import { bitOf, isQuorum, stakeOfSet } from "./seat-set.ts";

const seats = Array.from({ length: 10 }, (_, n) => seatOf(n));
const self = seats[0]!.validator;
const ALL = (1n << 10n) - 1n;
const QUARTER_S = WINDOWS.signsAt + 250;
const bits = (...which: number[]) => which.reduce((set, seat) => set | bitOf(seat), 0n);
const view = (epoch: EpochView, more: Partial<SettlementView> = {}): SettlementView => ({
	self,
	quorumPpm: QUORUM_PPM,
	head: null,
	leaves: new Set(),
	epochs: [epoch],
	waits: new Map(),
	...more,
});
const kinds = (moves: readonly Move[]) => [...new Set(moves.map(({ kind }) => kind))];
const only = (moves: readonly Move[], kind: Move["kind"]) => moves.filter((move) => move.kind === kind);

test("draft, commit, reveal, publish: each in its window, none without a seat's stake", () => {
	const own = { hasDraft: false, isCommitted: false, isRevealed: false, isPublished: false };
	const at = (nowS: number, more: Partial<EpochView["own"]> = {}, ownStake = 10n) =>
		kinds(
			nextMoves(
				view(openEpoch([], { own: { ...own, ...more }, ownStake, totalStake: 640n, areSeatsFirm: false })),
				nowS,
			),
		);
	assert.deepEqual(at(-1), []);
	assert.deepEqual(at(0), ["draft"]);
	assert.deepEqual(at(0, { hasDraft: true }), ["commit"]);
	assert.deepEqual(at(99, { hasDraft: true, isCommitted: true }), []);
	assert.deepEqual(at(100, { hasDraft: true }), []);
	assert.deepEqual(at(100, { hasDraft: true, isCommitted: true }), ["reveal"]);
	assert.deepEqual(at(100, { isCommitted: true }), [], "a commitment whose leaves are lost cannot be opened");
	assert.deepEqual(at(200, { hasDraft: true, isCommitted: true }), []);
	assert.deepEqual(at(200, { hasDraft: true, isCommitted: true, isRevealed: true }), ["publish"]);
	assert.deepEqual(at(0, {}, 9n), [], "a 64th of all stake");
});

test("a set is signed when it is whole; else at a quarter of the window, and never without a quorum's reports", () => {
	const signs = (nowS: number, reports: EpochView["reports"], more: Partial<EpochView> = {}) =>
		only(nextMoves(view(openEpoch(seats, { reports, ...more })), nowS), "sign");
	const held = (set: bigint) => seats.map((_, seat) => (set & bitOf(seat) ? "held" : "absent") as "held" | "absent");
	const sign = (set: bigint) => [{ kind: "sign", epoch: 0, base: `0x${"0".repeat(64)}`, set }];
	assert.deepEqual(signs(WINDOWS.signsAt, held(ALL)), sign(ALL));
	assert.deepEqual(signs(WINDOWS.signsAt, held(ALL), { areSeatsFirm: false }), [], "a reorganisation could move seats");
	assert.deepEqual(signs(QUARTER_S - 1, held(bits(0, 1, 2, 3, 4, 5, 6))), []);
	assert.deepEqual(signs(QUARTER_S, held(bits(0, 1, 2, 3, 4, 5, 6))), sign(bits(0, 1, 2, 3, 4, 5, 6)));
	assert.deepEqual(signs(QUARTER_S, held(bits(0, 1, 2, 3, 4, 5))), []);
	assert.deepEqual(signs(WINDOWS.signsUntil, held(ALL)), []);
	const malformed = seats.map((_, seat) => (seat === 9 ? "malformed" : "held") as "malformed" | "held");
	assert.deepEqual(signs(WINDOWS.signsAt, malformed), sign(ALL & ~bitOf(9)), "nobody waits for a malformed one");
	assert.deepEqual(signs(WINDOWS.signsAt, held(ALL), { statements: [statement(ALL, bitOf(0))] }), [], "once");
});

test("a set grows by what a peer signed for and we hold, all of it or nothing; never by a late report alone", () => {
	const mine = statement(ALL & ~bits(8, 9), bitOf(0));
	const signs = (peer: bigint, held: bigint) => {
		const reports = seats.map((_, seat) => (held & bitOf(seat) ? "held" : "absent") as "held" | "absent");
		const statements = [mine, ...(peer === 0n ? [] : [statement(peer, bitOf(1), { verdict: "unknown" })])];
		return only(nextMoves(view(openEpoch(seats, { reports, statements })), QUARTER_S + 5), "sign").map(
			(move) => move.kind === "sign" && move.set,
		);
	};
	assert.deepEqual(signs(0n, ALL), [], "held late, asked for by nobody");
	assert.deepEqual(signs(bits(0, 1, 2, 3, 4, 5, 6, 8), ALL), [ALL & ~bitOf(9)], "the union");
	assert.deepEqual(signs(ALL, ALL & ~bitOf(9)), [], "not half of it");
	assert.deepEqual(signs(ALL | (1n << 40n), ALL), [], "a seat that nobody has");
});

test("nothing is signed on a base that is wrong, unknown or newer; whose leaves are absent is asked for", () => {
	const id = rightId(77n);
	const before = (verdict: "right" | "wrong" | "provable") =>
		openEpoch(seats, { epoch: 4, statements: [statement(ALL, ALL, { id, verdict })], posted: { id, finalAt: 9999 } });
	const epoch = { ...openEpoch(seats), epoch: 5 };
	const moves = (verdict: "right" | "wrong" | "provable", leaves: readonly Hex[], head = 4) =>
		nextMoves(
			view(epoch, { head: { epoch: head, id }, leaves: new Set(leaves), epochs: [before(verdict), epoch] }),
			300,
		);
	assert.deepEqual(only(moves("right", [id]), "sign"), [{ kind: "sign", epoch: 5, base: id, set: ALL }]);
	assert.deepEqual(only(moves("wrong", [id]), "sign"), []);
	assert.deepEqual(only(moves("provable", [id]), "sign"), []);
	assert.deepEqual(only(moves("right", [id], 5), "sign"), []);
	const lacking = moves("right", []);
	assert.deepEqual(only(lacking, "sign"), []);
	assert.ok(only(lacking, "fetch-leaves").some((move) => move.kind === "fetch-leaves" && move.id === id));
});

test("what a quorum signed is posted, one validator after the other; what is not ours to vouch for is not", () => {
	const rank = rankOf({ epoch: 0, seats }, self);
	const turnS = turnSeconds(WINDOWS);
	const posts = (signers: bigint, nowS: number, more: Parameters<typeof statement>[2] = {}) =>
		only(
			nextMoves(view(openEpoch(seats, { statements: [statement(ALL, signers, { sinceS: 300, ...more })] })), nowS),
			"post",
		);
	assert.equal(posts(ALL, 300 + rank * turnS).length, 1);
	assert.equal(posts(ALL, 300 + rank * turnS - 1).length, 0);
	assert.equal(posts(bits(0, 1, 2, 3, 4, 5), 900).length, 0, "no quorum");
	assert.equal(posts(ALL, 900, { verdict: "unknown" }).length, 0);
	assert.equal(posts(ALL, 900, { verdict: "provable" }).length, 0);
	assert.equal(posts(ALL, 900, { weights: weightsOf(ALL, { base: rightId(5n) }) }).length, 0, "another base");
	assert.equal(posts(ALL, WINDOWS.signsUntil).length, 0);
	const ranks = seats.map(({ validator }) => rankOf({ epoch: 0, seats }, validator));
	assert.deepEqual(
		[...ranks].sort(),
		seats.map((_, n) => n),
	);
	assert.notDeepEqual(
		ranks,
		seats.map(({ validator }) => rankOf({ epoch: 1, seats }, validator)),
		"nobody is always first",
	);
});

test("wrong weights: announced, then proven, then punished; a thousand of one liar are worth one proof", () => {
	const wrong = (n: number, more: Parameters<typeof statement>[2] = {}) =>
		statement(ALL, bitOf(9), { id: rightId(BigInt(1000 + n)), verdict: "provable", ...more });
	const accuse = (statements: EpochView["statements"], more: Partial<EpochView> = {}, nowS = 900) =>
		nextMoves(view(openEpoch(seats, { statements, ...more })), nowS)
			.filter(({ kind }) => ["announce", "challenge", "punish"].includes(kind))
			.map((move) => [move.kind, "id" in move && move.id]);
	const many = Array.from({ length: 1000 }, (_, n) => wrong(n));
	assert.deepEqual(accuse(many), [["announce", rightId(1000n)]]);
	assert.deepEqual(accuse([wrong(0, { isAnnounced: true })]), [["challenge", rightId(1000n)]]);
	assert.deepEqual(accuse([wrong(0, { isProven: true })]), [["punish", rightId(1000n)]]);
	assert.deepEqual(accuse([wrong(0, { isProven: true })], { punished: new Set([seats[9]!.validator]) }), []);
	assert.deepEqual(accuse([wrong(0)], { punished: new Set([seats[9]!.validator]) }), [], "nothing is gained by it");
	const posted = { id: rightId(1000n), finalAt: 1000 };
	const punished = new Set([seats[9]!.validator]);
	assert.deepEqual(
		accuse([wrong(0)], { posted, punished }),
		[["announce", posted.id]],
		"what stands is always proven wrong",
	);
	assert.deepEqual(
		accuse([wrong(0)], { posted, punished }, 990),
		[["challenge", posted.id]],
		"with or without announcement",
	);
});

test("whoever failed is left alone, and others are asked for what it keeps back", () => {
	const reports = seats.map((_, seat) => (seat === 9 ? "absent" : "held") as "absent" | "held");
	const asks = (waits: [string, number][], statements: EpochView["statements"] = []) =>
		only(
			nextMoves(view(openEpoch(seats, { reports, statements }), { waits: new Map(waits) }), 300),
			"fetch-report",
		).map(
			(move) =>
				move.kind === "fetch-report" && [seats.findIndex(({ validator }) => validator === move.from), move.isNamed],
		);
	const [author, second] = [seats[9]!.validator, seats[5]!.validator];
	assert.deepEqual(asks([]), [
		[9, false],
		[1, false],
	]);
	assert.deepEqual(asks([[askKey.peer(author), 301]]), [
		[1, false],
		[2, false],
	]);
	assert.deepEqual(asks([[askKey.peer(author), 300]])[0], [9, false], "its time is over");
	assert.deepEqual(
		asks([[askKey.peer(author), 301]], [statement(ALL, bitOf(5))]),
		[
			[5, true],
			[1, true],
		],
		"who signed for it has it",
	);
	assert.deepEqual(asks([[askKey.report(second, 0, 9), 301]], [statement(ALL, bitOf(5))])[1], [1, true]);
});

/** What must hold of every honest one, whatever the others do. */
function mustBeSound({ nodes }: SimResult): void {
	for (const { signed, reports, heldAtQuarter } of nodes) {
		const held = reports.reduce((set, state, seat) => (state === "held" ? set | bitOf(seat) : set), 0n);
		for (const [i, { set, atS }] of signed.entries()) {
			assert.equal(set & ~held, 0n, "it holds every report that it signs for");
			assert.ok(isQuorum(stakeOfSet(set, seats), 100n, QUORUM_PPM));
			if (atS > QUARTER_S) assert.equal(heldAtQuarter & ~set, 0n, "what it held at the quarter is in it");
			if (i > 0) assert.equal(signed[i - 1]!.set & ~set, 0n, "sets only grow");
		}
	}
}

const SILENT: Answers = { report: () => null, statements: () => null };
const quick = () => 1;
const random = (from: number) => () => {
	from = (Math.imul(from, 1_664_525) + 1_013_904_223) >>> 0;
	return from / 2 ** 32;
};

test("H1: three silent ones cost a quarter of the window, all at once, not one after the other", () => {
	const alone = simulate({ seats, bad: new Map(), latencyS: quick });
	assert.ok(alone.postedAtS! < WINDOWS.signsAt + 30);
	const silent = simulate({ seats, bad: new Map([7, 8, 9].map((n) => [n, SILENT])), latencyS: quick });
	mustBeSound(silent);
	assert.equal(silent.posted, rightId(bits(0, 1, 2, 3, 4, 5, 6)));
	assert.ok(silent.postedAtS! < QUARTER_S + 60, `posted at ${silent.postedAtS}`);
	const four = simulate({ seats, bad: new Map([6, 7, 8, 9].map((n) => [n, SILENT])), latencyS: quick });
	assert.equal(four.posted, null, "without two thirds there is nothing to post");
});

test("a report shown to half of them, half a second before the quarter, splits nobody", () => {
	const halved: Answers = { ...SILENT, report: (_, to, atS) => (to % 2 === 0 && atS >= QUARTER_S - 4 ? true : null) };
	const result = simulate({ seats, bad: new Map([[9, halved]]), latencyS: quick });
	mustBeSound(result);
	assert.notEqual(result.postedAtS, null);
	assert.ok(result.postedAtS! < QUARTER_S + 60);
});

test("any three that trickle, equivocate, hang or lie: one set in the end, and a post in time", () => {
	for (let run = 0; run < scaled(8); run++) {
		const next = random(seed + run);
		const bad = new Map<number, Answers>();
		while (bad.size < 3) bad.set(Math.floor(next() * 10), badOne(next));
		const latencyS = () => 1 + Math.floor(next() * 5);
		const result = simulate({ seats, bad, latencyS });
		mustBeSound(result);
		assert.ok(
			result.postedAtS !== null && result.postedAtS < QUARTER_S + 150,
			`seed ${seed + run}: ${result.postedAtS}`,
		);
		assert.ok(result.senders <= 3, `seed ${seed + run}: ${result.senders} posts`);
		if (run % 4 !== 0) continue;
		// Nobody can send: then they go on, and come to one set.
		const unposted = simulate({ seats, bad, latencyS, mayPost: false });
		mustBeSound(unposted);
		assert.equal(new Set(unposted.nodes.map(({ signed }) => signed.at(-1)!.set)).size, 1, `seed ${seed + run}`);
	}
});

/**
 * Gives each report to whom it likes when it likes, and signs for sets of its own, right and wrong, until
 * late.
 */
function badOne(next: () => number): Answers {
	const from = Array.from({ length: 10 }, () => WINDOWS.revealsAt + next() * 800);
	const hangs = next() < 0.3;
	const shown = Array.from({ length: 4 }, (_, n) => {
		const set = bits(0, 1, 2, 3, 4, 5, 6, 7, 8, 9) & ~bitOf(Math.floor(next() * 10)) & ~bitOf(Math.floor(next() * 10));
		const isRight = next() < 0.7;
		const sinceS = WINDOWS.signsAt + next() * 700;
		return {
			id: isRight ? rightId(set) : rightId(BigInt(5000 + n)),
			set,
			signers: 1n << 9n,
			sinceS,
			to: Math.floor(next() * 1024),
		};
	});
	return {
		report: (_, to, atS) => (atS >= from[to]! ? true : hangs ? null : false),
		statements: (to, atS) => shown.filter((one) => one.sinceS <= atS && (one.to >> to) & 1),
	};
}

// The life of a part: every transition and its refusals; and over random lives: nobody is paid twice, nobody
// gets a part that it lost, no state is without a way out, and what is paid stays paid.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc, scaled } from "../../../tests/fuzz.test-kit.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { JobAudit, JobPart, JobRecord, JobTerms } from "../../protocol/network/job.ts";
import { DEFAULT_PARAMS as P } from "../params.ts";
import * as rules from "./job-rules.ts";
import { nextSteps } from "./next-steps.ts";

const TERMS: JobTerms = {
	...{ customer: "c", program: "p", inputs: "i", method: { name: "sampled", count: 3 }, segments: 10, parts: 3 },
	...{ priceMicros: 100, feeMicros: 2, auditMicros: 30, bondMicros: 50 },
	...{ startByMs: 1e6, workMs: 60_000, windowMs: 100_000, checkedMs: 10_000 },
};
const CLAIM = "ab".repeat(32);
const job = (): JobRecord => rules.newJob("j", TERMS);
const refuses = (act: () => unknown, words: RegExp) =>
	assert.throws(act, (error) => error instanceof AssayError && error.code === "JOB_STATE" && words.test(error.message));
const ran = (from: JobRecord, part: number, provider: string, nowMs: number) =>
	rules.accept(rules.offer(from, part, provider, nowMs, P), part, nowMs);
const claimed = (from: JobRecord, part: number, provider: string, nowMs: number) =>
	rules.claim(ran(from, part, provider, nowMs), part, CLAIM, nowMs);
/** Part 0 of provider a, checked and claimed at 0. */
const checked = () => rules.markChecked(claimed(job(), 0, "a", 0), 0, 0);

test("segments: each part has its share, the last one the rest", () => {
	assert.deepEqual(
		[0, 1, 2].map((part) => rules.partRange(TERMS, part)),
		[
			{ first: 0, count: 4 },
			{ first: 4, count: 4 },
			{ first: 8, count: 2 },
		],
	);
});

test("a new job: every part is open, and nobody's", () => {
	const open = {
		...{
			part: 1,
			attempt: 0,
			state: "open",
			provider: null,
			base: 0,
			isAlone: false,
			untilMs: 0,
			lastBeatMs: 0,
			done: 0,
			lastProgressMs: 0,
		},
		...{ claim: null, claimedAtMs: 0, assignedAtMs: 0, isChecked: false, isDisputed: false, audits: [], excluded: [] },
	};
	assert.deepEqual(job().parts[1], open);
	const offered = rules.offer(job(), 0, "a", 5, P).parts[0];
	const asked = { part: 0, attempt: 1, state: "assigned", provider: "a", assignedAtMs: 5, untilMs: 5 + P.jobAcceptMs };
	assert.deepEqual(offered, { ...open, ...asked });
	const half = rules.refund(job(), 0, 0, "customer");
	assert.equal(rules.isOver(half), false, "all of them have to be");
	const all = rules.refund(rules.refund(half, 1, 0, "customer"), 2, 0, "customer");
	assert.equal(rules.isOver(all), true);
});

test("open, assigned, running, claimed, paid", () => {
	let next = rules.offer(job(), 0, "a", 5, P);
	assert.deepEqual(
		[next.parts[0]!.state, next.parts[0]!.untilMs, next.parts[0]!.attempt],
		["assigned", 5 + P.jobAcceptMs, 1],
	);
	refuses(() => rules.offer(next, 0, "b", 5, P), /it is assigned/);
	refuses(() => rules.claim(next, 0, CLAIM, 5), /it is assigned/);
	next = rules.accept(next, 0, 10);
	refuses(() => rules.accept(next, 0, 10), /it is running/);
	refuses(() => rules.decline(next, 0), /it is running/);
	next = rules.beat(next, 0, 3, 20);
	for (const done of [3, 4]) assert.equal(rules.beat(next, 0, done, 20).parts[0]!.done, done);
	for (const done of [2, 5, 3.5, Number.NaN]) refuses(() => rules.beat(next, 0, done, 20), /segments were done/);
	next = rules.claim(next, 0, CLAIM, 10 + TERMS.workMs);
	assert.equal(next.parts[0]!.done, 4);
	const end = 10 + TERMS.workMs + TERMS.windowMs;
	refuses(() => rules.settle(next, 0, end), /window has not ended/);
	assert.equal(rules.settle(next, 0, end + 1).parts[0]!.state, "paid");
	const early = rules.markChecked(next, 0, 80_000);
	refuses(() => rules.markChecked(early, 0, 80_000), /checked before/);
	assert.equal(early.parts[0]!.untilMs, 90_000, "evidence shortens the window");
	const late = rules.markChecked(next, 0, end);
	assert.equal(late.parts[0]!.untilMs, end, "and never makes it longer");
	refuses(() => rules.markChecked(next, 0, end + 1), /window has ended/);
	const paid = rules.settle(early, 0, 90_001);
	for (const act of [
		() => rules.settle(paid, 0, 1e9),
		() => rules.convict(paid, 0),
		() => rules.refund(paid, 0, 1e9, "anyone"),
	])
		refuses(act, /it is paid/);
});

test("what is late: an offer, a start, a claim, a sign of life; another gets it, the same one never", () => {
	const offered = rules.offer(job(), 0, "a", 0, P);
	refuses(() => rules.accept(offered, 0, P.jobAcceptMs + 1), /offer has run out/);
	refuses(() => rules.reopen(offered, 0, P.jobAcceptMs, P), /in time/);
	const again = rules.reopen(offered, 0, P.jobAcceptMs + 1, P);
	assert.deepEqual([again.parts[0]!.state, again.parts[0]!.attempt, again.parts[0]!.excluded], ["open", 1, ["a"]]);
	refuses(() => rules.offer(again, 0, "a", 0, P), /had it before/);
	assert.equal(rules.offer(again, 0, "b", 0, P).parts[0]!.attempt, 2);
	refuses(() => rules.offer(job(), 0, "a", TERMS.startByMs + 1, P), /time to start is over/);
	assert.equal(rules.offer(job(), 0, "a", TERMS.startByMs, P).parts[0]!.state, "assigned", "the last moment counts");
	assert.equal(rules.accept(offered, 0, P.jobAcceptMs).parts[0]!.state, "running", "here too");
	const running = ran(job(), 0, "a", 0);
	refuses(() => rules.claim(running, 0, CLAIM, TERMS.workMs + 1), /time is over/);
	assert.equal(rules.lapse(running, 0, 3 * P.jobBeatMs, P), null);
	assert.equal(rules.lapse(running, 0, 3 * P.jobBeatMs + 1, P), "lost");
	const alive = rules.beat(running, 0, 1, TERMS.workMs);
	assert.equal(rules.lapse(alive, 0, TERMS.workMs, P), null);
	assert.equal(rules.lapse(alive, 0, TERMS.workMs + 1, P), "late", "signs of life without work end too");
	assert.equal(rules.lapse(claimed(job(), 0, "a", 0), 0, 1e9, P), null);
});

test("who shows progress keeps its part until the limit; who lives without any loses it earlier", () => {
	// Four segments in two hours: half an hour for each, and an hour for the first, which is the init phase.
	const long = { ...TERMS, workMs: 7_200_000 };
	const share = long.workMs / 4;
	const begun = (terms = long) => ran(rules.newJob("j", terms), 0, "a", 0);
	const beaten = (from: JobRecord, done: number, nowMs: number) => rules.beat(from, 0, done, nowMs);
	const idle = beaten(beaten(begun(), 0, 2 * share), 0, 2 * share + 1);
	assert.equal(rules.lapse(beaten(begun(), 0, 2 * share), 0, 2 * share, P), null);
	assert.equal(rules.lapse(idle, 0, 2 * share + 1, P), "stuck", "beats alone keep nothing");
	assert.equal(rules.reopen(idle, 0, 2 * share + 1, P).parts[0]!.state, "open");
	// The same number again is no progress; a larger one is, and never beyond the limit.
	const again = beaten(beaten(begun(), 1, 10), 1, share + 10);
	assert.equal(rules.lapse(again, 0, share + 10, P), null);
	assert.equal(rules.lapse(beaten(again, 1, share + 11), 0, share + 11, P), "stuck");
	const slow = [1, 2, 3].reduce((at, done) => beaten(at, done, done * share), begun());
	assert.equal(rules.lapse(beaten(slow, 3, 4 * share), 0, 4 * share, P), null);
	assert.equal(rules.lapse(beaten(slow, 4, 4 * share + 1), 0, 4 * share + 1, P), "late", "whatever it says is done");
	// Who says that all is done has only to claim. A short share is never shorter than the setting.
	const done = beaten(beaten(begun(), 4, 10), 4, long.workMs);
	assert.equal(rules.lapse(done, 0, long.workMs, P), null);
	const quick = beaten(begun({ ...long, segments: 10_000 }), 1, 0);
	assert.equal(rules.lapse(beaten(quick, 1, P.jobStuckMs), 0, P.jobStuckMs, P), null);
	assert.equal(rules.lapse(beaten(quick, 1, P.jobStuckMs), 0, P.jobStuckMs + 1, P), "stuck");
	// Of one that fell silent that is said, however late somebody looks.
	assert.equal(rules.lapse(begun(), 0, long.workMs, P), "lost");
	// One segment shows nothing before its end: the limit alone counts.
	const whole = begun({ ...long, segments: 3, parts: 3 });
	assert.equal(rules.lapse(beaten(whole, 0, long.workMs), 0, long.workMs, P), null);
});

test("to fetch: two minutes, or a twentieth of the time limit where that is longer", () => {
	assert.equal(rules.acceptMs({ workMs: 1_500_000 }, P), P.jobAcceptMs);
	// 1.5 GB at 10 MB/s are 150 s: parts of 20 minutes, that may take 100.
	assert.equal(rules.acceptMs({ workMs: 6_000_000 }, P), 300_000);
	const long = rules.newJob("j", { ...TERMS, workMs: 6_000_000, startByMs: 1e9 });
	assert.equal(rules.offer(long, 0, "a", 5, P).parts[0]!.untilMs, 300_005);
});

test("an auditor has the share of the part's time that it may be asked for, and time to begin", () => {
	const of = { terms: { ...TERMS, workMs: 7_200_000, segments: 300 } };
	const ms = (...counts: readonly number[]) =>
		rules.auditMs(
			of,
			0,
			counts.map((count) => ({ count })),
			P,
		) - rules.acceptMs(of.terms, P);
	assert.equal(ms(100), 7_200_000, "the whole part, all of its time");
	assert.equal(ms(10, 15), 1_800_000, "one auditor may get both");
	assert.equal(ms(1), P.jobLeastWorkMs);
	assert.equal(ms(90, 90), 7_200_000, "never more than the part's time");
});

test("parts begin where a checked one ends, or after one's own; money goes in order, but for who began at a checked end", () => {
	refuses(() => rules.offer(job(), 1, "a", 0, P), /part before it is not checked/);
	const first = claimed(job(), 0, "a", 0);
	refuses(() => rules.offer(first, 1, "b", 0, P), /not checked/);
	const own = claimed(first, 1, "a", 0);
	assert.equal(own.parts[1]!.isAlone, false);
	refuses(() => rules.settle(own, 1, 1e6), /part before it is not paid/);
	const other = claimed(checked(), 1, "b", 0);
	assert.equal(other.parts[1]!.isAlone, true);
	refuses(() => rules.settle(other, 1, 1e6), /part before it is not paid/);
	const inOrder = rules.settle(rules.settle(other, 0, 1e6), 1, 1e6);
	assert.deepEqual([inOrder.parts[0]!.state, inOrder.parts[1]!.state], ["paid", "paid"]);
});

test("what is disputed is never checked, nobody goes on from it, and its window still ends", () => {
	refuses(() => rules.dispute(ran(job(), 0, "a", 0), 0, 0), /it is running/);
	const disputed = rules.dispute(claimed(job(), 0, "a", 0), 0, 7);
	refuses(() => rules.markChecked(disputed, 0, 0), /it is disputed/);
	for (const provider of ["a", "b"]) refuses(() => rules.offer(disputed, 1, provider, 0, P), /not checked/);
	const steps = (of: JobRecord) => nextSteps(of, 0, P).filter(({ kind }) => kind === "draw");
	assert.deepEqual(steps(disputed), []);
	assert.deepEqual(steps(claimed(job(), 0, "a", 0)), [{ kind: "draw", part: 1, only: "a" }]);
	assert.equal(rules.settle(disputed, 0, TERMS.windowMs + 1).parts[0]!.state, "paid");
	const paid = rules.settle(claimed(job(), 0, "a", 0), 0, TERMS.windowMs + 1);
	assert.equal(rules.offer(paid, 1, "b", TERMS.windowMs + 1, P).parts[1]!.state, "assigned", "what was paid stands");
	const again = rules.offer(rules.convict(disputed, 0), 0, "b", 0, P);
	assert.equal(again.parts[0]!.isDisputed, false, "of the next one nothing is said");
	assert.equal(again.parts[0]!.disputedAtMs, undefined);
});

test("a claim is disputed once: a dispute that lapsed leaves its window, and no audit of it counts any more", () => {
	const audit = { auditor: "b", first: 0, count: 1, untilMs: 9, tried: [], answer: null, agrees: null };
	const disputed = rules.dispute(rules.addAudits(claimed(job(), 0, "a", 0), 0, [audit]), 0, 7);
	refuses(() => rules.dispute(disputed, 0, 8), /disputed before/);
	const lapsed = rules.lapseDispute(disputed, 0);
	assert.deepEqual([lapsed.parts[0]!.isDisputed, lapsed.parts[0]!.disputedAtMs], [false, 7]);
	for (const one of [disputed, lapsed]) refuses(() => rules.answerAudit(one, 0, 0, CLAIM), /no audit counts/);
	refuses(() => rules.lapseDispute(lapsed, 0), /it is not disputed/);
	refuses(() => rules.dispute(lapsed, 0, 9), /disputed before/);
	assert.equal(rules.settle(lapsed, 0, TERMS.windowMs + 1).parts[0]!.state, "paid");
});

test("where a state is withheld the whole part is run again, and whoever waited for it is free", () => {
	const audit = { auditor: "b", first: 1, count: 1, untilMs: 9, tried: [], answer: null, agrees: null };
	const before = rules.addAudits(claimed(job(), 0, "a", 0), 0, [audit, { ...audit, auditor: "c", answer: CLAIM }]);
	const { audits } = rules.auditWhole(before, 0, 50).parts[0]!;
	const { count } = rules.partRange(TERMS, 0);
	assert.deepEqual(
		audits.map((one) => [one.auditor, one.first, one.count, one.tried]),
		[
			[null, 1, 1, ["b"]],
			["c", 1, 1, []],
			[null, 0, count, []],
		],
	);
});

test("a conviction takes what the same provider built on it, and nothing of another's", () => {
	const own = claimed(claimed(job(), 0, "a", 0), 1, "a", 0);
	const fallen = rules.convict(own, 0);
	assert.deepEqual(
		fallen.parts.map(({ state }) => state),
		["open", "open", "open"],
	);
	assert.deepEqual(
		fallen.parts.map(({ excluded }) => excluded.join()),
		["a", "a", ""],
	);
	// A record in which only the first has fallen yet.
	const half = { ...own, parts: own.parts.with(0, fallen.parts[0]!) };
	refuses(() => rules.settle(half, 1, 1e6), /what it was built on fell/);
	const atWork = ran(claimed(job(), 0, "a", 0), 1, "a", 0);
	const below = { ...atWork, parts: atWork.parts.with(0, fallen.parts[0]!) };
	refuses(() => rules.claim(below, 1, CLAIM, 5), /what it was built on fell/);
	const other = rules.convict(claimed(checked(), 1, "b", 0), 0);
	assert.deepEqual(
		other.parts.map(({ state }) => state),
		["open", "claimed", "open"],
	);
	assert.equal(rules.settle(other, 1, 1e6).parts[1]!.state, "paid", "it did what it was asked");
	// Also who was still at it when the part before fell, and when that part has another claim by now.
	const atIt = rules.convict(ran(checked(), 1, "b", 0), 0);
	const late = rules.claim(atIt, 1, CLAIM, 5);
	assert.equal(rules.settle(late, 1, 1e6).parts[1]!.state, "paid");
	assert.equal(rules.settle(claimed(late, 0, "c", 5), 1, 1e6).parts[1]!.state, "paid");
	refuses(() => rules.convict(ran(job(), 0, "a", 0), 0), /it is running/);
	// Who began at a checked end keeps its part, also when the part before it is its own by now and false.
	const behind = rules.convict(claimed(rules.markChecked(claimed(job(), 0, "c", 0), 0, 0), 1, "a", 0), 0);
	const fell = rules.convict(claimed(behind, 0, "a", 5), 0);
	assert.deepEqual([fell.parts[0]!.state, fell.parts[1]!.state], ["open", "claimed"]);
});

test("the customer takes back what nobody has; anyone, what nobody can get any more", () => {
	assert.equal(rules.refund(job(), 2, 0, "customer").parts[2]!.state, "refunded");
	refuses(() => rules.refund(job(), 2, 0, "anyone"), /still be assigned/);
	assert.equal(rules.refund(job(), 2, TERMS.startByMs + 1, "anyone").parts[2]!.state, "refunded");
	const had = rules.decline(rules.offer(job(), 0, "a", 0, P), 0);
	refuses(() => rules.refund(had, 0, TERMS.startByMs, "anyone"), /still be assigned/);
	assert.equal(rules.refund(had, 0, 0, "customer").parts[0]!.state, "refunded");
	refuses(() => rules.refund(ran(job(), 0, "a", 0), 0, 1e9, "anyone"), /it is running/);
});

test("audits: asked once, answered once, compared once", () => {
	refuses(() => rules.addAudits(job(), 0, []), /it is open/);
	refuses(() => rules.replaceAudit(job(), 0, 0, { auditor: "z", untilMs: 1 }), /it is open/);
	refuses(() => rules.answerAudit(job(), 0, 0, CLAIM), /it is open/);
	refuses(() => rules.compareAudit(ran(job(), 0, "a", 0), 0, 0, true), /it is running/);
	refuses(() => rules.markChecked(ran(job(), 0, "a", 0), 0, 0), /it is running/);
	const audit: JobAudit = { auditor: "z", first: 0, count: 1, untilMs: 9, tried: [], answer: CLAIM, agrees: null };
	refuses(() => rules.hurryAudit(rules.addAudits(claimed(job(), 0, "a", 0), 0, [audit]), 0, 0), /nobody owes it/);
	refuses(() => rules.hurryAudit(claimed(job(), 0, "a", 0), 0, 0), /nobody owes it/);
	const ask = { auditor: "b", first: 0, count: 4, untilMs: 7, tried: [], answer: null, agrees: null };
	const asked = rules.addAudits(claimed(job(), 0, "a", 0), 0, [ask]);
	refuses(() => rules.compareAudit(asked, 0, 0, true), /nothing to compare/);
	const answered = rules.answerAudit(asked, 0, 0, CLAIM);
	refuses(() => rules.answerAudit(answered, 0, 0, CLAIM), /was answered/);
	refuses(() => rules.answerAudit(answered, 0, 1, CLAIM), /nobody asked/);
	const compared = rules.compareAudit(answered, 0, 0, false);
	assert.equal(compared.parts[0]!.audits[0]!.agrees, false);
	refuses(() => rules.compareAudit(compared, 0, 0, true), /nothing to compare/);
	const another = { auditor: "d", untilMs: 5 };
	assert.deepEqual(rules.replaceAudit(compared, 0, 0, another).parts[0]!.audits[0]!.tried, ["b"]);
	const hurried = rules.hurryAudit(asked, 0, 0).parts[0]!.audits[0];
	assert.deepEqual(hurried, { ...ask, untilMs: 0 });
	const ours = rules.addAudits(claimed(job(), 0, "a", 0), 0, [{ ...ask, auditor: null }]);
	assert.deepEqual(rules.replaceAudit(ours, 0, 0, another).parts[0]!.audits[0], { ...ask, ...another });
	const agreed = rules.compareAudit(answered, 0, 0, true);
	refuses(() => rules.replaceAudit(agreed, 0, 0, another), /nobody is to be replaced/);
	refuses(() => rules.replaceAudit(asked, 0, 1, another), /nobody is to be replaced/);
});

/** Everything that anybody may try, in some order, at times that only grow. */
const MOVES: readonly ((at: JobRecord, part: number, who: string, nowMs: number) => JobRecord)[] = [
	(at, part, who, nowMs) => rules.offer(at, part, who, nowMs, P),
	(at, part, _, nowMs) => rules.accept(at, part, nowMs),
	(at, part) => rules.decline(at, part),
	(at, part, _, nowMs) => rules.beat(at, part, at.parts[part]!.done, nowMs),
	(at, part, _, nowMs) => rules.reopen(at, part, nowMs, P),
	(at, part, _, nowMs) => rules.claim(at, part, CLAIM, nowMs),
	(at, part, _, nowMs) => rules.markChecked(at, part, nowMs),
	(at, part, _, nowMs) => rules.settle(at, part, nowMs),
	(at, part) => rules.convict(at, part),
	(at, part, _, nowMs) => rules.refund(at, part, nowMs, "customer"),
];

/** What time alone does: no goodwill of customer, provider or validator. */
function waited(from: JobRecord, fromMs: number): JobRecord {
	let at = from;
	for (let nowMs = fromMs; nowMs < fromMs + 2 * TERMS.startByMs; nowMs += 110_000)
		for (const { part } of at.parts)
			for (const move of [MOVES[4]!, MOVES[7]!, (j: JobRecord) => rules.refund(j, part, nowMs, "anyone")])
				try {
					at = move(at, part, "", nowMs);
				} catch {
					// Not yet, or not here.
				}
	return at;
}

function held(before: JobPart, after: JobPart): void {
	if (before.state === "paid" || before.state === "refunded") assert.deepEqual(after, before, "ends are ends");
	assert.ok(after.attempt >= before.attempt);
	assert.ok(
		before.excluded.every((one) => after.excluded.includes(one)),
		"who lost it stays out",
	);
	assert.ok(after.provider === null || !after.excluded.includes(after.provider));
}

test("random lives: ends are ends, who lost a part never has it again, and time alone ends every job", () => {
	const moves = fc.array(
		fc.tuple(fc.nat(MOVES.length - 1), fc.nat(2), fc.constantFrom("a", "b", "c"), fc.nat(40_000)),
		{ minLength: 5, maxLength: 60 },
	);
	let paid = 0;
	fc.assert(
		fc.property(moves, (all) => {
			let [at, nowMs] = [job(), 0];
			for (const [move, part, who, later] of all) {
				nowMs += later;
				try {
					const next = MOVES[move]!(at, part, who, nowMs);
					for (const [i, one] of next.parts.entries()) held(at.parts[i]!, one);
					at = next;
				} catch (error) {
					assert.ok(error instanceof AssayError && error.code === "JOB_STATE", String(error));
				}
			}
			const end = waited(at, nowMs);
			assert.ok(rules.isOver(end), JSON.stringify(end.parts.map(({ state }) => state)));
			paid += end.parts.filter(({ state }) => state === "paid").length;
		}),
		{ numRuns: Math.max(150, scaled(150)) },
	);
	assert.ok(paid > 0);
});

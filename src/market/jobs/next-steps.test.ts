// What is to be done about a job at each moment: every state of a part, before and after its time; who may
// begin the next part; and when to look again.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobPart, JobRecord, JobTerms } from "../../protocol/network/job.ts";
import { DEFAULT_PARAMS as P } from "../params.ts";
import { newJob, offer, refund } from "./job-rules.ts";
import { isAtWork, nextLookMs, nextSteps } from "./next-steps.ts";

const TERMS: JobTerms = {
	...{ customer: "c", program: "p", inputs: "i", method: { name: "sampled", count: 3 }, segments: 10, parts: 2 },
	...{ priceMicros: 100, feeMicros: 2, auditMicros: 30, bondMicros: 50 },
	...{ startByMs: 1000, workMs: 60_000, windowMs: 100_000, checkedMs: 10_000 },
};
const BEATS = P.jobBeatMs * P.jobBeatMisses;

/** A job whose parts are as they are told. */
function jobOf(...parts: readonly Partial<JobPart>[]): JobRecord {
	const job = newJob("j", { ...TERMS, parts: parts.length });
	return { ...job, parts: job.parts.map((part, i) => ({ ...part, ...parts[i] })) };
}
const steps = (nowMs: number, ...parts: readonly Partial<JobPart>[]) => nextSteps(jobOf(...parts), nowMs, P);
/** Part 1 is open behind this one. */
const after = (before: Partial<JobPart>, excluded: readonly string[] = []) =>
	steps(0, { untilMs: 1e9, ...before }, { excluded }).filter(({ part }) => part === 1);

test("an open part is drawn until its time to start is over, and then goes back", () => {
	assert.deepEqual(steps(1000, {}), [{ kind: "draw", part: 0, only: null }]);
	assert.deepEqual(steps(1001, {}), [{ kind: "refund", part: 0 }]);
	assert.deepEqual(steps(1001, { state: "paid" }, {}), [{ kind: "refund", part: 1 }]);
});

test("who has a part is reminded or verified while it is in time, and loses it for each of three reasons", () => {
	const asked = { state: "assigned", provider: "a", untilMs: 50 } as const;
	assert.deepEqual(steps(50, asked), [{ kind: "remind", part: 0 }]);
	assert.deepEqual(steps(51, asked), [{ kind: "reopen", part: 0, why: "silent" }]);
	const at = { state: "running", provider: "a", untilMs: 2 * BEATS, lastBeatMs: 7, lastProgressMs: 7 } as const;
	assert.deepEqual(steps(7 + BEATS, at), [{ kind: "verify", part: 0 }]);
	assert.deepEqual(steps(8 + BEATS, at), [{ kind: "reopen", part: 0, why: "lost" }]);
	assert.deepEqual(steps(2 * BEATS + 1, { ...at, lastBeatMs: 2 * BEATS }), [{ kind: "reopen", part: 0, why: "late" }]);
});

test("a claim is verified until it is checked, settled once its window has ended, and then left alone", () => {
	const claimed = { state: "claimed", provider: "a", untilMs: 50 } as const;
	assert.deepEqual(steps(50, claimed), [{ kind: "verify", part: 0 }]);
	assert.deepEqual(steps(50, { ...claimed, isChecked: true }), []);
	assert.deepEqual(steps(51, claimed), [{ kind: "settle", part: 0 }]);
	assert.deepEqual(steps(51, { ...claimed, isChecked: true }), [{ kind: "settle", part: 0 }]);
	assert.deepEqual(steps(51, { ...claimed, isDisputed: true, disputedAtMs: 3 }), [{ kind: "verify", part: 0 }]);
	assert.deepEqual(steps(51, { ...claimed, disputedAtMs: 3 }), [{ kind: "settle", part: 0 }]);
	for (const state of ["paid", "refunded"] as const) assert.deepEqual(steps(1e9, { state }), []);
});

test("the next part: for anyone behind what is checked or paid, for its own provider behind a claim, else for nobody", () => {
	const anyone = [{ kind: "draw", part: 1, only: null }];
	assert.deepEqual(after({ state: "paid", claim: "c" }), anyone);
	assert.deepEqual(after({ state: "paid" }), [], "the chain alone knows what it ended with");
	const claimed = { state: "claimed", provider: "a", claim: "c" } as const;
	assert.deepEqual(after({ ...claimed, isChecked: true }), anyone);
	assert.deepEqual(after(claimed), [{ kind: "draw", part: 1, only: "a" }]);
	assert.deepEqual(after(claimed, ["a"]), [], "it had that part and lost it");
	assert.deepEqual(after({ ...claimed, provider: null }), []);
	assert.deepEqual(after({ ...claimed, isDisputed: true }), []);
	assert.deepEqual(after({ ...claimed, isChecked: true, isDisputed: true }), []);
	for (const state of ["open", "assigned", "running"] as const)
		assert.deepEqual(after({ state, provider: "a", lastBeatMs: 0 }), []);
});

test("nobody is lost for a silence in which the validator was not there to hear", () => {
	const at = { state: "running", provider: "a", untilMs: 1e9, lastBeatMs: 0, lastProgressMs: 0 } as const;
	const job = jobOf(at);
	const kinds = (nowMs: number, sinceMs: number) => nextSteps(job, nowMs, P, sinceMs).map(({ kind }) => kind);
	const backMs = 5 * BEATS;
	assert.deepEqual(kinds(backMs, 0), ["reopen"]);
	assert.deepEqual(kinds(backMs, backMs), ["verify"]);
	assert.deepEqual(kinds(backMs + BEATS, backMs), ["verify"]);
	assert.deepEqual(kinds(backMs + BEATS + 1, backMs), ["reopen"]);
	// What is late is late all the same.
	assert.deepEqual(
		nextSteps(jobOf({ ...at, untilMs: 9 }), 10, P, 10).map(({ kind }) => kind),
		["reopen"],
	);
});

test("cancelled: what somebody has goes on, nothing else is begun, and what comes open is given back", () => {
	const back = { state: "refunded" } as const;
	const claimed = { state: "claimed", provider: "a", claim: "c", isChecked: true, untilMs: 1e9 } as const;
	const at = { state: "running", provider: "a", untilMs: 1e9, lastBeatMs: 0, lastProgressMs: 0 } as const;
	assert.deepEqual(steps(5, claimed, at, back), [{ kind: "verify", part: 1 }]);
	assert.deepEqual(steps(5, { ...claimed, untilMs: 4 }, at, back)[0], { kind: "settle", part: 0 });
	// Its host was lost after the cancel.
	assert.deepEqual(steps(5, claimed, { attempt: 1 }, back), [{ kind: "refund", part: 1 }]);
	const open = jobOf(claimed, { attempt: 1 }, back);
	assert.equal(refund(open, 1, 5, "anyone").parts[1]!.state, "refunded", "before its time to start is over");
	assert.throws(() => offer(open, 1, "b", 5, P), { code: "JOB_STATE", message: /given back/ });
	assert.throws(() => refund(jobOf(claimed, {}), 1, 5, "anyone"), { code: "JOB_STATE" });
});

test("in the order of the parts: an earlier one is settled before a later one", () => {
	const claimed = { state: "claimed", provider: "a", untilMs: 5, isChecked: true } as const;
	assert.deepEqual(
		steps(6, claimed, claimed).map(({ kind, part }) => [kind, part]),
		[
			["settle", 0],
			["settle", 1],
		],
	);
});

test("the next look: a moment after the first thing that time alone changes; never, once all is over", () => {
	const look = (...parts: readonly Partial<JobPart>[]) => nextLookMs(jobOf(...parts), P);
	assert.equal(look({}), 1001);
	assert.equal(look({ state: "assigned", untilMs: 50 }), 51);
	assert.equal(look({ state: "claimed", untilMs: 60 }), 61);
	assert.equal(look({ state: "running", untilMs: 5, lastBeatMs: 0 }), 6);
	assert.equal(look({ state: "running", untilMs: 1e9, lastBeatMs: 3 }), BEATS + 4);
	assert.equal(look({ state: "claimed", untilMs: 60 }, { state: "assigned", untilMs: 50 }), 51);
	assert.equal(look({ state: "paid", untilMs: 7 }, { state: "refunded", untilMs: 8 }), null);
});

test("at work: all that is left is the hosts' to do, and nobody has to be drawn or asked", () => {
	const audit = { auditor: "b", first: 0, count: 1, untilMs: 1, tried: [], answer: null, agrees: null };
	const running = { state: "running", provider: "a" } as const;
	const is = (...parts: readonly Partial<JobPart>[]) => isAtWork(jobOf(...parts));
	assert.equal(is(running), true);
	assert.equal(is(running, {}), true, "the next part is nobody's before this one has its claim");
	assert.equal(is({ state: "paid" }, running), true);
	assert.equal(is({ state: "paid", claim: "c" }, {}), false, "somebody has to be drawn");
	assert.equal(is({}), false);
	assert.equal(is({ state: "assigned", provider: "a" }), false, "it is reminded");
	assert.equal(is({ state: "claimed", provider: "a" }), false, "it is compared");
	assert.equal(is({ ...running, audits: [audit] }), true);
	assert.equal(is({ ...running, audits: [{ ...audit, auditor: null }] }), false);
	const both = (...audits: (typeof audit)[]) => {
		const job = jobOf({ ...running, audits });
		return isAtWork({ ...job, terms: { ...job.terms, method: { name: "redundant", count: 2 } } });
	};
	assert.deepEqual([both(), both(audit)], [false, true], "the second one has to be drawn first");
	const after = jobOf({ state: "paid" }, { ...running, audits: [audit] });
	assert.equal(isAtWork({ ...after, terms: { ...after.terms, method: { name: "redundant", count: 2 } } }), true);
});

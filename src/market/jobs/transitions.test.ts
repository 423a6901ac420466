// What is told of each transition, and what it says of a provider: who lost a part, who only was silent, what
// fell with a conviction.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobRecord, JobTerms } from "../../protocol/network/job.ts";
import { DEFAULT_PARAMS as P } from "../params.ts";
import * as rules from "./job-rules.ts";
import * as transitions from "./transitions.ts";

const TERMS: JobTerms = {
	...{ customer: "c", program: "p", inputs: "i", method: { name: "sampled", count: 3 }, segments: 10, parts: 3 },
	...{ priceMicros: 100, feeMicros: 2, auditMicros: 30, bondMicros: 50 },
	...{ startByMs: 1e6, workMs: 7_200_000, windowMs: 100_000, checkedMs: 10_000 },
};
const job = (): JobRecord => rules.newJob("j", TERMS);
const offered = () => rules.offer(job(), 0, "a", 0, P);
const ran = (from: JobRecord, part: number) => rules.accept(rules.offer(from, part, "a", 0, P), part, 0);
const claimed = (from: JobRecord, part: number) => rules.claim(ran(from, part), part, "ab".repeat(32), 0);
const kinds = ({ events }: transitions.Transition) => events.map(({ kind, part }) => `${kind} ${part}`);
const outcome = ({ outcomes }: transitions.Transition) =>
	outcomes?.map(({ provider, part, attempt, outcome: one, valueMicros }) => [
		provider,
		part,
		attempt,
		one,
		valueMicros,
	]);

test("who was silent declined; who ran and is late or lost has lost a part", () => {
	const silent = transitions.reopened(offered(), 0, P.jobAcceptMs + 1, P);
	assert.deepEqual(outcome(silent), [["a", 0, 1, "declined", 100]]);
	const lost = transitions.reopened(ran(job(), 0), 0, P.jobBeatMs * P.jobBeatMisses + 1, P);
	assert.deepEqual(outcome(lost), [["a", 0, 1, "lost", 100]]);
	const late = transitions.reopened(rules.beat(ran(job(), 0), 0, 1, TERMS.workMs), 0, TERMS.workMs + 1, P);
	assert.deepEqual(outcome(late), [["a", 0, 1, "late", 100]]);
	assert.deepEqual(kinds(late), ["reopened 0"]);
	const stuck = transitions.reopened(rules.beat(ran(job(), 0), 0, 0, TERMS.workMs / 2), 0, TERMS.workMs / 2 + 1, P);
	assert.deepEqual(outcome(stuck), [["a", 0, 1, "late", 100]]);
	assert.deepEqual(outcome(transitions.declined(offered(), 0, "busy")), [["a", 0, 1, "declined", 100]]);
});

test("handing back is no work lost, and no way around being late", () => {
	const back = transitions.handedBack(ran(job(), 0), 0, "too slow", 5);
	assert.deepEqual(outcome(back), [["a", 0, 1, "returned", 100]]);
	assert.deepEqual(kinds(back), ["returned 0"]);
	const part = back.record.parts[0]!;
	assert.deepEqual([part.state, part.excluded, part.provider], ["open", ["a"], null], "and never gets it again");
	assert.throws(() => rules.offer(back.record, 0, "a", 6, P), { code: "JOB_STATE" });
	const late = transitions.handedBack(ran(job(), 0), 0, "too slow", TERMS.workMs + 1);
	assert.deepEqual(outcome(late), [["a", 0, 1, "late", 100]]);
	for (const other of [offered(), claimed(job(), 0)])
		assert.throws(() => transitions.handedBack(other, 0, "", 5), { code: "JOB_STATE" });
});

test("a conviction is told with every part that fell with it, and no other", () => {
	const two = claimed(claimed(job(), 0), 1);
	assert.deepEqual(kinds(transitions.convicted(two, 0)), ["convicted 0", "reopened 1"]);
	assert.deepEqual(kinds(transitions.convicted(two, 1)), ["convicted 1"]);
	assert.deepEqual(kinds(transitions.convicted(claimed(two, 2), 0)), ["convicted 0", "reopened 1", "reopened 2"]);
	assert.deepEqual(kinds(transitions.convicted(claimed(job(), 0), 0)), ["convicted 0"]);
	assert.deepEqual(outcome(transitions.convicted(two, 0)), [["a", 0, 1, "convicted", 100]]);
});

test("a dispute counts as a conviction with a fraud file, and as a lost part without one", () => {
	const at = claimed(job(), 0);
	const said = (fraud: string | null) =>
		outcome(transitions.disputed(at, 0, { fraud, isProvable: fraud !== null, why: "" }, 5));
	assert.deepEqual(said("ff".repeat(32)), [["a", 0, 1, "convicted", 100]]);
	assert.deepEqual(said(null), [["a", 0, 1, "lost", 100]]);
	const disputed = transitions.disputed(at, 0, { fraud: null, isProvable: false, why: "x".repeat(600) }, 5);
	assert.equal((disputed.events[0]!.detail as { why: string }).why, "x".repeat(500), "no longer than that");
	const lapsed = (hasFraud: boolean) => transitions.undisputed(disputed.record, 0, "nobody asked", hasFraud).undone;
	assert.deepEqual(lapsed(false), [{ provider: "a", part: 0, attempt: 1 }], "silence that nobody asked about is none");
	assert.deepEqual(lapsed(true), []);
});

test("what is checked and paid is its provider's; a beat tells only what is new", () => {
	const checked = transitions.checked(claimed(job(), 0), 0, 5);
	assert.deepEqual(outcome(checked), [["a", 0, 1, "checked", 100]]);
	const paid = transitions.settled(checked.record, 0, 1e6);
	assert.deepEqual(outcome(paid), [["a", 0, 1, "paid", 100]]);
	const beat = (done: number, metrics: readonly object[] = [], previews: readonly object[] = []) =>
		kinds(transitions.beaten(ran(job(), 0), 0, { done, nowMs: 1, metrics, previews }));
	assert.deepEqual(beat(0), []);
	assert.deepEqual(beat(2), ["progress 0"]);
	assert.deepEqual(beat(0, [{}]), ["metrics 0"]);
	assert.deepEqual(beat(0, [], [{}]), ["preview 0"]);
});

const found: rules.Recovery = {
	...{ holder: 1, provider: null, claim: "ab".repeat(32), isPaid: false, isChecked: false, isAlone: false },
	...{ isDisputed: false, claimedAtMs: 70, untilMs: 900_999, assignedAtMs: 5 },
};

test("what the chain has as claimed is taken back, from any state, with what was wrongly said of its provider", () => {
	const stood = claimed(job(), 0);
	const fell = transitions.convicted(stood, 0).record;
	const other = rules.offer(fell, 0, "b", 9, P);
	const lost = transitions.reopened(ran(job(), 0), 0, P.jobBeatMs * P.jobBeatMisses + 1, P).record;
	const back = rules.refund(fell, 0, 9, "customer");
	for (const record of [fell, other, lost, back, offered(), ran(job(), 0)]) {
		const taken = transitions.recovered(record, 0, found);
		const { state, provider, attempt, excluded, untilMs, done, claim } = taken.record.parts[0]!;
		assert.deepEqual([state, provider, attempt, excluded], ["claimed", "a", 1, []]);
		assert.deepEqual([untilMs, done, claim], [900_999, stood.parts[0]!.done, found.claim]);
		assert.deepEqual(taken.undone, [{ provider: "a", part: 0, attempt: 1 }]);
		assert.deepEqual(kinds(taken), ["recovered 0"]);
		// From there on it is a claim like any other.
		assert.equal(rules.settle(taken.record, 0, 901_000).parts[0]!.state, "paid");
		const again = rules.offer(rules.convict(taken.record, 0), 0, "b", 9, P);
		assert.deepEqual([again.parts[0]!.attempt, again.parts[0]!.excluded], [2, ["a"]]);
	}
});

test("what the chain has as paid is paid, also by somebody whom the record never knew; fraud stays fraud", () => {
	const fell = transitions.convicted(claimed(job(), 0), 0).record;
	const paid = transitions.recovered(fell, 0, { ...found, isPaid: true, isChecked: true });
	assert.deepEqual(kinds(paid), ["recovered 0", "paid 0"]);
	assert.deepEqual(
		outcome(paid)!.map((one) => one[3]),
		["checked", "paid"],
	);
	assert.equal(paid.record.parts[0]!.state, "paid");
	const strange = transitions.recovered(fell, 0, { ...found, holder: null, claim: null, isPaid: true });
	const { provider, attempt, state } = strange.record.parts[0]!;
	assert.deepEqual([provider, attempt, state, strange.undone], [null, 2, "paid", []]);
	assert.deepEqual(transitions.recovered(fell, 0, { ...found, isDisputed: true }).undone, []);
});

test("what the chain never gave back is open again; what it opened convicts nobody", () => {
	const back = rules.refund(job(), 0, 9, "customer");
	assert.equal(transitions.unrefunded(back, 0).record.parts[0]!.state, "open");
	const opened = transitions.openedOnChain(claimed(claimed(job(), 0), 1), 0);
	assert.deepEqual(kinds(opened), ["reopened 0", "reopened 1"]);
	assert.deepEqual(outcome(opened), []);
});

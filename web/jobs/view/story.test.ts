// Every state that a job can be in has its sentence, its tone and what is counted down to.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job, NetworkEvent } from "../../../src/api/types.ts";
import { createJobEvents } from "../job-events.ts";
import { storyOf } from "./story.ts";

type Part = Job["record"]["parts"][number];
const WHO = "ab".repeat(32);

function jobOf(parts: readonly Partial<Part>[], isOver = false): Job {
	const money = { parts: parts.length, priceMicros: 1_000_000, feeMicros: 20_000, auditMicros: 0, startByMs: 99_000 };
	const whole = parts.map((one, part) => ({
		...{ part, attempt: 1, state: "open", untilMs: 5000, isChecked: false, isDisputed: false, audits: [], ...one },
	}));
	const method = { name: parts.some(({ proven }) => proven !== undefined) ? "zk" : "sampled", count: 0 };
	return { isOver, offer: { terms: { ...money, method } }, record: { parts: whole } } as unknown as Job;
}

const liveOf = (...events: readonly (readonly [kind: string, detail?: object])[]) => {
	const all = createJobEvents();
	for (const [i, [kind, detail = {}]] of events.entries())
		all.add({
			id: String(i + 1),
			atMs: i,
			kind: `job.${kind}`,
			subject: "",
			providerId: null,
			detail: { part: 0, ...detail },
		} as NetworkEvent);
	return all.shown();
};

test("waiting, drawn, running, checked, in its window, paid", () => {
	const cases = [
		["waiting", 99_000, { state: "open" }],
		["waiting", 5000, { state: "assigned" }],
		["running", 5000, { state: "running" }],
		["checking", 5000, { state: "claimed", audits: [{}] as never }],
		["proving", 5000, { state: "claimed", proven: 0 }],
		["window", 5000, { state: "claimed", isChecked: true }],
		["window", 5000, { state: "claimed" }],
		["disputed", 5000, { state: "claimed", isDisputed: true }],
	] as const;
	for (const [key, untilMs, part] of cases) {
		const story = storyOf(jobOf([part as Partial<Part>]), liveOf());
		assert.deepEqual([story.key, story.untilMs], [key, untilMs], JSON.stringify(part));
		assert.ok(story.title !== "" && story.text !== "");
	}
	assert.equal(storyOf(jobOf([{ state: "paid" }], true), liveOf()).key, "paid");
});

test("a provider that was lost or convicted is told until the part is paid, whoever has it then", () => {
	for (const [kind, why, words] of [
		["reopened", "lost", /abababababab… fell silent/],
		["reopened", "late", /was too late/],
		["reopened", "silent", /did not answer/],
		["convicted", null, /claimed a false result/],
	] as const) {
		const live = liveOf(["running", { provider: WHO }], [kind, { provider: WHO, why }], ["running", { provider: WHO }]);
		for (const state of ["open", "assigned", "running"] as const) {
			const story = storyOf(jobOf([{ state, attempt: 2 }]), live);
			assert.equal(story.key, kind === "convicted" ? "convicted" : "lost");
			assert.match(story.text, words);
			assert.notEqual(story.untilMs, null);
		}
		assert.equal(storyOf(jobOf([{ state: "paid" }], true), live).key, "paid");
	}
});

test("cancelled, expired and partly done: what came back is said", () => {
	const cancelled = storyOf(jobOf([{ state: "refunded", attempt: 0 }], true), liveOf(["refunded", { by: "customer" }]));
	assert.deepEqual([cancelled.key, /1\.02/.test(cancelled.text)], ["refunded", true]);
	assert.equal(
		storyOf(jobOf([{ state: "refunded", attempt: 0 }], true), liveOf(["refunded", { by: "anyone" }])).key,
		"expired",
	);
	assert.equal(
		storyOf(jobOf([{ state: "refunded", attempt: 2 }], true), liveOf(["refunded", { by: "anyone" }])).key,
		"expired",
	);
	// What somebody works at goes on; a dispute is said first.
	const running = { state: "running", attempt: 1, untilMs: 5000 } as const;
	const begun = storyOf(jobOf([running, { state: "refunded" }]), liveOf());
	assert.deepEqual([begun.title, begun.untilMs, /part 1 is at work/.test(begun.text)], ["Cancelled", 5000, true]);
	const disputed = { state: "claimed", isDisputed: true, untilMs: 5000 } as const;
	assert.equal(storyOf(jobOf([disputed, { state: "refunded" }]), liveOf()).key, "disputed");
	const back = liveOf(["running", { provider: WHO }], ["returned", { provider: WHO, why: "too slow" }]);
	assert.match(
		storyOf(jobOf([{ state: "open", attempt: 1 }]), back).text,
		/abababababab… saw that it would not be done/,
	);
	const partly = storyOf(jobOf([{ state: "paid" }, { state: "refunded" }], true), liveOf());
	assert.deepEqual([partly.key, partly.title], ["partly", "Ended after 1 of 2 parts"]);
});

// A job's events as its page shows them: the curve, the parts' ways, the lines, and what is no number or
// comes twice.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { NetworkEvent } from "../../src/api/types.ts";
import { createJobEvents, NO_EVENTS, stepsPerS, thinned } from "./job-events.ts";

const event = (id: number, kind: string, detail: unknown): NetworkEvent => ({
	...{ id: String(id), atMs: 1000 * id, kind, subject: "ab".repeat(32), providerId: null },
	detail: detail as NetworkEvent["detail"],
});
const after = (...events: readonly NetworkEvent[]) => {
	const job = createJobEvents();
	for (const one of events) job.add(one);
	return job.shown();
};
const metrics = (id: number, ...points: readonly (readonly [step: number, value: number])[]) =>
	event(id, "job.metrics", { part: 0, metrics: points.map(([step, value]) => ({ step, values: [value] })) });

test("metrics become a curve in the order of steps; a step that was run again counts once", () => {
	const { curve, lines } = after(metrics(1, [1, 3], [0, 4], [7, 1]), metrics(2, [1, 2.5], [5, 2]));
	assert.deepEqual(
		curve.map(({ step, values }) => [step, values[0]]),
		[
			[0, 4],
			[1, 2.5],
			[5, 2],
			[7, 1],
		],
	);
	assert.deepEqual(lines, []);
	assert.equal(stepsPerS(after(metrics(1, [0, 4]), metrics(3, [12, 1])).curve), 6);
});

test("what is no curve, no picture and no part is left out", () => {
	for (const held of [null, 7, [null], [{ step: 0.5, values: [1] }], [{ step: 0, values: ["1"] }], [{ step: 0 }]])
		assert.deepEqual(after(event(1, "job.metrics", { metrics: held })).curve, []);
	for (const previews of [null, [null], [{ tensor: 1, root: "../x", size: 3 }], [{ tensor: "1" }]])
		assert.deepEqual(after(event(1, "job.preview", { previews })).preview, []);
	assert.deepEqual(after(event(1, "job.metrics", null)), NO_EVENTS);
	assert.deepEqual(after(event(1, "job.running", { part: "<b>" })).spans, []);
});

test("a part's way: drawn, lost, run by another, claimed, paid; each line once, until the job is over", () => {
	const [a, b] = ["cd".repeat(32), "ef".repeat(32)];
	const events = [
		event(1, "job.offered", { part: 0, provider: a }),
		event(2, "job.running", { part: 0, provider: a }),
		event(3, "job.progress", { part: 0, done: 5 }),
		event(4, "job.reopened", { part: 0, provider: a, why: "lost" }),
		event(5, "job.offered", { part: 0, provider: b }),
		event(6, "job.running", { part: 0, provider: b }),
		event(7, "job.claimed", { part: 0, provider: b }),
		event(8, "job.checked", { part: 0 }),
		event(9, "job.paid", { part: 0, provider: b }),
		event(10, "job.over", {}),
	];
	const live = after(...events, ...events);
	assert.deepEqual(
		live.spans.map(({ state, provider, fromMs, toMs }) => [state, provider, fromMs, toMs]),
		[
			["assigned", a, 1000, 2000],
			["running", a, 2000, 4000],
			["lost", a, 4000, 5000],
			["assigned", b, 5000, 6000],
			["running", b, 6000, 7000],
			["claimed", b, 7000, 8000],
			["checked", b, 8000, 9000],
			["paid", b, 9000, null],
		],
	);
	assert.equal(live.lines.length, 9);
	assert.equal(live.isOver, true);
});

test("ten thousand steps are drawn with few points, and no event costs more than the first", () => {
	const job = createJobEvents();
	for (let i = 0; i < 60_000; i++) job.add(metrics(i + 1, [i, i % 7]));
	const { curve } = job.shown();
	assert.ok(curve.length <= 20_000 && curve.at(-1)!.step === 59_999);
	const points = thinned(curve, 0, 300);
	assert.ok(points.length <= 300 && points.every(({ value }) => value >= 0 && value <= 6));
});

// A job's events as its page shows them: the curve, the lines, and what is no number or comes twice.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { NetworkEvent } from "../../src/api/types.ts";
import { NO_EVENTS, withJobEvent } from "./job-events.ts";

const event = (id: number, kind: string, detail: unknown): NetworkEvent => ({
	...{ id: String(id), atMs: 1000 + id, kind, subject: "ab".repeat(32), providerId: null },
	detail: detail as NetworkEvent["detail"],
});
const after = (...events: readonly NetworkEvent[]) => events.reduce(withJobEvent, NO_EVENTS);

test("metrics become a curve in the order of steps; a step that was run again counts once", () => {
	const { curve, lines } = after(
		event(1, "job.metrics", {
			part: 0,
			metrics: [
				{ step: 1, values: [3] },
				{ step: 0, values: [4] },
			],
		}),
		event(2, "job.metrics", { part: 0, metrics: [{ step: 1, values: [2.5] }] }),
	);
	assert.deepEqual(curve, [
		{ step: 0, values: [4] },
		{ step: 1, values: [2.5] },
	]);
	assert.deepEqual(lines, []);
});

test("what is no curve is left out", () => {
	for (const metrics of [null, 7, [null], [{ step: 0.5, values: [1] }], [{ step: 0, values: ["1"] }], [{ step: 0 }]])
		assert.deepEqual(after(event(1, "job.metrics", { metrics })).curve, []);
	assert.deepEqual(after(event(1, "job.metrics", null)), NO_EVENTS);
});

test("transitions become lines, each once, until the job is over", () => {
	const running = event(1, "job.running", { part: 2, provider: "cd".repeat(32) });
	const live = after(running, running, event(2, "job.preview", {}), event(3, "job.over", {}));
	assert.deepEqual(
		live.lines.map(({ part, what, provider }) => [part, what, provider]),
		[
			[2, "running", "cd".repeat(32)],
			[null, "over", null],
		],
	);
	assert.equal(live.isOver, true);
});

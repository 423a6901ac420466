// When a host sees that a part cannot be done in time: after its first windows and later, not by its init
// phase, nor by one slow moment.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createPace } from "./pace.ts";

/** Windows of ten segments that end at these times, of a part of 100. */
function told(first: number, endsMs: readonly number[], untilMs: number) {
	const pace = createPace({ first, count: 100 });
	pace({ kind: "begun", from: first } as never, 0, untilMs);
	return endsMs.map((atMs, i) => pace({ kind: "saved", before: first + 10 * (i + 1) }, atMs, untilMs));
}

test("what cannot be done in time is seen after two windows, and later when the host gets slower", () => {
	assert.deepEqual(told(100, [1000, 2000, 3000], 10_000), [null, null, null]);
	assert.deepEqual(told(100, [1000, 2000], 9999), [null, { leftMs: 7999, needsMs: 8000 }]);
	// From the third window on it takes five times as long.
	const slower = told(100, [1000, 2000, 7000, 12_000], 20_000);
	assert.deepEqual(slower, [null, null, null, { leftMs: 8000, needsMs: 18_000 }]);
});

test("the init phase tells nothing about the segments after it", () => {
	assert.deepEqual(told(0, [5000, 5100], 9000), [null, null]);
	assert.deepEqual(told(0, [5000, 6000, 7000], 9000)[2], { leftMs: 2000, needsMs: 7000 });
});

test("one slow window among quick ones, and one quick one among slow ones, end nothing", () => {
	assert.deepEqual(told(100, [1000, 2000, 6000, 7000, 8000], 17_000), [null, null, null, null, null]);
	assert.equal(told(100, [8000, 8100], 17_000)[1], null);
});

test("a run that goes on from a saved state counts from there; the last window is in time by itself", () => {
	const pace = createPace({ first: 100, count: 100 });
	pace({ kind: "begun", from: 190 } as never, 50_000, 60_000);
	assert.equal(pace({ kind: "saved", before: 200 }, 59_000, 60_000), null);
});

// Many networks together: counts add up, what is off is off over all of them, and one that broke off is no
// success.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type SeriesLine, sumOf } from "./simulate-series.ts";

const line = (tries: number, caught: number, over: Partial<SeriesLine> = {}): SeriesLine => ({
	kinds: [
		{ kind: "sure", ends: "convicted", tries, caught: tries, chance: 1, gain: -1 },
		{ kind: "half", ends: "convicted", tries, caught, chance: 0.5, gain: caught },
	],
	...{ jobs: 10, attempts: 20, missed: [], wronged: [], seconds: 2, broken: null },
	...over,
});

test("kinds are looked at over all networks, not in each", () => {
	const found = sumOf([line(4, 4, { missed: ["half: 4 of 4, 3.1 σ off"] }), line(4, 0), line(2, 1)]);
	assert.deepEqual([found.networks, found.jobs, found.attempts, found.seconds], [3, 30, 60, 6]);
	const [sure, half] = found.kinds;
	assert.deepEqual([sure!.tries, sure!.caught, sure!.sigmas, sure!.gain], [10, 10, 0, -1]);
	assert.deepEqual([half!.tries, half!.caught, half!.sigmas, half!.gain], [10, 5, 0, 1.8]);
	assert.deepEqual([found.missed, found.ok], [[], true]);
	const off = sumOf([line(100, 80)]);
	assert.deepEqual([off.missed, off.ok], [["half: 80 of 100, 6.0 σ off"], false]);
});

test("one that was sure to be found out and was not, an honest one that lost, and a network without an end are all told", () => {
	const paid = { kind: "sure", ends: "convicted", tries: 2, caught: 1, chance: 1, gain: 1 };
	const sure = sumOf([line(2, 1), { ...line(0, 0), kinds: [paid] }]);
	assert.equal(sure.ok, false);
	assert.equal(sure.kinds[0]!.sigmas, Number.NEGATIVE_INFINITY);
	for (const over of [{ missed: ["x: paid"] }, { wronged: ["customer"] }, { broken: "not over in 5 s" }])
		assert.equal(sumOf([line(2, 1), line(2, 1, over)]).ok, false, JSON.stringify(over));
	assert.equal(sumOf([]).ok, false, "nothing was tried");
});

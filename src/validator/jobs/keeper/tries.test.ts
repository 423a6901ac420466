// What failed rests, longer each time, and is given up once it has failed, and nothing else, for long enough.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTries } from "./tries.ts";

test("what failed rests, longer each time; a success forgets it", () => {
	let nowMs = 1_000_000;
	const tries = createTries(() => nowMs, 60_000);
	assert.ok(tries.mayTry("a"));
	for (const restMs of [5000, 10_000, 20_000]) {
		tries.failed("a");
		nowMs += restMs - 1;
		assert.ok(!tries.mayTry("a"), `within ${restMs}`);
		nowMs += 1;
		assert.ok(tries.mayTry("a"), `after ${restMs}`);
	}
	assert.ok(tries.mayTry("b"), "others are not touched");
	tries.failed("a");
	tries.succeeded("a");
	assert.ok(tries.mayTry("a"));
	for (let i = 0; i < 20; i++) tries.failed("a");
	nowMs += 64 * 5000;
	assert.ok(tries.mayTry("a"), "no rest is longer than 64 first ones");
	tries.done("a");
	nowMs += 10 ** 12;
	assert.ok(!tries.mayTry("a"), "never again");
});

test("what has failed for long is given up, counted from its first failure", () => {
	let nowMs = 0;
	const tries = createTries(() => nowMs, 60_000);
	nowMs = 10 ** 9;
	assert.ok(!tries.isGivenUp("a"), "never tried");
	tries.failed("a");
	nowMs += 59_999;
	tries.failed("a");
	assert.ok(!tries.isGivenUp("a"));
	nowMs += 1;
	assert.ok(tries.isGivenUp("a"));
	tries.succeeded("a");
	tries.failed("a");
	assert.ok(!tries.isGivenUp("a"), "it answered in between");
});

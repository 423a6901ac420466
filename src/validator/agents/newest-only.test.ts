// A flood of messages from one peer: the first and the newest are taken, and nothing piles up.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNewestOnly } from "./newest-only.ts";

test("of a thousand that come meanwhile the newest is taken, after the rest; an end takes none", async () => {
	const taken: number[] = [];
	const rests: (() => void)[] = [];
	const stop = new AbortController();
	const after = (_: number, run: () => void) => {
		rests.push(run);
		return () => {};
	};
	const settle = () => new Promise((resolve) => setImmediate(resolve));
	const say = createNewestOnly<number>({ restMs: 1000, after, signal: stop.signal }, async (value) => {
		taken.push(value);
	});
	for (let value = 0; value < 1000; value++) say(value);
	await settle();
	assert.deepEqual(taken, [0]);
	rests.shift()!();
	await settle();
	assert.deepEqual(taken, [0, 999]);
	rests.shift()!();
	await settle();
	say(1000);
	await settle();
	assert.deepEqual(taken, [0, 999, 1000], "after a quiet time at once");
	say(1001);
	stop.abort();
	await settle();
	say(1002);
	await settle();
	assert.deepEqual(taken, [0, 999, 1000]);
});

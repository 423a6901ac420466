// A few at a time, in order; a failure ends it once those under way are done.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { someAtOnce } from "./some-at-once.ts";

test("each once, in their order, never more than so many at a time", async () => {
	let running = 0;
	let most = 0;
	const begun: number[] = [];
	await someAtOnce(new Set([5, 6, 7, 8, 9]), 2, async (item, index) => {
		begun.push(item);
		assert.equal(item, index + 5);
		most = Math.max(most, ++running);
		await setImmediate();
		running -= 1;
	});
	assert.deepEqual([begun, most, running], [[5, 6, 7, 8, 9], 2, 0]);
	await someAtOnce([], 4, () => assert.fail("there is nothing"));
});

test("after a failure nothing is begun, and what runs is waited for", async () => {
	const done: number[] = [];
	const act = async (item: number): Promise<void> => {
		if (item === 1) throw new Error("the first");
		for (let i = 0; i < 5; i++) await setImmediate();
		done.push(item);
		if (item === 0) throw new Error("a later one");
	};
	await assert.rejects(someAtOnce([0, 1, 2, 3], 2, act), /the first/);
	assert.deepEqual(done, [0]);
});

// The periodic task: it rests between runs, runs at once when asked, survives errors, and ends when it is
// stopped.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { After } from "./abortable.ts";
import { repeat } from "./repeat.ts";

test("rests between runs, runs once at a time, survives errors and stops", async () => {
	const timers = new Map<() => void, number>();
	const after: After = (ms, run) => {
		timers.set(run, ms);
		return () => timers.delete(run);
	};
	const fire = () => {
		for (const run of [...timers.keys()]) {
			timers.delete(run);
			run();
		}
	};
	const errors: unknown[] = [];
	let [runs, release] = [0, () => {}];
	const task = repeat({ everyMs: 500, after, onError: (error) => errors.push(error) }, async () => {
		runs += 1;
		await new Promise<void>((resolve) => {
			release = resolve;
		});
		if (runs === 1) throw new Error("first");
	});
	assert.deepEqual([...timers.values()], [0], "the first run is due at once");
	fire();
	const [first, same] = [task.now(), task.now()];
	assert.equal(first, same, "asked for while it runs is the same run");
	release();
	await first;
	assert.deepEqual([runs, errors.length, ...timers.values()], [1, 1, 500]);
	const second = task.now();
	assert.equal(timers.size, 0, "asked for while it rests, the rest is over");
	const stopped = task.stop();
	release();
	await Promise.all([second, stopped, task.now()]);
	assert.deepEqual([runs, timers.size], [2, 0]);
});

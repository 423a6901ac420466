// A loop whose turn does not end is named once, and until it ends.
import assert from "node:assert/strict";
import { test } from "node:test";
import { repeat } from "./repeat.ts";
import { createWatchdog } from "./watchdog.ts";

test("a turn that takes longer than it may is told once, gives up what it holds, and is over when it ends", async () => {
	const timers = new Map<() => void, number>();
	const after = (ms: number, run: () => void) => {
		timers.set(run, ms);
		return () => void timers.delete(run);
	};
	const told: string[] = [];
	const dog = createWatchdog({ after, onStuck: (name, ms) => told.push(`${name} ${ms}`) });
	const look = () => {
		const [run] = [...timers].find(([, ms]) => ms === 5000)!;
		timers.delete(run);
		run();
	};
	let gaveUp = 0;
	const turn = Promise.withResolvers<void>();
	const turns = dog.watch("jobs", 10_000, () => void gaveUp++);
	const loop = repeat({ everyMs: 1, after, onError: (error) => told.push(String(error)), turns }, () => turn.promise);
	void loop.now();
	look();
	look();
	assert.deepEqual([dog.stuck(), told], [[], []]);
	look();
	look();
	assert.deepEqual([dog.stuck(), told, gaveUp], [["jobs"], ["jobs 15000"], 1]);
	turn.resolve();
	await loop.stop();
	assert.deepEqual(dog.stuck(), []);
	dog.stop();
	assert.equal(timers.size, 0);
});

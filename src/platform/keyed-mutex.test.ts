// The mutex: one at a time under a key, in order, failures included; other keys do not wait.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { createKeyedMutex, createMutex } from "./keyed-mutex.ts";

test("under one key acts run one after the other, under another key at once", async () => {
	const mutex = createKeyedMutex();
	const log: string[] = [];
	const act = (name: string) => async () => {
		log.push(`${name} begins`);
		await turn();
		log.push(`${name} ends`);
		return name;
	};
	const all = [mutex.run("a", act("a1")), mutex.run("a", act("a2")), mutex.run("b", act("b1"))];
	assert.deepEqual(await Promise.all(all), ["a1", "a2", "b1"]);
	assert.deepEqual(
		log.filter((line) => line.startsWith("a")),
		["a1 begins", "a1 ends", "a2 begins", "a2 ends"],
	);
	assert.ok(log.indexOf("b1 begins") < log.indexOf("a1 ends"));
});

test("a failure is its caller's alone, and idle waits for what was added meanwhile", async () => {
	const mutex = createMutex();
	let ended = 0;
	const failed = mutex.run(async () => {
		await turn();
		throw new Error("mine");
	});
	void mutex.run(async () => {
		ended += 1;
		void mutex.run(async () => {
			await turn();
			ended += 1;
		});
	});
	await assert.rejects(failed, /mine/);
	await mutex.idle();
	assert.equal(ended, 2);
	await mutex.idle();
});

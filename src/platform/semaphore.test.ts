// The semaphore: never more holders than it counts, none lost when a waiter gives up.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { createSemaphore } from "./semaphore.ts";

test("the third waits for one of two, and a waiter that gives up takes no place", async () => {
	const semaphore = createSemaphore(2);
	const [first, second] = [await semaphore.acquire(), await semaphore.acquire()];
	const quitter = new AbortController();
	const left = semaphore.acquire(quitter.signal);
	const third = semaphore.acquire();
	assert.equal(semaphore.waiting(), 2);
	quitter.abort(new Error("enough"));
	await assert.rejects(left, /enough/);
	assert.equal(semaphore.waiting(), 1);
	first();
	const release = await third;
	first();
	let isIn = false;
	const fourth = semaphore.acquire().then((leave) => {
		isIn = true;
		return leave;
	});
	await turn();
	assert.equal(isIn, false, "released twice is released once");
	second();
	const leave = await fourth;
	release();
	leave();
	await assert.rejects(semaphore.acquire(quitter.signal), /enough/);
	await Promise.all([semaphore.acquire(), semaphore.acquire()]);
});

test("who is urgent goes before those who waited longer, in its own order", async () => {
	const semaphore = createSemaphore(1);
	const release = await semaphore.acquire();
	const order: string[] = [];
	const come = async (name: string, isUrgent: boolean) => {
		const leave = await semaphore.acquire(undefined, isUrgent);
		order.push(name);
		leave();
	};
	const all = [come("a", false), come("b", true), come("c", false), come("d", true)];
	await turn();
	release();
	await Promise.all(all);
	assert.deepEqual(order, ["b", "d", "a", "c"]);
});

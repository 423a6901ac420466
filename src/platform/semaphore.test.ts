// The semaphore: never more holders than it counts, none lost when a waiter gives up.
import assert from "node:assert/strict";
import { test } from "node:test";
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
	assert.equal(semaphore.taken(), 2);
	first();
	first();
	const release = await third;
	assert.equal(semaphore.taken(), 2, "released twice is released once");
	second();
	release();
	assert.equal(semaphore.taken(), 0);
	await assert.rejects(semaphore.acquire(quitter.signal), /enough/);
});

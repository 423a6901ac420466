// Slots: never more at once than there are, none lost when somebody gives up waiting.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSlots } from "./semaphore.ts";

test("the third waits for one of two; who gives up waiting takes nothing along", async () => {
	const slots = createSlots(2);
	const never = new AbortController().signal;
	const [first, second] = [await slots.acquire(never), await slots.acquire(never)];
	const quitter = new AbortController();
	const left = slots.acquire(quitter.signal);
	const third = slots.acquire(never);
	quitter.abort(new Error("enough"));
	await assert.rejects(left, /enough/);
	assert.equal(slots.taken(), 2);
	first();
	first();
	const release = await third;
	assert.equal(slots.taken(), 2, "released twice is released once");
	second();
	release();
	assert.equal(slots.taken(), 0);
	await assert.rejects(slots.acquire(quitter.signal), /enough/);
});

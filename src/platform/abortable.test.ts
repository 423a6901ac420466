// Waiting that can be cut short: who comes first decides, and nothing is left behind on the signal or the
// clock.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { type After, isInTime, orAbort, realAfter, sleep, sleepOrThrow, untilAborted } from "./abortable.ts";

/** A clock that is turned by hand. */
function handClock(): { readonly after: After; readonly turn: () => void; readonly size: () => number } {
	const waiting = new Set<() => void>();
	const after: After = (_, run) => {
		waiting.add(run);
		return () => waiting.delete(run);
	};
	return { after, turn: () => [...waiting].forEach((run) => void run()), size: () => waiting.size };
}

const listeners = (signal: AbortSignal) => getEventListeners(signal, "abort").length;

test("a sleep ends by its clock or by the abort, and leaves neither timer nor listener", async () => {
	const { after, turn, size } = handClock();
	const controller = new AbortController();
	const slept = sleep(1000, controller.signal, after);
	turn();
	assert.equal(await slept, true);
	const cut = sleep(1000, controller.signal, after);
	controller.abort();
	assert.equal(await cut, false);
	assert.equal(await sleep(1000, controller.signal, after), false, "aborted before");
	assert.deepEqual([size(), listeners(controller.signal)], [0, 0]);
	assert.equal(await sleep(0), true);
});

test("a timer longer than Node's is waited for, not fired at once", async () => {
	let fired = false;
	const cancel = realAfter(2 ** 40, () => {
		fired = true;
	});
	await sleep(20);
	cancel();
	assert.equal(fired, false);
});

test("a promise is in time, late or rejected", async () => {
	const { after, turn, size } = handClock();
	assert.equal(await isInTime(Promise.resolve(), 1000, after), true);
	await assert.rejects(isInTime(Promise.reject(new Error("mine")), 1000, after), /mine/);
	const late = isInTime(new Promise(() => {}), 1000, after);
	turn();
	assert.equal(await late, false);
	assert.equal(size(), 0);
});

test("a promise gives its own outcome unless the abort comes first", async () => {
	const controller = new AbortController();
	assert.equal(await orAbort(Promise.resolve(7), controller.signal), 7);
	assert.equal(await orAbort(Promise.resolve(8)), 8);
	await assert.rejects(orAbort(Promise.reject(new Error("mine")), controller.signal), /mine/);
	assert.equal(listeners(controller.signal), 0);
	const cut = orAbort(new Promise(() => {}), controller.signal);
	const until = untilAborted(controller.signal);
	controller.abort(new Error("enough"));
	await assert.rejects(cut, /enough/);
	await until;
	await untilAborted(controller.signal);
	await assert.rejects(orAbort(Promise.resolve(9), controller.signal), /enough/, "aborted before");
	assert.equal(listeners(controller.signal), 0);
});

test("a rest before another try ends the tries when it is aborted", async () => {
	const controller = new AbortController();
	await sleepOrThrow(1, controller.signal);
	const resting = sleepOrThrow(3_600_000, controller.signal);
	controller.abort(new Error("stopping"));
	await assert.rejects(resting, /stopping/);
	await assert.rejects(sleepOrThrow(1, controller.signal), /stopping/, "aborted before");
	assert.equal(listeners(controller.signal), 0);
});

test("N12: a wait of years is no wait of nothing: timers are bounded to 31 bits", async () => {
	let hasFired = false;
	const cancel = realAfter(30 * 365 * 86_400_000, () => {
		hasFired = true;
	});
	const ended = new AbortController();
	const sleeping = sleep(Number.MAX_SAFE_INTEGER, ended.signal);
	await new Promise((resolve) => setTimeout(resolve, 20));
	assert.equal(hasFired, false);
	cancel();
	ended.abort();
	assert.equal(await sleeping, false);
});

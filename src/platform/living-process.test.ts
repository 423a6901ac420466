// A mark of a process: right while it runs, wrong once it ended, whoever has its number by then.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isRunning, markOwnProcess } from "./living-process.ts";

test("a process that runs, one that ended, one that has another's number, no mark at all", async () => {
	const own = await markOwnProcess();
	assert.equal(await isRunning(own), true);
	assert.equal(await isRunning({ ...own, startTicks: `${own.startTicks}0` }), false);
	assert.equal(await isRunning({ ...own, pid: 2 ** 22 + 1 }), false);
	assert.equal(await isRunning({}), false);
	assert.equal(await isRunning({ pid: own.pid }), false);
});

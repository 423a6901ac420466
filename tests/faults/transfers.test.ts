// Each transfer arrives once, or is said to be unknown with its hash, behind a pair of nodes of which one is
// behind. bench/faults/transfers.ts does ten thousand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runTransfers } from "./transfers.ts";

test("40 transfers by a bad pair of nodes", async () => {
	const { told, faults, wrong } = await runTransfers("one", 40, 4);
	assert.deepEqual(wrong, [], JSON.stringify({ told, faults }));
	assert.equal(
		Object.values(told).reduce((sum, n) => sum + n),
		40,
	);
	assert.ok(told.mined! >= 30, JSON.stringify(told));
	for (const fault of ["behind", "dropped", "twice", "lost"]) assert.ok(faults[fault]! > 0, fault);
});

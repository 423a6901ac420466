// Disputes while watcher, provider and the line to their node break: some kills here, in the deep tier alone;
// `node bench/disputes/chaos.ts` makes 200.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeep, seed } from "../../fuzz.test-kit.ts";
import { runDisputeChaos } from "./dispute-chaos.ts";

test("killed, cut off and reorganised again and again: every false claim falls, no right one, nothing twice, nothing lost", {
	skip: !isDeep && "some minutes of waiting for blocks: for `npm run test:deep`",
}, async (t) => {
	const report = await runDisputeChaos({ kills: 12, lies: 3, rights: 1, seed });
	t.diagnostic(JSON.stringify(report));
	assert.deepEqual(report.wrong, []);
	assert.equal(report.convicted, 3);
});

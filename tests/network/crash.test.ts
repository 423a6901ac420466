// Validator processes killed at random moments during probes, and their database connections cut: nothing is
// lost, nothing is counted twice. Some kills here; `node bench/network-crash.ts` makes 200. The choices are
// the setting's of all random tests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeep, seed } from "../fuzz.test-kit.ts";
import { runCrashes } from "./crash-run.ts";

test("killed and cut off again and again: every evidence file is counted once, nothing is stuck", async (t) => {
	const report = await runCrashes({ kills: isDeep ? 16 : 6, seed, providers: 8, validators: 2 });
	t.diagnostic(JSON.stringify(report));
	assert.deepEqual(report.wrong, []);
	assert.ok(report.killed > 0 && report.cuts > 0 && report.counted > 0);
});

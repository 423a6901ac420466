// A few jobs in flight while the validator, a process of hosts and database connections are killed: nothing
// is lost, doubled or paid twice, and every job ends. In the deep tier: it starts five processes. Hundreds of
// jobs and kills: bench/job-load.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeep } from "../../fuzz.test-kit.ts";
import { runLoad } from "./run-load.ts";

const skip = isDeep ? false : "in the deep tier: it starts five processes";
test("killed at any moment, every job ends once, paid once, and what was acknowledged has happened", {
	skip,
}, async () => {
	const { audit, killed, submitted, acknowledged } = await runLoad({
		...{ jobs: 6, hosts: 8, hostProcesses: 1, validators: 1, kills: 3, seed: 16, steadyMs: 0, killEveryMs: 1000 },
		...{ workMs: [300, 900], beatMs: 300, method: { name: "redundant", count: 2 }, readsPerS: 2 },
	});
	assert.deepEqual(audit.wrong, []);
	assert.ok(killed.validators === 1 && killed.hosts === 1 && killed.cuts === 1, JSON.stringify(killed));
	assert.ok(submitted >= 6 && audit.jobs >= submitted, "all that were handed in are there");
	assert.ok(acknowledged >= 3 * submitted, "work was done");
});

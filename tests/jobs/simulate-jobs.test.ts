// The simulation of jobs in small: a provider that forges the last segment, one that begins elsewhere, and
// customers that cheat, before a real validator and the embedded chain. npm run simulate -- --jobs N is the
// same with every cheater.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeep } from "../fuzz.test-kit.ts";
import { CUSTOMER_CHEATS } from "./customer-cheats.ts";
import { NETWORK_CHEATS } from "./job-cheats.ts";
import { simulateJobs } from "./simulate-jobs.ts";

const FEW = ["forges the last segment", "begins at another state"];

test("each cheater ends as it must, a stranger finishes the job, and nobody honest loses tokens", async (t) => {
	const report = await simulateJobs({ jobs: isDeep ? 4 : 1, ...(!isDeep && { cheats: FEW }) });
	t.diagnostic(`${report.seconds.toFixed(1)} s`);
	assert.deepEqual([report.missed, report.wronged], [[], []]);
	const tried = report.parties.filter(({ ended }) => ended !== null);
	const providers = isDeep ? NETWORK_CHEATS.filter(({ party }) => party === "provider") : FEW;
	assert.ok(tried.length >= providers.length + CUSTOMER_CHEATS.length);
	assert.ok(report.jobs.some(({ states }) => states.every((state) => state === "paid")));
	assert.ok(report.passedOn > 0, "who audited a claim that fell is paid by its accuser");
	for (const { name, ended, gain } of tried) if (ended === "convicted") assert.ok(gain < 0, `${name} kept its bond`);
});

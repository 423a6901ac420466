// Every cheater of jobs on paper: how often it is found out is what docs/jobs.md §9 says, within 3 σ; it has
// less of it than of honest work; and nobody who did all as he must loses money in any job, gas included. A
// thousand tries each in the deep tier, and in `npm run simulate -- --jobs`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeep, seed } from "../fuzz.test-kit.ts";
import { campaignOf } from "./paper-campaign.ts";
import { PAPER_CHEATS } from "./paper-cheats.ts";

for (const cheat of PAPER_CHEATS)
	test(`${cheat.name}: found as often as the formula says, and no gain`, () => {
		const few = cheat.chance < 1 ? 250 : 40;
		const found = campaignOf(cheat, { tries: isDeep ? 1000 : few, seed });
		assert.ok(Math.abs(found.sigmas) <= 3, `${found.caught} of ${found.tries}, ${found.sigmas.toFixed(2)} σ off`);
		assert.deepEqual(found.wronged.slice(0, 3), []);
		if (cheat.party === "provider")
			assert.ok(found.gainMicros < found.honestMicros, `${found.gainMicros} is no less than ${found.honestMicros}`);
	});

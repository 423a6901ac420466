// Questions to claimants are free to ask and may take minutes to answer: what an address may have answered is
// limited.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createAskBudget } from "./claim-handlers.ts";

test("an address whose questions kept hosts busy for ten minutes waits; others, and a later hour, do not", async () => {
	const at = { ms: 1_000_000 };
	const budget = createAskBudget(() => at.ms);
	const ask = (address: string, seconds: number) =>
		budget.spend(address, async () => {
			at.ms += 1000 * seconds;
			return "said";
		});
	// Each time two minutes of a host's engine: the sixth one is lent.
	let asked = 0;
	const flood = async () => {
		for (; asked < 100; asked++) await ask("10.0.0.1", 120);
	};
	await assert.rejects(flood, { code: "RATE_LIMITED" });
	assert.ok(asked >= 5 && asked <= 7, `${asked} were answered`);
	assert.equal(await ask("10.0.0.2", 1), "said", "another address is not held up");
	at.ms += 3_600_000;
	assert.equal(await ask("10.0.0.1", 1), "said");
	const failing = budget.spend("10.0.0.3", async () => {
		at.ms += 900_000;
		throw new Error("it broke");
	});
	await assert.rejects(failing, /it broke/);
	await assert.rejects(ask("10.0.0.3", 1), { code: "RATE_LIMITED" }, "what came to nothing took its time too");
});

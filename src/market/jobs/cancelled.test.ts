// What a customer is told of a job that was cancelled while somebody works at it.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobTerms, PartState } from "../../protocol/network/job.ts";
import { cancelledText } from "./cancelled.ts";
import { newJob } from "./job-rules.ts";

const TERMS: JobTerms = {
	...{ customer: "c", program: "p", inputs: "i", method: { name: "sampled", count: 3 }, segments: 12, parts: 6 },
	...{ priceMicros: 100, feeMicros: 2, auditMicros: 30, bondMicros: 50 },
	...{ startByMs: 1e6, workMs: 7_200_000, windowMs: 100_000, checkedMs: 10_000 },
};
const told = (...states: readonly PartState[]) => {
	const job = newJob("j", { ...TERMS, parts: states.length });
	const parts = job.parts.map((part, i) => ({ ...part, state: states[i]! }));
	return cancelledText({ ...job, parts }, (micros) => `${micros} micros`);
};

test("what came back, what is finished and paid, and what still comes back", () => {
	assert.equal(told("paid", "running", "open"), null, "nothing was cancelled");
	assert.equal(told("paid", "refunded"), "1 of 2 parts came back: up to 132 micros");
	assert.equal(
		told("paid", "claimed", "running", "refunded", "refunded"),
		"2 of 5 parts came back: up to 264 micros; part 3 is at work, to be finished and paid; " +
			"part 2 is claimed, to be paid after the window",
	);
	assert.match(told("claimed", "open", "refunded")!, /part 2 is open, to be given back$/);
	assert.match(told("claimed", "claimed", "claimed", "claimed", "refunded")!, /4 parts are claimed/);
});

// Which jobs the keeper looks at: what has changed, what is due, everything now and then, and nothing twice
// for one change.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_PARAMS as params } from "../../../market/params.ts";
import type { JobPart, JobRecord } from "../../../protocol/network/job.ts";
import { createJobLooks } from "./job-looks.ts";

const part = (over: Partial<JobPart>): JobPart => ({
	...{
		part: 0,
		attempt: 1,
		state: "running",
		provider: "p",
		base: 0,
		isAlone: false,
		untilMs: 1e9,
		lastBeatMs: 0,
		lastProgressMs: 0,
	},
	...{ done: 0, claim: null, claimedAtMs: 0, assignedAtMs: 0, isChecked: false, isDisputed: false, audits: [] },
	excluded: [],
	...over,
});
const jobAt = (version: number, over: Partial<JobPart> = {}) => ({
	version,
	record: {
		id: "a",
		terms: { method: { name: "optimistic", count: 0 }, startByMs: 1e9, workMs: 1e9, segments: 4, parts: 1 },
		parts: [part(over)],
	} as unknown as JobRecord,
});
const idle = () => false;

function looked(id: string, version: number, over: Partial<JobPart> = {}) {
	const looks = createJobLooks(params);
	looks.list(new Map([[id, version]]));
	assert.deepEqual(looks.take(1000, idle), [id], "one that was never looked at");
	assert.equal(looks.begin(id, 1000), version);
	looks.end(id, jobAt(version, over));
	assert.deepEqual(looks.take(1000, idle), []);
	return looks;
}

test("what a look itself changed wakes nobody; what came later does", () => {
	const looks = looked("a", 3);
	looks.wake("a", 2);
	looks.wake("a", 3);
	assert.deepEqual(looks.take(1001, idle), []);
	looks.wake("a", 4);
	assert.deepEqual(
		looks.take(1001, (id) => id === "a"),
		[],
		"not while it is looked at",
	);
	assert.deepEqual(looks.take(1001, idle), ["a"]);
	assert.equal(looks.begin("a", 1001), 4);
});

test("a change that nobody told us of is seen in the list; signs of life are nothing to do", () => {
	const looks = looked("a", 3);
	looks.beaten("a", 4);
	looks.beaten("a", 5);
	looks.list(new Map([["a", 5]]));
	assert.deepEqual(looks.take(1001, idle), []);
	looks.beaten("a", 7);
	assert.deepEqual(looks.take(1001, idle), []);
	looks.list(new Map([["a", 7]]));
	assert.deepEqual(looks.take(1001, idle), ["a"], "what came between the two is not known");
});

test("when its time has come, and now and then", () => {
	const beat = params.jobBeatMs * params.jobBeatMisses + 1;
	const looks = looked("a", 3, { lastBeatMs: 1500 - beat });
	assert.deepEqual(looks.take(1499, idle), []);
	assert.deepEqual(looks.take(1500, idle), ["a"]);
	looks.begin("a", 1500);
	looks.end("a", jobAt(3));
	assert.deepEqual(looks.take(3499, idle), []);
	assert.deepEqual(looks.take(3500, idle), ["a"]);
});

test("one that failed is looked at again; one that is over is not", () => {
	const looks = looked("a", 3);
	looks.begin("a", 2000);
	assert.deepEqual(looks.take(2001, idle), []);
	assert.deepEqual(looks.take(4000, idle), ["a"], "it has not ended");
	looks.begin("a", 4000);
	looks.end("a", null);
	looks.wake("a", 4);
	looks.list(new Map());
	assert.deepEqual(looks.take(9000, idle), []);
});

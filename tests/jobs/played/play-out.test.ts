// In the deep tier: everybody who lies in a redundant job, with both voices, and auditors that lie, played to
// the end of their windows in whole networks. All methods and coalitions: bench/jobs/liars.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeep } from "../../fuzz.test-kit.ts";
import { NETWORKS } from "./play-networks.ts";
import { playOut } from "./play-out.ts";

const DEEP = ["redundant:2, answers: providers", "redundant:2, silent: providers", "sampled:1, answers: auditors"];

for (const play of NETWORKS.filter(({ name }) => DEEP.includes(name)))
	test(`${play.name}: each ends as it must, gains nothing, and nobody honest loses or is marked`, {
		skip: !isDeep && "deep tier",
	}, async (t) => {
		const report = await playOut({ ...play, onProgress: (line) => t.diagnostic(line) });
		assert.deepEqual(report.wrong, []);
		assert.ok(report.parties.filter(({ ended }) => ended !== null).length >= play.liars.length - 1);
	});

// Whole files with a training run: the figure, its confidence, and a change of every field that belongs to
// it. What is wrong inside the openings is checks/check-train.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChallengeSpec, TrainSpec } from "../../../protocol/probe/evidence.ts";
import type { AnsweredChallenge } from "../../../protocol/probe/evidence-codec.ts";
import { answerStages, sign } from "../honest-evidence.test-kit.ts";
import { verifyEvidence } from "../verify.ts";

const TRAIN: TrainSpec = {
	kind: "train",
	device: 1,
	layers: 1,
	width: 16,
	heads: 2,
	context: 8,
	batch: 2,
	rounds: 4,
	draws: 2,
	samples: 1,
};
const ANSWERED = answerStages([[TRAIN]]);
const ONE = ANSWERED[0]!;

const outcome = (answered: readonly AnsweredChallenge[]): string => {
	const verdict = verifyEvidence(sign(answered));
	return verdict.status === "valid" ? "valid" : verdict.code;
};
const changed = (change: Partial<AnsweredChallenge>): string => outcome([{ ...ONE, ...change }]);
const asked = (change: Partial<TrainSpec>): string => changed({ spec: { ...TRAIN, ...change } as ChallengeSpec });

test("an honest run gives tokens a second, and the share of steps that could have been skipped", () => {
	const told: string[] = [];
	const verdict = verifyEvidence(sign(ANSWERED), {}, undefined, (_, done, of) => told.push(`${done} of ${of}`));
	assert.equal(verdict.status, "valid");
	if (verdict.status !== "valid") return;
	// Two drawn segments, and the one that makes the first state.
	assert.deepEqual(told, ["0 of 3", "1 of 3", "2 of 3", "3 of 3"]);
	// 4 steps of 2·8 tokens in 5 × 5 ms.
	assert.deepEqual(verdict.figures, [{ device: 1, name: "train.gpt", value: 2560, unit: "token/s", challenge: 0 }]);
	assert.deepEqual(verdict.confidence, [{ challenge: 0, samples: 2, skippedShareAt99: 1 - 0.01 ** (1 / 2) }]);
});

test("no other question was asked than the one answered", () => {
	for (const change of [{ device: 0 }, { layers: 2 }, { width: 32 }, { heads: 1 }, { context: 16 }, { batch: 1 }])
		assert.notEqual(asked(change), "valid", JSON.stringify(change));
	assert.equal(asked({ rounds: 5 }), "ROOTS_MISSING");
	assert.equal(asked({ rounds: 3 }), "ROOTS_SURPLUS");
	for (const draws of [1, 3]) assert.equal(asked({ draws }), "TRACE_WRONG");
	assert.notEqual(asked({ samples: 2 }), "valid");
});

test("questions beyond the limits are not asked", () => {
	const limits: readonly Partial<TrainSpec>[] = [
		{ layers: 0 },
		{ layers: 13 },
		{ heads: 0 },
		{ width: 20 },
		{ width: 2048 },
		{ context: 4 },
		{ context: 2048 },
		{ batch: 0 },
		{ batch: 2 ** 15 },
		{ rounds: 0 },
		{ rounds: 5000 },
		{ draws: 0 },
		{ draws: 5 },
		{ samples: 17 },
	];
	for (const change of limits) assert.equal(asked(change), "SPEC_LIMITS", JSON.stringify(change));
	assert.equal(asked({ samples: 0 }), "NO_SAMPLES");
	assert.equal(asked({ device: 2 }), "SPEC_DEVICE");
	assert.equal(asked({ device: 9 }), "SPEC_DEVICE");
});

test("openings that were withheld, asked early or not at all are told", () => {
	const trace = ONE.opens[0]!;
	const leaves = ONE.opens[1]!;
	assert.equal(changed({ opens: [trace] }), "OPENS_MISSING");
	assert.equal(changed({ opens: [{ ...trace, what: "leaves" }, leaves] }), "OPENS_WRONG");
	assert.equal(changed({ opens: [trace, { ...leaves, end: "silent" }] }), "OPENING_WITHHELD");
	assert.equal(changed({ opens: [trace, { ...leaves, end: "cut" }] }), "OPENING_CUT");
	assert.equal(changed({ opens: [{ ...trace, sentAtUs: 0 }, leaves] }), "COMMITMENT_AFTER_OPENING");
	assert.equal(changed({ end: "silent", opens: [] }), "CHALLENGE_SILENT");
});

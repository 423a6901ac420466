// Compatible mode against SN27's published table, and its weaknesses: here N is proven.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { IdentityState } from "../../protocol/probe/verdict.ts";
import { createParams, SN27_SCORES_PPM } from "../params.ts";
import { mismatchesOf } from "./recompute.ts";
import type { Proof, ScoreInput } from "./score-input.ts";
import { scoreProvider } from "./score-provider.ts";
import { paidProfile } from "./score-sn27.ts";
import { inputOf, profile, proofOf } from "./scored-host.test-kit.ts";

const params = createParams({ scoring: "sn27" });
const score = (proof: Proof | null, more: Partial<ScoreInput> = {}) =>
	scoreProvider(inputOf(proof, more), params).scorePpm;

/** As published: name, score; 0 and "–" as they stand there. */
const PUBLISHED: readonly [string, number][] = [
	["B200", 5.0],
	["H200", 4.0],
	["H100 80GB HBM3", 3.3],
	["H100 PCIe", 2.8],
	["A100-SXM4-80GB", 1.9],
	["A100 80GB PCIe", 1.7],
	["A100-SXM4-40GB", 1.3],
	["GeForce RTX 5090", 0.92],
	["L40S", 0.9],
	["L40", 1.0],
	["RTX 6000 Ada Generation", 0.83],
	["RTX A6000", 0.75],
	["A40", 0],
	["GeForce RTX 4090", 0.68],
	["GeForce RTX 3090", 0],
	["RTX A5000", 0.26],
	["RTX A4500", 0],
	["RTX 4000 Ada Generation", 0],
	["L4", 0],
];

test("the table: gpu_score · min(N, 8) ÷ (8 · max_score) for every card and count", () => {
	assert.deepEqual(new Set(Object.keys(SN27_SCORES_PPM)), new Set(PUBLISHED.map(([id]) => id)));
	for (const [id, published] of PUBLISHED) {
		assert.ok(profile(id), id);
		for (const n of [1, 2, 3, 7, 8, 9, 16]) {
			const expected = Math.floor((Math.round(published * 1e6) * Math.min(n, 8)) / (8 * 5));
			assert.equal(score(proofOf({ cards: Array<string>(n).fill(id) })), expected, `${n} × ${id}`);
		}
	}
});

test("a name is paid where the figures bear it: a card that only looks like another, or like none, is paid nothing", () => {
	const paid = (state: IdentityState) => paidProfile({ state, profile: "H200" });
	assert.deepEqual([paid("confirmed"), paid("consistent")], ["H200", "H200"]);
	for (const state of ["other", "unknown", "unknown-name", "unjudged"] as const) assert.equal(paid(state), null, state);
	assert.equal(paidProfile(undefined), null);
});

test("cards that it does not list score 0; mixed hosts add up; allocated ones get the multiplier, capped", () => {
	assert.equal(score(proofOf({ cards: ["GeForce RTX 3080"] })), 0);
	assert.equal(score(proofOf({ cards: ["H200", "L40"] })), 125_000);
	assert.equal(score(proofOf({ cards: ["H200"] }), { rented: { calls: 24, paidPpm: 1_100_000 } }), 110_000);
	assert.equal(
		score(proofOf({ cards: Array<string>(8).fill("B200") }), { rented: { calls: 24, paidPpm: 1_100_000 } }),
		1_000_000,
	);
	assert.deepEqual(mismatchesOf(scoreProvider(inputOf(proofOf({ cards: ["H200", "L4"] })), params)), []);
});

test("N is what was identified, not what is claimed; an empty proof is no proof", () => {
	const one = proofOf({ cards: ["H200"] });
	const claims: Proof = {
		...one,
		devices: [...one.devices, ...Array.from({ length: 7 }, (_, i) => ({ kind: "gpu" as const, uuid: `more-${i}` }))],
	};
	assert.equal(score(claims), 100_000);
	assert.equal(score(proofOf({ cards: ["H200", "H200"], uuid: () => "GPU-same" })), 100_000, "one card as two");
	assert.equal(score({ ...one, identity: [] }), 0, "nothing identified");
	assert.equal(score({ ...one, identity: [{ device: 0, profile: null }] }), 0);
	assert.equal(score(null), 0);
	assert.equal(score(one, { creditedElsewhere: ["GPU-0"] }), 0);
});

test("the mode is chosen by configuration alone", () => {
	const proof = proofOf({ cards: ["L4"] });
	assert.equal(score(proof), 0);
	const holistic = scoreProvider(inputOf(proof), createParams());
	assert.ok(holistic.scorePpm > 0);
	assert.equal(holistic.mode, "holistic");
	assert.equal(scoreProvider(inputOf(proof), params).mode, "sn27");
});

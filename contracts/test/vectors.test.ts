// contracts/vectors/chain.json is what its generator makes, and src/market agrees with every row. Solidity
// reads the same file (Vectors.t.sol).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { rewardShares } from "../../src/market/epochs/reward-shares.ts";
import { createScoreReport } from "../../src/market/epochs/score-report.ts";
import { createWeightProposal } from "../../src/market/epochs/weight-proposal.ts";
import { weightedMedian } from "../../src/market/epochs/weighted-median.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { chainVectors } from "../vectors/generate.ts";

interface Vectors {
	readonly trees: { providers: Hex[]; scores: number[]; evidence: Hex[]; roots: Hex[] };
	readonly medians: { scores: number[]; stakes: number[]; results: number[] };
	readonly shares: {
		providers: Hex[];
		weights: number[];
		emission: string;
		amounts: string[];
		thresholdRemainder: string;
		thresholdProvider: Hex;
		root: Hex;
	};
}

const file = readFileSync(new URL("../vectors/chain.json", import.meta.url), "utf8");
const { trees, medians, shares } = JSON.parse(file) as Vectors;

test("the file is what the generator makes", () => {
	assert.equal(file, chainVectors());
});

test("roots of reports", () => {
	const leaves = trees.providers.map((provider, i) => ({
		provider,
		scorePpm: trees.scores[i]!,
		evidenceSha256: trees.evidence[i]!,
	}));
	for (const [count, root] of trees.roots.entries())
		assert.equal(createScoreReport(leaves.slice(0, count)).reportRoot, root);
});

test("medians", () => {
	for (const [row, result] of medians.results.entries()) {
		const votes = [0, 1, 2, 3, 4].map((i) => ({
			stake: BigInt(medians.stakes[5 * row + i]!),
			scorePpm: medians.scores[5 * row + i]!,
		}));
		assert.equal(weightedMedian(votes), result);
	}
});

test("shares and the proposal they make", () => {
	const emission = BigInt(shares.emission);
	const weights = shares.providers.map((provider, i) => ({ provider, weightPpm: shares.weights[i]! }));
	const paid = rewardShares(weights, emission);
	assert.deepEqual(
		paid.map(({ amount }) => String(amount)),
		shares.amounts,
	);
	const report = createScoreReport(
		weights.map(({ provider, weightPpm }) => ({
			provider,
			scorePpm: weightPpm,
			evidenceSha256: `0x${"00".repeat(32)}`,
		})),
	);
	const { proposal } = createWeightProposal([{ validator: `0x${"01".repeat(20)}`, stake: 1n, report }], emission);
	assert.equal(proposal.root, shares.root);
	assert.equal(String(proposal.thresholdRemainder), shares.thresholdRemainder);
	assert.equal(proposal.thresholdProvider, shares.thresholdProvider);
});

// contracts/vectors/chain.json is what its generator makes, and src/market agrees with every row. Solidity
// reads the same file (Vectors.t.sol).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createScoreReport } from "../../src/market/epochs/score-report.ts";
import { weightedMedian } from "../../src/market/epochs/weighted-median.ts";
import { type Base, createWeights } from "../../src/market/epochs/weights.ts";
import { NO_BASE } from "../../src/protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { chainVectors } from "../vectors/generate.ts";

interface Vectors {
	readonly trees: { providers: Hex[]; scores: number[]; evidence: Hex[]; roots: Hex[] };
	readonly medians: { scores: number[]; stakes: number[]; results: number[] };
	readonly weights: {
		validators: Hex[];
		stakes: number[];
		providers: Hex[];
		scores: number[];
		absent: number;
		pot: string;
		baseAccounts: Hex[];
		baseTotals: string[];
		accounts: Hex[];
		weights: number[];
		earned: string[];
		totals: string[];
		totalWeight: number;
		paid: string;
		root: Hex;
	};
}

const file = readFileSync(new URL("../vectors/chain.json", import.meta.url), "utf8");
const { trees, medians, weights: known } = JSON.parse(file) as Vectors;

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

test("weights of an epoch", () => {
	const zeros: Hex = `0x${"00".repeat(32)}`;
	const reports = known.validators.map((_, seat) =>
		createScoreReport(
			known.providers
				.map((provider, i) => ({ provider, scorePpm: known.scores[9 * seat + i]!, evidenceSha256: zeros }))
				.filter(({ scorePpm }) => scorePpm !== known.absent),
		),
	);
	const none = { weightPpm: 0, weightBefore: 0n, earned: 0n, earnedBefore: 0n };
	const leaves = known.baseAccounts.map((account, i) => ({ ...none, account, total: BigInt(known.baseTotals[i]!) }));
	const stated = { epoch: 0n, base: NO_BASE, set: 7n, count: 3, totalWeight: 0n, paid: 0n, root: zeros };
	const base: Base = { id: zeros, weights: stated, leaves };
	const made = createWeights(7n, {
		epoch: 1n,
		base,
		seats: known.validators.map((validator, i) => ({
			validator,
			signer: validator,
			stake: BigInt(known.stakes[i]!),
			root: reports[i]!.reportRoot,
		})),
		reports,
		pot: BigInt(known.pot),
		totalStake: 12_000n,
		rules: { quorumPpm: 666_667, validatorPpm: 100_000, targetWeight: 0n },
	});
	const column = (of: (leaf: (typeof made.leaves)[number]) => unknown) => made.leaves.map(of);
	assert.deepEqual(
		column(({ account }) => account),
		known.accounts,
	);
	assert.deepEqual(
		column(({ weightPpm }) => weightPpm),
		known.weights,
	);
	assert.deepEqual(
		column(({ earned }) => String(earned)),
		known.earned,
	);
	assert.deepEqual(
		column(({ total }) => String(total)),
		known.totals,
	);
	const { root, totalWeight, paid } = made.weights;
	assert.deepEqual([root, Number(totalWeight), String(paid)], [known.root, known.totalWeight, known.paid]);
});

// Proposals of weights: sums to the unit, thresholds that give every share again, and every kind of fault found with its openings.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc, scaled } from "../../../tests/fuzz.test-kit.ts";
import type { WeightLeaf } from "../../protocol/chain/epoch-shapes.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import { keccakNode } from "../../protocol/hash/keccak-tree.ts";
import { rootFromPath } from "../../protocol/hash/merkle.ts";
import { rewardShares } from "./reward-shares.ts";
import { createScoreReport, malformedAt, readScoreReport, scoreLeafHash } from "./score-report.ts";
import { createSortedTree } from "./sorted-openings.ts";
import { type CountedReport, createWeightProposal, faultOf, shareOf, weightLeafHash } from "./weight-proposal.ts";

const address = (n: number): Hex => `0x${n.toString(16).padStart(40, "0")}`;
const evidence: Hex = `0x${"e1".repeat(32)}`;
const counted = (validator: number, stake: bigint, scores: Readonly<Record<number, number>>): CountedReport => ({
	validator: address(validator),
	stake,
	report: createScoreReport(
		Object.entries(scores).map(([n, scorePpm]) => ({
			provider: address(Number(n)),
			scorePpm,
			evidenceSha256: evidence,
		})),
	),
});

const anyScores = fc.dictionary(fc.integer({ min: 1, max: 9 }).map(String), fc.integer({ min: 0, max: 1_000_000 }));

/** The slow way: every unit of stake is one vote, and the lower of the two in the middle counts. */
function countedMedians(
	reports: readonly { readonly stake: bigint; readonly scores: Readonly<Record<string, number>> }[],
) {
	const ids = [...new Set(reports.flatMap(({ scores }) => Object.keys(scores)))].map(Number).sort((a, b) => a - b);
	return ids
		.map((id) => {
			const votes = reports.flatMap(({ stake, scores }) => Array(Number(stake)).fill(scores[id] ?? 0) as number[]);
			const weightPpm = votes.sort((a, b) => a - b)[Math.ceil(votes.length / 2) - 1]!;
			return { provider: address(id), weightPpm };
		})
		.filter(({ weightPpm }) => weightPpm > 0);
}

test("medians and shares are market's, to the unit, and follow from leaf and threshold", () => {
	fc.assert(
		fc.property(
			fc.array(fc.record({ stake: fc.bigInt(1n, 9n), scores: anyScores }), { minLength: 1, maxLength: 4 }),
			fc.bigInt(0n, 10n ** 21n),
			(votes, emission) => {
				const reports = votes.map(({ stake, scores }, i) => counted(100 + i, stake, scores));
				const { proposal, leaves } = createWeightProposal(reports, emission);
				const known = countedMedians(votes);
				assert.deepEqual(
					leaves.map(({ provider, weightPpm }) => [provider, weightPpm]),
					known.map(({ provider, weightPpm }) => [provider, weightPpm]),
				);
				const shares = new Map(rewardShares(known, emission).map(({ provider, amount }) => [provider, amount]));
				for (const leaf of leaves) assert.equal(shareOf(proposal, leaf), shares.get(leaf.provider) ?? 0n);
				const sum = leaves.reduce((all, leaf) => all + shareOf(proposal, leaf), 0n);
				assert.equal(sum, leaves.length === 0 ? 0n : emission);
				assert.equal(faultOf(proposal, leaves, reports), null);
			},
		),
		{ numRuns: scaled(150) },
	);
});

test("an opening leads to the root; a missing provider is shown by its neighbours", () => {
	const report = createScoreReport(
		[2, 4, 6, 8, 10].map((n) => ({ provider: address(n), scorePpm: n, evidenceSha256: evidence })),
	);
	for (const opening of [report.openProvider(address(6))[0]!, ...report.openProvider(address(7))]) {
		const path = opening.path.map((hash) => Uint8Array.from(Buffer.from(hash.slice(2), "hex")));
		assert.deepEqual(rootFromPath(scoreLeafHash(opening.leaf), opening.index, 5, path, keccakNode), report.root);
		assert.notDeepEqual(
			rootFromPath(scoreLeafHash({ ...opening.leaf, scorePpm: 5 }), opening.index, 5, path, keccakNode),
			report.root,
		);
		assert.equal(rootFromPath(scoreLeafHash(opening.leaf), opening.index, 5, path.slice(1), keccakNode), null);
	}
	assert.deepEqual(
		report.openProvider(address(7)).map(({ index }) => index),
		[2, 3],
	);
	assert.deepEqual(
		report.openProvider(address(1)).map(({ index }) => index),
		[0],
	);
	assert.deepEqual(
		report.openProvider(address(11)).map(({ index }) => index),
		[4],
	);
	assert.deepEqual(createScoreReport([]).openProvider(address(1)), []);
});

test("a report that is none is refused, and found in others'", () => {
	const leaf = { provider: address(3), scorePpm: 1, evidenceSha256: evidence };
	assert.throws(() => createScoreReport([leaf, leaf]), RangeError);
	assert.throws(() => createScoreReport([{ ...leaf, scorePpm: 1_000_001 }]), RangeError);
	assert.throws(() => readScoreReport([{ ...leaf, provider: "0xABC" }]), RangeError);
	assert.deepEqual(malformedAt(readScoreReport([leaf, leaf])), [0, 1]);
	assert.deepEqual(malformedAt(readScoreReport([leaf, { ...leaf, provider: address(4), scorePpm: 2_000_000 }])), [1]);
	assert.equal(malformedAt(createScoreReport([leaf])), null);
});

test("every kind of fault is found", () => {
	const reports = [counted(101, 5n, { 1: 100, 2: 200, 3: 300 }), counted(102, 4n, { 1: 150, 2: 250, 4: 400 })];
	const { proposal, leaves } = createWeightProposal(reports, 1000n);
	assert.deepEqual(
		leaves.map(({ weightPpm }) => weightPpm),
		[100, 200, 300],
	);
	const again = (changed: readonly WeightLeaf[]) => {
		const root = toHex(createSortedTree(changed, weightLeafHash).root);
		return faultOf({ ...proposal, count: changed.length, root }, changed, reports);
	};
	assert.equal(again(leaves), null);
	assert.deepEqual(faultOf(proposal, leaves.slice(1), reports), { kind: "withheld" });
	assert.deepEqual(faultOf(proposal, [{ ...leaves[0]!, provider: "0xzz" }], reports), { kind: "withheld" });
	assert.equal(faultOf({ ...proposal, totalWeight: 0n }, leaves, reports)?.kind, "shape");
	for (const at of [0, 1, 2]) {
		const wrong = (change: Partial<WeightLeaf>) => leaves.map((leaf, i) => (i === at ? { ...leaf, ...change } : leaf));
		assert.equal(again(wrong({ weightPpm: 1_000_001 }))?.kind, "shape");
		assert.equal(again(wrong({ weightPpm: 0 }))?.kind, "shape");
		assert.equal(again(wrong({ weightPpm: 150 }))?.kind, "shape");
		assert.equal(again(wrong({ weightBefore: 1n }))?.kind, "shape");
		assert.equal(again(wrong({ amountBefore: 1n }))?.kind, "shape");
	}
	assert.equal(again([leaves[0]!, leaves[0]!, leaves[2]!])?.kind, "shape");
	// Consistent in itself, but not what the reports say.
	const lie = createWeightProposal([counted(101, 1n, { 1: 100, 2: 201, 3: 300 })], 1000n);
	const fault = faultOf(lie.proposal, lie.leaves, reports);
	assert.ok(fault?.kind === "weight" && fault.provider === address(2) && fault.stated === 201 && fault.right === 200);
	const left = createWeightProposal([counted(101, 1n, { 1: 100, 3: 300 })], 1000n);
	const omitted = faultOf(left.proposal, left.leaves, reports);
	assert.ok(omitted?.kind === "weight" && omitted.stated === 0 && omitted.weights.length === 2);
});

// Epochs to test with: seats with their reports, by number.
import { NO_BASE, type RewardLeaf, type Weights } from "../../protocol/chain/epoch-shapes.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import { createScoreReport, type ScoreReport } from "./score-report.ts";
import { type Base, type EpochFacts, openRewards } from "./weights.ts";

export const address = (n: number): Hex => `0x${n.toString(16).padStart(40, "0")}`;
const evidence: Hex = `0x${"e1".repeat(32)}`;

export const scoreReport = (scores: Readonly<Record<number | string, number>>): ScoreReport =>
	createScoreReport(
		Object.entries(scores).map(([n, scorePpm]) => ({
			provider: address(Number(n)),
			scorePpm,
			evidenceSha256: evidence,
		})),
	);

export interface TestSeat {
	readonly stake: bigint;
	readonly scores: Readonly<Record<number | string, number>>;
}

/** Validator of seat i is address(1000 + i). */
export function factsOf(votes: readonly TestSeat[], more: Partial<EpochFacts> = {}): EpochFacts {
	const reports = votes.map(({ scores }) => scoreReport(scores));
	return {
		epoch: 7n,
		base: null,
		seats: votes.map(({ stake }, i) => ({
			validator: address(1000 + i),
			signer: address(2000 + i),
			stake,
			root: reports[i]!.reportRoot,
		})),
		reports,
		pot: 1_000_000n,
		totalStake: votes.reduce((sum, { stake }) => sum + stake, 0n),
		rules: { quorumPpm: 666_667, validatorPpm: 100_000, targetWeight: 0n },
		...more,
	};
}

/** A statement over other leaves, with their root, count and sums. */
export function restated(weights: Weights, leaves: readonly RewardLeaf[], more: Partial<Weights> = {}): Weights {
	const sum = (of: (leaf: RewardLeaf) => bigint) => leaves.reduce((all, leaf) => all + of(leaf), 0n);
	return {
		...weights,
		count: leaves.length,
		root: toHex(openRewards(leaves).root),
		totalWeight: sum(({ weightPpm }) => BigInt(weightPpm)),
		paid: sum(({ earned }) => earned),
		...more,
	};
}

/** Leaves with their running sums put right. */
export function summed(leaves: readonly RewardLeaf[]): readonly RewardLeaf[] {
	let [weightBefore, earnedBefore] = [0n, 0n];
	return leaves.map((leaf) => {
		const fixed = { ...leaf, weightBefore, earnedBefore };
		weightBefore += BigInt(leaf.weightPpm);
		earnedBefore += leaf.earned;
		return fixed;
	});
}

/** Weights of an earlier epoch that gave these totals. */
export function baseOf(totals: Readonly<Record<number, bigint>>): Base {
	const leaves = summed(
		Object.entries(totals).map(([n, total]) => ({
			account: address(Number(n)),
			weightPpm: 0,
			weightBefore: 0n,
			earned: total,
			earnedBefore: 0n,
			total,
		})),
	);
	const empty: Weights = { epoch: 6n, base: NO_BASE, set: 1n, count: 0, totalWeight: 0n, paid: 0n, root: NO_BASE };
	return { id: `0x${"b".repeat(64)}`, weights: restated(empty, leaves), leaves };
}

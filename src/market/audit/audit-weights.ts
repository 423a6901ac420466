// What is wrong with the leaves of weights, all of it and by account: order and sums, medians, what was
// earned, totals. The same rules as weights-fault.ts, which stops at the first fault that a challenge can
// show. Each check takes the rest as stated, so that one wrong weight does not make everybody's reward look
// wrong. Pure.
import type { RewardLeaf, Weights } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { earnedOf } from "../epochs/reward-shares.ts";
import { seatsOf, stakeOfSet } from "../epochs/seat-set.ts";
import { weightedMedian } from "../epochs/weighted-median.ts";
import { type EpochFacts, sortedAccounts, stakesOf, votesOf } from "../epochs/weights.ts";
import { type AuditDifference, difference } from "./audit-scores.ts";

const MAX_PPM = 1_000_000;
const NOTHING = { weightPpm: 0, earned: 0n, total: 0n };

const byAccount = (leaves: readonly RewardLeaf[]): ReadonlyMap<Hex, RewardLeaf> =>
	new Map(leaves.map((leaf) => [leaf.account, leaf]));

/** Sorted, each account once, nobody listed for nothing, running sums, and the statement's own sums. */
export function auditSums(id: string, stated: Weights, leaves: readonly RewardLeaf[]): AuditDifference[] {
	const found: AuditDifference[] = [];
	let [weight, earned] = [0n, 0n];
	for (const [i, leaf] of leaves.entries()) {
		const differs = (what: string, right: string | bigint) =>
			found.push(difference("SUMS_WRONG", leaf.account, what, right));
		if (leaf.weightPpm > MAX_PPM) differs(`weight ${leaf.weightPpm}`, `up to ${MAX_PPM}`);
		if (leaf.weightPpm === 0 && leaf.total === 0n) differs("listed", "it has nothing");
		if (i > 0 && leaves[i - 1]!.account >= leaf.account) differs(`place ${i}`, "out of order, or twice");
		if (leaf.weightBefore !== weight) differs(`weights before it ${leaf.weightBefore}`, weight);
		if (leaf.earnedBefore !== earned) differs(`earned before it ${leaf.earnedBefore}`, earned);
		weight += BigInt(leaf.weightPpm);
		earned += leaf.earned;
	}
	if (stated.totalWeight !== weight) found.push(difference("SUMS_WRONG", id, `weights ${stated.totalWeight}`, weight));
	if (stated.paid !== earned) found.push(difference("SUMS_WRONG", id, `paid ${stated.paid}`, earned));
	return found;
}

/** Against the reports that are held; where some are not, within what the others leave possible. */
export function auditMedians({ set }: Weights, leaves: readonly RewardLeaf[], facts: EpochFacts): AuditDifference[] {
	const { seats, reports } = facts;
	const setStake = stakeOfSet(set, seats);
	const held = seatsOf(set).filter((seat) => (reports[seat] ?? null) !== null);
	const heldStake = held.reduce((sum, seat) => sum + seats[seat]!.stake, 0n);
	const votes = votesOf(set, facts);
	const stated = byAccount(leaves);
	const found: AuditDifference[] = [];
	for (const account of sortedAccounts(votes.keys(), stated.keys())) {
		const { weightPpm } = stated.get(account) ?? NOTHING;
		const of = votes.get(account) ?? [];
		const absent = { stake: heldStake - of.reduce((sum, { stake }) => sum + stake, 0n), scorePpm: 0 };
		const medianWith = (scorePpm: number) => weightedMedian([...of, absent, { stake: setStake - heldStake, scorePpm }]);
		const [least, most] = [medianWith(0), medianWith(MAX_PPM)];
		if (weightPpm < least) found.push(difference("WEIGHT_WRONG", account, weightPpm, least));
		else if (weightPpm > most) found.push(difference("WEIGHT_WRONG", account, weightPpm, most));
	}
	return found;
}

/** By the weights as stated, the set's stakes and the pot. */
export function auditEarned(
	{ set, totalWeight }: Weights,
	leaves: readonly RewardLeaf[],
	facts: EpochFacts,
): AuditDifference[] {
	const { seats, pot, rules } = facts;
	const setStake = stakeOfSet(set, seats);
	const stakes = stakesOf(set, seats);
	const stated = byAccount(leaves);
	return sortedAccounts(stakes.keys(), stated.keys()).flatMap((account) => {
		const { weightPpm, earned } = stated.get(account) ?? NOTHING;
		const right = earnedOf({ pot, totalWeight, weightPpm, stake: stakes.get(account) ?? 0n, setStake }, rules);
		return earned === right ? [] : [difference("EARNED_WRONG", account, earned, right)];
	});
}

/** By the totals of the weights that are continued, and what is stated as earned. */
export function auditTotals(leaves: readonly RewardLeaf[], base: readonly RewardLeaf[]): AuditDifference[] {
	const before = byAccount(base);
	const stated = byAccount(leaves);
	return sortedAccounts(before.keys(), stated.keys()).flatMap((account) => {
		const { total, earned } = stated.get(account) ?? NOTHING;
		const right = (before.get(account)?.total ?? 0n) + earned;
		return total === right ? [] : [difference("TOTAL_WRONG", account, total, right)];
	});
}

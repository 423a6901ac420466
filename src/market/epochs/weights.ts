// What an epoch's reports make of its pot, as validators sign it: stake-weighted medians, what each account
// earns and has earned in all, running sums, one root. Mirrors contracts/src/epochs/WeightTree.sol; where a
// statement of somebody else departs from this is weights-fault.ts. docs/epochs.md §2.
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { NO_BASE, type RewardLeaf, type Seat, type Weights } from "../../protocol/chain/epoch-shapes.ts";
import { fromHex, type Hex, packed, toHex } from "../../protocol/chain/hex.ts";
import { keccakLeaf } from "../../protocol/hash/keccak-tree.ts";
import { earnedOf, type ShareRules } from "./reward-shares.ts";
import type { ScoreReport } from "./score-report.ts";
import { isInSet, seatsOf, stakeOfSet } from "./seat-set.ts";
import { createSortedTree, type SortedTree } from "./sorted-openings.ts";
import { type Vote, weightedMedian } from "./weighted-median.ts";

export interface WeightRules extends ShareRules {
	readonly quorumPpm: number;
}

/** The weights that are continued, with their leaves. */
export interface Base {
	readonly id: Hex;
	readonly weights: Weights;
	readonly leaves: readonly RewardLeaf[];
}

/** All that weights follow from, but for the set. */
export interface EpochFacts {
	readonly epoch: bigint;
	/** Null: the first weights of all. */
	readonly base: Base | null;
	readonly seats: readonly Seat[];
	/** By seat. Null: not held. */
	readonly reports: readonly (ScoreReport | null)[];
	/** potOf: of the epoch and what the base has given out. */
	readonly pot: bigint;
	/** All voting stake, the second before the epoch's end. */
	readonly totalStake: bigint;
	readonly rules: WeightRules;
}

export interface SignableWeights extends SortedTree<RewardLeaf> {
	readonly weights: Weights;
}

export const rewardLeafHash = (leaf: RewardLeaf): Uint8Array =>
	keccakLeaf(
		concatBytes(
			fromHex(leaf.account, 20),
			packed(leaf.weightPpm, 4),
			packed(leaf.weightBefore, 8),
			packed(leaf.earned, 16),
			packed(leaf.earnedBefore, 16),
			packed(leaf.total, 16),
		),
	);

/** The tree over leaves as given; whether they are a statement's only its root tells. */
export const openRewards = (leaves: readonly RewardLeaf[]): SortedTree<RewardLeaf> =>
	createSortedTree(leaves, ({ account }) => account, rewardLeafHash);

/**
 * Of every provider that a held report of the set names; a report that leaves it out says 0. Not of one that
 * is not held.
 */
export function votesOf(
	set: bigint,
	{ seats, reports }: Pick<EpochFacts, "seats" | "reports">,
): ReadonlyMap<Hex, readonly (Vote & { readonly seat: number })[]> {
	const votes = new Map<Hex, (Vote & { readonly seat: number })[]>();
	for (const [seat, { stake }] of seats.entries()) {
		if (!isInSet(set, seat)) continue;
		for (const { provider, scorePpm } of reports[seat]?.leaves ?? []) {
			const of = votes.get(provider) ?? [];
			if (of.length === 0) votes.set(provider, of);
			of.push({ seat, stake, scorePpm });
		}
	}
	return votes;
}

/** Providers above 0 only. Every report of the set must be held. */
export function medianWeights(set: bigint, facts: Pick<EpochFacts, "seats" | "reports">): ReadonlyMap<Hex, number> {
	const missing = seatsOf(set).filter((seat) => (facts.reports[seat] ?? null) === null);
	if (missing.length > 0) throw new RangeError(`no medians without the reports of seats ${missing.join(", ")}`);
	const total = stakeOfSet(set, facts.seats);
	const weights = new Map<Hex, number>();
	for (const [provider, votes] of votesOf(set, facts)) {
		const absent = total - votes.reduce((sum, { stake }) => sum + stake, 0n);
		const weightPpm = weightedMedian([...votes, { stake: absent, scorePpm: 0 }]);
		if (weightPpm > 0) weights.set(provider, weightPpm);
	}
	return weights;
}

/** Stake by account of those whose reports count. */
export function stakesOf(set: bigint, seats: readonly Seat[]): ReadonlyMap<Hex, bigint> {
	const stakes = new Map<Hex, bigint>();
	for (const [i, { validator, stake }] of seats.entries())
		if (isInSet(set, i)) stakes.set(validator, (stakes.get(validator) ?? 0n) + stake);
	return stakes;
}

export const sortedAccounts = (...lists: readonly Iterable<Hex>[]): readonly Hex[] =>
	[...new Set(lists.flatMap((list) => [...list]))].sort();

/** What is right for this set. Throws RangeError when a report of it is not held. */
export function createWeights(set: bigint, facts: EpochFacts): SignableWeights {
	const { epoch, base, seats, pot, rules } = facts;
	const medians = medianWeights(set, facts);
	const totalWeight = [...medians.values()].reduce((sum, weight) => sum + BigInt(weight), 0n);
	const stakes = stakesOf(set, seats);
	const setStake = stakeOfSet(set, seats);
	const before = new Map(base?.leaves.map(({ account, total }) => [account, total]));
	let [weightBefore, earnedBefore] = [0n, 0n];
	const leaves: RewardLeaf[] = [];
	for (const account of sortedAccounts(medians.keys(), stakes.keys(), before.keys())) {
		const weightPpm = medians.get(account) ?? 0;
		const stake = stakes.get(account) ?? 0n;
		const earned = earnedOf({ pot, totalWeight, weightPpm, stake, setStake }, rules);
		const total = (before.get(account) ?? 0n) + earned;
		if (total === 0n && weightPpm === 0) continue;
		leaves.push({ account, weightPpm, weightBefore, earned, earnedBefore, total });
		weightBefore += BigInt(weightPpm);
		earnedBefore += earned;
	}
	const tree = openRewards(leaves);
	const weights: Weights = {
		epoch,
		base: base?.id ?? NO_BASE,
		set,
		count: leaves.length,
		totalWeight,
		paid: earnedBefore,
		root: toHex(tree.root),
	};
	return { ...tree, weights };
}

// Where a statement of weights departs from what its reports make it, with everything that a challenge on
// chain needs: the same checks as contracts/src/epochs/Scoreboard.sol, in the same words. docs/epochs.md §2.
import type { Opening, RewardLeaf, Weights } from "../../protocol/chain/epoch-shapes.ts";
import { NO_BASE } from "../../protocol/chain/epoch-shapes.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import { earnedOf } from "./reward-shares.ts";
import { malformedAt, type ReportOpening } from "./score-report.ts";
import { isSetValid, seatsOf, stakeOfSet } from "./seat-set.ts";
import type { SortedTree } from "./sorted-openings.ts";
import { type EpochFacts, openRewards, sortedAccounts, stakesOf, votesOf } from "./weights.ts";

interface Stated {
	readonly account: Hex;
	readonly opened: readonly Opening<RewardLeaf>[];
}

/**
 * What a challenge can show on chain. Each kind names its function: `report` is challengeSet with a report.
 */
export type ProvableFault =
	/** A seat that nobody has, or too little stake. */
	| { readonly kind: "set" }
	| { readonly kind: "report"; readonly report: ReportOpening }
	| { readonly kind: "shape"; readonly opened: readonly Opening<RewardLeaf>[] }
	| (Stated & {
			readonly kind: "weight";
			readonly stated: number;
			readonly isTooHigh: boolean;
			/** Just enough of them, by ascending seat. */
			readonly reports: readonly ReportOpening[];
	  })
	| (Stated & { readonly kind: "earned"; readonly stated: bigint; readonly right: bigint })
	| (Stated & {
			readonly kind: "total";
			readonly stated: bigint;
			readonly right: bigint;
			readonly openedBase: readonly Opening<RewardLeaf>[];
	  });

/** Nothing to prove, but nothing to sign either. */
type UnknownFault =
	/** It continues other weights than the facts do. */
	| { readonly kind: "base" }
	/** Its leaves are not there, or not what its root commits to. */
	| { readonly kind: "withheld" }
	/** Reports of its set are not held; what is held does not contradict it. */
	| { readonly kind: "unheld"; readonly seats: readonly number[] };

export type WeightsFault = ProvableFault | UnknownFault;

const MAX_PPM = 1_000_000;

/**
 * Null: it is what the reports give, and may be signed. Otherwise the first fault, those that can be proven
 * first. `facts.base` and `facts.pot` are those of the weights that the statement continues.
 */
export function faultOf(
	statement: Weights,
	leaves: readonly RewardLeaf[] | null,
	facts: EpochFacts,
): WeightsFault | null {
	const { seats, totalStake, rules } = facts;
	if (statement.epoch !== facts.epoch) throw new RangeError(`not of epoch ${facts.epoch}`);
	if (!isSetValid(statement.set, { seats, totalStake, quorumPpm: rules.quorumPpm })) return { kind: "set" };
	const malformed = malformedReport(statement, facts);
	if (malformed !== null) return malformed;
	if (isHollow(statement)) return { kind: "shape", opened: [] };
	const tree = treeOf(statement, leaves);
	if (tree === null) return { kind: "withheld" };
	const fault = shapeFault(statement, tree) ?? weightFault(statement, tree, facts);
	if (fault !== null) return fault;
	if (statement.base !== (facts.base?.id ?? NO_BASE)) return { kind: "base" };
	const rewards = earnedFault(statement, tree, facts) ?? totalFault(tree, facts);
	if (rewards !== null) return rewards;
	const unheld = seatsOf(statement.set).filter((seat) => (facts.reports[seat] ?? null) === null);
	return unheld.length > 0 ? { kind: "unheld", seats: unheld } : null;
}

/** Without leaves there is nothing to sum and no root. */
const isHollow = ({ count, root, totalWeight, paid }: Weights): boolean =>
	count === 0 && (totalWeight !== 0n || paid !== 0n || BigInt(root) !== 0n);

function treeOf(statement: Weights, leaves: readonly RewardLeaf[] | null): SortedTree<RewardLeaf> | null {
	if (leaves === null || leaves.length !== statement.count) return null;
	try {
		const tree = openRewards(leaves);
		return toHex(tree.root) === statement.root ? tree : null;
	} catch {
		return null; // a field that cannot be a leaf's
	}
}

function malformedReport({ set }: Weights, { reports }: EpochFacts): ProvableFault | null {
	for (const seat of seatsOf(set)) {
		const report = reports[seat] ?? null;
		const places = report === null ? null : malformedAt(report);
		if (report === null || places === null) continue;
		const openings = places.map((index) => report.open(index));
		return { kind: "report", report: { seat, count: report.leaves.length, openings } };
	}
	return null;
}

/** One leaf, or two neighbours, that contradict each other or the statement's sums. */
function shapeFault({ totalWeight, paid }: Weights, tree: SortedTree<RewardLeaf>): ProvableFault | null {
	const at = (...places: number[]): ProvableFault => ({ kind: "shape", opened: places.map((i) => tree.open(i)) });
	let [weight, earned] = [0n, 0n];
	for (const [i, leaf] of tree.leaves.entries()) {
		if (leaf.weightPpm > MAX_PPM || (leaf.weightPpm === 0 && leaf.total === 0n)) return at(i);
		const isNext = i === 0 || tree.leaves[i - 1]!.account < leaf.account;
		if (!isNext || leaf.weightBefore !== weight || leaf.earnedBefore !== earned) return i === 0 ? at(0) : at(i - 1, i);
		weight += BigInt(leaf.weightPpm);
		earned += leaf.earned;
	}
	const isWhole = weight === totalWeight && earned === paid;
	return isWhole || tree.leaves.length === 0 ? null : at(tree.leaves.length - 1);
}

/**
 * Too high: half of the set's stake is known to score less. Too low: more than half is known to score more.
 */
function weightFault({ set }: Weights, tree: SortedTree<RewardLeaf>, facts: EpochFacts): ProvableFault | null {
	const { seats, reports } = facts;
	const setStake = stakeOfSet(set, seats);
	const held = seatsOf(set).filter((seat) => (reports[seat] ?? null) !== null);
	const heldStake = held.reduce((sum, seat) => sum + seats[seat]!.stake, 0n);
	const votes = votesOf(set, facts);
	const stated = new Map(tree.leaves.map(({ account, weightPpm }) => [account, weightPpm]));
	for (const account of sortedAccounts(votes.keys(), stated.keys())) {
		const weight = stated.get(account) ?? 0;
		const of = votes.get(account) ?? [];
		const stakeWhere = (counts: (scorePpm: number) => boolean): bigint =>
			of.reduce((sum, { stake, scorePpm }) => (counts(scorePpm) ? sum + stake : sum), 0n);
		const absent = heldStake - stakeWhere(() => true);
		const below = stakeWhere((scorePpm) => scorePpm < weight) + (weight > 0 ? absent : 0n);
		const isTooHigh = 2n * below >= setStake;
		if (!isTooHigh && 2n * stakeWhere((scorePpm) => scorePpm > weight) <= setStake) continue;
		const scores = new Map(of.map(({ seat, scorePpm }) => [seat, scorePpm]));
		const against = held.filter((seat) => {
			const scorePpm = scores.get(seat) ?? 0;
			return isTooHigh ? scorePpm < weight : scorePpm > weight;
		});
		const shown = enoughOf(against, facts, setStake, isTooHigh);
		const opening = (seat: number): ReportOpening => {
			const report = reports[seat]!;
			return { seat, count: report.leaves.length, openings: report.openAccount(account) };
		};
		const opened = tree.openAccount(account);
		return { kind: "weight", account, stated: weight, isTooHigh, opened, reports: shown.map(opening) };
	}
	return null;
}

/** The largest stakes first, until they are enough; by ascending seat. */
function enoughOf(
	against: readonly number[],
	{ seats }: EpochFacts,
	setStake: bigint,
	isTooHigh: boolean,
): readonly number[] {
	const byStake = [...against].sort((a, b) => {
		const [left, right] = [seats[a]!.stake, seats[b]!.stake];
		return left === right ? a - b : left > right ? -1 : 1;
	});
	const shown: number[] = [];
	let stake = 0n;
	for (const seat of byStake) {
		if (isTooHigh ? 2n * stake >= setStake : 2n * stake > setStake) break;
		shown.push(seat);
		stake += seats[seat]!.stake;
	}
	return shown.sort((a, b) => a - b);
}

function earnedFault(statement: Weights, tree: SortedTree<RewardLeaf>, facts: EpochFacts): ProvableFault | null {
	const { pot, rules, seats } = facts;
	const { set, totalWeight } = statement;
	const stakes = stakesOf(set, seats);
	const setStake = stakeOfSet(set, seats);
	const stated = new Map(tree.leaves.map((leaf) => [leaf.account, leaf]));
	for (const account of sortedAccounts(stakes.keys(), stated.keys())) {
		const { weightPpm, earned } = stated.get(account) ?? { weightPpm: 0, earned: 0n };
		const stake = stakes.get(account) ?? 0n;
		const right = earnedOf({ pot, totalWeight, weightPpm, stake, setStake }, rules);
		if (right !== earned) return { kind: "earned", account, stated: earned, right, opened: tree.openAccount(account) };
	}
	return null;
}

function totalFault(tree: SortedTree<RewardLeaf>, { base }: EpochFacts): ProvableFault | null {
	const before = new Map(base?.leaves.map(({ account, total }) => [account, total]));
	const stated = new Map(tree.leaves.map((leaf) => [leaf.account, leaf]));
	for (const account of sortedAccounts(before.keys(), stated.keys())) {
		const { total, earned } = stated.get(account) ?? { total: 0n, earned: 0n };
		const right = (before.get(account) ?? 0n) + earned;
		if (total === right) continue;
		const openedBase = base === null ? [] : openRewards(base.leaves).openAccount(account);
		const opened = tree.openAccount(account);
		return { kind: "total", account, stated: total, right, opened, openedBase };
	}
	return null;
}

// What an epoch's reports make of its emission, as the chain keeps it: stake-weighted medians, each provider's share by largest remainders, running sums, one root.
// And the reverse: where a proposal of somebody else departs from that, with the openings that prove it. Mirrors contracts/src/epochs/WeightTree.sol.
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import type { Opening, Proposal, WeightLeaf } from "../../protocol/chain/epoch-shapes.ts";
import { fromHex, type Hex, packed, toHex } from "../../protocol/chain/hex.ts";
import { keccak, keccakLeaf } from "../../protocol/hash/keccak-tree.ts";
import { rewardShares } from "./reward-shares.ts";
import type { ScoreReport } from "./score-report.ts";
import { createSortedTree, type SortedTree } from "./sorted-openings.ts";
import { weightedMedian } from "./weighted-median.ts";

export interface WeightProposal extends SortedTree<WeightLeaf> {
	readonly proposal: Proposal;
}

/** One report that counts: revealed, not void, with the stake of the epoch's end. */
export interface CountedReport {
	readonly validator: Hex;
	readonly stake: bigint;
	readonly report: ScoreReport;
}

const ZERO_ADDRESS: Hex = `0x${"0".repeat(40)}`;
const MAX_PPM = 1_000_000;

export const weightLeafHash = ({ provider, weightPpm, weightBefore, amountBefore }: WeightLeaf): Uint8Array =>
	keccakLeaf(
		concatBytes(fromHex(provider, 20), packed(weightPpm, 4), packed(weightBefore, 8), packed(amountBefore, 16)),
	);

/** The tree over leaves as given; whether they are a proposal's only its root tells. */
export const openWeights = (leaves: readonly WeightLeaf[]): SortedTree<WeightLeaf> =>
	createSortedTree(leaves, weightLeafHash);

/** Providers above 0 only, sorted. A provider that a report leaves out has 0 in it. */
export function medianWeights(reports: readonly CountedReport[]): readonly { provider: Hex; weightPpm: number }[] {
	const votes = new Map<Hex, { stake: bigint; scorePpm: number }[]>();
	const voted = reports.filter(({ stake }) => stake > 0n);
	for (const { stake, report } of voted)
		for (const { provider, scorePpm } of report.leaves) {
			const of = votes.get(provider) ?? [];
			if (of.length === 0) votes.set(provider, of);
			of.push({ stake, scorePpm });
		}
	const total = voted.reduce((sum, { stake }) => sum + stake, 0n);
	return [...votes.keys()].sort().flatMap((provider) => {
		const of = votes.get(provider)!;
		const absent = total - of.reduce((sum, { stake }) => sum + stake, 0n);
		const weightPpm = weightedMedian(absent > 0n ? [...of, { stake: absent, scorePpm: 0 }] : of);
		return weightPpm > 0 ? [{ provider, weightPpm }] : [];
	});
}

export function createWeightProposal(reports: readonly CountedReport[], emission: bigint): WeightProposal {
	const weights = medianWeights(reports);
	const totalWeight = weights.reduce((sum, { weightPpm }) => sum + BigInt(weightPpm), 0n);
	const amounts = new Map(rewardShares(weights, emission).map(({ provider, amount }) => [provider, amount]));
	let [weightBefore, amountBefore] = [0n, 0n];
	let threshold: { remainder: bigint; provider: Hex } | null = null;
	const leaves = weights.map(({ provider, weightPpm }): WeightLeaf => {
		const leaf = { provider, weightPpm, weightBefore, amountBefore };
		const exact = emission * BigInt(weightPpm);
		const amount = amounts.get(provider) ?? 0n;
		// The last of those that got one unit more: least remainder, and among equal ones the highest provider.
		if (amount > exact / totalWeight) {
			const remainder = exact % totalWeight;
			if (threshold === null || remainder <= threshold.remainder) threshold = { remainder, provider };
		}
		weightBefore += BigInt(weightPpm);
		amountBefore += amount;
		return leaf;
	});
	const last: { remainder: bigint; provider: Hex } = threshold ?? { remainder: totalWeight, provider: ZERO_ADDRESS };
	const tree = createSortedTree(leaves, weightLeafHash);
	const proposal: Proposal = {
		count: leaves.length,
		totalWeight,
		emission,
		thresholdRemainder: last.remainder,
		thresholdProvider: last.provider,
		root: toHex(tree.root),
	};
	return { ...tree, proposal };
}

/** What the chain keeps of a proposal: keccak(abi.encode(epoch, proposal)), seven words. */
export function proposalDigest(epoch: number, p: Proposal): Hex {
	const words = [epoch, p.count, p.totalWeight, p.emission, p.thresholdRemainder, p.thresholdProvider, p.root];
	return toHex(keccak(...words.map((word) => packed(BigInt(word), 32))));
}

/** As WeightTree.shareOf. */
export function shareOf(
	proposal: Proposal,
	{ provider, weightPpm }: Pick<WeightLeaf, "provider" | "weightPpm">,
): bigint {
	// A hostile proposal may state a total of 0 beside leaves: then nobody has a share of it.
	if (proposal.totalWeight === 0n) return 0n;
	const exact = proposal.emission * BigInt(weightPpm);
	const remainder = exact % proposal.totalWeight;
	const oneMore =
		remainder > proposal.thresholdRemainder ||
		(remainder === proposal.thresholdRemainder && provider <= proposal.thresholdProvider);
	return exact / proposal.totalWeight + (oneMore ? 1n : 0n);
}

interface ReportOpening {
	readonly validator: Hex;
	readonly count: number;
	readonly openings: readonly Opening<ScoreReport["leaves"][number]>[];
}

/** What is wrong with a proposal. `withheld`: these leaves are not what its root commits to, so nothing can be opened. */
export type ProposalFault =
	| { readonly kind: "withheld" }
	| { readonly kind: "shape"; readonly weights: readonly Opening<WeightLeaf>[] }
	| {
			readonly kind: "weight";
			readonly provider: Hex;
			readonly stated: number;
			readonly right: number;
			readonly weights: readonly Opening<WeightLeaf>[];
			readonly reports: readonly ReportOpening[];
	  };

/**
 * Null: what the reports give. The first fault otherwise, with what a challenge needs. `unknownStake` is that of reports that count but cannot be had: a weight is then wrong
 * when it lies outside of what the median can be, whatever those say (StakeMedian.bounds).
 */
export function faultOf(
	proposal: Proposal,
	leaves: readonly WeightLeaf[],
	reports: readonly CountedReport[],
	unknownStake = 0n,
): ProposalFault | null {
	let tree: SortedTree<WeightLeaf>;
	try {
		tree = createSortedTree(leaves, weightLeafHash);
	} catch {
		return { kind: "withheld" };
	}
	if (leaves.length !== proposal.count || toHex(tree.root) !== proposal.root) return { kind: "withheld" };
	const misshapen = shapeFault(proposal, leaves);
	if (misshapen !== null) return { kind: "shape", weights: misshapen.map((index) => tree.open(index)) };
	const stated = new Map(leaves.map(({ provider, weightPpm }) => [provider, weightPpm]));
	const unknown = (scorePpm: number) => (unknownStake > 0n ? [{ stake: unknownStake, scorePpm }] : []);
	const known = reports.map(({ stake, report }) => ({
		stake,
		scores: new Map(report.leaves.map(({ provider, scorePpm }) => [provider, scorePpm])),
	}));
	const providers = new Set([...known.flatMap(({ scores }) => [...scores.keys()]), ...stated.keys()]);
	for (const provider of [...providers].sort()) {
		const votes = known.map(({ stake, scores }) => ({ stake, scorePpm: scores.get(provider) ?? 0 }));
		const least = weightedMedian([...votes, ...unknown(0)]);
		const greatest = weightedMedian([...votes, ...unknown(MAX_PPM)]);
		const said = stated.get(provider) ?? 0;
		if (said >= least && said <= greatest) continue;
		const is = said < least ? least : greatest;
		return {
			kind: "weight",
			provider,
			stated: said,
			right: is,
			weights: tree.openProvider(provider),
			reports: [...reports]
				.sort((a, b) => (a.validator < b.validator ? -1 : 1))
				.map(({ validator, report }) => ({
					validator,
					count: report.leaves.length,
					openings: report.openProvider(provider),
				})),
		};
	}
	return null;
}

/** Places of one leaf, or of two neighbours, that contradict the proposal's own rules. */
function shapeFault(proposal: Proposal, leaves: readonly WeightLeaf[]): readonly number[] | null {
	let [weight, amount] = [0n, 0n];
	for (const [i, leaf] of leaves.entries()) {
		const places = i === 0 ? [0] : [i - 1, i];
		if (leaf.weightPpm < 1 || leaf.weightPpm > MAX_PPM) return [i];
		if (i > 0 && leaves[i - 1]!.provider >= leaf.provider) return places;
		if (leaf.weightBefore !== weight || leaf.amountBefore !== amount) return places;
		weight += BigInt(leaf.weightPpm);
		amount += shareOf(proposal, leaf);
	}
	const isWhole = weight === proposal.totalWeight && (leaves.length === 0 || amount === proposal.emission);
	return isWhole || leaves.length === 0 ? null : [leaves.length - 1];
}

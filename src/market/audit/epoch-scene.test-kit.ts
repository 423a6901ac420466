// One epoch of three validators and five providers, as the chain and honest files have it, for tests that
// change one thing. The first validator signs with a key of its own, apart from its account; the weights
// continue earlier ones.
import { privateKeyToAccount } from "viem/accounts";
import {
	NO_BASE,
	type RewardLeaf,
	type Seat,
	type Weights,
	type WeightsSignature,
} from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { toHex } from "../../protocol/chain/hex.ts";
import { weightsId } from "../../protocol/chain/weights-statement.ts";
import { potOf } from "../epochs/reward-shares.ts";
import { createScoreReport } from "../epochs/score-report.ts";
import { seatsOf, setOf } from "../epochs/seat-set.ts";
import { createWeights, type EpochFacts, openRewards } from "../epochs/weights.ts";
import type { AuditView, EpochFiles, PostedWeights } from "./audit-view.ts";

const UNIT = 10n ** 18n;
export const EPOCH = 7;
export const account = (n: number): Hex => `0x${n.toString(16).padStart(40, "0")}`;
const KEYS = ["a1", "a2", "a3"].map((byte) => privateKeyToAccount(`0x${byte.repeat(32)}`));
const signerOf = (seat: number): Hex => KEYS[seat]!.address.toLowerCase() as Hex;
export const VALIDATORS = KEYS.map((_, i) => (i === 0 ? account(0x77) : signerOf(i)));
export const PROVIDERS = [1, 2, 3, 4, 5].map(account);
export const DOMAIN = { chainId: 31337, scoreboard: account(0x5c) };
export const RULES = {
	quorumPpm: 666_667,
	validatorPpm: 100_000,
	targetWeight: 0n,
	signerSlashPpm: 500_000,
	emissionPerEpoch: 1000n * UNIT,
};
/** The second and third say a little else; the third leaves one out. */
export const REPORTS = VALIDATORS.map((_, v) =>
	createScoreReport(
		PROVIDERS.filter((_, i) => !(v === 2 && i === 4)).map((provider, i) => ({
			provider,
			scorePpm: 100_003 * (i + 1) + 7 * v,
			evidenceSha256: `0x${"00".repeat(32)}`,
		})),
	),
);
export const SEATS: readonly Seat[] = [5000n, 3000n, 2000n].map((stake, i) => ({
	validator: VALIDATORS[i]!,
	signer: signerOf(i),
	stake: stake * UNIT,
	root: REPORTS[i]!.reportRoot,
}));

/** Of epoch 5: one that still has a score, one that has none any more, a validator. */
export const BASE_LEAVES = leavesOf([
	[PROVIDERS[0]!, 10, 40n * UNIT],
	[account(9), 5, 60n * UNIT],
	[VALIDATORS[1]!, 0, 3n * UNIT],
]);
const baseWeights: Weights = {
	epoch: 5n,
	base: NO_BASE,
	set: 7n,
	count: BASE_LEAVES.length,
	totalWeight: 15n,
	paid: 103n * UNIT,
	root: toHex(openRewards(BASE_LEAVES).root),
};
export const BASE = { id: weightsId(DOMAIN, baseWeights), weights: baseWeights, total: 103n * UNIT };

/** Earned as given, running sums as they must be. */
function leavesOf(rows: readonly (readonly [Hex, number, bigint])[]): readonly RewardLeaf[] {
	let [weightBefore, earnedBefore] = [0n, 0n];
	return [...rows]
		.sort(([a], [b]) => (a < b ? -1 : 1))
		.map(([who, weightPpm, earned]) => {
			const leaf = { account: who, weightPpm, weightBefore, earned, earnedBefore, total: earned };
			weightBefore += BigInt(weightPpm);
			earnedBefore += earned;
			return leaf;
		});
}

const totalStake = 10_000n * UNIT;
const funded = 10n ** 6n * UNIT;
export const FACTS: EpochFacts = {
	epoch: BigInt(EPOCH),
	base: { ...BASE, leaves: BASE_LEAVES },
	seats: SEATS,
	reports: REPORTS,
	pot: potOf({ ...RULES, funded, allocated: BASE.total, totalStake }),
	totalStake,
	rules: RULES,
};
export const RIGHT = createWeights(7n, FACTS);

/** As a hostile quorum would: leaves changed, sums and root made to fit. */
export function forged(change: (leaf: RewardLeaf) => Partial<RewardLeaf>, stated: Partial<Weights> = {}) {
	let [weightBefore, earnedBefore] = [0n, 0n];
	const leaves = RIGHT.leaves.map((leaf): RewardLeaf => {
		const made = { ...leaf, ...change(leaf), weightBefore, earnedBefore };
		weightBefore += BigInt(made.weightPpm);
		earnedBefore += made.earned;
		return made;
	});
	const root = toHex(openRewards(leaves).root);
	return { leaves, weights: { ...RIGHT.weights, totalWeight: weightBefore, paid: earnedBefore, root, ...stated } };
}

/** Leaves as they are, under a root and a count of their own. */
export const rooted = (leaves: readonly RewardLeaf[], stated: Partial<Weights> = {}) => ({
	leaves,
	weights: { ...RIGHT.weights, count: leaves.length, root: toHex(openRewards(leaves).root), ...stated },
});

/** Right weights of reports in which one provider's scores are others; null: it is left out. */
export function weightsIf(provider: Hex, changed: (scorePpm: number) => number | null) {
	const reports = REPORTS.map(({ leaves }) =>
		createScoreReport(
			leaves.flatMap((leaf) => {
				const scorePpm = leaf.provider === provider ? changed(leaf.scorePpm) : leaf.scorePpm;
				return scorePpm === null ? [] : [{ ...leaf, scorePpm }];
			}),
		),
	);
	return createWeights(7n, { ...FACTS, reports });
}

/** Somebody without a seat. */
export async function signedByStranger(weights: Weights): Promise<WeightsSignature> {
	const key = privateKeyToAccount(`0x${"a4".repeat(32)}`);
	const signature = await key.sign({ hash: weightsId(DOMAIN, weights) });
	return { signer: key.address.toLowerCase() as Hex, signature };
}

/** By those who have the seats. */
export const signedBy = (weights: Weights, signers = 7n): Promise<readonly WeightsSignature[]> =>
	Promise.all(
		seatsOf(signers).map(async (seat) => ({
			signer: signerOf(seat),
			signature: await KEYS[seat]!.sign({ hash: weightsId(DOMAIN, weights) }),
		})),
	);

export interface Scene {
	view: AuditView;
	files: EpochFiles;
}

/** All of it honest but for the weights, which may be others. */
export async function sceneOf({
	weights = RIGHT.weights,
	leaves = RIGHT.leaves,
}: {
	weights?: Weights;
	leaves?: readonly RewardLeaf[];
} = {}): Promise<Scene> {
	const id = weightsId(DOMAIN, weights);
	const posted: PostedWeights = {
		id,
		weights,
		signers: setOf([0, 1]),
		signatures: await signedBy(weights, 3n),
		total: BASE.total + weights.paid,
	};
	const rewards = new Map([
		[id, leaves],
		[BASE.id, BASE_LEAVES],
	]);
	return {
		view: {
			epoch: EPOCH,
			domain: DOMAIN,
			rules: RULES,
			seats: SEATS,
			totalStake,
			funded,
			posted,
			base: BASE,
			payments: [{ account: account(9), amount: 60n * UNIT }],
			shown: [],
		},
		files: {
			report: async (validator) => REPORTS[VALIDATORS.indexOf(validator)]?.leaves ?? null,
			rewards: async (_, of) => rewards.get(of) ?? null,
			reasons: async () => null,
			statements: async () => [],
		},
	};
}

// Puts the contracts of docs/zk.md §11 and §12 on a chain. Which powers of tau they take is named here for
// ever: Ignition's; on an embedded chain, whose owner makes its blocks anyhow, those of a known τ, so that
// nobody needs a file to try it. Not here: ZkJobs, which the escrow and it name each other, and SegmentProofs
// (deploy.ts).
import type { Hex } from "viem";
import { DEV_ROOTS, DEV_TAU_G2 } from "../../protocol/maths/dev-powers.ts";
import { IGNITION_IDS, IGNITION_TAU } from "../../protocol/maths/ignition.ts";
import { twinPostsAbi } from "../abi/twin-posts-abi.ts";
import { weightJudgeAbi } from "../abi/weight-judge-abi.ts";
import { zkVerifierAbi } from "../abi/zk-verifier-abi.ts";
import { codeOf } from "./contracts.ts";

/** How many contracts `deployZk` makes. */
export const ZK_CONTRACTS = 5n;

/** Clocks and coins of trees of points, docs/zk.md §12. */
export interface TwinParams {
	readonly windowSeconds: number;
	readonly answerSeconds: number;
	readonly replySeconds: number;
	readonly bond: bigint;
	readonly deposit: bigint;
}

export interface ZkPowers {
	/** τ in the second group, imaginary parts first. */
	readonly tau: readonly [bigint, bigint, bigint, bigint];
	/** Of the first 2^bits powers: how statements name them, and the root of the tree over them. */
	readonly ids: readonly { readonly bits: number; readonly id: Hex; readonly root: Hex }[];
}

const HOUR = 3600;
const GWEI = 10n ** 9n;
/** A fee cap of 20, and a third more. */
const GAS_PRICE = 26n * GWEI;
/** Of an answer; and of a way down with a leaf at its end. Measured: contracts/gas.json. */
const ANSWER_GAS = 130_000n;
const ACCUSER_GAS = 2_400_000n;
/** Half of the bond is the accuser's. */
const COINS = { bond: 2n * ACCUSER_GAS * GAS_PRICE, deposit: ANSWER_GAS * GAS_PRICE } as const;
export const TWINS: TwinParams = {
	...{ windowSeconds: 4 * HOUR, answerSeconds: HOUR / 2, replySeconds: 2 * HOUR },
	...COINS,
};
/** Where things are tried out. */
export const TRIAL_TWINS: TwinParams = { windowSeconds: 20, answerSeconds: 60, replySeconds: 60, ...COINS };

export const IGNITION: ZkPowers = {
	tau: IGNITION_TAU,
	ids: [...IGNITION_IDS].map(([count, id]) => ({ bits: Math.log2(count), id: `0x${id}`, root: `0x${id}` })),
};

/** Of a known τ. They have no id: zeros stand for it in a statement. */
export const TRIAL_POWERS: ZkPowers = {
	tau: DEV_TAU_G2,
	ids: [...DEV_ROOTS].map(([count, root]) => ({
		bits: Math.log2(count),
		id: `0x${"00".repeat(32)}`,
		root: `0x${root}`,
	})),
};

export async function deployZk(
	put: (data: Hex) => Promise<{ readonly address: Hex }>,
	{ tau: [xi, xr, yi, yr], ids }: ZkPowers,
	twins: TwinParams,
) {
	const code = await import("../abi/creation-code.ts");
	const bits = ids.map((one) => BigInt(one.bits));
	const { address: zkPlans } = await put(code.zkPlansCode);
	const { address: zkVerifier } = await put(
		codeOf(zkVerifierAbi, code.zkVerifierCode, [zkPlans, { xi, xr, yi, yr }, bits, ids.map(({ id }) => id)]),
	);
	const { address: twinJudge } = await put(code.twinJudgeCode);
	const { address: twinPosts } = await put(
		codeOf(twinPostsAbi, code.twinPostsCode, [zkPlans, twinJudge, bits, ids.map(({ root }) => root), twins]),
	);
	const { address: weightJudge } = await put(
		codeOf(weightJudgeAbi, code.weightJudgeCode, [{ xi, xr, yi, yr }, bits, ids.map(({ id }) => id)]),
	);
	return { zkPlans, zkVerifier, twinJudge, twinPosts, weightJudge };
}

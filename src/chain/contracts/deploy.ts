// Puts the contracts on a chain. They name each other in immutable fields, so their addresses are
// predicted from the deployer's nonce; each constructor refuses when that went wrong. A deployment that was
// cut short starts over: half a set is never used.
import { getContractAddress, type Hex } from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import type { CurvePoint } from "../../protocol/chain/attested-parts.ts";
import { assayTokenAbi } from "../abi/assay-token-abi.ts";
import { attestationsAbi } from "../abi/attestations-abi.ts";
import { disputesAbi } from "../abi/disputes-abi.ts";
import { jobEscrowAbi } from "../abi/job-escrow-abi.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import { rentalEscrowAbi } from "../abi/rental-escrow-abi.ts";
import { rewardsAbi } from "../abi/rewards-abi.ts";
import { rollCallAbi } from "../abi/roll-call-abi.ts";
import { scoreboardAbi } from "../abi/scoreboard-abi.ts";
import { segmentProofsAbi } from "../abi/segment-proofs-abi.ts";
import { slashingAbi } from "../abi/slashing-abi.ts";
import { zkJobsAbi } from "../abi/zk-jobs-abi.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { sendCall } from "../sending/send-call.ts";
import type { ChainAccount } from "../sending/sign.ts";
import { type Contracts, callOf, codeOf } from "./contracts.ts";
import { deployZk, IGNITION, TRIAL_TWINS, TWINS, type TwinParams, ZK_CONTRACTS, type ZkPowers } from "./deploy-zk.ts";
import type { RollCallParams } from "./roll-call.ts";
import type { EpochParams } from "./scoreboard.ts";

export interface Schedule {
	/** When epoch 0 begins, seconds since 1970. */
	readonly genesis: number;
	readonly epochSeconds: number;
	/**
	 * Of each of the four windows, at most a tenth of an epoch: for a network to try things out. Absent: a real
	 * one's.
	 */
	readonly windowSeconds?: number;
	/** Anything else of the Scoreboard's. */
	readonly epochs?: Partial<EpochParams>;
	readonly rollCalls?: Partial<RollCallParams>;
	readonly disputes?: Partial<DisputeParams>;
	readonly twins?: Partial<TwinParams>;
}

const HOUR = 3600;
const DAY = 24 * HOUR;
const UNIT = 10n ** 18n;
/** Of a provider. */
const LEAST_STAKE = 10n * UNIT;
/** For blocks of 12 s: a call each 20 min on average. */
const ROLL_CALLS: RollCallParams = {
	every: 100,
	// The deadline of two blocks, one or two until the commitment is mined, and one more.
	windowSeconds: 60,
	isDrand: false,
	demandBlocks: 300,
	answerSeconds: DAY,
	slashPpm: 100_000,
	leastDeposit: UNIT / 1000n,
};

/**
 * Registry, Scoreboard, Rewards, Slashing, RollCall, RentalEscrow, those of deploy-zk.ts, Judge, WireJudge,
 * JobEscrow. Then come ZkJobs, SegmentProofs, Disputes.
 */
const DEPLOYED_BEFORE_ZK_JOBS = 9n + ZK_CONTRACTS;

/** Clocks and deposits of disputes, docs/chain.md §12. */
interface DisputeParams {
	readonly questionSeconds: number;
	readonly traceSeconds: number;
	readonly replySeconds: number;
	readonly extraSeconds: number;
	readonly gameSeconds: number;
	readonly gasPrice: bigint;
}

const GWEI = 10n ** 9n;
const DISPUTES: DisputeParams = {
	...{ questionSeconds: HOUR / 2, traceSeconds: HOUR, replySeconds: 12 * HOUR, extraSeconds: 12 * HOUR },
	// A fee cap of 20, and a third more.
	...{ gameSeconds: 36 * HOUR, gasPrice: 26n * GWEI },
};
/** Where things are tried out. */
const TRIAL_DISPUTES: DisputeParams = {
	...{ questionSeconds: 120, traceSeconds: 240, replySeconds: 1200, extraSeconds: 1200, gameSeconds: 2 * HOUR },
	gasPrice: 26n * GWEI,
};

/**
 * With a new AssayToken, whose whole supply the deployer gets. `powers`: Ignition's, but where things are
 * tried out.
 */
export async function deployContracts(
	client: ChainClient,
	deployer: ChainAccount,
	schedule: Schedule,
	powers: ZkPowers = IGNITION,
): Promise<Contracts> {
	// 300 KB: only a deployment loads it.
	const code = await import("../abi/creation-code.ts");
	const from = deployer.address;
	const put = async (data: Hex): Promise<{ address: Hex; block: number }> => {
		const { contractAddress, blockNumber } = await sendCall(client, deployer, { to: null, data });
		if (!contractAddress) throw new AssayError("CHAIN_REFUSED", "a contract was not deployed", { hint: "Try again." });
		return { address: contractAddress, block: Number(blockNumber) };
	};
	const supply = 1_000_000_000n * UNIT;
	const { address: token } = await put(codeOf(assayTokenAbi, code.assayTokenCode, [supply]));
	const nonce = BigInt(await client.viem.getTransactionCount({ address: from, blockTag: "pending" }));
	const predicted = (more: bigint) => getContractAddress({ from, nonce: nonce + more });
	const epochs = epochsOf(schedule);
	const stakes = {
		minProviderStake: LEAST_STAKE,
		minValidatorStake: 1000n * UNIT,
		unbondingSeconds: BigInt(Math.max(7 * DAY, windowsTogether(epochs))),
		deviceSeconds: BigInt(7 * DAY),
		// More than a third, also where three have the same.
		devicePpm: 333_334,
		// A liar who has itself accused gets a tenth back.
		accuserPpm: 100_000,
	};
	const registry = await put(codeOf(registryAbi, code.registryCode, [token, from, stakes]));
	const scoreboard = await put(
		codeOf(scoreboardAbi, code.scoreboardCode, [registry.address, predicted(2n), storedParams(epochs)]),
	);
	const rewards = await put(
		codeOf(rewardsAbi, code.rewardsCode, [token, scoreboard.address, registry.address, 1000n * UNIT]),
	);
	const slashing = await put(codeOf(slashingAbi, code.slashingCode, [registry.address, { gemmSlashPpm: 500_000 }]));
	const rollCall = await put(
		codeOf(rollCallAbi, code.rollCallCode, [
			registry.address,
			scoreboard.address,
			{ ...ROLL_CALLS, ...schedule.rollCalls },
		]),
	);
	const escrow = { burnPpm: 100_000, mostSeconds: 30 * DAY };
	const rentalEscrow = await put(codeOf(rentalEscrowAbi, code.rentalEscrowCode, [token, escrow]));
	const isTrial = schedule.windowSeconds !== undefined;
	const zk = await deployZk(put, powers, { ...(isTrial ? TRIAL_TWINS : TWINS), ...schedule.twins });
	const clocks = { ...(isTrial ? TRIAL_DISPUTES : DISPUTES), ...schedule.disputes };
	const jobs = await deployJobs(put, predicted, { token, owner: from, clocks, zk });
	const attestations = await deployAttestations(put, INTEL_ROOT);
	const addresses = {
		chainId: client.chainId,
		token,
		registry: registry.address,
		scoreboard: scoreboard.address,
		rewards: rewards.address,
		slashing: slashing.address,
		rollCall: rollCall.address,
		rentalEscrow: rentalEscrow.address,
		...zk,
		...jobs,
		attestations,
		deployedAtBlock: registry.block,
	};
	return { client, addresses };
}

type Put = (data: Hex) => Promise<{ readonly address: Hex }>;

interface JobSettings {
	readonly token: Hex;
	readonly owner: Hex;
	readonly clocks: DisputeParams;
	readonly zk: Awaited<ReturnType<typeof deployZk>>;
}

/**
 * Escrow, disputes, ZkJobs and SegmentProofs name each other; `predicted` counts from the nonce after the
 * token's.
 */
async function deployJobs(put: Put, predicted: (more: bigint) => Hex, { token, owner, clocks, zk }: JobSettings) {
	const code = await import("../abi/creation-code.ts");
	const { address: judge } = await put(code.judgeCode);
	const { address: wireJudge } = await put(code.wireJudgeCode);
	const params = { withdrawSeconds: DAY, accuserCosts: UNIT / 10n };
	const { zkVerifier, zkPlans, twinPosts, weightJudge } = zk;
	const [proofs, disputing] = [predicted(DEPLOYED_BEFORE_ZK_JOBS), predicted(DEPLOYED_BEFORE_ZK_JOBS + 2n)];
	const args = [token, owner, disputing, proofs, params] as const;
	const { address: jobEscrow } = await put(codeOf(jobEscrowAbi, code.jobEscrowCode, args));
	const { address: zkJobs } = await put(
		codeOf(zkJobsAbi, code.zkJobsCode, [jobEscrow, zkVerifier, zkPlans, twinPosts, weightJudge]),
	);
	// A proof takes its provider what a trace takes, and more: the job is run again.
	const answering = { answerSeconds: clocks.traceSeconds, gasPrice: clocks.gasPrice };
	const { address: segmentProofs } = await put(
		codeOf(segmentProofsAbi, code.segmentProofsCode, [
			jobEscrow,
			disputing,
			zkVerifier,
			zkPlans,
			weightJudge,
			answering,
		]),
	);
	const { address: disputes } = await put(
		codeOf(disputesAbi, code.disputesCode, [jobEscrow, judge, wireJudge, [segmentProofs], clocks]),
	);
	return { jobEscrow, zkJobs, segmentProofs, disputes, judge, wireJudge };
}

/** Intel SGX Root CA: SHA-256 44a0196b…74d3, as src/verify/attestation pins it. */
export const INTEL_ROOT = {
	key: {
		x: "0x0ba9c4c0c0c86193a3fe23d6b02cda10a8bbd4e88e48b4458561a36e705525f5",
		y: "0x67918e2edc88e40d860bd0cc4ee26aacc988e505a953558c453f6b0904ae7394",
	},
	/** 2049-12-31T23:59:59Z */
	until: 2_524_607_999,
} as const;

/**
 * Everything that it takes goes back to this root; no setting has another. Tests of the contract bring their
 * own.
 */
export async function deployAttestations(
	put: Put,
	root: { readonly key: CurvePoint; readonly until: number },
): Promise<Hex> {
	const code = await import("../abi/creation-code.ts");
	const { address: reader } = await put(code.intelReaderCode);
	const args = [root.key, root.until, reader] as const;
	return (await put(codeOf(attestationsAbi, code.attestationsCode, args))).address;
}

/**
 * Defaults of a real network: commit and reveal a tenth of an epoch each, an epoch to sign, four hours and
 * more to challenge, the providers' part paid in full from one whole score on. Where things are tried out:
 * four short windows, and whoever is there shares all of it.
 */
function epochsOf({ genesis, epochSeconds, windowSeconds, epochs = {} }: Schedule): EpochParams {
	const tenth = Math.max(1, Math.floor(epochSeconds / 10));
	const window = Math.min(windowSeconds ?? tenth, tenth);
	const isTrial = windowSeconds !== undefined;
	return {
		genesis,
		epochSeconds,
		commitSeconds: window,
		revealSeconds: window,
		signSeconds: isTrial ? window : epochSeconds,
		// The contract allows 62 epochs at most.
		challengeSeconds: isTrial ? window : Math.min(Math.max(4 * HOUR, epochSeconds), 62 * epochSeconds),
		// Two of three equal ones are enough.
		quorumPpm: 666_666,
		signerSlashPpm: 500_000,
		validatorPpm: 100_000,
		targetWeight: isTrial ? 0 : 1_000_000,
		stakePerWeight: isTrial ? LEAST_STAKE : 1000n * UNIT,
		...epochs,
	};
}

const windowsTogether = ({ commitSeconds, revealSeconds, signSeconds, challengeSeconds }: EpochParams): number =>
	commitSeconds + revealSeconds + signSeconds + challengeSeconds;

const storedParams = (params: EpochParams) => ({
	...params,
	genesis: BigInt(params.genesis),
	epochSeconds: BigInt(params.epochSeconds),
	commitSeconds: BigInt(params.commitSeconds),
	revealSeconds: BigInt(params.revealSeconds),
	signSeconds: BigInt(params.signSeconds),
	challengeSeconds: BigInt(params.challengeSeconds),
	targetWeight: BigInt(params.targetWeight),
});

/** Approve, then fund: what the first epochs can pay. */
export async function fundRewards(contracts: Contracts, from: ChainAccount, amount: bigint): Promise<void> {
	const { client, addresses } = contracts;
	await sendCall(client, from, callOf(contracts, "token", "approve", addresses.rewards, amount));
	await sendCall(client, from, callOf(contracts, "rewards", "fund", amount));
}

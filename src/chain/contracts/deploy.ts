// Puts the contracts on a chain. They name each other in immutable fields, so their addresses are
// predicted from the deployer's nonce; each constructor refuses when that went wrong. A deployment that was
// cut short starts over: half a set is never used.
import { encodeDeployData, getContractAddress, type Hex } from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import { assayTokenAbi } from "../abi/assay-token-abi.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import { rentalEscrowAbi } from "../abi/rental-escrow-abi.ts";
import { rewardsAbi } from "../abi/rewards-abi.ts";
import { rollCallAbi } from "../abi/roll-call-abi.ts";
import { scoreboardAbi } from "../abi/scoreboard-abi.ts";
import { slashingAbi } from "../abi/slashing-abi.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { sendCall } from "../sending/send-call.ts";
import type { ChainAccount } from "../sending/sign.ts";
import { type Contracts, callOf } from "./contracts.ts";
import type { RollCallParams } from "./roll-call.ts";

export interface Schedule {
	/** When epoch 0 begins, seconds since 1970. */
	readonly genesis: number;
	readonly epochSeconds: number;
	/** Of each window: at most, and by default, a tenth of an epoch. They follow one another within the next epoch. */
	readonly windowSeconds?: number;
	readonly rollCalls?: Partial<RollCallParams>;
}

const DAY = 86_400;
const UNIT = 10n ** 18n;
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

/** With a new AssayToken, whose whole supply the deployer gets. */
export async function deployContracts(
	client: ChainClient,
	deployer: ChainAccount,
	{ genesis, epochSeconds, windowSeconds = Number.POSITIVE_INFINITY, rollCalls = {} }: Schedule,
): Promise<Contracts> {
	// 130 KB: only a deployment loads it.
	const code = await import("../abi/creation-code.ts");
	const from = deployer.address;
	const put = async (data: Hex): Promise<{ address: Hex; block: number }> => {
		const { contractAddress, blockNumber } = await sendCall(client, deployer, { to: null, data });
		if (!contractAddress) throw new AssayError("CHAIN_REFUSED", "a contract was not deployed", { hint: "Try again." });
		return { address: contractAddress, block: Number(blockNumber) };
	};
	const tenth = Math.max(1, Math.floor(epochSeconds / 10));
	const window = BigInt(Math.min(windowSeconds, tenth));
	const supply = 1_000_000_000n * UNIT;
	const { address: token } = await put(
		encodeDeployData({ abi: assayTokenAbi, bytecode: code.assayTokenCode, args: [supply] }),
	);
	const nonce = BigInt(await client.viem.getTransactionCount({ address: from, blockTag: "pending" }));
	const predicted = (more: bigint) => getContractAddress({ from, nonce: nonce + more });
	const stakes = {
		minProviderStake: 10n * UNIT,
		minValidatorStake: 1000n * UNIT,
		unbondingSeconds: BigInt(Math.max(7 * DAY, 4 * tenth)),
		deviceSeconds: BigInt(7 * DAY),
		accuserPpm: 500_000,
	};
	const registry = await put(
		encodeDeployData({
			abi: registryAbi,
			bytecode: code.registryCode,
			args: [token, predicted(1n), predicted(3n), predicted(4n), from, stakes],
		}),
	);
	const epochs = {
		genesis: BigInt(genesis),
		epochSeconds: BigInt(epochSeconds),
		commitSeconds: window,
		revealSeconds: window,
		voidSeconds: window,
		challengeSeconds: window,
		quorumPpm: 666_666,
		proposerSlashPpm: 500_000,
	};
	const scoreboard = await put(
		encodeDeployData({
			abi: scoreboardAbi,
			bytecode: code.scoreboardCode,
			args: [registry.address, predicted(2n), epochs],
		}),
	);
	const emission = { emissionPerEpoch: 1000n * UNIT, claimSeconds: BigInt(90 * DAY) };
	const rewards = await put(
		encodeDeployData({ abi: rewardsAbi, bytecode: code.rewardsCode, args: [token, scoreboard.address, emission] }),
	);
	const shares = { gemmSlashPpm: 500_000, conflictSlashPpm: 1_000_000 };
	const slashing = await put(
		encodeDeployData({ abi: slashingAbi, bytecode: code.slashingCode, args: [registry.address, shares] }),
	);
	const rollCall = await put(
		encodeDeployData({
			abi: rollCallAbi,
			bytecode: code.rollCallCode,
			args: [registry.address, { ...ROLL_CALLS, ...rollCalls }],
		}),
	);
	const escrow = { burnPpm: 100_000, mostSeconds: 30 * DAY };
	const rentalEscrow = await put(
		encodeDeployData({ abi: rentalEscrowAbi, bytecode: code.rentalEscrowCode, args: [token, escrow] }),
	);
	const addresses = {
		chainId: client.chainId,
		token,
		registry: registry.address,
		scoreboard: scoreboard.address,
		rewards: rewards.address,
		slashing: slashing.address,
		rollCall: rollCall.address,
		rentalEscrow: rentalEscrow.address,
		deployedAtBlock: registry.block,
	};
	return { client, addresses };
}

/** Approve, then fund: what the first epochs can pay. */
export async function fundRewards(contracts: Contracts, from: ChainAccount, amount: bigint): Promise<void> {
	const { client, addresses } = contracts;
	await sendCall(client, from, callOf(contracts, "token", "approve", addresses.rewards, amount));
	await sendCall(client, from, callOf(contracts, "rewards", "fund", amount));
}

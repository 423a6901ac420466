// Puts the five contracts on a chain. They name each other in immutable fields, so their addresses are
// predicted from the deployer's nonce; each constructor refuses when that went wrong. A deployment that was
// cut short starts over: half a set is never used.
import { encodeDeployData, getContractAddress, type Hex } from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import { assayTokenAbi } from "../abi/assay-token-abi.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import { rewardsAbi } from "../abi/rewards-abi.ts";
import { scoreboardAbi } from "../abi/scoreboard-abi.ts";
import { slashingAbi } from "../abi/slashing-abi.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { sendCall } from "../sending/send-call.ts";
import type { ChainAccount } from "../sending/sign.ts";
import { type Contracts, callOf } from "./contracts.ts";

/** In seconds, millionths and the token's smallest unit. */
export interface DeployParams {
	/** Null: a new AssayToken whose whole supply the deployer gets. */
	readonly token: Hex | null;
	readonly supply: bigint;
	readonly minProviderStake: bigint;
	readonly minValidatorStake: bigint;
	readonly unbondingSeconds: number;
	readonly deviceSeconds: number;
	readonly accuserPpm: number;
	/** When epoch 0 begins, seconds since 1970. */
	readonly genesis: number;
	readonly epochSeconds: number;
	readonly commitSeconds: number;
	readonly revealSeconds: number;
	readonly voidSeconds: number;
	readonly challengeSeconds: number;
	readonly quorumPpm: number;
	readonly proposerSlashPpm: number;
	readonly emissionPerEpoch: bigint;
	readonly claimSeconds: number;
	readonly gemmSlashPpm: number;
	readonly conflictSlashPpm: number;
}

const DAY = 86_400;
const UNIT = 10n ** 18n;

/** For epochs of this length; the windows follow one another within the next epoch. */
export function deployDefaults({ genesis, epochSeconds }: { genesis: number; epochSeconds: number }): DeployParams {
	const window = Math.max(1, Math.floor(epochSeconds / 10));
	return {
		token: null,
		supply: 1_000_000_000n * UNIT,
		minProviderStake: 10n * UNIT,
		minValidatorStake: 1000n * UNIT,
		unbondingSeconds: Math.max(7 * DAY, 4 * window),
		deviceSeconds: 7 * DAY,
		accuserPpm: 500_000,
		genesis,
		epochSeconds,
		commitSeconds: window,
		revealSeconds: window,
		voidSeconds: window,
		challengeSeconds: window,
		quorumPpm: 666_666,
		proposerSlashPpm: 500_000,
		emissionPerEpoch: 1000n * UNIT,
		claimSeconds: 90 * DAY,
		gemmSlashPpm: 500_000,
		conflictSlashPpm: 1_000_000,
	};
}

export async function deployContracts(
	client: ChainClient,
	deployer: ChainAccount,
	params: DeployParams,
): Promise<Contracts> {
	// 90 KB: only a deployment loads it.
	const code = await import("../abi/creation-code.ts");
	const from = deployer.address;
	const put = async (data: Hex): Promise<{ address: Hex; block: number }> => {
		const { contractAddress, blockNumber } = await sendCall(client, deployer, { to: null, data });
		if (!contractAddress) throw new AssayError("CHAIN_REFUSED", "a contract was not deployed", { hint: "Try again." });
		return { address: contractAddress, block: Number(blockNumber) };
	};
	const { supply, minProviderStake, minValidatorStake, accuserPpm, quorumPpm, proposerSlashPpm } = params;
	const { emissionPerEpoch, gemmSlashPpm, conflictSlashPpm } = params;
	const token =
		params.token ??
		(await put(encodeDeployData({ abi: assayTokenAbi, bytecode: code.assayTokenCode, args: [supply] }))).address;
	const nonce = BigInt(await client.viem.getTransactionCount({ address: from, blockTag: "pending" }));
	const predicted = (more: bigint) => getContractAddress({ from, nonce: nonce + more });
	const stakes = {
		minProviderStake,
		minValidatorStake,
		unbondingSeconds: BigInt(params.unbondingSeconds),
		deviceSeconds: BigInt(params.deviceSeconds),
		accuserPpm,
	};
	const registry = await put(
		encodeDeployData({
			abi: registryAbi,
			bytecode: code.registryCode,
			args: [token, predicted(1n), predicted(3n), from, stakes],
		}),
	);
	const epochs = {
		genesis: BigInt(params.genesis),
		epochSeconds: BigInt(params.epochSeconds),
		commitSeconds: BigInt(params.commitSeconds),
		revealSeconds: BigInt(params.revealSeconds),
		voidSeconds: BigInt(params.voidSeconds),
		challengeSeconds: BigInt(params.challengeSeconds),
		quorumPpm,
		proposerSlashPpm,
	};
	const scoreboard = await put(
		encodeDeployData({
			abi: scoreboardAbi,
			bytecode: code.scoreboardCode,
			args: [registry.address, predicted(2n), epochs],
		}),
	);
	const rewards = await put(
		encodeDeployData({
			abi: rewardsAbi,
			bytecode: code.rewardsCode,
			args: [token, scoreboard.address, { emissionPerEpoch, claimSeconds: BigInt(params.claimSeconds) }],
		}),
	);
	const slashing = await put(
		encodeDeployData({
			abi: slashingAbi,
			bytecode: code.slashingCode,
			args: [registry.address, { gemmSlashPpm, conflictSlashPpm }],
		}),
	);
	const addresses = {
		chainId: client.chainId,
		token,
		registry: registry.address,
		scoreboard: scoreboard.address,
		rewards: rewards.address,
		slashing: slashing.address,
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

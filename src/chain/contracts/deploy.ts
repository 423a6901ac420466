// Puts the five contracts on a chain. They name each other in immutable fields, so their addresses are foretold from the deployer's nonce; each constructor
// refuses when that went wrong. A deployment that was cut short is begun anew: half a set is never used.
import { encodeDeployData, getContractAddress, type Hex } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { AssayError } from "../../protocol/assay-error.ts";
import { assayTokenAbi } from "../abi/assay-token-abi.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import { rewardsAbi } from "../abi/rewards-abi.ts";
import { scoreboardAbi } from "../abi/scoreboard-abi.ts";
import { slashingAbi } from "../abi/slashing-abi.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { sendCall } from "../sending/send-call.ts";
import { callOf } from "../sending/sign.ts";

export interface ContractAddresses {
	readonly chainId: number;
	readonly token: Hex;
	readonly registry: Hex;
	readonly scoreboard: Hex;
	readonly rewards: Hex;
	readonly slashing: Hex;
	/** Events are read from here on. */
	readonly deployedAtBlock: number;
}

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

/** For epochs of this length, as docs/network.md has them; the windows follow one another within the next epoch. */
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
	deployer: PrivateKeyAccount,
	p: DeployParams,
): Promise<ContractAddresses> {
	// 90 KB: only a deployment loads it.
	const code = await import("../abi/creation-code.ts");
	const from = deployer.address;
	const put = async (data: Hex): Promise<{ address: Hex; block: number }> => {
		const { contractAddress, blockNumber } = await sendCall(client, deployer, { to: null, data });
		if (!contractAddress) throw new AssayError("CHAIN_REFUSED", "a contract was not deployed", { hint: "Try again." });
		return { address: contractAddress, block: Number(blockNumber) };
	};
	const token =
		p.token ??
		(await put(encodeDeployData({ abi: assayTokenAbi, bytecode: code.assayTokenCode, args: [p.supply] }))).address;
	const nonce = BigInt(await client.viem.getTransactionCount({ address: from, blockTag: "pending" }));
	const foretold = (more: bigint) => getContractAddress({ from, nonce: nonce + more });
	const { minProviderStake, minValidatorStake, deviceSeconds, unbondingSeconds, accuserPpm } = p;
	const registry = await put(
		encodeDeployData({
			abi: registryAbi,
			bytecode: code.registryCode,
			args: [
				token,
				foretold(1n),
				foretold(3n),
				from,
				{
					minProviderStake,
					minValidatorStake,
					unbondingSeconds: BigInt(unbondingSeconds),
					deviceSeconds: BigInt(deviceSeconds),
					accuserPpm,
				},
			],
		}),
	);
	const scoreboard = await put(
		encodeDeployData({
			abi: scoreboardAbi,
			bytecode: code.scoreboardCode,
			args: [
				registry.address,
				foretold(2n),
				{
					genesis: BigInt(p.genesis),
					epochSeconds: BigInt(p.epochSeconds),
					commitSeconds: BigInt(p.commitSeconds),
					revealSeconds: BigInt(p.revealSeconds),
					voidSeconds: BigInt(p.voidSeconds),
					challengeSeconds: BigInt(p.challengeSeconds),
					quorumPpm: p.quorumPpm,
					proposerSlashPpm: p.proposerSlashPpm,
				},
			],
		}),
	);
	const rewards = await put(
		encodeDeployData({
			abi: rewardsAbi,
			bytecode: code.rewardsCode,
			args: [token, scoreboard.address, { emissionPerEpoch: p.emissionPerEpoch, claimSeconds: BigInt(p.claimSeconds) }],
		}),
	);
	const slashing = await put(
		encodeDeployData({
			abi: slashingAbi,
			bytecode: code.slashingCode,
			args: [registry.address, { gemmSlashPpm: p.gemmSlashPpm, conflictSlashPpm: p.conflictSlashPpm }],
		}),
	);
	return {
		chainId: client.chainId,
		token,
		registry: registry.address,
		scoreboard: scoreboard.address,
		rewards: rewards.address,
		slashing: slashing.address,
		deployedAtBlock: registry.block,
	};
}

/** Approve, then fund: what the first epochs can pay. */
export async function fundRewards(
	client: ChainClient,
	from: PrivateKeyAccount,
	{ token, rewards }: ContractAddresses,
	amount: bigint,
): Promise<void> {
	await sendCall(client, from, callOf(token, { abi: assayTokenAbi, functionName: "approve", args: [rewards, amount] }));
	await sendCall(client, from, callOf(rewards, { abi: rewardsAbi, functionName: "fund", args: [amount] }));
}

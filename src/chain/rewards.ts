// Rewards.sol: pots of epochs, claims, what is carried over. Typed reads and calls; docs/chain.md.
import type { Hex } from "viem";
import { rewardsAbi } from "./abi/rewards-abi.ts";
import { type Call, type ChainClient, callOf } from "./chain-client.ts";
import type { ContractAddresses } from "./deploy.ts";
import type { ChainOpening, ChainProposal, ChainWeightLeaf } from "./scoreboard.ts";

/** What an epoch pays: fixed with its first proposal, foretold before that. */
export async function readEmission({ viem }: ChainClient, at: ContractAddresses, epoch: number): Promise<bigint> {
	const contract = { address: at.rewards, abi: rewardsAbi } as const;
	const [any, last] = await viem.readContract({ ...contract, functionName: "lastFixed" });
	if (any && BigInt(epoch) <= last)
		return (await viem.readContract({ ...contract, functionName: "potOf", args: [BigInt(epoch)] }))[0];
	const [{ emissionPerEpoch }, reserve, carry] = await Promise.all([
		viem.readContract({ ...contract, functionName: "params" }),
		viem.readContract({ ...contract, functionName: "reserve" }),
		viem.readContract({ ...contract, functionName: "carry" }),
	]);
	return (reserve < emissionPerEpoch ? reserve : emissionPerEpoch) + carry;
}

/** The newest epoch whose emission is fixed; older ones that are not can never be proposed any more. Null before the first. */
export async function readLastFixed({ viem }: ChainClient, at: ContractAddresses): Promise<number | null> {
	const [any, epoch] = await viem.readContract({ address: at.rewards, abi: rewardsAbi, functionName: "lastFixed" });
	return any ? Number(epoch) : null;
}

export async function readPot({ viem }: ChainClient, at: ContractAddresses, epoch: number) {
	const [pot, paid, swept] = await viem.readContract({
		address: at.rewards,
		abi: rewardsAbi,
		functionName: "potOf",
		args: [BigInt(epoch)],
	});
	return { pot, paid, swept };
}

export const readReserve = ({ viem }: ChainClient, at: ContractAddresses): Promise<bigint> =>
	viem.readContract({ address: at.rewards, abi: rewardsAbi, functionName: "reserve" });

export const readIsClaimed = ({ viem }: ChainClient, at: ContractAddresses, epoch: number, provider: Hex) =>
	viem.readContract({
		address: at.rewards,
		abi: rewardsAbi,
		functionName: "isClaimed",
		args: [BigInt(epoch), provider],
	});

export const claimCall = (
	at: ContractAddresses,
	epoch: number,
	proposal: ChainProposal,
	opening: ChainOpening<ChainWeightLeaf>,
): Call => callOf(at.rewards, { abi: rewardsAbi, functionName: "claim", args: [BigInt(epoch), proposal, opening] });

export const sweepCall = (at: ContractAddresses, epoch: number): Call =>
	callOf(at.rewards, { abi: rewardsAbi, functionName: "sweep", args: [BigInt(epoch)] });

/** What was paid to whom in an epoch, from its events. */
export async function readClaims({ viem }: ChainClient, at: ContractAddresses, epoch: number) {
	const logs = await viem.getContractEvents({
		address: at.rewards,
		abi: rewardsAbi,
		eventName: "Claimed",
		args: { epoch: BigInt(epoch) },
		fromBlock: BigInt(at.deployedAtBlock),
		strict: true,
	});
	return logs.map(({ args }) => ({ provider: args.provider.toLowerCase() as Hex, amount: args.amount }));
}

// Rewards.sol: pots of epochs, claims (from then on a share is owed), collections (it is paid), what is carried over. Typed reads and calls;
// docs/chain.md §4.
import { encodeFunctionData, type Hex } from "viem";
import { rewardsAbi } from "../abi/rewards-abi.ts";
import type { ChainClient } from "../node/chain-client.ts";
import { type Call, callOf } from "../sending/sign.ts";
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

/** `paid` is what providers have claimed of the pot, collected or not. */
export async function readPot({ viem }: ChainClient, at: ContractAddresses, epoch: number) {
	const [pot, paid, swept] = await viem.readContract({
		address: at.rewards,
		abi: rewardsAbi,
		functionName: "potOf",
		args: [BigInt(epoch)],
	});
	return { pot, paid, swept };
}

/** How long after it became final an epoch's rewards may be claimed. What is owed does not lapse. */
export async function readClaimSeconds({ viem }: ChainClient, at: ContractAddresses): Promise<number> {
	const params = await viem.readContract({ address: at.rewards, abi: rewardsAbi, functionName: "params" });
	return Number(params.claimSeconds);
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

/** What a provider has claimed of this many epochs lies in one slot of the contract: a word. */
const WORD_EPOCHS = 128;

export const wordOf = (epoch: number): number => Math.floor(epoch / WORD_EPOCHS);

export interface OwedWord {
	readonly word: number;
	readonly amount: bigint;
}

/** What a provider may collect of all epochs until this one, word by word; words without anything are left out. */
export async function readOwed(
	{ viem }: ChainClient,
	at: ContractAddresses,
	provider: Hex,
	lastEpoch: number,
): Promise<readonly OwedWord[]> {
	const words = Array.from({ length: wordOf(Math.max(0, lastEpoch)) + 1 }, (_, word) => word);
	const contract = { address: at.rewards, abi: rewardsAbi, functionName: "owedOf" } as const;
	const found: OwedWord[] = [];
	// A year of hours is 69 words; a chunk stays far below what a node lets a call cost.
	for (let from = 0; from < words.length; from += 1000) {
		const chunk = words.slice(from, from + 1000);
		const amounts = await viem.readContract({ ...contract, args: [provider, chunk.map(BigInt)] });
		found.push(...chunk.map((word, i) => ({ word, amount: amounts[i] ?? 0n })));
	}
	return found.filter(({ amount }) => amount > 0n);
}

/** One epoch's share of one provider: its leaf among the final weights. */
export interface RewardClaim {
	readonly epoch: number;
	readonly proposal: ChainProposal;
	readonly opening: ChainOpening<ChainWeightLeaf>;
}

const claimArguments = ({ epoch, proposal, opening }: RewardClaim) =>
	({ abi: rewardsAbi, functionName: "claim", args: [BigInt(epoch), proposal, opening] }) as const;

const collectArguments = (provider: Hex, words: readonly number[]) =>
	({ abi: rewardsAbi, functionName: "collect", args: [provider, words.map(BigInt)] }) as const;

/** From then on the provider of the leaf is owed its share. Nothing is paid yet. */
export const claimCall = (
	at: ContractAddresses,
	epoch: number,
	proposal: ChainProposal,
	opening: ChainOpening<ChainWeightLeaf>,
): Call => callOf(at.rewards, claimArguments({ epoch, proposal, opening }));

/** Pays the provider what it is owed of these words. */
export const collectCall = (at: ContractAddresses, provider: Hex, words: readonly number[]): Call =>
	callOf(at.rewards, collectArguments(provider, words));

/** Several claims, of whomever, in one transaction: all of them or none. */
export function claimAllCall(at: ContractAddresses, claims: readonly RewardClaim[]): Call {
	const [first, ...more] = claims;
	if (first !== undefined && more.length === 0) return callOf(at.rewards, claimArguments(first));
	const calls = claims.map((claim) => encodeFunctionData(claimArguments(claim)));
	return callOf(at.rewards, { abi: rewardsAbi, functionName: "multicall", args: [calls] });
}

/** Claims of one provider and their payment, with what it was owed of `words` before, in one transaction: all of it or nothing. */
export function claimAndCollectCall(
	at: ContractAddresses,
	provider: Hex,
	claims: readonly RewardClaim[],
	words: readonly number[] = [],
): Call {
	if (claims.length === 0) return collectCall(at, provider, words);
	const paid = [...new Set([...words, ...claims.map(({ epoch }) => wordOf(epoch))])].sort((a, b) => a - b);
	const calls = [
		...claims.map((claim) => encodeFunctionData(claimArguments(claim))),
		encodeFunctionData(collectArguments(provider, paid)),
	];
	return callOf(at.rewards, { abi: rewardsAbi, functionName: "multicall", args: [calls] });
}

/** What was claimed for whom of an epoch, from its events. */
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

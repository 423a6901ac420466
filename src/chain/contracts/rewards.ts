// Rewards.sol: pots of epochs, claims (from then on a share is owed), collections (it is paid), what is
// carried over. The rest is `read` and `callOf` of contracts.ts by name; docs/epochs.md §3.
import type { Hex } from "viem";
import type { Opening, Proposal, WeightLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Call } from "../sending/sign.ts";
import { type Contracts, callOf, read, readEvents } from "./contracts.ts";

/** What an epoch pays: fixed with its first proposal, predicted before that. */
export async function readEmission(contracts: Contracts, epoch: number): Promise<bigint> {
	const last = await readLastFixed(contracts);
	if (last !== null && epoch <= last) return (await readPot(contracts, epoch)).pot;
	const [{ emissionPerEpoch }, reserve, carry] = await Promise.all([
		read(contracts, "rewards", "params"),
		read(contracts, "rewards", "reserve"),
		read(contracts, "rewards", "carry"),
	]);
	return (reserve < emissionPerEpoch ? reserve : emissionPerEpoch) + carry;
}

/** The newest epoch whose emission is fixed; older epochs can no longer get one. Null before the first. */
export async function readLastFixed(contracts: Contracts): Promise<number | null> {
	const [any, epoch] = await read(contracts, "rewards", "lastFixed");
	return any ? Number(epoch) : null;
}

/** `paid` is what providers have claimed of the pot, collected or not. */
export async function readPot(contracts: Contracts, epoch: number) {
	const [pot, paid, swept] = await read(contracts, "rewards", "potOf", BigInt(epoch));
	return { pot, paid, swept };
}

/** What a provider has claimed of this many epochs lies in one slot of the contract: a word. */
const WORD_EPOCHS = 128;

export const wordOf = (epoch: number): number => Math.floor(epoch / WORD_EPOCHS);

export interface OwedWord {
	readonly word: number;
	readonly amount: bigint;
}

/** What a provider may collect of all epochs up to this one, word by word, without empty words. */
export async function readOwed(contracts: Contracts, provider: Hex, lastEpoch: number): Promise<readonly OwedWord[]> {
	const words = Array.from({ length: wordOf(Math.max(0, lastEpoch)) + 1 }, (_, word) => word);
	const found: OwedWord[] = [];
	// A year of hours is 69 words; a chunk stays far below what a node lets a call cost.
	for (let from = 0; from < words.length; from += 1000) {
		const chunk = words.slice(from, from + 1000);
		const amounts = await read(contracts, "rewards", "owedOf", provider, chunk.map(BigInt));
		found.push(...chunk.map((word, i) => ({ word, amount: amounts[i] ?? 0n })));
	}
	return found.filter(({ amount }) => amount > 0n);
}

/** One epoch's share of one provider: its leaf among the final weights. */
export interface RewardClaim {
	readonly epoch: number;
	readonly proposal: Proposal;
	readonly opening: Opening<WeightLeaf>;
}

/** From then on the provider of the leaf is owed its share. Nothing is paid yet. */
export const claimCall = (contracts: Contracts, { epoch, proposal, opening }: RewardClaim): Call =>
	callOf(contracts, "rewards", "claim", BigInt(epoch), proposal, opening);

/** Pays the provider what it is owed of these words. */
export const collectCall = (contracts: Contracts, provider: Hex, words: readonly number[]): Call =>
	callOf(contracts, "rewards", "collect", provider, words.map(BigInt));

/** All of them or none, in one transaction. */
const together = (contracts: Contracts, calls: readonly Call[]): Call =>
	calls.length === 1
		? calls[0]!
		: callOf(
				contracts,
				"rewards",
				"multicall",
				calls.map(({ data }) => data),
			);

/** Several claims, of whomever. */
export const claimAllCall = (contracts: Contracts, claims: readonly RewardClaim[]): Call =>
	together(
		contracts,
		claims.map((claim) => claimCall(contracts, claim)),
	);

/** Claims of one provider and their payment, with what it was owed of `words` before. */
export function claimAndCollectCall(
	contracts: Contracts,
	provider: Hex,
	claims: readonly RewardClaim[],
	words: readonly number[] = [],
): Call {
	const paid = [...new Set([...words, ...claims.map(({ epoch }) => wordOf(epoch))])].sort((a, b) => a - b);
	const collect = collectCall(contracts, provider, paid);
	return together(contracts, [...claims.map((claim) => claimCall(contracts, claim)), collect]);
}

/** What was claimed for whom of an epoch, from its events. */
export async function readClaims(contracts: Contracts, epoch: number) {
	const logs = await readEvents(contracts, "rewards", "Claimed", { epoch: BigInt(epoch) });
	return logs.map(({ args }) => ({ provider: args.provider.toLowerCase() as Hex, amount: args.amount }));
}

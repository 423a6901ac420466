// Rewards.sol: what an epoch may pay, what was paid to whom, and the one call that pays an account all that
// it has earned so far. The rest is `read` and `callOf` of contracts.ts by name; docs/epochs.md §3.
import type { Hex } from "viem";
import type { Opening, RewardLeaf, Weights } from "../../protocol/chain/epoch-shapes.ts";
import type { Call } from "../sending/sign.ts";
import { type Contracts, callOf, read, readEvents } from "./contracts.ts";
import { readHead, readPosted } from "./scoreboard.ts";

/** What an epoch pays at most, if it continues the weights that stand now. */
export async function readEmission(contracts: Contracts, epoch: number): Promise<bigint> {
	const head = await readHead(contracts);
	const allocated = head === null ? 0n : ((await readPosted(contracts, head))?.total ?? 0n);
	return read(contracts, "scoreboard", "potOf", BigInt(epoch), allocated);
}

/** One account's leaf among final weights: all that it has earned up to them. */
export interface RewardClaim {
	readonly weights: Weights;
	readonly opening: Opening<RewardLeaf>;
}

/** Pays the account of the leaf what it has earned and was not paid yet, to its payout address. */
export const claimCall = (contracts: Pick<Contracts, "addresses">, { weights, opening }: RewardClaim): Call =>
	callOf(contracts, "rewards", "claim", weights, opening);

/** What the account was paid in all. */
export const readClaimed = (contracts: Contracts, account: Hex): Promise<bigint> =>
	read(contracts, "rewards", "claimedOf", account);

/** Every payment, oldest first; of one account, or of all. */
export async function readClaims(contracts: Contracts, account?: Hex) {
	const logs = await readEvents(contracts, "rewards", "Claimed", account === undefined ? undefined : { account });
	return logs.map(({ args, blockNumber }) => ({
		account: args.account.toLowerCase() as Hex,
		to: args.to.toLowerCase() as Hex,
		amount: args.amount,
		/** What it was paid in all with it. */
		total: args.total,
		block: Number(blockNumber),
	}));
}

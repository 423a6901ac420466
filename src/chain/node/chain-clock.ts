// What time it is for the contracts: the timestamp that a transaction of now would see. A chain's clock and
// ours may differ by more than a short window lasts; a node for development runs ahead by a second with each
// block.
import type { ChainClient } from "./chain-client.ts";

/** Seconds since 1970. `ownS` is our own clock, for nodes that do not show their pending block. */
export async function readChainTime({ viem }: ChainClient, ownS: number): Promise<number> {
	const next = await viem.getBlock({ blockTag: "pending" }).catch(() => null);
	if (next !== null) return Number(next.timestamp);
	const { timestamp } = await viem.getBlock();
	return Math.max(Number(timestamp), ownS);
}

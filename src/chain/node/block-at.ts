// The first block of a moment or later, found by halves: so that the events of an epoch are asked for from
// its end on, and not from the deployment (a chain's whole life, at every look). What was found is kept where
// it is too deep to change.
import { BoundedMap } from "../../platform/bounded-map.ts";
import type { ChainClient } from "./chain-client.ts";

const MAX_KEPT = 1000;
const kept = new WeakMap<ChainClient["viem"], BoundedMap<string, number>>();

/** `timeS`: seconds since 1970. Not before `least`; one after the newest block when all are earlier. */
export async function blockAt({ viem, confirmations }: ChainClient, timeS: number, least: number): Promise<number> {
	const known = kept.get(viem) ?? new BoundedMap(MAX_KEPT);
	kept.set(viem, known);
	const key = `${timeS}/${least}`;
	const before = known.get(key);
	if (before !== undefined) return before;
	const head = Number(await viem.getBlockNumber());
	let [low, high] = [least, head + 1];
	while (low < high) {
		const middle = Math.floor((low + high) / 2);
		const { timestamp } = await viem.getBlock({ blockNumber: BigInt(middle) });
		if (Number(timestamp) < timeS) low = middle + 1;
		else high = middle;
	}
	if (low <= head + 1 - confirmations) known.set(key, low);
	return low;
}

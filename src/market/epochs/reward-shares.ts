// An emission split by weight into whole units that sum exactly to it: largest remainders, ties by provider id. docs/network.md §5.
import type { RewardShares } from "./validator-report.ts";

export function rewardShares(
	weights: readonly { readonly providerId: string; readonly weightPpm: number }[],
	emission: bigint,
): RewardShares {
	if (emission < 0n) throw new RangeError("an emission cannot be negative");
	if (new Set(weights.map(({ providerId }) => providerId)).size !== weights.length)
		throw new RangeError("a provider has two weights");
	const total = weights.reduce((sum, { weightPpm }) => sum + BigInt(weightPpm), 0n);
	if (total === 0n) return { shares: [], undistributed: emission };
	const parts = weights.map(({ providerId, weightPpm }) => {
		const exact = emission * BigInt(weightPpm);
		return { providerId, whole: exact / total, remainder: exact % total };
	});
	// Fewer units are left over than there are remainders above 0, so nobody of weight 0 gets one.
	const left = emission - parts.reduce((sum, { whole }) => sum + whole, 0n);
	const order = [...parts].sort((a, b) =>
		a.remainder === b.remainder ? (a.providerId < b.providerId ? -1 : 1) : a.remainder > b.remainder ? -1 : 1,
	);
	const lucky = new Set(order.slice(0, Number(left)).map(({ providerId }) => providerId));
	const shares = parts
		.map(({ providerId, whole }) => ({ providerId, amount: lucky.has(providerId) ? whole + 1n : whole }))
		.filter(({ amount }) => amount > 0n)
		.sort((a, b) => (a.providerId < b.providerId ? -1 : 1));
	return { shares, undistributed: 0n };
}

// An emission split by weight into whole units that sum exactly to it: largest remainders, ties by provider id. docs/scores.md.

export interface RewardShare<Name extends string> {
	readonly provider: Name;
	readonly amount: bigint;
}

/** Sorted by provider, amounts above 0 only. INVARIANT: they sum to the emission, unless every weight is 0: then there are none. */
export function rewardShares<Name extends string>(
	weights: readonly { readonly provider: Name; readonly weightPpm: number }[],
	emission: bigint,
): readonly RewardShare<Name>[] {
	if (emission < 0n) throw new RangeError("an emission cannot be negative");
	if (new Set(weights.map(({ provider }) => provider)).size !== weights.length)
		throw new RangeError("a provider has two weights");
	const total = weights.reduce((sum, { weightPpm }) => sum + BigInt(weightPpm), 0n);
	if (total === 0n) return [];
	const parts = weights.map(({ provider, weightPpm }) => {
		const exact = emission * BigInt(weightPpm);
		return { provider, whole: exact / total, remainder: exact % total };
	});
	// Fewer units are left over than there are remainders above 0, so nobody of weight 0 gets one.
	const left = emission - parts.reduce((sum, { whole }) => sum + whole, 0n);
	const order = [...parts].sort((a, b) =>
		a.remainder === b.remainder ? (a.provider < b.provider ? -1 : 1) : a.remainder > b.remainder ? -1 : 1,
	);
	const lucky = new Set(order.slice(0, Number(left)).map(({ provider }) => provider));
	return parts
		.map(({ provider, whole }) => ({ provider, amount: lucky.has(provider) ? whole + 1n : whole }))
		.filter(({ amount }) => amount > 0n)
		.sort((a, b) => (a.provider < b.provider ? -1 : 1));
}

// The median of scores by stake: what several validators' reports make together. docs/scores.md. As long as
// those who lie hold less than half of the stake, it lies between two honest reports.

export interface Vote {
	/** In the token's smallest unit. */
	readonly stake: bigint;
	readonly scorePpm: number;
}

/**
 * The least score at or below which at least half of the stake lies. With stakes in balance that is the lower
 * of the two.
 */
export function weightedMedian(votes: readonly Vote[]): number {
	const sorted = [...votes].sort((a, b) => a.scorePpm - b.scorePpm);
	const total = sorted.reduce((sum, { stake }) => sum + stake, 0n);
	let below = 0n;
	for (const { stake, scorePpm } of sorted) {
		below += stake;
		if (stake > 0n && 2n * below >= total) return scorePpm;
	}
	return 0;
}

// What validators report at an epoch's end, and what the network makes of it. Shapes only; the rule is in network-weights.ts.

export interface ValidatorReport {
	readonly validatorId: string;
	/** In the token's smallest unit. */
	readonly stake: bigint;
	/** Ppm by provider. Null: nothing was reported this epoch. A provider that is left out of a report counts as 0 in it. */
	readonly scores: Readonly<Record<string, number>> | null;
}

export interface NetworkWeight {
	readonly providerId: string;
	readonly weightPpm: number;
	/** Stake-weighted median of the reports as they came: equals weightPpm, see network-weights.ts. */
	readonly medianPpm: number;
	readonly lowPpm: number;
	readonly highPpm: number;
	/** Reports that lay outside low … high, and so were clipped. */
	readonly clipped: readonly { readonly validatorId: string; readonly scorePpm: number }[];
}

export interface NetworkWeights {
	/** False: too little stake reported; the weights are then empty and those of the last epoch stand. */
	readonly quorum: boolean;
	readonly reportedStake: bigint;
	readonly totalStake: bigint;
	/** Sorted by providerId. Providers of weight 0 are listed. */
	readonly weights: readonly NetworkWeight[];
	/** Reports that count as not made, and why. */
	readonly refused: readonly { readonly validatorId: string; readonly why: string }[];
}

export interface RewardShares {
	/** Sorted by providerId, amounts above 0 only. INVARIANT: Σ amount + undistributed = emission. */
	readonly shares: readonly { readonly providerId: string; readonly amount: bigint }[];
	/** The whole emission when every weight is 0, else 0. */
	readonly undistributed: bigint;
}

// Which epoch's weights became final last, and what of all that was earned up to them can still be claimed:
// what people wait for. Only looks; paying out is `assay claim`.
import { type Contracts, read } from "../../chain/contracts/contracts.ts";
import { readFinal, readHead, readPosted } from "../../chain/contracts/scoreboard.ts";

export interface FinalEpoch {
	readonly epoch: number;
	/**
	 * The token's smallest unit, of this epoch and all before it; 0 when nobody earned anything or all was
	 * paid.
	 */
	readonly claimable: bigint;
	/** Whether any provider had a weight in this epoch: validators earn their part without one. */
	readonly isAnyScored: boolean;
}

/** Weights that stand and are not final yet: the contract allows no more. */
const MAX_BACK = 64;

export function createFinalWatch(contracts: Contracts) {
	let newest: FinalEpoch | null = null;
	return {
		/** As of the last look. */
		newest: () => newest,
		/** The epoch whose weights are newly final since the last look; null: none. */
		async look(): Promise<FinalEpoch | null> {
			let epoch = await readHead(contracts);
			for (let back = 0; back < MAX_BACK && epoch !== null; back++) {
				if (newest !== null && epoch <= newest.epoch) return null;
				const final = await readFinal(contracts, epoch);
				if (final !== null) {
					const claimed = await read(contracts, "rewards", "claimedTotal");
					newest = { epoch, claimable: final.total - claimed, isAnyScored: final.weights.totalWeight > 0n };
					return newest;
				}
				epoch = (await readPosted(contracts, epoch))?.previous ?? null;
			}
			return null;
		},
	};
}

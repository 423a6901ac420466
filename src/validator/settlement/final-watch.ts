// Which epoch's weights became final last, and what of its rewards can still be claimed: what people wait
// for. Only looks; paying out is `assay claim`.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { readLastFixed, readPot } from "../../chain/contracts/rewards.ts";
import { readFinal, readProposed } from "../../chain/contracts/scoreboard.ts";

export interface FinalEpoch {
	readonly epoch: number;
	/** The token's smallest unit; 0 when nobody had weight or all was claimed. */
	readonly claimable: bigint;
	/** That had a weight. */
	readonly providers: number;
}

export function createFinalWatch(contracts: Contracts) {
	let newest: FinalEpoch | null = null;
	return {
		/** As of the last look. */
		newest: () => newest,
		/** The epoch whose weights are newly final since the last look; null: none. */
		async look(): Promise<FinalEpoch | null> {
			const epoch = await readLastFixed(contracts);
			if (epoch === null || (newest !== null && epoch <= newest.epoch)) return null;
			const digest = await readFinal(contracts, epoch);
			if (digest === null) return null;
			const { pot, paid } = await readPot(contracts, epoch);
			// An epoch in which nobody had weight has a pot that nobody can claim.
			const providers = (await readProposed(contracts, epoch, digest))?.count ?? 0;
			newest = { epoch, claimable: providers === 0 ? 0n : pot - paid, providers };
			return newest;
		},
	};
}

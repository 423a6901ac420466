// Which epoch's weights became final last, and what of its rewards can still be claimed: what people wait for. Only looks; paying out is `assay claim`.

import type { ContractAddresses } from "../../chain/contracts/deploy.ts";
import { readLastFixed, readPot } from "../../chain/contracts/rewards.ts";
import { readFinal, readProposed } from "../../chain/contracts/scoreboard.ts";
import type { ChainClient } from "../../chain/node/chain-client.ts";

export interface FinalEpoch {
	readonly epoch: number;
	/** The token's smallest unit; 0 when nobody had weight or all was claimed. */
	readonly claimable: bigint;
	/** That had a weight. */
	readonly providers: number;
}

export interface FinalWatch {
	/** The epoch whose weights are newly final since the last look; null: none. */
	look(): Promise<FinalEpoch | null>;
	/** As of the last look. */
	readonly newest: () => FinalEpoch | null;
}

export function createFinalWatch(client: ChainClient, at: ContractAddresses): FinalWatch {
	let newest: FinalEpoch | null = null;
	return {
		newest: () => newest,
		async look() {
			const epoch = await readLastFixed(client, at);
			if (epoch === null || (newest !== null && epoch <= newest.epoch)) return null;
			const digest = await readFinal(client, at, epoch);
			if (digest === null) return null;
			const { pot, paid } = await readPot(client, at, epoch);
			// An epoch in which nobody had weight has a pot that nobody can claim.
			const providers = (await readProposed(client, at, epoch, digest))?.count ?? 0;
			newest = { epoch, claimable: providers === 0 ? 0n : pot - paid, providers };
			return newest;
		},
	};
}

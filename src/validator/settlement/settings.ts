// Settings of a validator's chain and their defaults. Apart from home.ts, so that a validator without a
// chain loads nothing of it.
import type { ContractAddresses } from "../../chain/contracts/contracts.ts";

export interface ChainSettings {
	/** Null: the embedded chain in the data folder. */
	readonly rpcUrl: string | null;
	/** On a chain of one's own they are deployed at the first start. */
	readonly contracts: ContractAddresses | null;
	/** Blocks until something counts; null: 1 on the embedded chain, 12 elsewhere. */
	readonly confirmations: number | null;
	/** Most that is offered for a unit of gas, in 10⁹ of the coin's smallest unit. */
	readonly mostFeeGwei: number;
	/** Whole tokens that this validator stakes on the embedded chain. */
	readonly stakeTokens: number;
	/** Length of an epoch of the embedded chain. */
	readonly epochSeconds: number;
	/** Longest a window of the embedded chain is, in seconds; a tenth of an epoch otherwise. */
	readonly windowSeconds: number;
	/** Seconds from the deployment to the end of the embedded chain's first epoch; at most an epoch. */
	readonly firstEpochSeconds: number;
}

export const chainDefaults: ChainSettings = {
	rpcUrl: null,
	contracts: null,
	confirmations: null,
	// Five times Ethereum's most expensive hours of recent years.
	mostFeeGwei: 500,
	stakeTokens: 10_000,
	// 72 min of probing and then some, as SN27's tempo of 360 blocks.
	epochSeconds: 4320,
	// One process commits, reveals and proposes within seconds of the windows' beginnings.
	windowSeconds: 20,
	// A first probe and its score take 7 to 20 s: measured on 2 arm64 cores and on a host with an H200.
	firstEpochSeconds: 60,
};

// Settings of a validator's chain and their defaults. Apart from home.ts, so that a validator without a
// chain loads nothing of it.
import type { ContractAddresses } from "../../chain/contracts/contracts.ts";

export const chainDefaults = {
	/** Null: the embedded chain in the data folder. */
	rpcUrl: null as string | null,
	/** A node of that chain for everybody's wallets; `rpcUrl` may have a password in it. */
	publicRpcUrl: null as string | null,
	/** On a chain of one's own they are deployed at the first start. */
	contracts: null as ContractAddresses | null,
	/** Blocks until something counts; null: 1 on the embedded chain, 12 elsewhere. */
	confirmations: null as number | null,
	/** Most that is offered for a unit of gas, in 10⁹ of the coin's smallest unit: see chain-client.ts. */
	mostFeeGwei: 500,
	/** Whole tokens that this validator stakes on the embedded chain. */
	stakeTokens: 10_000,
	/**
	 * Length of an epoch of the embedded chain: 72 min of probing and then some, as SN27's tempo of 360 blocks.
	 */
	epochSeconds: 4320,
	/**
	 * Longest a window of the embedded chain is; a tenth of an epoch otherwise. One process commits, reveals,
	 * signs and posts within seconds of the windows' beginnings.
	 */
	windowSeconds: 20,
	/**
	 * From the deployment to the end of the embedded chain's first epoch; at most an epoch. A first probe takes
	 * 7 to 20 s (measured on 2 arm64 cores and on a host with an H200); the first roll call comes with the next
	 * block, at most 12 s later, and takes some 15 s.
	 */
	firstEpochSeconds: 90,
	/**
	 * Of the embedded chain, where whoever tries things out sees a call within a minute: every block calls, and
	 * validators take a rest between calls. Answers have 5 s, the commitment is mined at once.
	 */
	rollCalls: { every: 1, windowSeconds: 10 } as { every: number; windowSeconds: number; isDrand?: boolean },
};
export type ChainSettings = Readonly<typeof chainDefaults>;

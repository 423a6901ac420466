// Where each epoch of the chain is: running, commit, reveal, void, challenge, final, or without weights for ever. By the clock, the parameters and what was sent; and the
// parameters themselves, which never change. Page: docs/chain.md §3.

import type { Chain, ChainPhase } from "../../../api/types.ts";
import { type Contracts, read } from "../../../chain/contracts/contracts.ts";
import { type EpochParams, readEpochParams, windowsOf } from "../../../chain/contracts/scoreboard.ts";
import type { PastEpoch } from "../../../chain/history/chain-history.ts";
import type { Environment } from "../../../platform/environment.ts";
import { safeText } from "../../../protocol/bytes/safe-text.ts";
import { standing } from "./leaves.ts";
import type { ChainReader } from "./reader.ts";

/** Set at the deployment. */
export interface FixedChain {
	readonly epochs: EpochParams;
	readonly registry: Awaited<ReturnType<typeof readRegistry>>;
	readonly emission: { readonly emissionPerEpoch: bigint; readonly claimSeconds: bigint };
	readonly symbol: string;
	readonly decimals: number;
	readonly deployedAtS: number;
}

export interface ChainPhases {
	fixed(): Promise<FixedChain>;
	/** The epoch that runs; null before the first. */
	currentOf(f: FixedChain): number | null;
	/** Of an epoch that blocks have left behind: it does not change any more. */
	totalAtEnd(endsAt: number): Promise<bigint>;
	windows(f: FixedChain, number: number, past: PastEpoch): Promise<Chain["inFlight"][number]>;
	/** When a proposal that was sent in this block is final. */
	finalOf(f: FixedChain, block: number): Promise<number>;
}

export const PPM = 1_000_000n;

const readRegistry = (contracts: Contracts) => read(contracts, "registry", "params");

/** Stake of the reports that count. */
export const countedOf = (past: PastEpoch): bigint =>
	[...past.reports.values()].reduce((sum, { stake, voided }) => (voided === null ? sum + (stake ?? 0n) : sum), 0n);

export function createChainPhases(reader: ChainReader, env: Pick<Environment, "nowMs">): ChainPhases {
	const { contracts } = reader;
	const { client, addresses } = contracts;

	const fixed = (): Promise<FixedChain> =>
		reader.once("fixed", async () => {
			const [epochs, registry, emission, symbol, decimals, deployed] = await Promise.all([
				readEpochParams(contracts),
				readRegistry(contracts),
				read(contracts, "rewards", "params"),
				read(contracts, "token", "symbol"),
				read(contracts, "token", "decimals"),
				client.viem.getBlock({ blockNumber: BigInt(addresses.deployedAtBlock) }),
			]);
			return {
				epochs,
				registry,
				emission,
				symbol: safeText(symbol.slice(0, 16)),
				decimals,
				deployedAtS: Number(deployed.timestamp),
			};
		});

	const currentOf = ({ epochs }: FixedChain): number | null => {
		const number = Math.floor((env.nowMs() / 1000 - epochs.genesis) / epochs.epochSeconds);
		return number < 0 ? null : number;
	};

	/** Voting stake of all at the end of an epoch that has ended: it does not change any more. */
	const totalAtEnd = (endsAt: number) =>
		reader.once(`total ${endsAt}`, () => read(contracts, "registry", "totalVotingStakeAt", BigInt(endsAt)));

	async function isQuorum(f: FixedChain, number: number, past: PastEpoch): Promise<boolean> {
		const counted = countedOf(past);
		if (counted === 0n) return false;
		const total = await totalAtEnd(windowsOf(f.epochs, number).endsAt);
		return counted * PPM >= total * BigInt(f.epochs.quorumPpm);
	}

	async function windows(f: FixedChain, number: number, past: PastEpoch) {
		const { endsAt, revealsAt, voidsAt, proposesAt } = windowsOf(f.epochs, number);
		const startsAt = Math.max(endsAt - f.epochs.epochSeconds, Math.min(endsAt, f.deployedAtS));
		const nowS = env.nowMs() / 1000;
		const last = standing(past);
		const finalAtMs = last === null ? null : await finalOf(f, last.at.block);
		let phase: ChainPhase;
		let nextAtMs: number | null = null;
		const byClock = [
			[endsAt, "running"],
			[revealsAt, "commit"],
			[voidsAt, "reveal"],
			[proposesAt, "void"],
		] as const;
		const open = byClock.find(([until]) => nowS < until);
		if (open !== undefined) [nextAtMs, phase] = [open[0] * 1000, open[1]];
		else if (finalAtMs !== null) {
			phase = env.nowMs() < finalAtMs ? "challenge" : "final";
			if (phase === "challenge") nextAtMs = finalAtMs;
		} else {
			const overtaken = (reader.history().lastFixed() ?? -1) > number;
			phase = !overtaken && (await isQuorum(f, number, past)) ? "proposable" : "lapsed";
		}
		return {
			number,
			phase,
			startsAtMs: startsAt * 1000,
			endsAtMs: endsAt * 1000,
			revealsAtMs: revealsAt * 1000,
			voidsAtMs: voidsAt * 1000,
			proposesAtMs: proposesAt * 1000,
			finalAtMs,
			nextAtMs,
		};
	}

	const finalOf = async (f: FixedChain, block: number): Promise<number> =>
		(await reader.blockAtMs(block)) + f.epochs.challengeSeconds * 1000;

	return { fixed, currentOf, totalAtEnd, windows, finalOf };
}

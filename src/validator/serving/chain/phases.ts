// Where each epoch of the chain is: open, commit, reveal, sign, challenge, final, or without weights for
// ever. By the clock, the chain's constants and what was sent; and those constants, which are set at the
// deployment. Page: docs/epochs.md §1.
import type { Chain, ChainPhase } from "../../../api/types.ts";
import { type Contracts, read } from "../../../chain/contracts/contracts.ts";
import { readEpochParams, windowsOf } from "../../../chain/contracts/scoreboard.ts";
import { type PastEpoch, standing } from "../../../chain/history/chain-history.ts";
import type { Environment } from "../../../platform/environment.ts";
import { safeText } from "../../../protocol/bytes/safe-text.ts";
import type { ChainReader } from "./reader.ts";

export type ChainConstants = Awaited<ReturnType<typeof readConstants>>;

async function readConstants(contracts: Contracts) {
	const { client, addresses } = contracts;
	const [epochs, registry, emissionPerEpoch, symbol, decimals, deployed] = await Promise.all([
		readEpochParams(contracts),
		read(contracts, "registry", "params"),
		read(contracts, "rewards", "emissionPerEpoch"),
		read(contracts, "token", "symbol"),
		read(contracts, "token", "decimals"),
		client.viem.getBlock({ blockNumber: BigInt(addresses.deployedAtBlock) }),
	]);
	const deployedAtS = Number(deployed.timestamp);
	return { epochs, registry, emissionPerEpoch, symbol: safeText(symbol.slice(0, 16)), decimals, deployedAtS };
}

const PPM = 1_000_000n;

/** Stake of the revealed reports. */
export const reportedStake = ({ seats }: PastEpoch): bigint => seats.reduce((sum, { stake }) => sum + stake, 0n);

/** Whether the stake that reported is enough of all. */
export const isQuorum = ({ epochs }: ChainConstants, reported: bigint, total: bigint): boolean =>
	reported > 0n && reported * PPM >= total * BigInt(epochs.quorumPpm);

export class ChainPhases {
	private readonly reader: ChainReader;
	private readonly env: Pick<Environment, "nowMs">;

	constructor(reader: ChainReader, env: Pick<Environment, "nowMs">) {
		this.reader = reader;
		this.env = env;
	}

	constants(): Promise<ChainConstants> {
		return this.reader.once("constants", () => readConstants(this.reader.contracts));
	}

	/** The epoch that runs; null before the first. */
	currentOf({ epochs }: ChainConstants): number | null {
		const number = Math.floor((this.env.nowMs() / 1000 - epochs.genesis) / epochs.epochSeconds);
		return number < 0 ? null : number;
	}

	/** Voting stake of all at the end of an epoch that blocks have left behind: it does not change any more. */
	totalAtEnd(endsAt: number): Promise<bigint> {
		const { contracts } = this.reader;
		return this.reader.once(`total ${endsAt}`, () =>
			read(contracts, "registry", "totalVotingStakeAt", contracts.addresses.scoreboard, BigInt(endsAt - 1)),
		);
	}

	/** When weights that were posted in this block are final, in milliseconds since 1970. */
	async finalOf({ epochs }: ChainConstants, block: number): Promise<number> {
		return (await this.reader.blockAtMs(block)) + epochs.challengeSeconds * 1000;
	}

	async windows(chainConstants: ChainConstants, number: number, past: PastEpoch): Promise<Chain["inFlight"][number]> {
		const { epochs, deployedAtS } = chainConstants;
		const { endsAt, revealsAt, signsAt, signsUntil } = windowsOf(epochs, number);
		const startsAt = Math.max(endsAt - epochs.epochSeconds, Math.min(endsAt, deployedAtS));
		const last = standing(past);
		const finalAtMs = last === null ? null : await this.finalOf(chainConstants, last.at.block);
		return {
			number,
			...(await this.phaseOf(chainConstants, number, past, finalAtMs)),
			startsAtMs: startsAt * 1000,
			endsAtMs: endsAt * 1000,
			revealsAtMs: revealsAt * 1000,
			signsAtMs: signsAt * 1000,
			signsUntilMs: signsUntil * 1000,
			postedAtMs: finalAtMs === null ? null : finalAtMs - epochs.challengeSeconds * 1000,
			finalAtMs,
		};
	}

	private async phaseOf(
		chainConstants: ChainConstants,
		number: number,
		past: PastEpoch,
		finalAtMs: number | null,
	): Promise<{ phase: ChainPhase; nextAtMs: number | null }> {
		const nowMs = this.env.nowMs();
		const { endsAt, revealsAt, signsAt, signsUntil } = windowsOf(chainConstants.epochs, number);
		const byClock = [
			[endsAt, "open"],
			[revealsAt, "commit"],
			[signsAt, "reveal"],
		] as const;
		for (const [untilS, phase] of byClock) if (nowMs < untilS * 1000) return { phase, nextAtMs: untilS * 1000 };
		if (finalAtMs !== null)
			return nowMs < finalAtMs ? { phase: "challenge", nextAtMs: finalAtMs } : { phase: "final", nextAtMs: null };
		// Epochs ascend: weights of a later one leave this one without any.
		const isOpen = nowMs < signsUntil * 1000 && (this.reader.history().lastPosted() ?? -1) < number;
		// Nobody revealed: then the node's newest block may be older than the epoch's end, and stakes not
		// settled.
		const canSign =
			isOpen && past.seats.length > 0 && isQuorum(chainConstants, reportedStake(past), await this.totalAtEnd(endsAt));
		return canSign ? { phase: "sign", nextAtMs: signsUntil * 1000 } : { phase: "lapsed", nextAtMs: null };
	}
}

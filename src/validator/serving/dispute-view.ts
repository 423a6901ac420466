// What the chain says of a disputed claim: its games with their clocks and deposits, how it fell, what all
// that cost. Read anew each time, but for what a transaction used, which never changes.

import type { Dispute } from "../../api/types.ts";
import { readEvents } from "../../chain/contracts/contracts.ts";
import { bookOf, readDisputeParams, readGame, readGames, type Sitting } from "../../chain/contracts/dispute-games.ts";
import type { JobTerms } from "../../chain/contracts/job-escrow.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { JobClaimRow } from "../../store/jobs/job-rows.ts";
import type { JobChain } from "../jobs/keeper/job-chain.ts";

type OnChain = NonNullable<Dispute["chain"]>;

/** A flood of games is told by its newest. */
const MOST_GAMES = 16;
const MOST_KNOWN = 4096;
const lower = (hex: Hex): Hex => hex.toLowerCase() as Hex;

/** Who made this claim on the chain, as which attempt; null: nobody did. */
export async function sittingOf({ contracts }: JobChain, { hash, job, part }: JobClaimRow): Promise<Sitting | null> {
	const id = BigInt(`0x${job}`);
	const claimed = await readEvents(contracts, "jobEscrow", "Claimed", { job: id, part });
	const found = claimed.findLast(({ args }) => args.claim === `0x${hash}`);
	return found === undefined ? null : { job: id, part, attempt: found.args.attempt, provider: found.args.provider };
}

export function createDisputeViews(chain: JobChain) {
	const { contracts } = chain;
	const gasOf = new BoundedMap<Hex, number>(MOST_KNOWN);
	async function gasUsed(transaction: Hex): Promise<number> {
		const known = gasOf.get(transaction);
		if (known !== undefined) return known;
		const { gasUsed: used } = await contracts.client.viem.getTransactionReceipt({ hash: transaction });
		gasOf.set(transaction, Number(used));
		return Number(used);
	}

	async function convictionOf(sitting: Sitting, hash: string): Promise<OnChain["conviction"]> {
		const { job, part, provider, attempt } = sitting;
		const all = await readEvents(contracts, "jobEscrow", "Convicted", { job, part, provider });
		const found = all.findLast(({ args }) => args.attempt === attempt);
		if (found === undefined) return null;
		const silent = await readEvents(contracts, "disputes", "Silent", { claim: `0x${hash}`, provider });
		const { accuser, toAccuser, toCustomer, burned } = found.args;
		return {
			by: silent.some(({ transactionHash }) => transactionHash === found.transactionHash) ? "silence" : "proof",
			...{ accuser: lower(accuser), transaction: lower(found.transactionHash) },
			...{ toAccuser: `${toAccuser}`, toCustomer: `${toCustomer}`, burned: `${burned}` },
		};
	}

	async function gamesOf(sitting: Sitting): Promise<OnChain["games"]> {
		const games = (await readGames(contracts, { book: bookOf(sitting) })).slice(-MOST_GAMES);
		return Promise.all(
			games.map(async ({ accuser, untilS, rounds }) => {
				const { openedS, sinceS, deadlineS, deposits, isClosed, isPaid } = await readGame(contracts, sitting, accuser);
				return {
					...{ accuser: lower(accuser), untilS, openedS, sinceS, deadlineS, deposits: `${deposits}`, isClosed, isPaid },
					rounds: [...rounds],
				};
			}),
		);
	}

	return {
		/** Null: no such claim is there. */
		async view(row: JobClaimRow, terms: JobTerms): Promise<OnChain | null> {
			const sitting = await sittingOf(chain, row);
			if (sitting === null) return null;
			const [part, params, games, conviction, nowS] = await Promise.all([
				chain.part(sitting.job, row.part),
				readDisputeParams(contracts),
				gamesOf(sitting),
				convictionOf(sitting, row.hash),
				chain.nowS(),
			]);
			const moves = games.flatMap(({ rounds }) => rounds.flatMap(({ askedIn, answeredIn }) => [askedIn, answeredIn]));
			const gas: Record<string, number> = {};
			for (const one of [...moves, conviction?.transaction ?? null])
				if (one !== null) gas[one] = await gasUsed(one as Hex);
			const { questionSeconds, traceSeconds, replySeconds, gameSeconds } = params;
			return {
				...{ chainId: chain.chainId, nowS, account: lower(sitting.provider), state: part.state, untilS: part.untilS },
				...{ bond: `${terms.bond}`, clocks: { questionSeconds, traceSeconds, replySeconds, gameSeconds } },
				...{ games, conviction, gas },
			};
		},
	};
}

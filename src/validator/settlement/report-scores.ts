// What this validator says of an epoch on chain: its current scores as leaves, by the providers' accounts, with the reasons behind them on disk.
// A new network's first probe may still run when the first epoch ends: then the answer is "not yet", as long as the commit window allows. Page: docs/epochs.md §4.

import { type EpochTimes, windowsOf } from "../../chain/contracts/scoreboard.ts";
import type { ProviderBook } from "../../chain/history/provider-book.ts";
import type { Explanation } from "../../market/scores/explanation.ts";
import type { ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { Store } from "../../store/store.ts";
import type { ChainHome } from "./home.ts";
import type { ReasonEntry } from "./reasons-file.ts";
import type { ReportArchive } from "./report-archive.ts";

const NO_EVIDENCE: Hex = `0x${"0".repeat(64)}`;
/** Before the window closes: blocks every 12 s at most, and a node that is slow for a while. */
const LEAST_MARGIN_S = 5;

export interface ReportScoresOptions {
	readonly store: Pick<Store, "scores">;
	readonly book: Pick<ProviderBook, "refresh" | "accountOf" | "isKnown">;
	readonly keptAccountOf: ChainHome["keptAccountOf"];
	readonly archive: Pick<ReportArchive, "putReasons">;
	readonly params: EpochTimes;
	readonly maxAgeMs: number;
	/** What scores were made with, for whoever computes them again. */
	readonly scoring?: Readonly<Record<string, unknown>>;
	readonly nowMs: () => number;
	/** The score as it is reported, 0 where receipts are missing (probe-receipts.ts); absent: as it is. */
	readonly reported?: (explanation: Explanation) => Promise<Explanation>;
}

/** Until when, in seconds since 1970, a report without any score above 0 waits for one. */
export function waitsUntil(params: EpochTimes, epoch: number): number {
	return windowsOf(params, epoch).revealsAt - Math.max(LEAST_MARGIN_S, Math.ceil(params.commitSeconds / 4));
}

export function createReportScores(o: ReportScoresOptions): (epoch: number) => Promise<readonly ScoreLeaf[] | null> {
	/** ATTACK: who left, or was slashed, must not be paid on by way of the account that is kept for those who never had one. */
	function accountOf(providerId: string): Hex | null {
		const own = o.book.accountOf(providerId);
		if (own !== null || o.keptAccountOf === null || o.book.isKnown(providerId)) return own;
		return o.keptAccountOf(providerId).address.toLowerCase() as Hex;
	}

	/** Every current score whose provider has an account; of several providers with one account the best counts. */
	return async (epoch) => {
		const nowMs = o.nowMs();
		await o.book.refresh();
		const fresh = await o.store.scores.all({ sinceMs: Math.max(0, nowMs - o.maxAgeMs) });
		if (nowMs / 1000 < waitsUntil(o.params, epoch) && fresh.every(({ scorePpm }) => scorePpm === 0)) return null;
		const wanted = new Set(fresh.map(({ providerId }) => providerId));
		const accounts = new Map<string, Hex>();
		const holders = new Map<Hex, number>();
		for (const providerId of wanted) {
			const account = accountOf(providerId);
			if (account === null) continue;
			accounts.set(providerId, account);
			holders.set(account, (holders.get(account) ?? 0) + 1);
		}
		const leaves = new Map<Hex, ScoreLeaf>();
		/** Page by page, as they are written: all at once they would not fit into memory. Those of accounts with several providers come last. */
		async function* reasons(): AsyncGenerator<ReasonEntry> {
			const best = new Map<Hex, Explanation>();
			let cursor: string | null = null;
			do {
				const page: Awaited<ReturnType<Store["scores"]["list"]>> = await o.store.scores.list({ limit: 500, cursor });
				for (const { providerId, scorePpm: kept, terms } of page.rows) {
					const provider = accounts.get(providerId);
					if (provider === undefined) continue;
					const own = terms as unknown as Explanation;
					const explanation = (await o.reported?.(own)) ?? own;
					const scorePpm = explanation === own ? kept : explanation.scorePpm;
					if ((leaves.get(provider)?.scorePpm ?? -1) >= scorePpm) continue;
					const evidenceSha256: Hex = explanation.evidence === null ? NO_EVIDENCE : `0x${explanation.evidence}`;
					leaves.set(provider, { provider, scorePpm, evidenceSha256 });
					if (holders.get(provider) === 1) yield [provider, explanation];
					else best.set(provider, explanation);
				}
				cursor = page.cursor;
			} while (cursor !== null);
			yield* best;
		}
		await o.archive.putReasons(epoch, reasons(), o.scoring ?? null);
		return [...leaves.values()];
	};
}

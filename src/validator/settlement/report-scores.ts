// What this validator says of an epoch on chain: its current scores as leaves, by the providers' accounts,
// with the reasons behind them on disk. A new network's first probe may still run when the first epoch ends:
// then the answer is "not yet", as long as the commit window allows. Page: docs/epochs.md §4.
import { type EpochTimes, windowsOf } from "../../chain/contracts/scoreboard.ts";
import type { ProviderBook } from "../../chain/history/provider-book.ts";
import type { ReasonEntry } from "../../market/epochs/reasons-file.ts";
import type { Explanation } from "../../market/scores/explanation.ts";
import { given, term } from "../../market/scores/recompute.ts";
import type { ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { Store } from "../../store/open-store.ts";
import type { ChainHome } from "./home.ts";
import type { ReportArchive } from "./report-archive.ts";

const NO_EVIDENCE: Hex = `0x${"0".repeat(64)}`;
/** Before the window closes: blocks every 12 s at most, and a node that is slow for a while. */
const LEAST_MARGIN_S = 5;

export interface ReportScoresOptions {
	readonly store: Pick<Store, "scores">;
	readonly book: Pick<ProviderBook, "refresh" | "accountOf" | "isKnown" | "limitOf">;
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

export function createReportScores(
	options: ReportScoresOptions,
): (epoch: number) => Promise<readonly ScoreLeaf[] | null> {
	/** ATTACK: a provider that left or was slashed must not be paid on by way of a kept account. */
	function accountOf(providerId: string): Hex | null {
		const own = options.book.accountOf(providerId);
		if (own !== null || options.keptAccountOf === null || options.book.isKnown(providerId)) return own;
		return options.keptAccountOf(providerId).address.toLowerCase() as Hex;
	}

	/**
	 * ATTACK: a cheat with the least stake, whatever it earns, loses less than it gains. No score is higher
	 * than its account's stake stands for; an account that the chain's owner keeps has none and stands for
	 * itself.
	 */
	function limited(explanation: Explanation, account: Hex): Explanation {
		if (!options.book.isKnown(explanation.providerId)) return explanation;
		const { mostPpm, why } = options.book.limitOf(account, options.nowMs() / 1000);
		if (explanation.scorePpm <= mostPpm) return explanation;
		const limit = given("stake", "ppm", mostPpm, `state:${why}`);
		const root = term("score", "ppm", "min", [explanation.root, limit]);
		return { ...explanation, scorePpm: root.value, why: root.value === 0 ? (why ?? "") : explanation.why, root };
	}

	/** Every current score whose provider has an account; of several with one account the best counts. */
	return async (epoch) => {
		const nowMs = options.nowMs();
		await options.book.refresh();
		const fresh = await options.store.scores.all({ sinceMs: Math.max(0, nowMs - options.maxAgeMs) });
		if (nowMs / 1000 < waitsUntil(options.params, epoch) && fresh.every(({ scorePpm }) => scorePpm === 0)) return null;
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
		/** Page by page: all would not fit into memory. Accounts with several providers come last. */
		async function* reasons(): AsyncGenerator<ReasonEntry> {
			const best = new Map<Hex, Explanation>();
			let cursor: string | null = null;
			do {
				const page: Awaited<ReturnType<Store["scores"]["list"]>> = await options.store.scores.list({
					limit: 500,
					cursor,
				});
				for (const { providerId, scorePpm: kept, terms } of page.rows) {
					const provider = accounts.get(providerId);
					if (provider === undefined) continue;
					const own = terms as unknown as Explanation;
					const explanation = limited((await options.reported?.(own)) ?? own, provider);
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
		await options.archive.putReasons(epoch, reasons(), options.scoring ?? null);
		return [...leaves.values()];
	};
}

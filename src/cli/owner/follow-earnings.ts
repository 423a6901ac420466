// What validators say of this provider while it runs: its score with the reason of a 0, and what it has
// earned. Asked of their public API after a probe, after a roll call and now and then, and told when it
// changes. Words of a validator: nothing is decided by them, and they are made harmless before they are
// printed.
import type { ApiClient } from "../../api/create-client.ts";
import type { Score } from "../../api/types.ts";
import { realAfter } from "../../platform/abortable.ts";
import { repeat } from "../../platform/repeat.ts";
import { scoreLine } from "../print/score-lines.ts";
import { formatTokens } from "../print/tokens.ts";

export type Earnings =
	| { readonly kind: "score"; readonly url: string; readonly score: Score }
	| { readonly kind: "rewards"; readonly url: string; readonly claimable: string; readonly pending: string };

/** Ten thousand providers ask a validator 33 times a second. */
const EVERY_MS = 10 * 60_000;
/** After a probe or a roll call: when the score is counted, and when a busy validator has counted it. */
const SOON_MS = [3000, 30_000] as const;

/** However many probes a hostile validator sends. */
const MOST_WAITING = 4;

/**
 * `validators` as parseValidatorUrl gives them. A validator that does not answer is asked again later, and
 * nothing is said.
 */
export async function followEarnings(
	key: string,
	validators: readonly string[],
	onNews: (news: Earnings) => void,
	everyMs = EVERY_MS,
): Promise<{ readonly soon: () => void; readonly stop: () => Promise<void> }> {
	const { createApiClient } = await import("../../api/create-client.ts");
	const stopped = new AbortController();
	const options = { everyMs, after: realAfter, onError: () => {} };
	const following = [...new Set(validators.map(apiUrlOf))].map((url) => {
		const client = createApiClient({ baseUrl: url, retries: 0, timeoutMs: 15_000 });
		const said = new Map<string, string>();
		return repeat(options, async () => {
			for (const [news, what] of await askedOf(client, key, url, stopped.signal)) {
				if (said.get(news.kind) === what) continue;
				said.set(news.kind, what);
				onNews(news);
			}
		});
	});
	const waiting = new Set<() => void>();
	return {
		soon() {
			for (const ms of SOON_MS.slice(0, MOST_WAITING - waiting.size)) {
				const cancel = realAfter(ms, () => {
					waiting.delete(cancel);
					for (const { now } of following) void now();
				});
				waiting.add(cancel);
			}
		},
		async stop() {
			stopped.abort();
			for (const cancel of waiting) cancel();
			await Promise.all(following.map(({ stop }) => stop()));
		},
	};
}

/** wss://host/agent → https://host */
function apiUrlOf(validator: string): string {
	const { protocol, host } = new URL(validator);
	return `${protocol === "wss:" ? "https:" : "http:"}//${host}`;
}

/** Each with the text by which a change is seen. */
async function askedOf(client: ApiClient, key: string, url: string, signal: AbortSignal) {
	const none = () => null;
	const params = { params: { id: key } };
	const [score, chain] = await Promise.all([
		client.getProviderScore(params, { signal }).catch(none),
		client.getProviderChain(params, { signal }).catch(none),
	]);
	const news: (readonly [Earnings, string])[] = [];
	if (score !== null) news.push([{ kind: "score", url, score }, scoreLine(score)]);
	if (chain?.account != null) {
		const { claimable, pending } = chain.account;
		const isAny = BigInt(claimable) > 0n || BigInt(pending) > 0n;
		if (isAny) news.push([{ kind: "rewards", url, claimable, pending }, `${claimable} ${pending}`]);
	}
	return news;
}

export function earningsLine(news: Earnings): string {
	if (news.kind === "score") return `score ${scoreLine(news.score)}`;
	const soon =
		BigInt(news.pending) > 0n ? `, ${formatTokens(BigInt(news.pending))} more when their epoch is final` : "";
	const now = BigInt(news.claimable) > 0n ? ": assay claim --provider" : "";
	return `rewards ${formatTokens(BigInt(news.claimable))} to claim${now}${soon}`;
}

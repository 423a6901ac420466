// Routes of the market for jobs in numbers: the market at a glance, kept for some seconds, and the work of
// one provider. Everything is recomputed from public rows and the chain's events.
import type { Handlers } from "../../api/routes.ts";
import { readEvents } from "../../chain/contracts/contracts.ts";
import { bookOf, readGames } from "../../chain/contracts/dispute-games.ts";
import { drawWeightPpm, reputationOf } from "../../market/jobs/reputation.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { JobClaimRow } from "../../store/jobs/job-rows.ts";
import type { JobChain } from "../jobs/keeper/job-chain.ts";
import type { JobContext } from "../jobs/keeper/job-context.ts";
import { shownClaim } from "./claim-handlers.ts";
import { sittingOf } from "./dispute-view.ts";
import { createGlance } from "./glance.ts";

const GLANCE_MS = 5000;
const DAY_MS = 24 * 3_600_000;
/** As many as make a reputation. */
const MOST_ROWS = 1000;
const SHOWN_ROWS = 100;
const MOST_CLAIMS = 20;
const MOST_WATCHERS = 100;

/** Who had claims convicted, and what that brought. */
async function watchersOf({ contracts }: JobChain) {
	const found = new Map<string, { account: string; convictions: number; earned: bigint }>();
	for (const { args } of await readEvents(contracts, "jobEscrow", "Convicted")) {
		const account = args.accuser.toLowerCase();
		const before = found.get(account) ?? { account, convictions: 0, earned: 0n };
		found.set(account, { account, convictions: before.convictions + 1, earned: before.earned + args.toAccuser });
	}
	return [...found.values()]
		.sort((a, b) => (a.earned === b.earned ? b.convictions - a.convictions : a.earned < b.earned ? 1 : -1))
		.slice(0, MOST_WATCHERS)
		.map((one) => ({ ...one, earned: `${one.earned}` }));
}

/** Questions about these claims that nobody has answered on the chain. */
async function openQuestions(chain: JobChain, claims: readonly JobClaimRow[]) {
	const all = claims.map(async (row) => {
		const sitting = await sittingOf(chain, row);
		const games = sitting === null ? [] : await readGames(chain.contracts, { book: bookOf(sitting) });
		return games.flatMap(({ accuser, rounds }) => {
			const last = rounds.at(-1);
			if (last === undefined || last.answer !== null) return [];
			return [{ claim: row.hash, accuser: accuser.toLowerCase(), question: last.question, deadlineS: last.deadlineS }];
		});
	});
	return (await Promise.all(all)).flat().sort((a, b) => a.deadlineS - b.deadlineS);
}

export function workHandlers(context: JobContext) {
	const { store, env, config, jobChain } = context;
	const latest = createGlance(GLANCE_MS, async (nowMs) => {
		const [rows, watchers] = await Promise.all([
			store.jobMarket.glance({ sinceMs: nowMs - DAY_MS }),
			jobChain === null ? [] : watchersOf(jobChain),
		]);
		const { outcomes, paidMicros, ...rest } = rows;
		return {
			...{ ...rest, nowMs, watchers, auditPpm: config.params.jobAuditPpm },
			outcomes: { total: outcomes.total, day: outcomes.recent },
			paidMicros: { total: paidMicros.total, day: paidMicros.recent },
		};
	});

	return {
		async getJobMarket() {
			return (await latest(env.nowMs()).counted) as never;
		},
		async getProviderWork({ params: { id } }) {
			if ((await store.providers.get(id)) === null)
				throw new AssayError("PROVIDER_UNKNOWN", `there is no provider ${id}`);
			const nowMs = env.nowMs();
			const rows = await store.jobMarket.outcomesOf(id, { limit: MOST_ROWS });
			const standing = await Promise.all(
				(["claimed", "checked"] as const).map((state) =>
					store.jobs.claims({ provider: id, state, limit: MOST_CLAIMS }),
				),
			);
			const claims = standing.flatMap((page) => page.rows);
			const { counts, ...reputation } = reputationOf(rows.toReversed(), nowMs, config.params);
			return {
				nowMs,
				reputation: { ...reputation, counts, weightPpm: drawWeightPpm({ ...reputation, counts }, config.params) },
				rows: rows.slice(0, SHOWN_ROWS).map(({ serial: _, provider: __, ...row }) => row),
				claims: await Promise.all(claims.map((row) => shownClaim(context, row))),
				questions: jobChain === null ? [] : await openQuestions(jobChain, claims),
			};
		},
	} satisfies Partial<Handlers>;
}

// The market for jobs in numbers, from its public rows: what was done and paid, by whom, at what price.
// docs/jobs.md §11. Counted over all rows at once: whoever serves it keeps the answer for a while.
import { hex, integer } from "../check-input.ts";
import type { StoreContext } from "../context.ts";
import type { JobClaimRow, JobOutcome } from "./job-rows.ts";

type Counts = Readonly<Record<JobOutcome["outcome"], number>>;

export interface JobMarketRows {
	readonly jobs: { readonly open: number; readonly over: number };
	/** Of parts: all, and since a moment. */
	readonly outcomes: { readonly total: Counts; readonly recent: Counts };
	/** Paid for parts. */
	readonly paidMicros: { readonly total: number; readonly recent: number };
	readonly claims: Readonly<Record<JobClaimRow["state"], number>>;
	/** Of the newest jobs: what a part was quoted at, in the middle. */
	readonly workloads: readonly {
		readonly kind: string;
		readonly jobs: number;
		readonly partMicros: number;
		readonly jobMicros: number;
	}[];
	/** Those with the most paid work first. */
	readonly providers: readonly ({ readonly provider: string; readonly valueMicros: number } & Counts)[];
}

const NEWEST_JOBS = 2000;
const MOST_PROVIDERS = 200;
const NO_COUNTS: Counts = { checked: 0, paid: 0, lost: 0, late: 0, declined: 0, returned: 0, convicted: 0 };
const NO_CLAIMS: JobMarketRows["claims"] = { stored: 0, claimed: 0, checked: 0, paid: 0, fallen: 0 };
const OUTCOME_COUNTS = Object.keys(NO_COUNTS)
	.map((one) => `count(*) FILTER (WHERE outcome = '${one}') AS ${one}`)
	.join(", ");

export function createJobMarket({ database }: StoreContext) {
	return {
		async glance({ sinceMs }: { readonly sinceMs: number }): Promise<JobMarketRows> {
			const [jobs, outcomes, claims, workloads, providers] = await Promise.all([
				database.read<JobMarketRows["jobs"]>(
					"SELECT count(*) FILTER (WHERE NOT is_over) AS open, count(*) FILTER (WHERE is_over) AS over FROM jobs",
				),
				database.read<{ outcome: JobOutcome["outcome"]; total: number; recent: number; paid: number; paidNow: number }>(
					`SELECT outcome, count(*) AS total, count(*) FILTER (WHERE at_ms >= $1) AS recent, coalesce(sum(value_micros), 0)::bigint AS paid,
						coalesce(sum(value_micros) FILTER (WHERE at_ms >= $1), 0)::bigint AS paid_now FROM job_outcomes GROUP BY outcome`,
					[integer("sinceMs", sinceMs)],
				),
				database.read<{ state: JobClaimRow["state"]; count: number }>(
					"SELECT state, count(*) AS count FROM job_claims GROUP BY state",
				),
				database.read<JobMarketRows["workloads"][number]>(
					`SELECT kind, count(*) AS jobs, percentile_disc(0.5) WITHIN GROUP (ORDER BY price) AS part_micros,
						percentile_disc(0.5) WITHIN GROUP (ORDER BY price * parts) AS job_micros
					FROM (SELECT kind, (record->'terms'->>'priceMicros')::bigint AS price, (record->'terms'->>'parts')::bigint AS parts FROM jobs
						ORDER BY created_at_ms DESC, id LIMIT ${NEWEST_JOBS}) n GROUP BY kind ORDER BY jobs DESC, kind LIMIT 100`,
				),
				database.read<JobMarketRows["providers"][number]>(
					`SELECT provider, coalesce(sum(value_micros) FILTER (WHERE outcome = 'paid'), 0)::bigint AS value_micros, ${OUTCOME_COUNTS}
					FROM job_outcomes GROUP BY provider ORDER BY value_micros DESC, provider LIMIT ${MOST_PROVIDERS}`,
				),
			]);
			const paid = outcomes.find(({ outcome }) => outcome === "paid");
			const counts = (of: "total" | "recent"): Counts => ({
				...NO_COUNTS,
				...Object.fromEntries(outcomes.map((row) => [row.outcome, row[of]])),
			});
			return {
				...{ jobs: jobs[0]!, workloads, providers },
				outcomes: { total: counts("total"), recent: counts("recent") },
				paidMicros: { total: paid?.paid ?? 0, recent: paid?.paidNow ?? 0 },
				claims: { ...NO_CLAIMS, ...Object.fromEntries(claims.map(({ state, count }) => [state, count])) },
			};
		},

		/** The newest rows of a provider, newest first. */
		outcomesOf: (provider: string, { limit }: { readonly limit: number }) =>
			database.read<JobOutcome>(
				`SELECT serial, provider, job, part, attempt, outcome, value_micros, at_ms FROM job_outcomes WHERE provider = $1 ORDER BY serial DESC LIMIT $2`,
				[hex("a provider's id", provider, 64), integer("a limit", limit, 1, 10_000)],
			),
	};
}

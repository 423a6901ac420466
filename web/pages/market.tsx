// The market for jobs at a glance: volume, audits, prices, who did what, who lied and who found it. All of it
// is counted from public rows.
import type { JobMarket } from "../../src/api/types.ts";
import { formatPercent } from "../../src/protocol/format-number.ts";
import { isMove } from "../jobs/job-events.ts";
import { CaughtTable, PricesTable, ProvidersTable, WatchersTable } from "../market/market-tables.tsx";
import { formatCount, formatMoney } from "../parts/format.ts";
import { Failed, PageTitle, Pending, Tile } from "../parts/small.tsx";
import { api, useLoaded, useReloadOn } from "../shell/api.ts";

export default function MarketPage() {
	const market = useLoaded("market", (signal) => api.getJobMarket({}, { signal }));
	const caught = useLoaded("caught", async (signal) => {
		const [frauds, probes] = await Promise.all([
			api.listFrauds({ query: { limit: 50 } }, { signal }),
			api.listProbes({ query: { verdict: "invalid", limit: 200 } }, { signal }),
		]);
		return { frauds: frauds.rows, probes: probes.rows };
	});
	useReloadOn(isMove, market.reload, 5000);
	useReloadOn(({ kind }) => kind === "job.convicted" || kind === "probe.verdict", caught.reload, 5000);
	return (
		<>
			<PageTitle
				sub={
					<>
						Work that strangers did and others ran again. <a href="/jobs/new">New job</a> ·{" "}
						<a href="/disputes">Disputes</a> · <a href="/programs">Programs</a>
					</>
				}
			>
				Market
			</PageTitle>
			{market.value === null ? (
				<Pending of={market} what="the market" lines={6} />
			) : (
				<>
					{market.trouble === null ? null : <Failed trouble={market.trouble} again={market.reload} />}
					<Tiles market={market.value} />
					<ProvidersTable providers={market.value.providers} />
					<div class="columns">
						<PricesTable workloads={market.value.workloads} />
						<WatchersTable watchers={market.value.watchers} />
					</div>
				</>
			)}
			{caught.value === null ? <Pending of={caught} what="cheats" lines={4} /> : <CaughtTable {...caught.value} />}
		</>
	);
}

function Tiles({ market: { jobs, outcomes, paidMicros, claims, auditPpm } }: { market: JobMarket }) {
	const { total, day } = outcomes;
	const ran = claims.claimed + claims.checked + claims.paid + claims.fallen;
	return (
		<dl class="tiles by-four">
			<Tile
				name="Paid for work"
				value={formatMoney(paidMicros.total)}
				note={`${formatMoney(paidMicros.day)} in the last 24 h`}
			/>
			<Tile name="Parts paid" value={formatCount(total.paid)} note={`${formatCount(day.paid)} in the last 24 h`} />
			<Tile name="Jobs" value={formatCount(jobs.open)} note={`open; ${formatCount(jobs.over)} are over`} />
			<Tile
				name="Claims"
				value={formatCount(ran)}
				note={`${formatCount(claims.claimed + claims.checked)} can still be disputed`}
			/>
			<Tile
				name="Run again"
				value={formatCount(total.checked)}
				note={`parts checked; of the others ${formatPercent(auditPpm / 1e6)} are drawn`}
			/>
			<Tile
				name="Convicted"
				value={formatCount(total.convicted)}
				note={`${formatCount(day.convicted)} in the last 24 h`}
			/>
			<Tile name="Lost or late" value={formatCount(total.lost + total.late)} note="parts; drawn anew, unpaid" />
			<Tile
				name="Fallen"
				value={formatCount(claims.fallen)}
				note={<a href="/disputes">claims, with their disputes</a>}
			/>
		</dl>
	);
}

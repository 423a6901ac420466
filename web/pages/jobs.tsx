// Jobs: those of whoever is signed in here, and any one of them by its number. What is public (parts and draws) everybody sees; curve and events only its
// customer.
import { useEffect, useState } from "preact/hooks";
import type { Job, JobSummary } from "../../src/api/types.ts";
import { type LiveJob, NO_EVENTS, withJobEvent } from "../jobs/job-events.ts";
import { DrawsPanel, PartBadge, PartsPanel } from "../jobs/job-parts.tsx";
import { formatCount, formatMoney, shortId } from "../parts/format.ts";
import { LineChart } from "../parts/line-chart.tsx";
import { Empty, Failed, Id, PageTitle, Panel, Pending, Tile, Time } from "../parts/small.tsx";
import { type Column, column, PagedTable } from "../parts/windowed-table.tsx";
import { type Customer, loadCustomer } from "../rent/rental-key.ts";
import { CustomerPanel } from "../rent/reserve-panel.tsx";
import { api, useLoaded, useReloadOn } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { goTo } from "../shell/router.ts";
import type { PageProps } from "../shell/shell.tsx";

const isJob = ({ kind }: { readonly kind: string }) => kind.startsWith("job.");
const methodText = ({ name, count }: JobSummary["method"]) => (count === 0 ? name : `${name}:${count}`);

export default function JobsPage({ place }: PageProps) {
	const [customer, setCustomer] = useState<Customer | null>(loadCustomer);
	const id = place.parts[1];
	if (id === undefined) return <JobList customer={customer} onChange={() => setCustomer(loadCustomer())} />;
	if (/^[0-9a-f]{64}$/.test(id)) return <JobPage key={id} id={id} customer={customer} />;
	return (
		<>
			<PageTitle>No such job</PageTitle>
			<Empty title="A job has a number of 64 hex digits">
				<a href="/jobs">Your jobs</a>
			</Empty>
		</>
	);
}

const COLUMNS: readonly Column<JobSummary>[] = [
	column("job", "Job", 9, (row) => <a href={`/jobs/${row.id}`}>{row.title || shortId(row.id)}</a>),
	column(
		"state",
		"Parts",
		10,
		(row) => (
			<span class="row">
				{row.parts.slice(0, 3).map((part, i) => (
					<PartBadge key={i} {...part} />
				))}
				{row.parts.length > 3 ? `+${row.parts.length - 3}` : null}
			</span>
		),
		{ narrowRem: 6 },
	),
	column("kind", "Kind", 5, (row) => row.kind, { isMinor: true }),
	column("method", "Verified", 7, (row) => methodText(row.method), { isMinor: true }),
	column("done", "Segments", 6, (row) => `${formatCount(row.done)}/${formatCount(row.segments)}`, { isNumber: true }),
	column("price", "At most", 6, (row) => formatMoney(row.totalMicros), { isNumber: true, isMinor: true }),
	column("at", "Handed in", 5, (row) => <Time atMs={row.createdAtMs} />, { isNumber: true }),
];

function JobList({ customer, onChange }: { customer: Customer | null; onChange: () => void }) {
	return (
		<>
			<PageTitle sub="Exact work done by strangers: every claim can be run again, and is paid only when nobody proves it wrong.">
				Jobs
			</PageTitle>
			<CustomerPanel customer={customer} onChange={onChange} />
			<FindJob />
			{customer === null ? (
				<Empty title="Sign in to see your jobs">
					Hand one in with <code>assay job submit samples/gpt-mini.json</code>
				</Empty>
			) : (
				<OwnJobs key={`${customer.kind} ${customer.key}`} customer={customer} />
			)}
		</>
	);
}

function OwnJobs({ customer }: { customer: Customer }) {
	const jobs = usePaged<JobSummary>(`jobs ${customer.kind} ${customer.key}`, (page, signal) =>
		customer.client.listJobs({ query: { limit: 100, ...page } }, { signal }),
	);
	useReloadOn(isJob, jobs.reload, 1000);
	return (
		<PagedTable
			of={jobs}
			what="jobs"
			keepsRows
			empty={
				<Empty title="No job yet">
					Hand one in with <code>assay job submit samples/gpt-mini.json</code>
				</Empty>
			}
			label="Jobs"
			rowKey={({ id }) => id}
			columns={COLUMNS}
		/>
	);
}

function FindJob() {
	return (
		<form
			class="bar"
			onSubmit={(event) => {
				event.preventDefault();
				const id = String(new FormData(event.currentTarget).get("id") ?? "").trim();
				if (id !== "") goTo(`/jobs/${encodeURIComponent(id)}`);
			}}
		>
			<label>
				Any job, by its number
				<input name="id" autoComplete="off" spellcheck={false} placeholder="64 hex digits" />
			</label>
			<button type="submit">Show</button>
		</form>
	);
}

/** From the beginning, until the job is over. Only its customer may. */
function useLiveJob(id: string, customer: Customer | null, onEnd: () => void): LiveJob {
	const [live, setLive] = useState(NO_EVENTS);
	useEffect(() => {
		if (customer === null) return;
		const stop = new AbortController();
		(async () => {
			const events = customer.client.watchJob({ params: { id } }, { signal: stop.signal, lastEventId: "0" });
			for await (const event of events) setLive((before) => withJobEvent(before, event));
			onEnd();
		})().catch(() => {});
		return () => stop.abort();
	}, [id, customer]);
	return live;
}

function JobPage({ id, customer }: { id: string; customer: Customer | null }) {
	const draws = useLoaded(`draws ${id}`, (signal) => api.getJobDraws({ params: { id } }, { signal }));
	const own = useLoaded(`job ${id}`, async (signal) =>
		customer === null ? null : customer.client.getJob({ params: { id } }, { signal }).catch(() => null),
	);
	const reload = () => {
		draws.reload();
		own.reload();
	};
	const live = useLiveJob(id, customer, reload);
	useReloadOn((event) => isJob(event) && event.subject === id, reload, 500);
	if (draws.value === null)
		return (
			<>
				<PageTitle>Job {shortId(id)}</PageTitle>
				<Pending of={draws} what="the job" lines={6} />
			</>
		);
	const job = own.value;
	return (
		<>
			<PageTitle sub={<a href="/jobs">Your jobs</a>}>{job?.spec.title || `Job ${shortId(id)}`}</PageTitle>
			{job === null ? (
				<p class="dim">
					You see what is public: parts, claims and draws. Its customer also sees curve, price and events.
				</p>
			) : (
				<JobTiles job={job} />
			)}
			{draws.trouble === null ? null : <Failed trouble={draws.trouble} again={reload} />}
			{job === null ? null : <Curve job={job} live={live} />}
			<PartsPanel parts={job?.record.parts ?? draws.value.parts} />
			<DrawsPanel draws={draws.value} />
			{live.lines.length === 0 ? null : <Events live={live} />}
		</>
	);
}

function JobTiles({ job: { id, spec, offer, record, isOver, createdAtMs } }: { job: Job }) {
	const { terms } = offer;
	const done = record.parts.reduce((sum, part) => sum + part.done, 0);
	const total = terms.parts * (terms.priceMicros + terms.feeMicros + terms.auditMicros);
	return (
		<dl class="tiles">
			<Tile name="Job" value={spec.kind} note={<Id id={id} />} />
			<Tile name="State" value={isOver ? "over" : "open"} note={<Time atMs={createdAtMs} />} />
			<Tile name="Verified" value={methodText(terms.method)} note={`${formatCount(terms.parts)} parts`} />
			<Tile name="Segments" value={`${formatCount(done)} of ${formatCount(spec.segments)}`} note="as providers say" />
			<Tile
				name="At most"
				value={formatMoney(total)}
				note={offer.escrow === null ? "a record of what is owed" : `held on chain ${offer.escrow.chainId}`}
			/>
		</dl>
	);
}

function Curve({ job: { spec }, live: { curve } }: { job: Job; live: LiveJob }) {
	const [metric] = spec.metrics;
	if (metric === undefined || curve.length === 0) return null;
	const points = curve.flatMap(({ step, values }) =>
		values[0] === undefined
			? []
			: [{ x: step, y: values[0], title: `step ${step + 1}: ${values[0].toPrecision(6)} ${metric.unit}` }],
	);
	return (
		<Panel title={metric.label || "Curve"} aside="from the provider's heartbeats: no proof">
			<LineChart
				label={metric.label}
				points={points}
				xFormat={(x) => `step ${formatCount(Math.round(x) + 1)}`}
				yFormat={(y) => y.toPrecision(3)}
			/>
		</Panel>
	);
}

function Events({ live }: { live: LiveJob }) {
	return (
		<Panel title="What happened">
			<ol class="events" aria-label="Events of the job">
				{live.lines.map(({ id, atMs, part, what, provider, why }) => (
					<li key={id}>
						<Time atMs={atMs} /> {part === null ? "" : `part ${part + 1}: `}
						<strong>{what}</strong> {provider === null ? null : <Id id={provider} href={`/providers/${provider}`} />}{" "}
						{why}
					</li>
				))}
			</ol>
		</Panel>
	);
}

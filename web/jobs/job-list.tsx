// The jobs of whoever is signed in, filtered by the server and windowed: ten thousand rows scroll like forty.
import type { JobSummary } from "../../src/api/types.ts";
import { formatCount, formatExactMoney, shortId } from "../parts/format.ts";
import { Empty, PageTitle, Time } from "../parts/small.tsx";
import { type Column, column, PagedTable } from "../parts/windowed-table.tsx";
import type { Customer } from "../rent/rental-key.ts";
import { CustomerPanel } from "../rent/reserve-panel.tsx";
import { useReloadOn } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { goTo, type Place, replaceQuery, setQuery } from "../shell/router.ts";
import { isMove } from "./job-events.ts";
import { PartBadge } from "./job-parts.tsx";

const KINDS = ["train", "infer", "render", "simulate", "classify", "program"];

const COLUMNS: readonly Column<JobSummary>[] = [
	column("job", "Job", 10, (row) => (
		<a href={`/jobs/${row.id}`} title={row.title || row.id}>
			{row.title || shortId(row.id)}
		</a>
	)),
	column(
		"state",
		"Parts",
		10,
		(row) => (
			<span class="row">
				{row.parts.slice(0, 2).map((part, i) => (
					<PartBadge key={i} {...part} />
				))}
				{row.parts.length > 2 ? `+${row.parts.length - 2}` : null}
			</span>
		),
		{ narrowRem: 6.5 },
	),
	column("kind", "Workload", 5, (row) => row.kind, { isMinor: true }),
	column("method", "Verified", 6, ({ method: { name, count } }) => (count === 0 ? name : `${name}:${count}`), {
		isMinor: true,
	}),
	column("done", "Done", 4, (row) => `${Math.floor((100 * row.done) / Math.max(1, row.segments))} %`, {
		isNumber: true,
	}),
	column("segments", "Segments", 5, (row) => formatCount(row.segments), { isNumber: true, isMinor: true }),
	column("price", "At most", 7, (row) => formatExactMoney(row.totalMicros), { isNumber: true, isMinor: true }),
	column("at", "Handed in", 5, (row) => <Time atMs={row.createdAtMs} />, { isNumber: true }),
];

const clean = (value: string | null): string => (value ?? "").replaceAll(/\p{C}/gu, "").trim().slice(0, 100);

function queryOf(query: URLSearchParams) {
	const [q, kind, state] = [clean(query.get("q")), query.get("kind") ?? "", query.get("state")];
	return {
		...(q !== "" && { q }),
		...(KINDS.includes(kind) && { kind }),
		...(state === "open" && { open: true }),
		...(state === "over" && { open: false }),
	};
}

export function JobList(p: { place: Place; customer: Customer | null; onSignIn: () => void }) {
	return (
		<>
			<div class="title-bar">
				<PageTitle sub="Work done by strangers. Every claim can be run again, and is paid only when nobody proves it wrong.">
					Jobs
				</PageTitle>
				<a class="button primary" href="/jobs/new">
					New job
				</a>
			</div>
			<CustomerPanel customer={p.customer} onChange={p.onSignIn} />
			<Filters place={p.place} />
			{p.customer === null ? (
				<Empty title="Sign in to see your jobs">Anybody can look at a job by its whole number: enter it above.</Empty>
			) : (
				<OwnJobs key={`${p.customer.kind} ${p.customer.key}`} place={p.place} customer={p.customer} />
			)}
		</>
	);
}

function OwnJobs({ place, customer }: { place: Place; customer: Customer }) {
	const query = queryOf(place.query);
	const jobs = usePaged<JobSummary>(JSON.stringify(query), (page, signal) =>
		customer.client.listJobs({ query: { limit: 200, ...query, ...page } }, { signal }),
	);
	useReloadOn(isMove, jobs.reload, 1500);
	const isFiltered = Object.keys(query).length > 0;
	return (
		<>
			<p class="dim" role="status">
				{jobs.isFirst
					? "Loading …"
					: `${formatCount(jobs.rows.length)}${jobs.hasMore ? "+" : ""} ${jobs.rows.length === 1 ? "job" : "jobs"}`}
			</p>
			<PagedTable
				of={jobs}
				what="jobs"
				keepsRows
				empty={
					isFiltered ? (
						<Empty title="No matching jobs">Relax or clear a filter.</Empty>
					) : (
						<Empty title="No job yet">
							<a href="/jobs/new">Make the first one</a>: samples are one click away. Or on the command line:{" "}
							<code>assay job submit samples/gpt-mini.json</code>
						</Empty>
					)
				}
				label="Jobs"
				rowKey={({ id }) => id}
				columns={COLUMNS}
			/>
		</>
	);
}

function Filters({ place }: { place: Place }) {
	const value = (key: string) => place.query.get(key) ?? "";
	return (
		<search>
			<form
				class="filters"
				aria-label="Filters"
				onSubmit={(event) => {
					event.preventDefault();
					const asked = clean(place.query.get("q"));
					if (/^[0-9a-f]{64}$/.test(asked)) goTo(`/jobs/${asked}`);
				}}
			>
				<label class="grow">
					Search
					<input
						type="search"
						autoComplete="off"
						spellcheck={false}
						placeholder="title or number"
						value={value("q")}
						onInput={(event) => setQuery(place, "q", event.currentTarget.value)}
					/>
				</label>
				<label>
					Workload
					<select onChange={(event) => setQuery(place, "kind", event.currentTarget.value)}>
						<option value="">any</option>
						{KINDS.map((kind) => (
							<option key={kind} selected={kind === value("kind")}>
								{kind}
							</option>
						))}
					</select>
				</label>
				<label>
					State
					<select onChange={(event) => setQuery(place, "state", event.currentTarget.value)}>
						{[
							["", "any"],
							["open", "under way"],
							["over", "over"],
						].map(([key, title]) => (
							<option key={key} value={key} selected={key === value("state")}>
								{title}
							</option>
						))}
					</select>
				</label>
				{["q", "kind", "state"].some((key) => place.query.has(key)) ? (
					<button type="button" class="small" onClick={() => replaceQuery(new URLSearchParams())}>
						Clear
					</button>
				) : null}
			</form>
		</search>
	);
}

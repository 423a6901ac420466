// All providers, by what they proved. Filters and order are the server's, over all rows; the table shows as many as are looked at.
import { useCallback, useMemo, useState } from "preact/hooks";
import type { ProviderSummary } from "../../src/api/types.ts";
import { formatBytes, formatCount, formatMoney, formatPpm, formatRate, formatScore } from "../parts/format.ts";
import { ProvenFilters, provenQuery } from "../parts/proven-filters.tsx";
import { Empty, Failed, Loading, PageTitle, Time, VerdictBadge } from "../parts/small.tsx";
import { type Column, type Sort, WindowedTable } from "../parts/windowed-table.tsx";
import { api, useLoaded } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { goTo, replaceQuery } from "../shell/router.ts";
import type { PageProps } from "../shell/shell.tsx";
import ProviderPage from "./provider.tsx";

const SORTS = ["score", "price", "memory", "fp16", "bandwidth", "uptime", "name", "lastProbe"] as const;
type SortKey = (typeof SORTS)[number];
const PAGE_ROWS = 200;
const LIST_SORT: Sort = { key: "score", descending: true };
const descendingFirst = (key: string) => !["price", "name"].includes(key);

export default function ProvidersPage({ place }: PageProps) {
	const id = place.parts[1];
	return id === undefined ? <ProvidersTable place={place} /> : <ProviderPage key={id} id={id} />;
}

function ProvidersTable({ place }: PageProps) {
	const asked = provenQuery(place.query);
	const sort = sortOf(place.query);
	const query = { ...asked, sort: sort.key as SortKey, descending: sort.descending, limit: PAGE_ROWS };
	const providers = usePaged<ProviderSummary>(JSON.stringify(query), (cursor, signal) =>
		api.listProviders({ query: cursor === undefined ? query : { ...query, cursor } }, { signal }),
	);
	const network = useLoaded("network", (signal) => api.network({}, { signal }));
	const [chosen, setChosen] = useState<readonly string[]>([]);
	const toggle = useCallback(
		(row: string) =>
			setChosen((before) => (before.includes(row) ? before.filter((one) => one !== row) : [...before, row].slice(-2))),
		[],
	);
	const columns = useMemo(() => columnsOf(chosen, toggle), [chosen, toggle]);
	const onSort = (to: Sort) => {
		const now = new URLSearchParams(place.query);
		now.set("sort", to.key);
		now.set("order", to.descending ? "down" : "up");
		replaceQuery(now);
	};
	return (
		<>
			<PageTitle sub="Figures are proven, each of the weakest card of the host's largest group. Choose two to compare.">
				Providers
			</PageTitle>
			<ProvenFilters place={place} models={network.value?.models.map(({ model }) => model) ?? []} />
			<div class="bar" role="status">
				<span class="dim">
					{providers.isFirst
						? "Loading …"
						: `${formatCount(providers.rows.length)}${providers.hasMore ? "+" : ""} ${providers.rows.length === 1 ? "provider" : "providers"}`}
					{providers.busy && !providers.isFirst ? ", loading …" : ""}
				</span>
				<span class="grow" />
				<button
					type="button"
					class="small"
					disabled={chosen.length !== 2}
					onClick={() => goTo(`/compare?a=${chosen[0]}&b=${chosen[1]}`)}
				>
					Compare {chosen.length} of 2
				</button>
			</div>
			{providers.trouble !== null ? (
				<Failed trouble={providers.trouble} again={providers.reload} />
			) : providers.isFirst ? (
				<Loading what="providers" lines={10} />
			) : providers.rows.length === 0 ? (
				<Empty title={place.query.size === 0 ? "No provider yet" : "Nobody has proven that"}>
					{place.query.size === 0 ? (
						<>
							On a GPU machine: <code>assay provide {location.origin.replace(/^http/, "ws")}/agent</code>
						</>
					) : (
						"Ask for less, or clear the filters."
					)}
				</Empty>
			) : (
				<WindowedTable
					label="Providers"
					rows={providers.rows}
					rowKey={(row) => row.id}
					columns={columns}
					sort={sort}
					onSort={onSort}
					descendingFirst={descendingFirst}
					hasMore={providers.hasMore}
					onNearEnd={providers.more}
				/>
			)}
		</>
	);
}

function sortOf(query: URLSearchParams): Sort {
	const key = query.get("sort") ?? "";
	if (!(SORTS as readonly string[]).includes(key)) return LIST_SORT;
	const order = query.get("order");
	return { key, descending: order === null ? descendingFirst(key) : order === "down" };
}

function columnsOf(chosen: readonly string[], toggle: (id: string) => void): Column<ProviderSummary>[] {
	return [
		{
			key: "choose",
			title: "",
			cell: (row) => (
				<input
					type="checkbox"
					aria-label={`Compare ${row.name || row.id}`}
					checked={chosen.includes(row.id)}
					onChange={() => toggle(row.id)}
				/>
			),
		},
		{
			key: "name",
			title: "Name",
			canSort: true,
			cell: (row) => (
				<a href={`/providers/${row.id}`} class="name" title={row.id}>
					{row.name || row.id.slice(0, 12)}
				</a>
			),
		},
		{
			key: "verdict",
			title: "Last verdict",
			cell: (row) => <VerdictBadge state={row.lastVerdict} code={row.lastCode} />,
		},
		{
			key: "model",
			title: "Proven",
			cell: (row) => (row.model === null ? <span class="dim">nothing</span> : `${row.gpuCount} × ${row.model}`),
		},
		{ key: "fp16", title: "fp16", isNumber: true, canSort: true, cell: (row) => rate(row.fp16OpsPerS, "op/s") },
		{
			key: "memory",
			title: "Memory",
			isNumber: true,
			canSort: true,
			cell: (row) => (row.memoryBytes === null ? "–" : formatBytes(row.memoryBytes)),
		},
		{
			key: "bandwidth",
			title: "Bandwidth",
			isNumber: true,
			isMinor: true,
			canSort: true,
			cell: (row) => rate(row.memoryBytesPerS, "B/s"),
		},
		{
			key: "score",
			title: "Score",
			isNumber: true,
			canSort: true,
			cell: (row) => (row.scorePpm === null ? "–" : formatScore(row.scorePpm)),
		},
		{
			key: "uptime",
			title: "Uptime",
			isNumber: true,
			isMinor: true,
			canSort: true,
			cell: (row) => formatPpm(row.uptimePpm),
		},
		{
			key: "price",
			title: "Price/h",
			isNumber: true,
			isMinor: true,
			canSort: true,
			cell: (row) => (row.rentable ? formatMoney(row.pricePerHourMicros) : <span class="dim">–</span>),
		},
		{
			key: "state",
			title: "State",
			isMinor: true,
			cell: (row) =>
				row.state !== "active" ? (
					row.state
				) : row.rented ? (
					"rented"
				) : row.connected ? (
					"connected"
				) : (
					<span class="dim">away</span>
				),
		},
		{
			key: "lastProbe",
			title: "Proven",
			isNumber: true,
			isMinor: true,
			canSort: true,
			cell: (row) => <Time atMs={row.lastProbeAtMs} />,
		},
	];
}

const rate = (value: number | null, unit: string) => (value === null ? "–" : formatRate(value, unit));

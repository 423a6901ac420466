// All providers, by what they proved. Filters and order are the server's, over all rows; the table shows as
// many as are looked at.
import { useCallback, useMemo, useState } from "preact/hooks";
import type { ProviderSummary } from "../../src/api/types.ts";
import { formatCount, formatMoney, formatScore, gpuPriceMicros } from "../parts/format.ts";
import { Empty, HostLink, PageTitle, Time, VerdictBadge } from "../parts/small.tsx";
import { type Column, column, PagedTable } from "../parts/windowed-table.tsx";
import { ProvenCard } from "../rent/proven-card.tsx";
import { anyAttested, nameColumn, PROVIDER_SORTS, provenColumn, sorting, sortOf } from "../rent/proven-columns.tsx";
import { isAnySet, ProvenFilters, provenQuery } from "../rent/proven-filters.tsx";
import { api, useLoaded } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { goTo } from "../shell/router.ts";
import type { PageProps } from "../shell/shell.tsx";
import ProviderPage from "./provider.tsx";

const PAGE_ROWS = 200;

export default function ProvidersPage({ place }: PageProps) {
	const id = place.parts[1];
	return id === undefined ? <ProvidersTable place={place} /> : <ProviderPage key={id} id={id} />;
}

function ProvidersTable({ place }: PageProps) {
	const asked = provenQuery(place.query);
	const sort = sortOf(place.query, PROVIDER_SORTS, "score");
	const query = { ...asked, sort: sort.key, descending: sort.descending, limit: PAGE_ROWS };
	const providers = usePaged<ProviderSummary>(JSON.stringify(query), (page, signal) =>
		api.listProviders({ query: { ...query, ...page } }, { signal }),
	);
	const network = useLoaded("network", (signal) => api.network({}, { signal }));
	const [chosen, setChosen] = useState<readonly string[]>([]);
	const toggle = useCallback(
		(row: string) =>
			setChosen((before) => (before.includes(row) ? before.filter((one) => one !== row) : [...before, row].slice(-2))),
		[],
	);
	const isAnyAttested = anyAttested(providers.rows);
	const columns = useMemo(() => columnsOf(chosen, toggle, isAnyAttested), [chosen, toggle, isAnyAttested]);
	return (
		<>
			<PageTitle sub="Speed and memory are per GPU; for mixed hosts, those of the slowest card of the largest group.">
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
					{chosen.length === 2 ? "Compare these two" : `Choose ${2 - chosen.length} to compare`}
				</button>
			</div>
			<PagedTable
				of={providers}
				what="providers"
				lines={10}
				empty={
					<Empty title={isAnySet(place.query) ? "No matching hosts" : "No provider yet"}>
						{!isAnySet(place.query) ? (
							<>
								On a GPU machine: <code>assay provide --validator {location.origin}</code>
							</>
						) : (
							"Relax or clear a filter."
						)}
					</Empty>
				}
				label="Providers"
				rowKey={(row) => row.id}
				columns={columns}
				card={{
					heightPx: 154,
					of: (row) => (
						<ProvenCard row={row} isOffered={row.rentable} mark={<VerdictBadge state={row.lastVerdict} />}>
							<HostLink id={row.id} name={row.name} />
							<label class="beside">
								<input type="checkbox" checked={chosen.includes(row.id)} onChange={() => toggle(row.id)} /> Compare
							</label>
						</ProvenCard>
					),
				}}
				{...sorting(place, sort)}
			/>
		</>
	);
}

function columnsOf(
	chosen: readonly string[],
	toggle: (id: string) => void,
	isAnyAttested: boolean,
): Column<ProviderSummary>[] {
	return [
		column("choose", "", 1.4, (row) => (
			<input
				type="checkbox"
				aria-label={`Compare ${row.name || row.id}`}
				checked={chosen.includes(row.id)}
				onChange={() => toggle(row.id)}
			/>
		)),
		provenColumn("proven"),
		provenColumn("gpuPrice", {
			cell: (row) => (row.rentable ? formatMoney(gpuPriceMicros(row)) : <span class="dim">not for rent</span>),
		}),
		nameColumn(7, ({ id }) => id),
		column("verdict", "Last verdict", 6.4, (row) => (
			<span title={row.lastCode ?? ""}>
				<VerdictBadge state={row.lastVerdict} />
			</span>
		)),
		provenColumn("fp16"),
		provenColumn("memory"),
		provenColumn("bandwidth"),
		column("score", "Score", 3.6, (row) => (row.scorePpm === null ? "–" : formatScore(row.scorePpm)), {
			isNumber: true,
			canSort: true,
		}),
		provenColumn("uptime"),
		// There is room for one of them; the state is on the host's page.
		isAnyAttested
			? provenColumn<ProviderSummary>("attested")
			: column<ProviderSummary>("state", "State", 4.6, stateCell, { isMinor: true }),
		column("lastProbe", "Probed", 5.4, (row) => <Time atMs={row.lastProbeAtMs} />, {
			isNumber: true,
			isMinor: true,
			canSort: true,
		}),
	];
}

function stateCell({ state, rented, connected }: ProviderSummary) {
	if (state !== "active") return state;
	return rented ? "rented" : connected ? "connected" : <span class="dim">away</span>;
}

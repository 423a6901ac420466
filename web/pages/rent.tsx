// Rent what was proven: offers by filters, a reservation signed here, the way in, the time that is left.
// Money is a record of what is owed.
import { useCallback, useMemo, useState } from "preact/hooks";
import type { Network, Offer } from "../../src/api/types.ts";
import { formatCount, shortId } from "../parts/format.ts";
import { Empty, HostLink, Loading, PageTitle, Time } from "../parts/small.tsx";
import { type Column, column, PagedTable } from "../parts/windowed-table.tsx";
import { ProvenCard } from "../rent/proven-card.tsx";
import { anyAttested, nameColumn, OFFER_SORTS, provenColumn, sorting, sortOf } from "../rent/proven-columns.tsx";
import { isAnySet, ProvenFilters, provenQuery } from "../rent/proven-filters.tsx";
import { type Customer, loadCustomer } from "../rent/rental-key.ts";
import { RentalsPanel } from "../rent/rentals-panel.tsx";
import { CustomerLine, ReservePanel } from "../rent/reserve-panel.tsx";
import { api, useLoaded, useReloadOn } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { type Place, replaceQuery, setQuery } from "../shell/router.ts";
import type { PageProps } from "../shell/shell.tsx";

function choose(place: Place, providerId: string | null): void {
	const query = new URLSearchParams(place.query);
	if (providerId === null) query.delete("provider");
	else query.set("provider", providerId);
	replaceQuery(query);
	if (providerId !== null) window.scrollTo(0, 0);
}

export default function RentPage({ place }: PageProps) {
	const [customer, setCustomer] = useState<Customer | null>(loadCustomer);
	const look = () => setCustomer(loadCustomer());
	const chosen = place.query.get("provider");
	const sort = sortOf(place.query, OFFER_SORTS, "gpuPrice");
	const order = { sort: sort.key, descending: sort.descending, limit: 100 };
	// Whoever looks for a GPU is not shown hosts without one, unless told to.
	const query = { minDevices: withoutGpu(place) ? 0 : 1, ...provenQuery(place.query), ...order };
	const offers = usePaged<Offer>(JSON.stringify(query), (page, signal) =>
		api.listOffers({ query: { ...query, ...page } }, { signal }),
	);
	const network = useLoaded("network", (signal) => api.network({}, { signal }));
	useReloadOn(
		({ kind }) => kind.startsWith("rental.") || kind === "provider.changed" || kind === "probe.verdict",
		() => {
			offers.reload();
			network.reload();
		},
		2000,
	);
	const onRent = useCallback((id: string) => choose(place, id), [place]);
	const isAnyAttested = anyAttested(offers.rows);
	const columns = useMemo(() => columnsOf(onRent, isAnyAttested), [onRent, isAnyAttested]);
	return (
		<>
			<PageTitle sub="Every host here has a fresh valid proof. You get a shell with your own SSH key and pay for the time you use.">
				Rent a GPU
			</PageTitle>
			{customer === null ? null : <CustomerLine customer={customer} onChange={look} />}
			{customer === null ? null : <RentalsPanel customer={customer} />}
			{chosen === null ? null : (
				<ReservePanel
					key={chosen}
					providerId={chosen}
					customer={customer}
					onCustomer={look}
					onReserved={() => choose(place, null)}
					onCancel={() => choose(place, null)}
				/>
			)}
			<ProvenFilters place={place} models={network.value?.models.map(({ model }) => model) ?? []}>
				<label class="beside">
					<input
						type="checkbox"
						checked={withoutGpu(place)}
						onChange={({ currentTarget }) => setQuery(place, NO_GPU, currentTarget.checked ? "1" : "")}
					/>{" "}
					Also hosts without a GPU
				</label>
			</ProvenFilters>
			<PagedTable
				of={offers}
				what="offers"
				empty={<NoOffer place={place} providers={network.value?.providers ?? null} />}
				label="Offers"
				rowKey={(row) => row.providerId}
				columns={columns}
				card={{
					heightPx: 158,
					of: (row) => (
						<ProvenCard row={row} isOffered mark={<RentButton row={row} onRent={onRent} />}>
							<HostLink id={row.providerId} name={row.name} />
							<span class="dim">
								probed <Time atMs={row.lastValidAtMs} />
							</span>
						</ProvenCard>
					),
				}}
				{...sorting(place, sort)}
			/>
		</>
	);
}

/** Why the list is empty: filters, hosts without a GPU left out, nobody who lets any, or none free now. */
function NoOffer({ place, providers }: { place: Place; providers: Network["providers"] | null }) {
	const isFiltered = isAnySet(place.query);
	const isHiding = !isFiltered && !withoutGpu(place);
	const hidden = useLoaded(`hidden ${isHiding} ${JSON.stringify(providers)}`, async (signal) =>
		isHiding ? (await api.listOffers({ query: { minDevices: 0, limit: HIDDEN_COUNTED } }, { signal })).rows.length : 0,
	).value;
	if (isFiltered) return <Empty title="No matching hosts">Relax or clear a filter.</Empty>;
	// Nothing is said before it is known.
	if (providers === null || hidden === null) return <Loading what="offers" />;
	if (hidden > 0)
		return (
			<Empty title="No host with a GPU is free right now">
				{hidden === 1 ? "One host" : `${hidden === HIDDEN_COUNTED ? "Many" : hidden} hosts`} without a GPU can be
				rented: tick “Also hosts without a GPU” to see {hidden === 1 ? "it" : "them"}.
			</Empty>
		);
	if (providers.offered === 0)
		return (
			<Empty title="Nobody offers a host for rent here">
				Owners do so with <code>assay provide --rentable</code>. This list updates by itself.
			</Empty>
		);
	const hosts = providers.offered === 1 ? "One host is" : `${formatCount(providers.offered)} hosts are`;
	return (
		<Empty title="No host is free right now">
			{hosts} for rent here, {formatCount(providers.rented)} rented now. A host is free again when its rental has ended,
			it is connected, and its last probe is valid. This list updates by itself.
		</Empty>
	);
}

/** Offers that are counted exactly where they are left out. */
const HIDDEN_COUNTED = 100;
const NO_GPU = "noGpu";
const withoutGpu = (place: Place): boolean => place.query.get(NO_GPU) === "1";

function RentButton({ row, onRent }: { row: Offer; onRent: (providerId: string) => void }) {
	return (
		<button
			type="button"
			class="small"
			aria-label={`Rent ${row.name || shortId(row.providerId)}`}
			onClick={() => onRent(row.providerId)}
		>
			Rent
		</button>
	);
}

function columnsOf(onRent: (providerId: string) => void, isAnyAttested: boolean): readonly Column<Offer>[] {
	return [
		column("rent", "", 4.2, (row) => <RentButton row={row} onRent={onRent} />),
		provenColumn("proven"),
		provenColumn("gpuPrice"),
		provenColumn("price"),
		provenColumn("fp16"),
		provenColumn("memory"),
		provenColumn("bandwidth"),
		provenColumn("uptime"),
		nameColumn(8, ({ providerId }) => providerId),
		...(isAnyAttested ? [provenColumn<Offer>("attested")] : []),
		column("at", "Probed", 5, (row) => <Time atMs={row.lastValidAtMs} />, { isNumber: true, isMinor: true }),
	];
}

// Rent what was proven: offers by filters, a reservation signed here, the way in, the time that is left. Money is a record of what is owed.
import { useMemo, useState } from "preact/hooks";
import type { Offer } from "../../src/api/types.ts";
import { shortId } from "../parts/format.ts";
import { Empty, PageTitle, Time } from "../parts/small.tsx";
import { type Column, column, PagedTable } from "../parts/windowed-table.tsx";
import { nameColumn, OFFER_SORTS, provenColumn, sorting, sortOf } from "../rent/proven-columns.tsx";
import { ProvenFilters, provenQuery } from "../rent/proven-filters.tsx";
import { type Customer, loadCustomer } from "../rent/rental-key.ts";
import { RentalsPanel } from "../rent/rentals-panel.tsx";
import { CustomerPanel, ReservePanel } from "../rent/reserve-panel.tsx";
import { api, useLoaded, useReloadOn } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { type Place, replaceQuery } from "../shell/router.ts";
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
	const chosen = place.query.get("provider");
	const sort = sortOf(place.query, OFFER_SORTS, "price");
	const query = { ...provenQuery(place.query), sort: sort.key, descending: sort.descending, limit: 100 };
	const offers = usePaged<Offer>(JSON.stringify(query), (page, signal) =>
		api.listOffers({ query: { ...query, ...page } }, { signal }),
	);
	useReloadOn(
		({ kind }) => kind.startsWith("rental.") || kind === "provider.changed" || kind === "probe.verdict",
		offers.reload,
		2000,
	);
	const network = useLoaded("network", (signal) => api.network({}, { signal }));
	const columns = useMemo(() => columnsOf((id) => choose(place, id)), [place]);
	return (
		<>
			<PageTitle sub="Only hosts whose last proof is valid are offered, by what they proved. You get a shell with your own SSH key.">
				Rent
			</PageTitle>
			<CustomerPanel customer={customer} onChange={() => setCustomer(loadCustomer())} />
			{customer === null ? null : <RentalsPanel customer={customer} />}
			{chosen === null ? null : (
				<ReservePanel
					key={chosen}
					providerId={chosen}
					customer={customer}
					onReserved={() => choose(place, null)}
					onCancel={() => choose(place, null)}
				/>
			)}
			<ProvenFilters place={place} models={network.value?.models.map(({ model }) => model) ?? []} />
			<PagedTable
				of={offers}
				what="offers"
				empty={
					<Empty title="Nothing that fits can be rented now">
						Relax a filter, or come back later: hosts are re-tested all the time.
					</Empty>
				}
				label="Offers"
				rowKey={(row) => row.providerId}
				columns={columns}
				{...sorting(place, sort)}
			/>
		</>
	);
}

function columnsOf(onRent: (providerId: string) => void): readonly Column<Offer>[] {
	return [
		column("rent", "", 3.5, (row) => (
			<button
				type="button"
				class="small"
				aria-label={`Rent ${row.name || shortId(row.providerId)}`}
				onClick={() => onRent(row.providerId)}
			>
				Rent
			</button>
		)),
		nameColumn(9, ({ providerId }) => providerId),
		provenColumn("proven"),
		provenColumn("attested"),
		provenColumn("price"),
		provenColumn("fp16"),
		provenColumn("memory", { isMinor: true }),
		provenColumn("bandwidth"),
		provenColumn("uptime"),
		column("at", "Probed", 5, (row) => <Time atMs={row.lastValidAtMs} />, { isNumber: true, isMinor: true }),
	];
}

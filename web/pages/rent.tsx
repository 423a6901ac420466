// Rent what was proven: offers by filters, a reservation signed here, the way in, the time that is left. Money is a record of what is owed.
import { useEffect, useState } from "preact/hooks";
import type { Offer, Rental } from "../../src/api/types.ts";
import { formatBytes, formatLeft, formatMoney, formatPpm, formatRate, shortId } from "../parts/format.ts";
import { ProvenFilters, provenQuery } from "../parts/proven-filters.tsx";
import { type Customer, forgetToken, keepToken, loadCustomer, makeKey } from "../parts/rental-key.ts";
import { CopyButton, Empty, Failed, Id, Loading, PageTitle, Panel, Shown, Time } from "../parts/small.tsx";
import { sshCommand } from "../parts/ssh-command.ts";
import { type Column, type Sort, WindowedTable } from "../parts/windowed-table.tsx";
import { api, type Trouble, troubleOf, useLoaded, useNow, useReloadOn } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { goTo, replaceQuery } from "../shell/router.ts";
import type { PageProps } from "../shell/shell.tsx";

const SORTS = ["price", "score", "fp16", "memory", "bandwidth", "uptime", "name"] as const;
type SortKey = (typeof SORTS)[number];
const HOUR_MS = 3_600_000;

export default function RentPage({ place }: PageProps) {
	const [customer, setCustomer] = useState<Customer | null>(loadCustomer);
	const chosen = place.query.get("provider");
	const filters = new URLSearchParams([...place.query].filter(([key]) => !["provider", "sort", "order"].includes(key)));
	const sort = (SORTS as readonly string[]).includes(place.query.get("sort") ?? "")
		? (place.query.get("sort") as SortKey)
		: "price";
	const descending = place.query.get("order") === "down";
	const query = { ...provenQuery(filters), sort, descending, limit: 100 };
	const offers = usePaged<Offer>(JSON.stringify(query), (cursor, signal) =>
		api.listOffers({ query: cursor === undefined ? query : { ...query, cursor } }, { signal }),
	);
	useReloadOn(
		({ kind }) => kind.startsWith("rental.") || kind === "provider.changed" || kind === "probe.verdict",
		offers.reload,
		2000,
	);
	const network = useLoaded("network", (signal) => api.network({}, { signal }));
	const onSort = (to: Sort) => {
		const now = new URLSearchParams(place.query);
		now.set("sort", to.key);
		now.set("order", to.descending ? "down" : "up");
		replaceQuery(now);
	};
	return (
		<>
			<PageTitle sub="Only hosts whose last proof is valid are offered, by what they proved. You get a shell with your own SSH key.">
				Rent
			</PageTitle>
			<CustomerPanel customer={customer} onChange={() => setCustomer(loadCustomer())} />
			{customer === null ? null : <RentalsPanel customer={customer} />}
			{chosen === null ? null : <ReservePanel key={chosen} providerId={chosen} customer={customer} />}
			<ProvenFilters
				place={{ ...place, query: filters }}
				models={network.value?.models.map(({ model }) => model) ?? []}
			/>
			{offers.trouble !== null ? (
				<Failed trouble={offers.trouble} again={offers.reload} />
			) : offers.isFirst ? (
				<Loading what="offers" />
			) : offers.rows.length === 0 ? (
				<Empty title="Nothing that fits can be rented now">
					Ask for less, or come back: hosts are proven again all the time.
				</Empty>
			) : (
				<WindowedTable
					label="Offers"
					rows={offers.rows}
					rowKey={(row) => row.providerId}
					columns={COLUMNS}
					sort={{ key: sort, descending }}
					onSort={onSort}
					descendingFirst={(key) => !["price", "name"].includes(key)}
					hasMore={offers.hasMore}
					onNearEnd={offers.more}
				/>
			)}
		</>
	);
}

const COLUMNS: readonly Column<Offer>[] = [
	{
		key: "rent",
		title: "",
		cell: (row) => (
			<button
				type="button"
				class="small"
				aria-label={`Rent ${row.name || shortId(row.providerId)}`}
				onClick={() => goTo(`/rent?provider=${row.providerId}`)}
			>
				Rent
			</button>
		),
	},
	{
		key: "name",
		title: "Name",
		canSort: true,
		cell: (row) => <a href={`/providers/${row.providerId}`}>{row.name || shortId(row.providerId)}</a>,
	},
	{ key: "proven", title: "Proven", cell: (row) => (row.model === null ? "–" : `${row.gpuCount} × ${row.model}`) },
	{ key: "price", title: "Price/h", isNumber: true, canSort: true, cell: (row) => formatMoney(row.pricePerHourMicros) },
	{
		key: "fp16",
		title: "fp16",
		isNumber: true,
		canSort: true,
		cell: (row) => (row.fp16OpsPerS === null ? "–" : formatRate(row.fp16OpsPerS, "op/s")),
	},
	{
		key: "memory",
		title: "Memory",
		isNumber: true,
		isMinor: true,
		canSort: true,
		cell: (row) => (row.memoryBytes === null ? "–" : formatBytes(row.memoryBytes)),
	},
	{
		key: "bandwidth",
		title: "Bandwidth",
		isNumber: true,
		isMinor: true,
		canSort: true,
		cell: (row) => (row.memoryBytesPerS === null ? "–" : formatRate(row.memoryBytesPerS, "B/s")),
	},
	{
		key: "uptime",
		title: "Uptime",
		isNumber: true,
		isMinor: true,
		canSort: true,
		cell: (row) => formatPpm(row.uptimePpm),
	},
	{ key: "at", title: "Proven", isNumber: true, isMinor: true, cell: (row) => <Time atMs={row.lastValidAtMs} /> },
];

function CustomerPanel({ customer, onChange }: { customer: Customer | null; onChange: () => void }) {
	const [token, setToken] = useState("");
	if (customer !== null)
		return (
			<p class="bar">
				{customer.kind === "key" ? (
					<>
						You are <Id id={customer.key} /> <span class="dim">(a key kept in this browser)</span>
					</>
				) : (
					<>
						You use an API token <span class="dim">(for this tab only)</span>
						<button
							type="button"
							class="small"
							onClick={() => {
								forgetToken();
								onChange();
							}}
						>
							Forget it
						</button>
					</>
				)}
			</p>
		);
	return (
		<Panel title="Who rents">
			<form
				class="row"
				onSubmit={(event) => {
					event.preventDefault();
					if (token.trim() === "") return;
					keepToken(token.trim());
					onChange();
				}}
			>
				<button
					type="button"
					class="primary"
					onClick={() => {
						makeKey();
						onChange();
					}}
				>
					Make a key in this browser
				</button>
				<label>
					or use an API token
					<input
						type="password"
						autoComplete="off"
						value={token}
						onInput={(event) => setToken(event.currentTarget.value)}
					/>
				</label>
				<button type="submit">Use token</button>
			</form>
		</Panel>
	);
}

function ReservePanel({ providerId, customer }: { providerId: string; customer: Customer | null }) {
	const provider = useLoaded(providerId, (signal) => api.getProvider({ params: { id: providerId } }, { signal }));
	const [hours, setHours] = useState("1");
	const [publicKey, setPublicKey] = useState("");
	const [busy, setBusy] = useState(false);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const durationMs = Math.round(Number(hours) * HOUR_MS);
	const reserve = (price: number) => {
		if (customer === null) return;
		setBusy(true);
		setTrouble(null);
		const key = publicKey.trim().split(/\s+/).slice(0, 2).join(" ");
		customer.client
			.rent({ body: { providerId, publicKey: key, durationMs, maxPriceMicros: price } })
			.then(
				() => goTo("/rent"),
				(error) => setTrouble(troubleOf(error)),
			)
			.finally(() => setBusy(false));
	};
	return (
		<Panel title="Reserve">
			<Shown of={provider} what="the offer">
				{(offer) => (
					<form
						class="row"
						aria-label="Reserve"
						onSubmit={(event) => {
							event.preventDefault();
							reserve(offer.pricePerHourMicros);
						}}
					>
						<p class="grow">
							<a href={`/providers/${offer.id}`}>{offer.name || shortId(offer.id)}</a>: {offer.gpuCount} ×{" "}
							{offer.model ?? "unknown"}, {formatMoney(offer.pricePerHourMicros)} an hour
						</p>
						<label>
							Hours
							<input
								type="number"
								min="0.02"
								max="720"
								step="any"
								value={hours}
								onInput={(event) => setHours(event.currentTarget.value)}
							/>
						</label>
						<label class="grow">
							Your SSH public key
							<textarea
								placeholder="ssh-ed25519 AAAA…"
								spellcheck={false}
								value={publicKey}
								onInput={(event) => setPublicKey(event.currentTarget.value)}
							/>
						</label>
						<button
							type="submit"
							class="primary"
							disabled={customer === null || busy || publicKey.trim() === "" || !(durationMs >= 60_000)}
						>
							{busy
								? "Reserving …"
								: `Reserve for ${formatMoney(Math.ceil((offer.pricePerHourMicros * durationMs) / HOUR_MS) || 0)}`}
						</button>
						{customer === null ? <span class="dim">Make a key or give a token first.</span> : null}
					</form>
				)}
			</Shown>
			{trouble === null ? null : <Failed trouble={trouble} />}
		</Panel>
	);
}

function RentalsPanel({ customer }: { customer: Customer }) {
	const [rows, setRows] = useState<readonly Rental[] | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const [turn, setTurn] = useState(0);
	const again = () => setTurn((n) => n + 1);
	useEffect(() => {
		let isCurrent = true;
		customer.client.listRentals({ query: { limit: 20 } }).then(
			(page) => {
				if (!isCurrent) return;
				setRows(page.rows);
				setTrouble(null);
			},
			(error) => isCurrent && setTrouble(troubleOf(error)),
		);
		return () => {
			isCurrent = false;
		};
	}, [customer, turn]);
	useReloadOn(({ kind }) => kind.startsWith("rental."), again);
	if (trouble !== null) return <Failed trouble={trouble} again={again} />;
	if (rows === null) return <Loading what="your rentals" lines={2} />;
	if (rows.length === 0) return null;
	const act = (work: Promise<unknown>) => work.then(again, (error) => setTrouble(troubleOf(error)));
	return (
		<Panel title="Your rentals">
			<ul class="stages">
				{rows.map((rental) => (
					<RentalRow
						key={rental.id}
						rental={rental}
						onRelease={() => act(customer.client.releaseRental({ params: { id: rental.id } }))}
						onExtend={() =>
							act(customer.client.extendRental({ params: { id: rental.id }, body: { durationMs: HOUR_MS } }))
						}
					/>
				))}
			</ul>
		</Panel>
	);
}

function RentalRow({ rental, onRelease, onExtend }: { rental: Rental; onRelease: () => void; onExtend: () => void }) {
	const now = useNow();
	const isOpen = rental.state === "reserved" || rental.state === "active";
	const command = rental.access === null ? null : sshCommand(rental.access);
	return (
		<li class="device-block" data-rental={rental.state}>
			<h3>
				<Id id={rental.id} /> on <Id id={rental.providerId} href={`/providers/${rental.providerId}`} label="Provider" />{" "}
				{rental.state}
				{rental.endReason === null ? "" : `, ${rental.endReason}`}
			</h3>
			{isOpen ? (
				<p>
					<span class="num">{formatLeft(rental.untilMs - now)}</span> left, {formatMoney(rental.pricePerHourMicros)} an
					hour
				</p>
			) : (
				<p class="dim">
					charged {formatMoney(rental.chargedMicros ?? 0)}, back {formatMoney(rental.refundMicros ?? 0)}{" "}
					{rental.detail ?? ""}
				</p>
			)}
			{isOpen && command !== null ? (
				<div class="bar">
					<pre class="grow">{command}</pre>
					<CopyButton text={command} />
				</div>
			) : null}
			{isOpen ? (
				<div class="bar">
					<button type="button" class="small" onClick={onExtend}>
						One hour more
					</button>
					<button type="button" class="small" onClick={onRelease}>
						Release
					</button>
				</div>
			) : null}
		</li>
	);
}

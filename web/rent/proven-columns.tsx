// Columns and order that providers and offers share: the same figures under the same titles, sorted by the
// server, kept in the address.
import type { Attested } from "../../src/api/types.ts";
import { formatBytes, formatPercent, formatRate } from "../../src/protocol/format-number.ts";
import { formatMoney, gpuPriceMicros } from "../parts/format.ts";
import { HostLink } from "../parts/small.tsx";
import { type Column, column, type Sort } from "../parts/windowed-table.tsx";
import { AttestedBadge } from "../proofs/attested.tsx";
import { cardsOf } from "../proofs/probe-feed.tsx";
import { type Place, replaceQuery } from "../shell/router.ts";

export interface ProvenRow {
	readonly model: string | null;
	readonly gpuCount: number;
	readonly memoryBytes: number | null;
	readonly fp16OpsPerS: number | null;
	readonly memoryBytesPerS: number | null;
	readonly uptimePpm: number;
	readonly pricePerHourMicros: number;
	readonly lastValidAtMs: number | null;
	readonly attestation: Attested | null;
}

/** What the API sorts by: offers, and providers also by their last probe. */
export const OFFER_SORTS = ["score", "gpuPrice", "price", "memory", "fp16", "bandwidth", "uptime", "name"] as const;
export const PROVIDER_SORTS = [...OFFER_SORTS, "lastProbe"] as const;

/** Of prices the lowest and of names the first is wanted first; of all else the most. */
const descendingFirst = (key: string) => !["gpuPrice", "price", "name"].includes(key);

export function sortOf<Key extends string>(
	query: URLSearchParams,
	keys: readonly Key[],
	fallback: Key,
): { readonly key: Key; readonly descending: boolean } {
	const key = keys.find((one) => one === query.get("sort")) ?? fallback;
	const order = query.get("sort") === key ? query.get("order") : null;
	return { key, descending: order === null ? descendingFirst(key) : order === "down" };
}

/** Those props of a table that make its order the address's. */
export const sorting = (place: Place, sort: Sort) => ({
	sort,
	onSort: (to: Sort) => setSort(place, to),
	descendingFirst,
});

function setSort(place: Place, { key, descending }: Sort): void {
	const query = new URLSearchParams(place.query);
	query.set("sort", key);
	query.set("order", descending ? "down" : "up");
	replaceQuery(query);
}

const bytes = (value: number | null) => (value === null ? "–" : formatBytes(value));
const rate = (value: number | null, unit: string) => (value === null ? "–" : formatRate(value, unit));

/** Cards by what they proved to be; without one, what the last valid proof leaves to say. */
export function provenCards(row: Pick<ProvenRow, "model" | "gpuCount" | "lastValidAtMs">): string {
	return cardsOf(row) ?? (row.lastValidAtMs === null ? "nothing yet" : "no GPU");
}

const sortable = { isNumber: true, canSort: true };
const minor = { ...sortable, isMinor: true };
const COLUMNS = {
	proven: column("proven", "GPUs", 9.6, (row) => (
		<strong class={row.gpuCount > 0 ? "cards-name" : "cards-name dim"} title={row.model ?? ""}>
			{provenCards(row)}
		</strong>
	)),
	attested: column("attested", "Attested", 7, (row) => <AttestedBadge of={row.attestation} />, { isMinor: true }),
	fp16: column("fp16", "fp16", 6, (row) => rate(row.fp16OpsPerS, "FLOPS"), sortable),
	memory: column("memory", "Memory", 4.4, (row) => bytes(row.memoryBytes), sortable),
	bandwidth: column("bandwidth", "Bandwidth", 5, (row) => rate(row.memoryBytesPerS, "B/s"), minor),
	uptime: column("uptime", "Uptime", 3.6, (row) => formatPercent(row.uptimePpm / 1e6), minor),
	gpuPrice: column("gpuPrice", "Per GPU-hour", 6.8, (row) => formatMoney(gpuPriceMicros(row)), sortable),
	price: column("price", "Host, per hour", 7, (row) => formatMoney(row.pricePerHourMicros), minor),
} satisfies Readonly<Record<string, Column<ProvenRow>>>;

/** A column for it is worth its room only then. */
export const anyAttested = (rows: readonly ProvenRow[]): boolean =>
	rows.some(({ attestation }) => attestation !== null && attestation.shown !== "none");

/** One of the shared columns, for a table of this kind of rows. */
export function provenColumn<Row extends ProvenRow>(
	name: keyof typeof COLUMNS,
	over: Partial<Column<Row>> = {},
): Column<Row> {
	return { ...COLUMNS[name], ...over };
}

/** The host's name, as a link to its page. */
export const nameColumn = <Row extends { readonly name: string }>(widthRem: number, idOf: (row: Row) => string) =>
	column<Row>("name", "Host", widthRem, (row) => <HostLink id={idOf(row)} name={row.name} />, { canSort: true });

// Filters by proven figures, as the API takes them, kept in the address. Used by providers and offers.
import { useState } from "preact/hooks";
import { type Place, replaceQuery } from "../shell/router.ts";

interface Filter {
	readonly key: string;
	readonly label: string;
	readonly unit: string;
	/** What is typed × scale is what is asked. */
	readonly scale: number;
}

const NUMBERS: readonly Filter[] = [
	{ key: "minDevices", label: "GPUs", unit: "at least", scale: 1 },
	{ key: "minMemoryBytes", label: "Memory", unit: "GiB each, at least", scale: 2 ** 30 },
	{ key: "minFp16OpsPerS", label: "fp16", unit: "Top/s each, at least", scale: 1e12 },
	{ key: "minBandwidthBytesPerS", label: "Bandwidth", unit: "TB/s each, at least", scale: 1e12 },
	{ key: "maxPriceMicros", label: "Price", unit: "an hour, at most", scale: 1e6 },
	{ key: "minUptimePpm", label: "Uptime", unit: "%, at least", scale: 1e4 },
];

/** The query of the API from that of the address; what is no number is left out. */
export function provenQuery(query: URLSearchParams): Record<string, string | number> {
	const asked: Record<string, string | number> = {};
	for (const { key, scale } of NUMBERS) {
		const typed = query.get(key);
		const value = typed === null || typed.trim() === "" ? Number.NaN : Math.round(Number(typed) * scale);
		if (Number.isSafeInteger(value) && value >= 0) asked[key] = value;
	}
	const model = query.get("model")?.trim();
	if (model && /^[A-Za-z0-9]+([ ._-][A-Za-z0-9]+)*$/.test(model)) asked.model = model.slice(0, 64);
	// Invisible characters would be refused by the API; nobody types them on purpose.
	const q = query
		.get("q")
		?.replaceAll(/[\p{C}]/gu, "")
		.trim();
	if (q) asked.q = q.slice(0, 100);
	return asked;
}

function setQuery(place: Place, key: string, value: string): void {
	const query = new URLSearchParams(place.query);
	if (value === "") query.delete(key);
	else query.set(key, value);
	replaceQuery(query);
}

const FILTERS = ["q", "model", ...NUMBERS.map(({ key }) => key)];

/** Order and what else stands in the address is no filter. */
export const isAnySet = (query: URLSearchParams) => FILTERS.some((key) => query.has(key));

const withoutFilters = (query: URLSearchParams) =>
	new URLSearchParams([...query].filter(([key]) => !FILTERS.includes(key)));

export function ProvenFilters({ place, models }: { place: Place; models: readonly string[] }) {
	// Room enough: nobody should have to look for them.
	const [isWide] = useState(() => matchMedia("(min-width: 900px)").matches);
	const numbers = NUMBERS.filter(({ key }) => (place.query.get(key) ?? "") !== "").length;
	return (
		<search>
			<form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
				<label class="grow">
					Search
					<input
						type="search"
						placeholder="name, or the beginning of an id"
						value={place.query.get("q") ?? ""}
						onInput={(event) => setQuery(place, "q", event.currentTarget.value)}
					/>
				</label>
				<label>
					Model
					<input
						list="models"
						placeholder="any"
						value={place.query.get("model") ?? ""}
						onInput={(event) => setQuery(place, "model", event.currentTarget.value)}
					/>
					<datalist id="models">
						{models.map((model) => (
							<option key={model} value={model} />
						))}
					</datalist>
				</label>
				<details class="more" open={isWide || numbers > 0}>
					<summary>Proven figures{numbers === 0 ? "" : ` (${numbers})`}</summary>
					<div class="row">
						{NUMBERS.map(({ key, label, unit }) => (
							<label key={key}>
								{label} <span class="dim">{unit}</span>
								<input
									type="number"
									min="0"
									step="any"
									inputMode="decimal"
									value={place.query.get(key) ?? ""}
									onInput={(event) => setQuery(place, key, event.currentTarget.value)}
								/>
							</label>
						))}
					</div>
				</details>
				{isAnySet(place.query) ? (
					<button type="button" class="small" onClick={() => replaceQuery(withoutFilters(place.query))}>
						Clear
					</button>
				) : null}
			</form>
		</search>
	);
}

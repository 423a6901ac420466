// Filters by proven figures, as the API takes them, kept in the address. Used by providers and offers.
import type { ComponentChildren } from "preact";
import { profilesMeant } from "../../src/verify/hardware/identify/model-names.ts";
import { shortName } from "../../src/verify/hardware/identify/short-name.ts";
import { CURRENCY } from "../parts/format.ts";
import { type Place, replaceQuery, setQuery } from "../shell/router.ts";

interface Filter {
	readonly key: string;
	readonly label: string;
	/** What is typed × scale is what is asked. */
	readonly scale: number;
}

/** What most ask for stands open. */
const FIRST: readonly Filter[] = [
	{ key: "minDevices", label: "GPUs, at least", scale: 1 },
	{ key: "maxPriceMicros", label: `${CURRENCY} per hour, at most`, scale: 1e6 },
];
const MORE: readonly Filter[] = [
	{ key: "minMemoryBytes", label: "Memory of each GPU, GiB", scale: 2 ** 30 },
	{ key: "minFp16OpsPerS", label: "fp16 of each GPU, TFLOPS", scale: 1e12 },
	{ key: "minBandwidthBytesPerS", label: "Bandwidth of each GPU, TB/s", scale: 1e12 },
	{ key: "minUptimePpm", label: "Uptime, %", scale: 1e4 },
];
const NUMBERS = [...FIRST, ...MORE];

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

const FILTERS = ["q", "model", "noGpu", ...NUMBERS.map(({ key }) => key)];

/** Order and what else stands in the address is no filter. */
export const isAnySet = (query: URLSearchParams) => FILTERS.some((key) => query.has(key));

const withoutFilters = (query: URLSearchParams) =>
	new URLSearchParams([...query].filter(([key]) => !FILTERS.includes(key)));

/** Who is meant by what was typed: the API looks for these. */
function modelHint(typed: string): string {
	const meant = typed.trim() === "" ? [] : profilesMeant(typed).map(({ id }) => shortName(id));
	if (typed.trim() !== "" && meant.length === 0) return "no known model";
	return meant.length > 3 ? `${meant.slice(0, 3).join(", ")} and ${meant.length - 3} more` : meant.join(", ");
}

function NumberField({ place, filter: { key, label } }: { place: Place; filter: Filter }) {
	return (
		<label>
			{label}
			<input
				type="number"
				min="0"
				step="any"
				inputMode="decimal"
				value={place.query.get(key) ?? ""}
				onInput={(event) => setQuery(place, key, event.currentTarget.value)}
			/>
		</label>
	);
}

export function ProvenFilters(p: { place: Place; models: readonly string[]; children?: ComponentChildren }) {
	const { place, models } = p;
	const model = place.query.get("model") ?? "";
	const more = MORE.filter(({ key }) => (place.query.get(key) ?? "") !== "").length;
	return (
		<search>
			<form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
				<label class="grow">
					<span>
						Model <span class="dim">{modelHint(model)}</span>
					</span>
					<input
						list="models"
						placeholder="any; try h100, 4090 or a100 80gb"
						value={model}
						onInput={(event) => setQuery(place, "model", event.currentTarget.value)}
					/>
					<datalist id="models">
						{models.map((one) => (
							<option key={one} value={shortName(one)} />
						))}
					</datalist>
				</label>
				{FIRST.map((filter) => (
					<NumberField key={filter.key} place={place} filter={filter} />
				))}
				<label class="grow">
					Search
					<input
						type="search"
						placeholder="host name or id"
						value={place.query.get("q") ?? ""}
						onInput={(event) => setQuery(place, "q", event.currentTarget.value)}
					/>
				</label>
				{p.children}
				<details class="more" open={more > 0}>
					<summary>More filters{more === 0 ? "" : ` (${more})`}</summary>
					<div class="row">
						{MORE.map((filter) => (
							<NumberField key={filter.key} place={place} filter={filter} />
						))}
					</div>
				</details>
				{isAnySet(place.query) ? (
					<button type="button" class="small" onClick={() => replaceQuery(withoutFilters(place.query))}>
						Clear filters
					</button>
				) : null}
			</form>
		</search>
	);
}

// The list of providers as one statement: filter, order and place from a query. Column names and directions
// come from the tables below, never from the caller; every value is a parameter.
import { AssayError } from "../protocol/assay-error.ts";
import type { ProviderState } from "../protocol/network/provider-memory.ts";
import type { LinkKind } from "../protocol/probe/evidence.ts";
import type { VerdictStatus } from "../protocol/probe/verdict.ts";
import { integer, list, oneOf, text } from "./check-input.ts";
import { decodeCursor, type PageOptions, pageLimit } from "./page.ts";

export type ProviderSort =
	| "score"
	| "price"
	| "memory"
	| "fp16"
	| "bandwidth"
	| "uptime"
	| "name"
	| "registered"
	| "lastProbe"
	| "nextProbe";

export interface ProviderFilter {
	readonly state?: ProviderState;
	readonly link?: LinkKind;
	readonly connected?: boolean;
	readonly rented?: boolean;
	readonly rentable?: boolean;
	/** Substring of the name, or a prefix of the id. */
	readonly text?: string;
	/** Proven profile id, exactly. With the minima below: one group of equal cards must satisfy all of them. */
	readonly model?: string;
	readonly minCount?: number;
	readonly minMemoryBytes?: number;
	readonly minFp16OpsPerS?: number;
	readonly minMemoryBytesPerS?: number;
	/** Any other figure of each card of the group, by name ("fma.fp64"). At most 16. */
	readonly minFigures?: { readonly [name: string]: number };
	readonly maxPricePerHourMicros?: number;
	readonly minUptimePpm?: number;
	readonly minScorePpm?: number;
	readonly lastVerdict?: VerdictStatus;
	/** The last valid verdict must not be older. */
	readonly provenSinceMs?: number;
}

export interface ProviderQuery extends PageOptions {
	readonly filter?: ProviderFilter;
	/** Default "score". */
	readonly sort?: ProviderSort;
	/** Default: false for "price", "name", "nextProbe"; true for the others. */
	readonly descending?: boolean;
}

interface Order {
	/** Exactly as in the index of that order, else it is not used. */
	readonly by: string;
	readonly kind: "number" | "string";
	readonly descending: boolean;
}

const ORDERS: Readonly<Record<ProviderSort, Order>> = {
	score: { by: "coalesce(p.score_ppm, -1)", kind: "number", descending: true },
	price: { by: "p.price_per_hour_micros", kind: "number", descending: false },
	memory: { by: "coalesce(p.memory_bytes, -1)", kind: "number", descending: true },
	fp16: { by: "coalesce(p.fp16_ops_per_s, -1)", kind: "number", descending: true },
	bandwidth: { by: "coalesce(p.memory_bytes_per_s, -1)", kind: "number", descending: true },
	uptime: { by: "p.uptime_ppm", kind: "number", descending: true },
	name: { by: 'p.name COLLATE "C"', kind: "string", descending: false },
	registered: { by: "p.registered_at_ms", kind: "number", descending: true },
	lastProbe: { by: "coalesce(p.last_probe_at_ms, -1)", kind: "number", descending: true },
	nextProbe: { by: "p.next_probe_at_ms", kind: "number", descending: false },
};

interface Statement {
	readonly text: string;
	readonly values: readonly unknown[];
	/** For cursors: the list and its order. */
	readonly list: string;
	readonly limit: number;
}

/** `columns` must hold nothing of the caller's. Rows carry `sort_value` beside them. */
export function providerListStatement(columns: string, query: ProviderQuery): Statement {
	const sort = oneOf("sort", query.sort ?? "score", Object.keys(ORDERS) as ProviderSort[]);
	const order = ORDERS[sort];
	const descending = query.descending ?? order.descending;
	const limit = pageLimit(query);
	const name = `providers/${sort}/${descending ? "down" : "up"}`;
	const key = decodeCursor(name, order.kind, query.cursor);
	const values: unknown[] = [];
	const conditions = providerConditions(query.filter ?? {}, values);
	if (key) {
		values.push(key.value, key.id);
		const type = order.kind === "number" ? "bigint" : "text";
		conditions.push(
			`(${order.by}, p.id) ${descending ? "<" : ">"} ($${values.length - 1}::${type}, $${values.length}::text)`,
		);
	}
	values.push(limit + 1);
	const direction = descending ? "DESC" : "ASC";
	return {
		text: `SELECT ${columns}, ${order.by} AS sort_value FROM providers p ${conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`}
			ORDER BY ${order.by} ${direction}, p.id ${direction} LIMIT $${values.length}`,
		values,
		list: name,
		limit,
	};
}

function providerConditions(filter: ProviderFilter, values: unknown[]): string[] {
	const conditions: string[] = [];
	const value = (parameter: unknown): string => `$${values.push(parameter)}`;
	const least = (column: string, what: string, bound: number | undefined) => {
		if (bound !== undefined) conditions.push(`${column} >= ${value(integer(what, bound))}::bigint`);
	};
	if (filter.state !== undefined) conditions.push(`p.state = ${value(filter.state)}`);
	if (filter.link !== undefined) conditions.push(`p.link = ${value(filter.link)}`);
	if (filter.lastVerdict !== undefined) conditions.push(`p.last_verdict = ${value(filter.lastVerdict)}`);
	if (filter.rentable !== undefined) conditions.push(`p.rentable = ${value(filter.rentable)}::boolean`);
	if (filter.connected !== undefined) conditions.push(`p.connected_to IS ${filter.connected ? "NOT NULL" : "NULL"}`);
	if (filter.rented !== undefined) conditions.push(`p.rental_id IS ${filter.rented ? "NOT NULL" : "NULL"}`);
	if (filter.text !== undefined && filter.text !== "") {
		const searched = value(text("text", filter.text, 100));
		conditions.push(`(strpos(lower(p.name), lower(${searched}::text)) > 0 OR starts_with(p.id, ${searched}::text))`);
	}
	if (filter.maxPricePerHourMicros !== undefined)
		conditions.push(
			`p.price_per_hour_micros <= ${value(integer("maxPricePerHourMicros", filter.maxPricePerHourMicros))}::bigint`,
		);
	least("p.uptime_ppm", "minUptimePpm", filter.minUptimePpm);
	least("p.score_ppm", "minScorePpm", filter.minScorePpm);
	least("p.last_valid_at_ms", "provenSinceMs", filter.provenSinceMs);

	// One group of equal cards has to satisfy all of these.
	const before = conditions.length;
	if (filter.model !== undefined) conditions.push(`h.model = ${value(text("model", filter.model, 100))}`);
	least("h.count", "minCount", filter.minCount);
	least("h.memory_bytes", "minMemoryBytes", filter.minMemoryBytes);
	least("h.fp16_ops_per_s", "minFp16OpsPerS", filter.minFp16OpsPerS);
	least("h.memory_bytes_per_s", "minMemoryBytesPerS", filter.minMemoryBytesPerS);
	for (const [figure, bound] of list("minFigures", Object.entries(filter.minFigures ?? {}), 16)) {
		if (figure.length > 64) throw new AssayError("STORE_INPUT", "a figure's name has at most 64 characters");
		conditions.push(
			`(h.figures ->> ${value(text("a figure's name", figure, 64))})::bigint >= ${value(integer(figure, bound))}::bigint`,
		);
	}
	const ofHolding = conditions.splice(before);
	if (ofHolding.length > 0)
		conditions.push(`EXISTS (SELECT 1 FROM holdings h WHERE h.provider_id = p.id AND ${ofHolding.join(" AND ")})`);
	return conditions;
}

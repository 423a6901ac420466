// The list of providers as one statement: filter, order and place from a query. Column names and directions
// come from the tables below, never from the caller; every value is a parameter.
import type { ProviderState } from "../protocol/network/provider-memory.ts";
import type { LinkKind } from "../protocol/probe/evidence.ts";
import type { VerdictStatus } from "../protocol/probe/verdict.ts";
import { integer, list, oneOf, text } from "./check-input.ts";
import { type Condition, type Page, type Query, readPage } from "./page.ts";
import type { Database } from "./postgres/database.ts";

interface ProviderFilter {
	readonly state: ProviderState;
	readonly link: LinkKind;
	readonly connected: boolean;
	readonly rented: boolean;
	readonly rentable: boolean;
	/** Substring of the name, or a prefix of the id. */
	readonly q: string;
	/**
	 * Proven profiles, one of them exactly. With the minima below: one group of equal cards must satisfy all of
	 * them.
	 */
	readonly models: readonly string[];
	/** 0: hosts without a GPU, too. */
	readonly minDevices: number;
	readonly minMemoryBytes: number;
	readonly minFp16OpsPerS: number;
	readonly minBandwidthBytesPerS: number;
	/** Per hour. */
	readonly maxPriceMicros: number;
	readonly minUptimePpm: number;
	readonly minScorePpm: number;
	readonly lastVerdict: VerdictStatus;
	/** The last valid verdict must not be older. */
	readonly provenSinceMs: number;
	/** Default "score". */
	readonly sort: ProviderSort;
	/** Default: false for "price", "gpuPrice", "name", "nextProbe"; true for the others. */
	readonly descending: boolean;
}
export type ProviderQuery = Query<ProviderFilter>;
const MOST_MODELS = 200;

/** `by` exactly as in the index of that order, else it is not used. */
const ORDERS = {
	score: { by: "coalesce(p.score_ppm, -1)", kind: "number", descending: true },
	price: { by: "p.price_per_hour_micros", kind: "number", descending: false },
	gpuPrice: { by: "(p.price_per_hour_micros / greatest(p.gpu_count, 1))", kind: "number", descending: false },
	memory: { by: "coalesce(p.memory_bytes, -1)", kind: "number", descending: true },
	fp16: { by: "coalesce(p.fp16_ops_per_s, -1)", kind: "number", descending: true },
	bandwidth: { by: "coalesce(p.memory_bytes_per_s, -1)", kind: "number", descending: true },
	uptime: { by: "p.uptime_ppm", kind: "number", descending: true },
	name: { by: 'p.name COLLATE "C"', kind: "string", descending: false },
	registered: { by: "p.registered_at_ms", kind: "number", descending: true },
	lastProbe: { by: "coalesce(p.last_probe_at_ms, -1)", kind: "number", descending: true },
	nextProbe: { by: "p.next_probe_at_ms", kind: "number", descending: false },
} as const;
export type ProviderSort = keyof typeof ORDERS;

/** `columns` of `providers p`; they must hold nothing of the caller's. */
export function listProviders<Row extends object>(
	database: Pick<Database, "read">,
	columns: string,
	query: ProviderQuery,
): Promise<Page<Row>> {
	const sort = oneOf("sort", query.sort ?? "score", Object.keys(ORDERS) as ProviderSort[]);
	const { by, kind, ...order } = ORDERS[sort];
	const descending = query.descending ?? order.descending;
	const name = `providers/${sort}/${descending ? "down" : "up"}`;
	const page = { name, columns, from: "providers p", by, id: "p.id", kind, descending };
	return readPage<Row>(database, page, conditionsOf(query), query);
}

function conditionsOf(query: ProviderQuery): readonly Condition[] {
	type Bound = {
		[Name in keyof ProviderFilter]: ProviderFilter[Name] extends number ? Name : never;
	}[keyof ProviderFilter];
	const bound = (sql: string, what: Bound): Condition => {
		const value = query[what];
		return [`${sql} ?::bigint`, value === undefined ? undefined : integer(what, value)];
	};
	const models = query.models && list("models", query.models, MOST_MODELS).map((model) => text("models", model, 100));
	const ofOneGroup: readonly Condition[] = [
		["h.model = ANY(?::text[])", models],
		// None at all is no condition: a host without cards has no group.
		["h.count >= ?::bigint", query.minDevices ? integer("minDevices", query.minDevices) : undefined],
		bound("h.memory_bytes >=", "minMemoryBytes"),
		bound("h.fp16_ops_per_s >=", "minFp16OpsPerS"),
		bound("h.memory_bytes_per_s >=", "minBandwidthBytesPerS"),
	];
	return [
		["p.state = ?", query.state],
		["p.link = ?", query.link],
		["p.last_verdict = ?", query.lastVerdict],
		["p.rentable = ?::boolean", query.rentable],
		["(p.connected_to IS NOT NULL) = ?::boolean", query.connected],
		["(p.rental_id IS NOT NULL) = ?::boolean", query.rented],
		[
			"(strpos(lower(p.name), lower(?::text)) > 0 OR starts_with(p.id, ?::text))",
			(query.q && text("q", query.q, 100)) || undefined,
		],
		bound("p.price_per_hour_micros <=", "maxPriceMicros"),
		bound("p.uptime_ppm >=", "minUptimePpm"),
		bound("p.score_ppm >=", "minScorePpm"),
		bound("p.last_valid_at_ms >=", "provenSinceMs"),
		["EXISTS (SELECT 1 FROM holdings h WHERE h.provider_id = p.id AND ?)", ofOneGroup, "all"],
	];
}

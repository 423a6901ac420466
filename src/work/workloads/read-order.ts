// What a job file says to the market beside its work, docs/jobs.md §13: how the result is verified, and the
// most that it may cost and take. All three may be missing, and none changes what is computed: `assay job
// run` passes over them.
import { type JobMethod, METHOD_NAMES } from "../../protocol/network/job.ts";
import { wrongField } from "./job-fields.ts";

export interface JobOrder {
	readonly method: JobMethod;
	/** Micro-units, for everything; null: no limit. */
	readonly mostMicros: number | null;
	/** For all parts, one after the other; null: no limit. */
	readonly mostMs: number | null;
}

/** A tenth that was skipped is found with 81 %. */
const DEFAULT_METHOD: JobMethod = { name: "sampled", count: 16 };
const MICROS = 1_000_000;
const MINUTE = 60_000;
/** Of the counts: unless given, least, most. */
const COUNTS = {
	redundant: [2, 2, 5],
	sampled: [DEFAULT_METHOD.count, 1, 64],
	optimistic: [0, 0, 0],
	attested: [0, 0, 0],
	zk: [0, 0, 0],
} as const;

/** `redundant:2`, `sampled:16`, `optimistic`, `attested`, `zk`; the count may be missing. */
export function parseMethod(given: string): JobMethod {
	const found = /^([a-z]+)(?::(\d{1,2}))?$/.exec(given);
	const name = METHOD_NAMES.find((one) => one === found?.[1]);
	const [fallback, least, most] = COUNTS[name ?? "sampled"];
	const count = found?.[2] === undefined ? fallback : Number(found[2]);
	if (name !== undefined && count >= least && count <= most) return { name, count };
	throw wrongField(
		"method",
		`must be redundant:2 (to 5), sampled:16 (1 to 64), optimistic, attested or zk, not '${given}'`,
	);
}

function number(json: Readonly<Record<string, unknown>>, field: string, most: number, unit: number): number | null {
	if (!Object.hasOwn(json, field)) return null;
	const value = json[field];
	if (typeof value !== "number" || !(value > 0) || value > most)
		throw wrongField(field, `must be a number above 0, at most ${most}`);
	return Math.floor(value * unit);
}

/** Fields of a job file that say nothing of what is computed. */
export const ORDER_FIELDS = ["method", "mostPrice", "mostMinutes"] as const;

/** The order, and the job file without it. */
export function readOrder(json: unknown): { readonly order: JobOrder; readonly work: unknown } {
	const order: JobOrder = { method: DEFAULT_METHOD, mostMicros: null, mostMs: null };
	if (typeof json !== "object" || json === null || Array.isArray(json)) return { order, work: json };
	const { method, mostPrice: _price, mostMinutes: _minutes, ...work } = json as Readonly<Record<string, unknown>>;
	if (method !== undefined && typeof method !== "string") throw wrongField("method", "must be text");
	const held = json as Readonly<Record<string, unknown>>;
	return {
		order: {
			method: method === undefined ? DEFAULT_METHOD : parseMethod(method),
			mostMicros: number(held, "mostPrice", 1e9, MICROS),
			mostMs: number(held, "mostMinutes", 1e6, MINUTE),
		},
		work,
	};
}

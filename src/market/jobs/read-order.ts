// What a job file says to the market beside its work, docs/jobs.md §13: how the result is verified, and the
// most that it may cost and take, what an hour of work is paid. All may be missing, and none changes what is
// computed.
import { type JobMethod, METHOD_NAMES, type MethodName } from "../../protocol/network/job.ts";
import { DEFAULT_METHOD, METHODS, methodText, orList } from "../../verify/methods/methods.ts";
import { wrongField } from "../../work/workloads/job-fields.ts";
import { ORDER_FIELDS } from "../../work/workloads/read-job.ts";

export interface JobOrder {
	readonly method: JobMethod;
	/** Micro-units, for everything; null: no limit. */
	readonly mostMicros: number | null;
	/** For all parts, one after the other; null: no limit. */
	readonly mostMs: number | null;
	/** For an hour of work as an H200 does it, by the model; null: what hosts ask. */
	readonly hourMicros: number | null;
}

const MICROS = 1_000_000;
const MINUTE = 60_000;

const boundsText = (name: MethodName): string => {
	const { usual, least, most } = METHODS[name].counts;
	const bounds = most === 0 ? "" : least === usual ? ` (to ${most})` : ` (${least} to ${most})`;
	return `${methodText({ name, count: usual })}${bounds}`;
};

/** `redundant:2`, `optimistic`; the count may be missing. */
export function parseMethod(given: string): JobMethod {
	const found = /^([a-z]+)(?::(\d{1,2}))?$/.exec(given);
	const name = METHOD_NAMES.find((one) => one === found?.[1]);
	if (name !== undefined) {
		const { usual, least, most } = METHODS[name].counts;
		const count = found?.[2] === undefined ? usual : Number(found[2]);
		if (count >= least && count <= most) return { name, count };
	}
	throw wrongField("method", `must be ${orList(METHOD_NAMES.map(boundsText))}, not '${given}'`);
}

function number(json: Readonly<Record<string, unknown>>, field: string, most: number, unit: number): number | null {
	if (!Object.hasOwn(json, field)) return null;
	const value = json[field];
	if (typeof value !== "number" || !(value > 0) || value > most)
		throw wrongField(field, `must be a number above 0, at most ${most}`);
	return Math.floor(value * unit);
}

export function readOrder(json: unknown): JobOrder {
	if (typeof json !== "object" || json === null || Array.isArray(json))
		return { method: DEFAULT_METHOD, mostMicros: null, mostMs: null, hourMicros: null };
	const held = json as Readonly<Record<string, unknown>>;
	const [method, mostPrice, mostMinutes, pricePerHour] = ORDER_FIELDS;
	const given = held[method];
	if (given !== undefined && typeof given !== "string") throw wrongField(method, "must be text");
	return {
		method: given === undefined ? DEFAULT_METHOD : parseMethod(given),
		mostMicros: number(held, mostPrice, 1e9, MICROS),
		mostMs: number(held, mostMinutes, 1e6, MINUTE),
		hourMicros: number(held, pricePerHour, 1e9, MICROS),
	};
}

// A job file, docs/training.md: JSON of some ten lines that says what to compute. Reads and refuses; what is
// left out gets its default. Not here: the files that it names, and whether they fit (build-workload.ts).
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import { variants } from "../../protocol/bytes/shape.ts";
import { wrongField } from "./job-fields.ts";
import { type JobSpec, KINDS } from "./kinds.ts";

const shape = variants("workload", Object.fromEntries(Object.entries(KINDS).map(([name, kind]) => [name, kind.shape])));

/** Fields that say nothing of what is computed: they are the market's (market/jobs/read-order.ts). */
export const ORDER_FIELDS = ["method", "mostPrice", "mostMinutes", "pricePerHour"] as const;

/** The job file without its order. */
export function workOfJob(file: unknown): unknown {
	if (typeof file !== "object" || file === null || Array.isArray(file)) return file;
	const isWork = (field: string) => !ORDER_FIELDS.some((one) => one === field);
	return Object.fromEntries(Object.entries(file).filter(([field]) => isWork(field)));
}

/** Refuses with code, field and hint. */
export function readJob(file: unknown): JobSpec {
	const json = workOfJob(file);
	const found = shape(json, "", ORDER_FIELDS);
	if (found !== null) throw wrongField(found.where, found.detail);
	const held = json as { readonly workload: keyof typeof KINDS; readonly seed: string };
	const kind = KINDS[held.workload];
	for (const name of [...kind.required, "seed"]) if (!Object.hasOwn(held, name)) throw wrongField(name, "is missing");
	return kind.read(json, hexToBytes(held.seed.slice(2), 32)!);
}

/** The same job, `length` long. */
export function withLength(json: unknown, length: number): unknown {
	const { workload } = (json ?? {}) as { readonly workload?: unknown };
	const kind = Object.hasOwn(KINDS, String(workload)) ? KINDS[workload as keyof typeof KINDS] : KINDS.train;
	return { ...(json as object), [kind.length]: length };
}

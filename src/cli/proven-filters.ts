// Filters by what was proven, the same for providers and for offers: options in the units of people, queries in those of the API.
import { numberOption } from "./parse-options.ts";

export const filterOptions = {
	options: {
		model: { type: "string" },
		"min-gpus": { type: "string" },
		"min-memory": { type: "string" },
		"min-fp16": { type: "string" },
		"min-bandwidth": { type: "string" },
		"max-price": { type: "string" },
		"min-uptime": { type: "string" },
		find: { type: "string" },
		sort: { type: "string" },
		reverse: { type: "boolean", default: false },
		limit: { type: "string" },
	},
	help: `  --model ID        of docs/profiles.md, as proven (h100-sxm, rtx-4090, …)
  --min-gpus N      equal cards, at least
  --min-memory GiB, --min-fp16 TFLOPS, --min-bandwidth GB/s   proven, of each card
  --max-price AMOUNT  an hour; --min-uptime PERCENT
  --find TEXT       part of the name, or the beginning of the id
  --limit N         rows, at most 500 (default 50)`,
} as const;

type FilterValues = { readonly [name in keyof typeof filterOptions.options]?: string | boolean | undefined };

export function wantsOf(command: string, values: FilterValues) {
	const number = (name: keyof FilterValues, scale: number, max: number) =>
		values[name] === undefined
			? undefined
			: Math.round(numberOption(command, name, String(values[name]), 0, max) * scale);
	const wants = {
		model: values.model as string | undefined,
		minDevices: number("min-gpus", 1, 64),
		minMemoryBytes: number("min-memory", 2 ** 30, 1e6),
		minFp16OpsPerS: number("min-fp16", 1e12, 9000),
		minBandwidthBytesPerS: number("min-bandwidth", 1e9, 1e6),
		maxPriceMicros: number("max-price", 1e6, 1e9),
		minUptimePpm: number("min-uptime", 1e4, 100),
	};
	return given(wants);
}

/** Sort words are checked by the API, which names those it knows. */
export function listQuery<Sort extends string>(command: string, values: FilterValues, ascending: readonly string[]) {
	const limit =
		values.limit === undefined ? 50 : Math.floor(numberOption(command, "limit", String(values.limit), 1, 500));
	const sort = values.sort as Sort | undefined;
	// Each sort has a direction that people expect; --reverse turns it round.
	const descending = values.reverse === true ? ascending.includes(sort ?? "") : undefined;
	return { ...wantsOf(command, values), ...given({ q: values.find as string | undefined, sort, descending }), limit };
}

/** Without what was not given: the API tells an absent field from an empty one. */
export function given<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
	return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as {
		[K in keyof T]?: Exclude<T[K], undefined>;
	};
}

// Filters by what was proven, the same for providers and for offers: options in the units of people, queries
// in those of the API.
import { flag, group, number, text, type Values, whole } from "./options.ts";

export const filterOptions = group("filters", {
	model: text("NAME", "proven model, in any spelling: h100 finds every H100, rtx-4090, …"),
	"min-gpus": number("N", "at least N equal cards", [0, 64]),
	"min-memory": number("GiB", "proven memory of each card, at least", [0, 1e6]),
	"min-fp16": number("TFLOPS", "proven fp16 speed of each card, at least", [0, 9000]),
	"min-bandwidth": number("GB/s", "proven memory bandwidth of each card, at least", [0, 1e6]),
	"max-price": number("AMOUNT", "price of an hour, at most", [0, 1e9]),
	"min-uptime": number("PERCENT", "uptime, at least", [0, 100]),
	find: text("TEXT", "part of the name, or the beginning of the id"),
	sort: text("WORD", "price, gpuPrice, score, memory, fp16, bandwidth, uptime or name"),
	reverse: flag("reverse the order"),
	limit: whole("N", "rows, at most 500", [1, 500], 50),
});

type FilterValues = Values<typeof filterOptions>;

export function wantsOf(values: FilterValues) {
	const scaled = (value: number | undefined, scale: number) =>
		value === undefined ? value : Math.round(value * scale);
	return given({
		model: values.model,
		minDevices: scaled(values["min-gpus"], 1),
		minMemoryBytes: scaled(values["min-memory"], 2 ** 30),
		minFp16OpsPerS: scaled(values["min-fp16"], 1e12),
		minBandwidthBytesPerS: scaled(values["min-bandwidth"], 1e9),
		maxPriceMicros: scaled(values["max-price"], 1e6),
		minUptimePpm: scaled(values["min-uptime"], 1e4),
	});
}

/**
 * Sort words are checked by the API, which names those it knows. `ascending`: those that begin with the
 * smallest.
 */
export function listQuery<Sort extends string>(values: FilterValues, ascending: readonly string[]) {
	const sort = values.sort as Sort | undefined;
	const descending = values.reverse ? ascending.includes(sort ?? "") : undefined;
	return { ...wantsOf(values), ...given({ q: values.find, sort, descending }), limit: values.limit };
}

/** Without what was not given: the API tells an absent field from an empty one. */
export function given<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
	return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as {
		[K in keyof T]?: Exclude<T[K], undefined>;
	};
}

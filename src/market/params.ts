// The one table of parameters: every number that a score, a weight, a schedule or a rental depends on, with
// its unit, its limits and where it comes from. Operators override rows by name; createParams checks them.
// docs/scores.md lists the table, a test keeps it in step.
import { AssayError } from "../protocol/assay-error.ts";

/** `least` and `most` bound numbers; `oneOf` words. */
export interface ParamRow<Value> {
	readonly value: Value;
	readonly unit: string;
	readonly least?: number;
	readonly most?: number;
	readonly oneOf?: readonly string[];
	readonly source: string;
}

const MINUTE = 60_000;
const DAY = 86_400_000;
const PPM = 1_000_000;
/** A device that may show half of itself can be shown twice. */
const HALF = PPM / 2 + 1;
const XEON = "measured: the 16-vCPU host of bench/results/h200, rounded down";
const FIT = "ours, near SN27's scores, see Device";
const LEVEL = "ours: small, for figures decide; a card that signs for a weaker host earns less than by itself";
const BEST = "the best of docs/profiles.md, rounded";
const ms = (value: number, source: string, least = 0, most = 365 * DAY) => ({ value, unit: "ms", least, most, source });
const ppm = (value: number, source: string, least = 0, most = PPM) => ({ value, unit: "ppm", least, most, source });
const count = (value: number, most: number, source: string, least = 0) => ({ value, unit: "1", least, most, source });
const word = <const W extends string>(oneOf: readonly [W, ...W[]], source: string) => ({
	value: oneOf[0] as W,
	unit: "",
	oneOf,
	source,
});
const rate = (value: number, unit: string, source: string) => ({ value, unit, least: 1, most: 2 ** 53 - 1, source });

/**
 * SN27's table: score in ppm by our profile's id; null: listed without a score. Cards that are not listed
 * score 0.
 */
export const SN27_SCORES_PPM: Readonly<Record<string, number | null>> = {
	B200: 5_000_000,
	H200: 4_000_000,
	"H100 80GB HBM3": 3_300_000,
	"H100 PCIe": 2_800_000,
	"A100-SXM4-80GB": 1_900_000,
	"A100 80GB PCIe": 1_700_000,
	"A100-SXM4-40GB": 1_300_000,
	L40: 1_000_000,
	"GeForce RTX 5090": 920_000,
	L40S: 900_000,
	"RTX 6000 Ada Generation": 830_000,
	"RTX A6000": 750_000,
	"GeForce RTX 4090": 680_000,
	"RTX A5000": 260_000,
	A40: 0,
	"GeForce RTX 3090": 0,
	"RTX A4500": 0,
	L4: 0,
	"RTX 4000 Ada Generation": null,
};

export const PARAM_ROWS = {
	// schedule, docs/schedule.md
	intervalMs: ms(72 * MINUTE, "SN27: 360 blocks of 12 s", 1),
	jitterMs: ms(15 * MINUTE, "SN27: 0–900 s"),
	retries: count(5, 20, "ours; SN27 makes 22, every 60 s"),
	retryFirstMs: ms(MINUTE, "ours; doubled each time: 1, 2, 4, 8, 16 min", 1),
	backOffMs: ms(18 * 60 * MINUTE, "ours: with the jitter, a mended host is asked again within a day", 1),
	promptMs: ms(30_000, "ours: an H200 takes 8 s; four times it is the longest that a prompt host may hold a slot", 1),
	firstHoldMs: ms(3 * MINUTE, "ours: a slow host of 8 cards; a fifth of the longest probe", 1),
	forgiveAfterValid: count(10, 1000, "ours: one withheld answer in ten proofs is a bad network, more is a habit", 1),
	changedLimitMs: ms(10 * MINUTE, "docs/schedule.md"),
	fallPpm: ppm(200_000, "docs/schedule.md; GPU figures of three probes agreed within 1.7 % (bench/results/h200)"),
	fallHistory: count(5, 100, "docs/schedule.md", 3),
	suspectsAtOnce: count(16, 256, "ours: a bound; a larger group leaves the rest without credit", 2),
	suspicionLimitMs: ms(72 * MINUTE, "ours: one interval; else a stranger who claims your UUID has you probed all day"),

	// scores, docs/scores.md
	scoring: word(["holistic", "sn27"], "docs/network.md §2"),
	hostParts: word(["carried", "plain"], "ours, see Holistic"),
	hostOnlyPpm: ppm(0, "ours, see Holistic: for trial networks; nothing tells one CPU shown twice from two"),
	gpuWeightPpm: ppm(550_000, "SN27: GPU 55 %", 1),
	cpuWeightPpm: ppm(200_000, "SN27: CPU 20 %"),
	ramWeightPpm: ppm(150_000, "SN27: RAM 15 %"),
	diskWeightPpm: ppm(100_000, "SN27: disk 10 %"),
	rentedBonusPpm: ppm(1_100_000, "ours; SN27 has a multiplier for allocated miners", PPM, 10 * PPM),
	genuineBonusPpm: ppm(1_010_000, LEVEL, PPM, 2 * PPM),
	measuredBonusPpm: ppm(1_020_000, LEVEL, PPM, 2 * PPM),
	hostedBonusPpm: ppm(1_050_000, LEVEL, PPM, 2 * PPM),
	maxAgeMs: ms(3 * 72 * MINUTE, "docs/network.md §2: three intervals", 1),
	maxRentedAgeMs: ms(7 * DAY, "ours: who rents from itself must be proven again some day", 1),
	reliabilityStartPpm: ppm(500_000, "ours: a new name is worth less than a kept one"),
	reliabilityStepPpm: ppm(100_000, "ours: half of the way in 7 probes, some 9 h", 1),
	reliabilityWindow: count(64, 10_000, "ours: 0.9^64 leaves 0.1 % of what was before", 1),
	fullHostGpus: count(
		8,
		64,
		"SN27: min(N, 8); the GPU part is 1 for so many cards that have all of the figures below",
		1,
	),
	gpuInt8WeightPpm: ppm(150_000, FIT),
	gpuFp16WeightPpm: ppm(250_000, FIT),
	gpuFp32WeightPpm: ppm(50_000, FIT),
	gpuFp64WeightPpm: ppm(100_000, FIT),
	gpuBandwidthWeightPpm: ppm(200_000, FIT),
	gpuMemoryWeightPpm: ppm(250_000, FIT),
	gpuInt8OpsPerS: rate(5_000_000_000_000_000, "op/s", BEST),
	gpuFp16OpsPerS: rate(2_500_000_000_000_000, "op/s", BEST),
	gpuFp32FlopPerS: rate(126_000_000_000_000, "flop/s", BEST),
	gpuFp64FlopPerS: rate(40_000_000_000_000, "flop/s", BEST),
	gpuBytesPerS: rate(8_000_000_000_000, "B/s", BEST),
	gpuMemoryBytes: rate(288 * 2 ** 30, "B", BEST),
	gpuPassPpm: ppm(
		100_000,
		"of a second; the slowest cards of docs/profiles.md (A2, A16, L4) read all of their memory in 0.086 s",
		1,
	),
	cpuInt8OpsPerS: rate(1_400_000_000_000, "op/s", XEON),
	cpuFp32FlopPerS: rate(250_000_000_000, "flop/s", XEON),
	cpuFp64FlopPerS: rate(200_000_000_000, "flop/s", XEON),
	ramBytesPerS: rate(64_000_000_000, "B/s", XEON),
	ramBytes: rate(128 * 2 ** 30, "B", "ours: 8 GiB for each of the 16 vCPUs"),
	diskReadBytesPerS: rate(3_000_000_000, "B/s", "data sheets of NVMe drives on four lanes of PCIe 3"),
	diskWriteBytesPerS: rate(1_500_000_000, "B/s", "data sheets of NVMe drives on four lanes of PCIe 3"),

	// roll calls, docs/roll-call.md
	rollCallLeastMs: ms(5000, "docs/roll-call.md: the deadline, where two blocks take less", 1),
	rollCallGpuSharePpm: ppm(
		700_000,
		"ours: above a half, so that no device answers for two; the rest is for the way",
		HALF,
	),
	rollCallCpuSharePpm: ppm(550_000, "ours: above a half; a CPU has other things to do as well", HALF),
	rollCallBytesPpm: ppm(900_000, "ours: some memory is taken between two probes", HALF),
	rollCallWindow: count(24, 1000, "docs/roll-call.md: eight hours of calls, one in 20 minutes", 1),

	// rentals, docs/rentals.md
	leastRentalMs: ms(MINUTE, "ours, as the API", 1),
	mostRentalMs: ms(30 * DAY, "ours, as the API", 1),
	mostOpenRentals: count(16, 10_000, "ours: at once, of one customer", 1),
	mostOpenUnpaid: count(2, 10_000, "ours: at once, of one customer, without a deposit"),
	mostUnpaidMs: ms(DAY, "ours: the longest rental without a deposit, extensions included"),
	mostUnpaidDayMs: ms(2 * DAY, "ours: of one customer in a day, all rentals without a deposit together"),
	leastChargeMs: ms(MINUTE, "docs/rentals.md: the first minute is charged whole when the customer releases"),
	reserveTimeoutMs: ms(5 * MINUTE, "ours: pulling a container image", 1),
	healthEveryMs: ms(30_000, "docs/rentals.md", 1),
	healthMisses: count(3, 100, "docs/rentals.md", 1),

	// jobs, docs/jobs.md
	jobPartMs: ms(5 * MINUTE, "ours: by the model, on the slowest host; what is lost when a host dies", MINUTE),
	jobLongPartMs: ms(20 * MINUTE, "ours: where handing over takes long, or hosts differ much", MINUTE),
	jobStartMs: ms(30 * MINUTE, "ours: a part that nobody has taken by then is the customer's again", MINUTE),
	jobAcceptMs: ms(2 * MINUTE, "ours: to fetch inputs, plan, and lock a bond", 1),
	jobBeatMs: ms(15_000, "ours: a sign of life", 1),
	jobBeatMisses: count(3, 100, "ours", 1),
	jobTimePpm: ppm(
		200_000,
		"ours: of the time limit, what the modelled time may fill; an H200 takes up to 1.4 times that, 16 CPU cores 4.4",
		1,
	),
	jobLeastWorkMs: ms(10 * MINUTE, "ours: starting an engine, fetching and storing on a slow line", 1),
	jobLeastPaidMs: ms(
		MINUTE,
		"ours: a part is priced as if it took so long at least, as a rental: 8 s to its first segment on an H200's machine, and storing",
	),
	jobStuckMs: ms(10 * MINUTE, "ours: a host that lives, and shows no further segment", 1),
	jobWindowMs: ms(DAY, "ours: from a claim to its payment without evidence; a watcher's day", 1),
	jobCheckedMs: ms(10 * MINUTE, "ours: from the evidence to the payment", 1),
	jobReliabilityPpm: ppm(500_000, "ours: a new provider may work"),
	jobAuditPpm: ppm(100_000, "ours: parts of optimistic jobs that are run again; a bond of ten rewards fits it", 10_000),
	jobTrustAfter: count(10, 10_000, "BOINC: trust after ten right results", 1),
	jobAuditPricePpm: ppm(1_200_000, "ours: an audit is small and comes unasked", PPM, 10 * PPM),
	jobGasMarginPpm: ppm(1_200_000, "ours: whoever is right pays no gas", PPM, 10 * PPM),
	jobFastPpm: ppm(100_000, "ours: clocks and proven figures may differ so much", 0, PPM - 1),
	jobFeePpm: ppm(20_000, "ours: to the validators"),
	jobReturnOneOf: count(10, 1000, "ours: of so many parts a host may hand one back without a mark", 1),
	jobConvictionMs: ms(90 * DAY, "ours: no work after a conviction"),
	jobUploadMs: ms(
		DAY,
		"ours: how long an upload, or a blob that no job uses, is kept without a sign of interest",
		MINUTE,
	),
	blobGuestPpm: ppm(
		500_000,
		"ours: of the disk, bytes and inodes, what all may hold that no job holds; the rest is for jobs and the database",
		10_000,
		900_000,
	),
	blobWorkPpm: ppm(
		100_000,
		"ours: of the disk, bytes and inodes, kept free for providers that have a part to hand in",
		0,
		500_000,
	),
	blobMaxHeld: count(
		10_000,
		1_000_000,
		"ours: blobs of one holder; a large model has some hundred, and 10,000 are listed in 20 ms",
		1,
	),
	jobKeptBytes: {
		...{ value: 256 * 2 ** 30, unit: "B", least: 2 ** 20, most: 2 ** 53 - 1 },
		source: "ours: of one customer, what all its jobs keep; two holders' worth, for a disk of a TiB",
	},
	jobKeepMs: ms(7 * DAY, "ours: how long inputs and results are kept after the end of a job", MINUTE),
	jobSilenceMs: ms(10 * MINUTE, "ours: a claimant that is asked may be away for so long", 1),
	jobDisputeMs: ms(30 * MINUTE, "ours: a dispute that nobody has brought before the chain by then is none", 1),
	jobWeightPpm: ppm(200_000, "ours: what work done counts in the draw, at most", 0, PPM - 1),
} as const satisfies Readonly<Record<string, ParamRow<unknown>>>;

type Rows = typeof PARAM_ROWS;
export type Params = { readonly [Name in keyof Rows]: Rows[Name]["value"] };

export const DEFAULT_PARAMS: Params = Object.freeze(
	Object.fromEntries(Object.entries(PARAM_ROWS).map(([name, row]) => [name, row.value])),
) as unknown as Params;

export type ParamOverrides = Readonly<Record<string, unknown>>;

/** The defaults with `overrides` in their place, checked. Throws PARAMS_BAD with every mistake at once. */
export function createParams(overrides: ParamOverrides = {}): Params {
	const wrong: string[] = [];
	const values: Record<string, unknown> = { ...DEFAULT_PARAMS };
	for (const [name, given] of Object.entries(overrides)) {
		const row: ParamRow<unknown> | undefined = Object.hasOwn(PARAM_ROWS, name)
			? PARAM_ROWS[name as keyof Params]
			: undefined;
		if (row === undefined) wrong.push(`${name}: there is no such parameter`);
		else {
			check(name, row, given, wrong);
			values[name] = given;
		}
	}
	if (wrong.length === 0) wrong.push(...contradictions(values as unknown as Params));
	if (wrong.length > 0)
		throw new AssayError("PARAMS_BAD", `parameters cannot be used: ${wrong.join("; ")}`, {
			hint: "docs/scores.md lists every parameter with its unit and its limits.",
		});
	return Object.freeze(values) as unknown as Params;
}

/**
 * As a validator publishes them (GET /v1/params). One of another version may have further parameters, or lack
 * some: they do not matter here. Throws PARAMS_BAD for values that no validator can run with.
 */
export function publishedParams(published: ParamOverrides): Params {
	return createParams(
		Object.fromEntries(Object.entries(published).filter(([name]) => Object.hasOwn(PARAM_ROWS, name))),
	);
}

function check(name: string, row: ParamRow<unknown>, given: unknown, wrong: string[]): void {
	if (row.oneOf !== undefined) {
		if (typeof given !== "string" || !row.oneOf.includes(given))
			wrong.push(`${name}: must be ${row.oneOf.join(" or ")}`);
		return;
	}
	const least = row.least ?? 0;
	const most = row.most ?? Number.MAX_SAFE_INTEGER;
	if (!Number.isSafeInteger(given) || (given as number) < least || (given as number) > most)
		wrong.push(`${name}: must be an integer from ${least} to ${most} (${row.unit === "1" ? "a count" : row.unit})`);
}

/** Weights that must sum to 1. */
const WHOLES = [
	["gpuWeightPpm", "cpuWeightPpm", "ramWeightPpm", "diskWeightPpm"],
	[
		...(["gpuInt8WeightPpm", "gpuFp16WeightPpm", "gpuFp32WeightPpm", "gpuFp64WeightPpm"] as const),
		...(["gpuBandwidthWeightPpm", "gpuMemoryWeightPpm"] as const),
	],
] as const;

/** What no single row can see. */
function contradictions(params: Params): string[] {
	const wrong: string[] = [];
	for (const names of WHOLES) {
		const parts = names.reduce((sum, name) => sum + params[name], 0);
		if (parts !== PPM) wrong.push(`${names.join(" + ")}: must be ${PPM}, not ${parts}`);
	}
	// Else an honest provider on time would score 0 between two probes.
	if (params.maxAgeMs < params.intervalMs + params.jitterMs)
		wrong.push("maxAgeMs: must be at least intervalMs + jitterMs");
	if (params.maxRentedAgeMs < params.maxAgeMs) wrong.push("maxRentedAgeMs: must be at least maxAgeMs");
	if (params.mostRentalMs < params.leastRentalMs) wrong.push("mostRentalMs: must be at least leastRentalMs");
	return wrong;
}

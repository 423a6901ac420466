// What figures say against a claimed name: the one table of margins, each with what it shows and its
// reason, and the checks that apply them. Three things are shown. *lie*: no machine of that name gives
// these figures, whoever else is on it and however it is capped; only these make a verdict invalid. *slow*:
// the machine is slower than any that has the card to itself at 0.6 of its clock; sharing and caps do that
// as well as another card does. *larger*: it has more memory than the name is known for, which is no fraud.
// A figure that is missing, and a fact that is doubtful, say nothing. Page: docs/profiles.md.

import { PRECISIONS, type Precision } from "../../../protocol/maths/precision.ts";
import type { DeviceClaim } from "../../../protocol/probe/evidence.ts";
import { headroom, isDoubtful, memoryHeadroom, type Profile, usualTotalBytes } from "./profile.ts";
import { LOWEST_CLOCK, MATRIX_SHARE } from "./shares.ts";
import type { ProvenVector } from "./vector.ts";

export type Shows = "lie" | "slow" | "larger";

interface Rule {
	readonly shows: Shows;
	/** A share of the named card's own fact (or of the ratio of two of them). */
	readonly limit: number;
	readonly reason: string;
}

const lie = (limit: number, reason: string): Rule => ({ shows: "lie", limit, reason });
const slow = (limit: number, reason: string): Rule => ({ shows: "slow", limit, reason });

export const RULES = {
	"compute-other": lie(1, "a driver that knows the card's name knows its compute capability"),
	"precision-absent": lie(0, "the card has no units for it, and our engine asks for nothing else"),
	"memory-below": lie(
		0.87,
		"the host's whole memory was filled and is less than the card's; ECC takes 6.25 %, drivers some 2 %",
	),
	"bandwidth-above": lie(
		1.1,
		"above the memory's physical speed, and no cache holds so much; 10 %, and 15 % more on GeForce cards, cover overclocked memory",
	),
	"rate-above": lie(1.1, "above units × highest clock; 10 % covers overclocking"),
	"fp64-to-fp32": lie(
		0.2,
		"both run from registers at one clock: their ratio is the chip's, capped or not; two kinds of chips differ by 16 and more, and a neighbour that comes in between by 2 to 4",
	),
	"fp32-to-fp64": lie(0.2, "the same the other way round"),
	"memory-above": {
		shows: "larger",
		limit: 1.03,
		reason: "bytes were resident that the card is not known to have; 3 % covers rounding of sizes",
	},
	"bandwidth-below": slow(0.45, "alone and with its memory at full clock no card reads at less than 0.75 × 0.6 of it"),
	"scalar-below": slow(0.45, "both fp32 and fp64 below 0.6 of the clock × 0.82 of the peak × 0.92 for noise"),
	"int32-below": slow(0.2, "0.6 × 0.4 × 0.85: the rotation may share the multiplier's pipe"),
	"matrix-below": slow(0.9, "0.9 of (0.6 of the clock × the lowest share of the architecture's kernels)"),
	"bandwidth-to-scalar": slow(
		0.5,
		"a power cap slows arithmetic, not memory: memory far behind arithmetic is another card's, or its clock is held down",
	),
	"scalar-to-bandwidth": slow(
		0.43,
		"0.6 × 0.82 ÷ 0.97 is the slowest arithmetic beside a memory at full speed, and 0.85 of that for noise",
	),
	"fp16-to-int8": slow(1 / 1.5, "one kernel, one clock: 8 bit gains on 16 bit by what the units give, or less"),
} as const satisfies Readonly<Record<string, Rule>>;

export type RuleName = keyof typeof RULES;

/** Why a figure or a claim does not fit a card. */
export interface Objection {
	readonly rule: RuleName;
	readonly shows: Shows;
	/** What was proven or claimed, and the bound it breaks, in the same unit. */
	readonly proven: number;
	readonly bound: number;
	readonly detail: string;
}

/**
 * Without a full fill, somebody else may be on the card, or the probe was a quick one whose short rounds
 * weigh less than their start: lower bounds are halved and ratios between figures, which such things skew,
 * are not judged.
 */
const PARTIAL_EXCUSE = 0.5;
/** Several times the largest cache of a card; where less was filled, reads may be the cache's. */
const MIN_BEYOND_CACHE = 2 ** 30;

/** What of the vector and the claim does not fit this card. Empty: nothing. */
export function objectionsTo(profile: Profile, vector: ProvenVector, claim: DeviceClaim): Objection[] {
	return [
		...claimObjections(profile, vector, claim),
		...memoryObjections(profile, vector, claim),
		...rateObjections(profile, vector),
		...ratioObjections(profile, vector),
	];
}

function broken(rule: RuleName, proven: number, bound: number, what: string): Objection {
	const sign = proven > bound ? "above" : "below";
	const { shows, reason } = RULES[rule];
	return { rule, shows, proven, bound, detail: `${what}: ${short(proven)} is ${sign} ${short(bound)}; ${reason}` };
}

function short(value: number): string {
	return value === 0 ? "0" : value.toPrecision(4);
}

function claimObjections(profile: Profile, { rates }: ProvenVector, claim: DeviceClaim): Objection[] {
	const found: Objection[] = [];
	if (claim.compute !== "" && claim.compute !== profile.compute) {
		const detail = `claims compute capability ${claim.compute}, the ${profile.id} has ${profile.compute}`;
		const proven = Number(claim.compute);
		found.push({
			rule: "compute-other",
			shows: RULES["compute-other"].shows,
			proven: Number.isFinite(proven) ? proven : 0,
			bound: Number(profile.compute),
			detail,
		});
	}
	for (const precision of PRECISIONS) {
		if (profile.rates[precision] !== undefined) continue;
		if (rates[precision] === undefined && !claim.precisions.includes(precision)) continue;
		const detail = `answers ${precision}; the ${profile.id} has no units for it`;
		const { shows } = RULES["precision-absent"];
		found.push({ rule: "precision-absent", shows, proven: rates[precision] ?? 0, bound: 0, detail });
	}
	return found;
}

function memoryObjections(profile: Profile, vector: ProvenVector, claim: DeviceClaim): Objection[] {
	const { residentBytes, keptBytes, bytesPerS, full } = vector;
	const found: Objection[] = [];
	const most = RULES["memory-above"].limit * profile.memoryBytes;
	if (residentBytes !== null && residentBytes > most) found.push(broken("memory-above", residentBytes, most, "bytes"));
	// Only a full fill bounds the total: a host that says the rest is in use may be right, and is told so
	// elsewhere (MEMORY_PARTIAL).
	const least = RULES["memory-below"].limit * usualTotalBytes(profile);
	if (full && claim.memoryBytes < least) found.push(broken("memory-below", claim.memoryBytes, least, "total bytes"));
	if (bytesPerS === null || isDoubtful(profile, "bandwidth")) return found;
	const fastest = RULES["bandwidth-above"].limit * memoryHeadroom(profile) * profile.bytesPerS;
	const slowest = RULES["bandwidth-below"].limit * profile.bytesPerS * (full ? 1 : PARTIAL_EXCUSE);
	const isInCache = keptBytes === null || keptBytes < MIN_BEYOND_CACHE;
	if (bytesPerS > fastest && !isInCache) found.push(broken("bandwidth-above", bytesPerS, fastest, "B/s"));
	if (bytesPerS < slowest) found.push(broken("bandwidth-below", bytesPerS, slowest, "B/s"));
	return found;
}

function rateObjections(profile: Profile, vector: ProvenVector): Objection[] {
	const excuse = vector.full ? 1 : PARTIAL_EXCUSE;
	const scalar = scalarShares(profile, vector);
	const slowest = RULES["scalar-below"].limit * excuse;
	const found =
		scalar !== null && scalar.most < slowest ? [broken("scalar-below", scalar.most, slowest, "share of the peak")] : [];
	const byPrecision = PRECISIONS.flatMap((precision) => {
		const proven = vector.rates[precision];
		const peak = profile.rates[precision];
		if (proven === undefined || peak === undefined || isDoubtful(profile, precision)) return [];
		const most = RULES["rate-above"].limit * highestRate(profile, precision);
		if (proven > most) return [broken("rate-above", proven, most, precision)];
		// tf32 may have been answered at any rate; fp32 and fp64 are judged together.
		if (precision === "tf32" || precision === "fp32" || precision === "fp64") return [];
		const { rule, share } = lowest(profile, precision);
		const least = share * excuse * peak;
		return proven < least ? [broken(rule, proven, least, precision)] : [];
	});
	return [...found, ...byPrecision];
}

/**
 * The better and the worse of fp32 and fp64: short rounds weigh on the faster of them, and one slow kernel is
 * no other card.
 */
function scalarShares(
	profile: Profile,
	{ rates }: ProvenVector,
): { readonly most: number; readonly least: number } | null {
	const shares = (["fp32", "fp64"] as const).flatMap((precision) => {
		const [proven, peak] = [rates[precision], profile.rates[precision]];
		return proven === undefined || peak === undefined || isDoubtful(profile, precision) ? [] : [proven / peak];
	});
	return shares.length === 0 ? null : { most: Math.max(...shares), least: Math.min(...shares) };
}

function lowest(profile: Profile, precision: Precision): { readonly rule: RuleName; readonly share: number } {
	if (precision === "int32") return { rule: "int32-below", share: RULES["int32-below"].limit };
	const share = RULES["matrix-below"].limit * LOWEST_CLOCK * MATRIX_SHARE[profile.architecture].low;
	return { rule: "matrix-below", share };
}

/**
 * Who can stand in for whom (docs/hardware-proof.md §10): 16-bit units answer int8 and tf32, int8 units
 * answer fp8.
 */
const STAND_INS: Readonly<Partial<Record<Precision, readonly Precision[]>>> = {
	int8: ["fp16"],
	fp8: ["int8", "fp16"],
	fp16: ["bf16"],
	bf16: ["fp16"],
	tf32: ["fp16", "bf16"],
	fp32: ["fp64"],
};

function highestRate(profile: Profile, precision: Precision): number {
	const able = [precision, ...(STAND_INS[precision] ?? [])];
	// A doubtful peak bounds nothing.
	if (able.some((other) => isDoubtful(profile, other))) return Number.POSITIVE_INFINITY;
	return Math.max(...able.map((other) => (profile.rates[other] ?? 0) * headroom(profile, other)));
}

/** Ratios of two shares of the named card: clocks and caps cancel out where both are arithmetic. */
function ratioObjections(profile: Profile, vector: ProvenVector): Objection[] {
	const share = (precision: Precision): number | null => {
		const proven = vector.rates[precision];
		const peak = profile.rates[precision];
		return proven === undefined || peak === undefined || isDoubtful(profile, precision) ? null : proven / peak;
	};
	const bandwidth =
		vector.bytesPerS === null || isDoubtful(profile, "bandwidth") ? null : vector.bytesPerS / profile.bytesPerS;
	const found: Objection[] = [];
	const check = (rule: RuleName, above: number | null, below: number | null) => {
		if (above === null || below === null) return;
		if (above / below < RULES[rule].limit)
			found.push(broken(rule, above / below, RULES[rule].limit, "ratio of shares"));
	};
	check("fp64-to-fp32", share("fp64"), share("fp32"));
	if (!vector.full) return found;
	check("fp32-to-fp64", share("fp32"), share("fp64"));
	const scalar = scalarShares(profile, vector);
	check("bandwidth-to-scalar", bandwidth, scalar?.least ?? null);
	check("scalar-to-bandwidth", scalar?.most ?? null, bandwidth);
	check("fp16-to-int8", share("fp16"), share("int8"));
	return found;
}

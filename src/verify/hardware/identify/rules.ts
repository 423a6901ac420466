// When figures contradict a claimed name: the one table of margins, each with its reason, and the checks that
// apply them. A rule speaks only of what cannot be honest. A slow host (capped to 60 % of its clock, or
// sharing the card with somebody) is slow, not a liar; a figure that is missing, and a fact that is doubtful,
// accuse nobody. Page: docs/profiles.md.

import { PRECISIONS, type Precision } from "../../../protocol/maths/precision.ts";
import type { DeviceClaim } from "../../../protocol/probe/evidence.ts";
import { headroom, isDoubtful, type Profile, usualTotalBytes } from "./profile.ts";
import { LOWEST_CLOCK, MATRIX_SHARE } from "./shares.ts";
import type { ProvenVector } from "./vector.ts";

/** `limit` is a share of the named card's own fact (or of the ratio of two of them). */
export const RULES = {
	"compute-other": { limit: 1, reason: "a driver that knows the card's name knows its compute capability" },
	"precision-absent": { limit: 0, reason: "the card has no units for it, and our engine asks for nothing else" },
	"memory-above": {
		limit: 1.03,
		reason: "bytes were resident that the card has no room for; 3 % covers rounding of sizes",
	},
	"memory-below": {
		limit: 0.87,
		reason: "the host's whole memory was filled and is less than the card's; ECC takes 6.25 %, drivers some 2 %",
	},
	"bandwidth-above": { limit: 1.1, reason: "above the memory's physical speed; 10 % covers overclocked memory" },
	"bandwidth-below": {
		limit: 0.45,
		reason: "no honest run reads at less than 0.75 × 0.6 of it; clocks do not slow memory",
	},
	"rate-above": { limit: 1.1, reason: "above units × highest clock; 10 % covers overclocking" },
	"scalar-below": {
		limit: 0.45,
		reason:
			"both fp32 and fp64 below 0.6 of the clock × 0.82 of the peak × 0.92 for noise: nothing else slows registers",
	},
	"int32-below": { limit: 0.2, reason: "0.6 × 0.4 × 0.85: the rotation may share the multiplier's pipe" },
	"matrix-below": { limit: 0.9, reason: "0.9 of (0.6 of the clock × the lowest share of the architecture's kernels)" },
	"fp64-to-fp32": {
		limit: 0.5,
		reason: "both run from registers at one clock: their ratio is the chip's, capped or not",
	},
	"fp32-to-fp64": {
		limit: 0.58,
		reason:
			"short rounds weigh on the faster unit: 0.64 was measured, 0.97 is the most of the other, and 0.88 of that for noise",
	},
	"bandwidth-to-scalar": {
		limit: 0.5,
		reason: "a cap slows arithmetic, not memory: memory far behind arithmetic is another card's",
	},
	"scalar-to-bandwidth": {
		limit: 0.43,
		reason: "0.6 × 0.82 ÷ 0.97 is the slowest arithmetic beside a memory at full speed, and 0.85 of that for noise",
	},
	"fp16-to-int8": {
		limit: 1 / 1.5,
		reason: "one kernel, one clock: 8 bit gains on 16 bit by what the units give, or less",
	},
} as const;

export type RuleName = keyof typeof RULES;

export interface Contradiction {
	readonly rule: RuleName;
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

/** What of the vector and the claim cannot come from this card. Empty: nothing. */
export function contradictionsOf(profile: Profile, vector: ProvenVector, claim: DeviceClaim): Contradiction[] {
	return [
		...claimContradictions(profile, vector, claim),
		...memoryContradictions(profile, vector, claim),
		...rateContradictions(profile, vector),
		...ratioContradictions(profile, vector),
	];
}

function broken(rule: RuleName, proven: number, bound: number, what: string): Contradiction {
	const sign = proven > bound ? "above" : "below";
	return { rule, proven, bound, detail: `${what}: ${short(proven)} is ${sign} ${short(bound)}; ${RULES[rule].reason}` };
}

function short(value: number): string {
	return value === 0 ? "0" : value.toPrecision(4);
}

function claimContradictions(profile: Profile, { rates }: ProvenVector, claim: DeviceClaim): Contradiction[] {
	const found: Contradiction[] = [];
	if (claim.compute !== "" && claim.compute !== profile.compute) {
		const detail = `claims compute capability ${claim.compute}, the ${profile.id} has ${profile.compute}`;
		const proven = Number(claim.compute);
		found.push({
			rule: "compute-other",
			proven: Number.isFinite(proven) ? proven : 0,
			bound: Number(profile.compute),
			detail,
		});
	}
	for (const precision of PRECISIONS) {
		if (profile.rates[precision] !== undefined) continue;
		if (rates[precision] === undefined && !claim.precisions.includes(precision)) continue;
		const detail = `answers ${precision}; the ${profile.id} has no units for it`;
		found.push({ rule: "precision-absent", proven: rates[precision] ?? 0, bound: 0, detail });
	}
	return found;
}

function memoryContradictions(profile: Profile, vector: ProvenVector, claim: DeviceClaim): Contradiction[] {
	const { residentBytes, bytesPerS, full } = vector;
	const found: Contradiction[] = [];
	const most = RULES["memory-above"].limit * profile.memoryBytes;
	if (residentBytes !== null && residentBytes > most) found.push(broken("memory-above", residentBytes, most, "bytes"));
	// Only a full fill bounds the total: a host that says the rest is in use may be right, and is told so
	// elsewhere (MEMORY_PARTIAL).
	const least = RULES["memory-below"].limit * usualTotalBytes(profile);
	if (full && claim.memoryBytes < least) found.push(broken("memory-below", claim.memoryBytes, least, "total bytes"));
	if (bytesPerS === null || isDoubtful(profile, "bandwidth")) return found;
	const fastest = RULES["bandwidth-above"].limit * profile.bytesPerS;
	const slowest = RULES["bandwidth-below"].limit * profile.bytesPerS * (full ? 1 : PARTIAL_EXCUSE);
	if (bytesPerS > fastest) found.push(broken("bandwidth-above", bytesPerS, fastest, "B/s"));
	if (bytesPerS < slowest) found.push(broken("bandwidth-below", bytesPerS, slowest, "B/s"));
	return found;
}

function rateContradictions(profile: Profile, vector: ProvenVector): Contradiction[] {
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
function ratioContradictions(profile: Profile, vector: ProvenVector): Contradiction[] {
	const share = (precision: Precision): number | null => {
		const proven = vector.rates[precision];
		const peak = profile.rates[precision];
		return proven === undefined || peak === undefined || isDoubtful(profile, precision) ? null : proven / peak;
	};
	const bandwidth =
		vector.bytesPerS === null || isDoubtful(profile, "bandwidth") ? null : vector.bytesPerS / profile.bytesPerS;
	const found: Contradiction[] = [];
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

// How well a profile explains a proven vector: a log-likelihood, 0 at best. Two unknowns are summed over: the clock (a power cap
// scales all arithmetic together) and the share of the tensor peak that the kernels reach on this card (all precisions together).
// What then counts is how the precisions stand to each other, the memory, and its bandwidth, which no power cap touches.
import type { GemmPrecision, Precision } from "../../../protocol/evidence.ts";
import { headroom, isDoubtful, type Profile, usualTotalBytes } from "./profile.ts";
import {
	BANDWIDTH_SHARE,
	FILL_SHARE,
	INT32_SHARE,
	LOWEST_CLOCK,
	MATRIX_SHARE,
	type Range,
	SCALAR_SHARE,
} from "./shares.ts";
import type { ProvenVector } from "./vector.ts";

export interface Fit {
	readonly profile: Profile;
	/** Log of the likelihood, clock and share summed over. For comparing profiles. */
	readonly logLikelihood: number;
	/** Log of the fit at the best clock and share: 0 when every figure lies where it is expected. For "nothing fits". */
	readonly bestFit: number;
}

/** tf32 is left out: a figure that other units can make says nothing of these. */
const MATRIX: readonly GemmPrecision[] = ["int8", "fp8", "fp16", "bf16"];
/** Natural-log widths of what is not explained by clock and share: run-to-run noise, and precisions that a kernel suits less. */
const SPREAD = { matrix: 0.16, scalar: 0.05, bandwidthBelow: 0.09, above: 0.025, memory: 0.03, doubtful: 0.6 };
/** No single figure may say more than this against a profile, so that ranks stay comparable; e⁻⁴⁰ is never by chance. */
const WORST = -40;
const ABSENT = -20;
const CLOCK_STEPS = 24;
const SHARE_STEPS = 16;

export function fitOf(profile: Profile, vector: ProvenVector): Fit {
	const fixed = memoryTerm(profile, vector) + bandwidthTerm(profile, vector) + absentTerm(profile, vector);
	const terms: number[] = [];
	let best = Number.NEGATIVE_INFINITY;
	const { low, high } = MATRIX_SHARE[profile.architecture];
	for (const clock of logGrid(LOWEST_CLOCK, headroom(profile, "fp32"), CLOCK_STEPS)) {
		const scalar = scalarTerms(profile, vector, clock);
		// Most hosts run their cards as shipped; a cap is a little less likely the deeper it is.
		const prior = clock < 0 ? 1.5 * clock : 0;
		for (const share of logGrid(low, high, SHARE_STEPS)) {
			const term = scalar + matrixTerms(profile, vector, clock, share);
			best = Math.max(best, term);
			terms.push(term + prior);
		}
	}
	return { profile, logLikelihood: fixed + logMeanExp(terms), bestFit: fixed + best };
}

function scalarTerms(profile: Profile, { rates }: ProvenVector, clock: number): number {
	let sum = 0;
	for (const precision of ["fp32", "fp64", "int32"] as const) {
		const proven = rates[precision];
		const peak = profile.rates[precision];
		if (proven === undefined || peak === undefined) continue;
		const range = precision === "int32" ? INT32_SHARE : SCALAR_SHARE;
		const spread = isDoubtful(profile, precision) ? SPREAD.doubtful : SPREAD.scalar;
		sum += plateau(Math.log(proven / peak) - clock, range, spread, spread);
	}
	return sum;
}

function matrixTerms(profile: Profile, { rates }: ProvenVector, clock: number, share: number): number {
	let sum = 0;
	for (const precision of MATRIX) {
		const proven = rates[precision];
		const peak = profile.rates[precision];
		if (proven === undefined || peak === undefined) continue;
		const doubtful = isDoubtful(profile, precision);
		const off = Math.log(proven / peak) - clock - share;
		sum += bell(off, doubtful ? SPREAD.doubtful : SPREAD.matrix);
		const over = Math.log(proven / peak) - Math.log(headroom(profile, precision));
		if (!doubtful && over > 0) sum += bell(over, SPREAD.above);
	}
	// bf16 and fp16 are one unit and one kernel: two figures of one fact count as one and a half.
	return rates.fp16 !== undefined && rates.bf16 !== undefined ? 0.8 * sum : sum;
}

function bandwidthTerm(profile: Profile, { bytesPerS }: ProvenVector): number {
	if (bytesPerS === null) return 0;
	const doubtful = isDoubtful(profile, "bandwidth");
	const below = doubtful ? SPREAD.doubtful : SPREAD.bandwidthBelow;
	return plateau(Math.log(bytesPerS / profile.bytesPerS), BANDWIDTH_SHARE, below, doubtful ? below : SPREAD.above);
}

/** Resident bytes are there: a smaller card cannot hold them. A full fill says as well that there are not many more. */
function memoryTerm(profile: Profile, { keptBytes, residentBytes, full }: ProvenVector): number {
	if (keptBytes === null || residentBytes === null) return 0;
	const total = usualTotalBytes(profile);
	if (!full) return bell(Math.max(0, Math.log(residentBytes / total)), SPREAD.memory);
	return plateau(Math.log(keptBytes / total), FILL_SHARE, SPREAD.memory, SPREAD.memory);
}

/** int8 units give fp8 answers at their own speed, so an absent fp8 is possible, but the engine does not do it. */
function absentTerm(profile: Profile, { rates }: ProvenVector): number {
	const absent = (precision: Precision) => rates[precision] !== undefined && profile.rates[precision] === undefined;
	return [...MATRIX, "tf32" as const].filter(absent).length * ABSENT;
}

/** Flat inside the range, a bell's flank outside. */
function plateau(log: number, { low, high }: Range, spreadBelow: number, spreadAbove: number): number {
	if (log < Math.log(low)) return bell(log - Math.log(low), spreadBelow);
	return bell(Math.max(0, log - Math.log(high)), spreadAbove);
}

function bell(off: number, spread: number): number {
	return Math.max(WORST, -0.5 * (off / spread) ** 2);
}

function logGrid(low: number, high: number, steps: number): number[] {
	const from = Math.log(low);
	const step = (Math.log(high) - from) / (steps - 1);
	return Array.from({ length: steps }, (_, i) => from + i * step);
}

function logMeanExp(terms: readonly number[]): number {
	const most = Math.max(...terms);
	return most + Math.log(terms.reduce((sum, term) => sum + Math.exp(term - most), 0) / terms.length);
}

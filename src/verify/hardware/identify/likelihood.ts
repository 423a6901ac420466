// How well a profile explains a proven vector: a log-likelihood, 0 at best. Two unknowns are summed over: the
// clock (a power cap scales all arithmetic together) and the share of the tensor peak that the kernels reach
// on this card (all precisions together). What then counts is how the precisions stand to each other, the
// memory, and its bandwidth, which no power cap touches.
import { FMA_PRECISIONS, GEMM_PRECISIONS, type Precision } from "../../../protocol/maths/precision.ts";
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
	/**
	 * Log of the fit at the best clock and share: 0 when every figure lies where it is expected. For "nothing
	 * fits".
	 */
	readonly bestFit: number;
}

/** tf32 is left out: a figure that other units can make says nothing of these. */
const MATRIX = GEMM_PRECISIONS.filter((one) => one !== "tf32");
/**
 * Natural-log widths of what is not explained by clock and share: run-to-run noise, and precisions that a
 * kernel suits less.
 */
const SPREAD = { matrix: 0.16, scalar: 0.05, bandwidthBelow: 0.09, above: 0.025, memory: 0.03, doubtful: 0.4 };
/**
 * No single figure may say more than this against a profile, so that ranks stay comparable; e⁻⁴⁰ is never by
 * chance.
 */
const WORST = -40;
const ABSENT = -20;
/**
 * Step of the grids of clock and share, natural log. One step for both, so that their sum lies on a grid too.
 */
const STEP = 0.05;

export function fitOf(profile: Profile, vector: ProvenVector): Fit {
	const fixed =
		memoryTerm(profile, vector) +
		bandwidthTerm(profile, vector) +
		absentTerm(profile, vector) +
		overTerm(profile, vector);
	const scalars = sharesOf(profile, vector, FMA_PRECISIONS);
	const matrices = sharesOf(profile, vector, MATRIX);
	const { low, high } = MATRIX_SHARE[profile.architecture];
	const clocks = steps(LOWEST_CLOCK, headroom(profile, "fp32"));
	const shares = steps(low, high);
	const lowestProduct = Math.log(LOWEST_CLOCK) + Math.log(low);
	const matrix = Array.from({ length: clocks + shares - 1 }, (_, i) => matrixTerm(matrices, lowestProduct + i * STEP));
	// No term is below 3 × WORST, so nothing underflows.
	const likely = matrix.map(Math.exp);
	let sum = 0;
	let best = Number.NEGATIVE_INFINITY;
	for (let i = 0; i < clocks; i++) {
		const clock = Math.log(LOWEST_CLOCK) + i * STEP;
		const scalar = scalarTerm(scalars, clock);
		let window = 0;
		for (let j = i; j < i + shares; j++) {
			best = Math.max(best, scalar + matrix[j]!);
			window += likely[j]!;
		}
		// Most hosts run their cards as shipped; a cap is a little less likely the deeper it is.
		const prior = clock < 0 ? 1.5 * clock : 0;
		sum += Math.exp(scalar + prior) * window;
	}
	const logLikelihood = fixed + Math.log(sum / (clocks * shares)) - vagueness([...scalars, ...matrices]);
	return { profile, logLikelihood, bestFit: fixed + best };
}

function steps(low: number, high: number): number {
	return Math.floor(Math.log(high / low) / STEP) + 1;
}

/**
 * Doubtful facts would explain anything a little; a profile that has them explains each vector less well.
 * Doubts go together.
 */
function vagueness(shares: readonly LogShare[]): number {
	return shares.some(({ doubtful }) => doubtful) ? Math.log(SPREAD.doubtful / SPREAD.matrix) : 0;
}

interface LogShare {
	readonly precision: Precision;
	/** Log of proven ÷ peak. */
	readonly log: number;
	readonly doubtful: boolean;
}

function sharesOf(profile: Profile, { rates }: ProvenVector, precisions: readonly Precision[]): LogShare[] {
	return precisions.flatMap((precision) => {
		const proven = rates[precision];
		const peak = profile.rates[precision];
		if (proven === undefined || peak === undefined) return [];
		return [{ precision, log: Math.log(proven / peak), doubtful: isDoubtful(profile, precision) }];
	});
}

function scalarTerm(shares: readonly LogShare[], clock: number): number {
	let sum = 0;
	for (const { precision, log, doubtful } of shares) {
		const spread = doubtful ? SPREAD.doubtful : SPREAD.scalar;
		sum += plateau(log - clock, precision === "int32" ? INT32_SHARE : SCALAR_SHARE, spread, spread);
	}
	return sum;
}

function matrixTerm(shares: readonly LogShare[], expected: number): number {
	let sum = 0;
	let sixteenBit = 0;
	for (const { precision, log, doubtful } of shares) {
		const term = bell(log - expected, doubtful ? SPREAD.doubtful : SPREAD.matrix);
		// fp16 and bf16 are one unit, one rate and one kernel: the worse of the two speaks for both.
		if (precision === "fp16" || precision === "bf16") sixteenBit = Math.min(sixteenBit, term);
		else sum += term;
	}
	return sum + sixteenBit;
}

/** No clock takes a card above its highest. */
function overTerm(profile: Profile, vector: ProvenVector): number {
	return sharesOf(profile, vector, MATRIX)
		.filter(({ doubtful }) => !doubtful)
		.map(({ precision, log }) => bell(Math.max(0, log - Math.log(headroom(profile, precision))), SPREAD.above))
		.reduce((sum, term) => sum + term, 0);
}

function bandwidthTerm(profile: Profile, { bytesPerS }: ProvenVector): number {
	if (bytesPerS === null) return 0;
	const doubtful = isDoubtful(profile, "bandwidth");
	const below = doubtful ? SPREAD.doubtful : SPREAD.bandwidthBelow;
	return plateau(Math.log(bytesPerS / profile.bytesPerS), BANDWIDTH_SHARE, below, doubtful ? below : SPREAD.above);
}

/**
 * Resident bytes are there: a smaller card cannot hold them. A full fill says as well that there are not many
 * more.
 */
function memoryTerm(profile: Profile, { keptBytes, residentBytes, full }: ProvenVector): number {
	if (keptBytes === null || residentBytes === null) return 0;
	const total = usualTotalBytes(profile);
	if (!full) return bell(Math.max(0, Math.log(residentBytes / total)), SPREAD.memory);
	return plateau(Math.log(keptBytes / total), FILL_SHARE, SPREAD.memory, SPREAD.memory);
}

/**
 * int8 units give fp8 answers at their own speed, so an absent fp8 is possible, but the engine does not do
 * it.
 */
function absentTerm(profile: Profile, { rates }: ProvenVector): number {
	const absent = (precision: Precision) => rates[precision] !== undefined && profile.rates[precision] === undefined;
	return GEMM_PRECISIONS.filter(absent).length * ABSENT;
}

/** Flat inside the range, a bell's flank outside. */
function plateau(log: number, { low, high }: Range, spreadBelow: number, spreadAbove: number): number {
	if (log < Math.log(low)) return bell(log - Math.log(low), spreadBelow);
	return bell(Math.max(0, log - Math.log(high)), spreadAbove);
}

function bell(off: number, spread: number): number {
	return Math.max(WORST, -0.5 * (off / spread) ** 2);
}

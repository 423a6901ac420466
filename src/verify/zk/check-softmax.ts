// Softmax of the last link's units and its gradient for cross-entropy, as parts of the first sum of a
// segment's proof, docs/zk.md §14. e = exp(h − the row's largest) stands in a table; the largest is one of
// the row's, and none lies above it; ⌊2^K / Σ e⌋ is the only number that leaves a remainder below Σ e; d is e
// times it, rounded, less the class.
import { softmaxBits } from "../../work/plan/compile-plan.ts";
import { type Fault, fractionFault, type ListValues, type Lookups } from "./lookup-values.ts";
import { eqsAt, rest, unshift } from "./scalars.ts";
import type { SegmentRun } from "./segment-run.ts";

/** Scalars of message 4 that are about softmax. */
export const SOFTMAX_VALUES = 15;

const HALF = unshift(1);

/** `unit`: where the last link's columns end; `places`: where columns of one number a row do. */
export function softmaxFaults<F>(
	run: SegmentRun<F>,
	lookups: Lookups<F>,
	values: ListValues<F>,
	among: readonly F[],
	unit: readonly F[],
	places: readonly F[],
): readonly Fault<F>[] {
	const of = [run.plan.links.length - 1];
	const scores = scoreFaults(run, lookups, values, among, unit, places.length);
	const quotients = quotientFaults(run, lookups, values, among, places);
	return [...scores, ...quotients].map((is) => ({ of, is }));
}

/**
 * exp of each unit's distance to the row's largest, the row's largest itself, and rounding of e·⌊2^K / Σ e⌋.
 */
function scoreFaults<F>(
	run: SegmentRun<F>,
	lookups: Lookups<F>,
	values: ListValues<F>,
	among: readonly F[],
	unit: readonly F[],
	placeBits: number,
): readonly F[] {
	const { plan, field } = run;
	const { gradient, activation, quotient } = plan;
	const last = plan.links.length - 1;
	const [of, own] = [[last], among[last]!];
	const [place, scores] = [unit.slice(0, placeBits), unit.slice(placeBits)];
	const exp = values.claimed("exp", of, () => unit);
	const lowScore = values.claimed("lowScore", of, () => unit);
	const scoreHelper = values.claimed("scoreHelper", of, () => unit);
	const top = values.claimed("top", of, () => unit);
	const inverse = values.claimed("inverse", of, () => place);
	// Units beyond the classes are padding: they are at no distance, their e is 0, and none is the largest.
	const isClass = field.sum(eqsAt(field, scores).slice(0, plan.links[last]!.outputs));
	const isPadding = rest(field, isClass);
	const distance = values.next(of);
	const fromPeak = run.at("peak", last, place, field.times(own, isClass));
	run.claim(distance, [fromPeak, run.at("h", last, unit, field.scaled(own, -1n))]);
	// What e·⌊2^K / Σ e⌋ is rounded to: the gradient, and 2^gradient more at the row's class.
	const score = values.next(of);
	const ofClass = run.classes(place, scores, field.scaled(own, 1n << BigInt(gradient - activation)));
	run.claim(score, [run.at("d", last, unit, own), ofClass]);
	// One of a row is its largest. A sum over an axis is 2^bits times the value in its middle.
	const middle = scores.map(() => field.of(HALF));
	run.claim(field.of(1n), [run.at("top", last, [...place, ...middle], field.of(1n << BigInt(scores.length)))]);
	const bits = softmaxBits(plan).score;
	const lost = quotient! - gradient;
	const sum = field.sum([field.times(exp, inverse), field.of(1n << BigInt(lost - 1))]);
	const lower = field.sum([field.scaled(score, 1n << BigInt(lost)), lowScore]);
	const high = field.scaled(field.less(sum, lower), unshift(bits[0]));
	const table = field.of(lookups.tagOf("exp", plan.h));
	const looked = field.sum([exp, field.scaled(isPadding, 1n << BigInt(gradient))]);
	const exact = lookups.part(table, [distance, looked]);
	const parts = [lookups.range(bits[0], lowScore), lookups.range(bits[1], high), exact];
	return [fractionFault(field, scoreHelper, parts), field.times(top, field.sum([distance, isPadding]))];
}

/** ⌊2^K / Σ e⌋, one a row: a number of few bits, which leaves a remainder from 0 to Σ e − 1. */
function quotientFaults<F>(
	run: SegmentRun<F>,
	lookups: Lookups<F>,
	values: ListValues<F>,
	among: readonly F[],
	places: readonly F[],
): readonly F[] {
	const { plan, field } = run;
	const last = plan.links.length - 1;
	const of = [last];
	const row = (): readonly F[] => places;
	const inverse = values.claimed("inverse", of, row);
	const inverse0 = values.claimed("inverse0", of, row);
	const remainder0 = values.claimed("remainder0", of, row);
	const rest0 = values.claimed("rest0", of, row);
	const inverseHelper = values.claimed("inverseHelper", of, row);
	const remainderHelper = values.claimed("remainderHelper", of, row);
	const restHelper = values.claimed("restHelper", of, row);
	const sum = values.next(of);
	const { outputBits } = plan.links[last]!;
	const middle = Array.from({ length: outputBits }, () => field.of(HALF));
	run.claim(sum, [run.at("exp", last, [...places, ...middle], field.scaled(among[last]!, 1n << BigInt(outputBits)))]);
	const bits = softmaxBits(plan);
	const parts = ([lowBits, highBits]: readonly [number, number], whole: F, low: F): readonly F[] => {
		const high = field.scaled(field.less(whole, low), unshift(lowBits));
		return [lookups.range(lowBits, low), lookups.range(highBits, high)];
	};
	const remainder = field.less(field.of(1n << BigInt(plan.quotient!)), field.times(sum, inverse));
	const left = field.less(field.less(sum, field.of(1n)), remainder);
	return [
		fractionFault(field, inverseHelper, parts(bits.inverse, inverse, inverse0)),
		fractionFault(field, remainderHelper, parts(bits.sum, remainder, remainder0)),
		fractionFault(field, restHelper, parts(bits.sum, left, rest0)),
	];
}

// A score that explains itself: a tree of terms, each an integer made from the terms below it by one named
// rule. The rules and their rounding are in recompute.ts; who builds the trees is score-provider.ts.
// docs/scores.md.

/** "ppm": millionths. The others are those of figures. */
export type Unit = "ppm" | "op/s" | "flop/s" | "B" | "B/s" | "ms" | "1";

/**
 * How a term's value follows from the terms in `from`, all in exact integers, rounded down unless said
 * otherwise:
 * - given: no terms below; `from` says where it was read (an evidence hash, `params:NAME`, `profile:ID`,
 *   `state:NAME`).
 * - sum, min, max: of the values; nothing below gives 0.
 * - mean: weighted by `weights` (1 each without), ⌊Σ w·x ÷ Σ w⌋.
 * - product: first × (each further one ÷ 10⁶), one rounding at the end.
 * - capped: the same product, at most 10⁶.
 * - cappedTimes: capped without the last one, then × (the last one ÷ 10⁶), rounded down once more.
 * - cappedTimesTwo: the same with the last two: capped without them, then × (each ÷ 10⁶), rounded down once
 *   more.
 * - share: min(10⁶, ⌊first × 10⁶ ÷ (second × (each further one ÷ 10⁶))⌋); 0 when the divisor is 0.
 * - shareOfSum: the last one is the divisor: min(10⁶, ⌊Σ of the others × 10⁶ ÷ last⌋).
 * - ratio: ⌊first × 10⁶ ÷ second⌋, of any size; 0 when the divisor is 0.
 * - steps: from the first value, by the share second of what is left, towards each further one (0 or 10⁶) in
 *   turn: rounded up when it rises, down when it falls.
 * - presence: of first answered, second counted and third the window: presence.ts.
 */
export type Rule = keyof typeof RULES;

/** Each rule in a few words, to stand before the terms below. */
const RULES = {
	given: "read",
	sum: "sum of",
	min: "least of",
	max: "most of",
	mean: "mean of",
	product: "product of",
	capped: "product, at most 1, of",
	cappedTimes: "product, at most 1, then times the last, of",
	cappedTimesTwo: "product, at most 1, then times the last two, of",
	share: "share, at most 1, of",
	shareOfSum: "sum over the last, at most 1, of",
	ratio: "ratio of",
	steps: "step by step over",
	presence: "lower bound of the share, against a full record, of",
};

/** A rule that is not known, as a server may say it, is its own words. */
export const ruleWords = (rule: string): string => (Object.hasOwn(RULES, rule) ? RULES[rule as Rule] : rule);

export interface Term {
	readonly name: string;
	readonly value: number;
	readonly unit: Unit;
	readonly rule: Rule;
	readonly weights?: readonly number[];
	/** Terms, or for a given one its sources. */
	readonly from: readonly (Term | string)[];
}

/** `root.value` is the score in ppm, 0 … 10⁶. */
export interface Explanation {
	readonly version: 1;
	readonly providerId: string;
	readonly mode: "holistic" | "sn27";
	/** Evidence hash of the proof that was scored; null when there is none, or none that is young enough. */
	readonly evidence: string | null;
	readonly scorePpm: number;
	/** Why a score is 0, in one sentence; empty otherwise. */
	readonly why: string;
	readonly root: Term;
}

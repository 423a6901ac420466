// The rules by which terms follow from one another, and the check that an explanation multiplies out to its
// score again. All arithmetic is on exact integers with one stated rounding a rule, so that two machines
// cannot differ. docs/scores.md.

import type { Explanation, Rule, Term, Unit } from "./explanation.ts";
import { presencePpm } from "./presence-ppm.ts";

const PPM = 1_000_000n;
/** An explanation of ours is 7 deep; a hostile one must not exhaust the stack. */
const DEEPEST = 32;

export interface Mismatch {
	/** Names from the root down, joined by " / ". */
	readonly where: string;
	readonly stated: number;
	readonly recomputed: number;
}

/** A term whose value is worked out from those below it. */
export function term(name: string, unit: Unit, rule: Rule, from: readonly Term[], weights?: readonly number[]): Term {
	const value = toSafe(
		apply(
			rule,
			from.map(({ value }) => BigInt(value)),
			weights,
		),
	);
	return weights === undefined ? { name, value, unit, rule, from } : { name, value, unit, rule, weights, from };
}

/** A term that was read somewhere. */
export function given(name: string, unit: Unit, value: number, ...sources: readonly string[]): Term {
	return { name, value, unit, rule: "given", from: sources };
}

/** The score that the terms give, whatever values the explanation states above its leaves. */
export function recompute({ root }: Pick<Explanation, "root">): number {
	return recomputed(root, root.name, [], 0);
}

/**
 * Every place where a stated value is not what the terms below it give; empty for an explanation that holds.
 */
export function mismatchesOf({ root, scorePpm }: Pick<Explanation, "root" | "scorePpm">): Mismatch[] {
	const found: Mismatch[] = [];
	const value = recomputed(root, root.name, found, 0);
	if (scorePpm !== value) found.push({ where: "scorePpm", stated: scorePpm, recomputed: value });
	return found;
}

function recomputed(at: Term, where: string, found: Mismatch[], depth: number): number {
	if (depth > DEEPEST) throw new RangeError("an explanation is nested too deeply");
	if (at.rule === "given") return at.value;
	const below = at.from.map((part) => {
		if (typeof part === "string") throw new TypeError(`${where}: only a given term may name sources`);
		return BigInt(recomputed(part, `${where} / ${part.name}`, found, depth + 1));
	});
	const value = toSafe(apply(at.rule, below, at.weights));
	if (value !== at.value) found.push({ where, stated: at.value, recomputed: value });
	return value;
}

/** Beyond safe integers a value is "at least that"; no rule of a score comes near. */
function toSafe(value: bigint): number {
	return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
}

function apply(rule: Rule, values: readonly bigint[], weights?: readonly number[]): bigint {
	const [first = 0n, second = 0n] = values;
	switch (rule) {
		case "sum":
			return values.reduce((sum, value) => sum + value, 0n);
		case "min":
			return values.length === 0 ? 0n : values.reduce((a, b) => (b < a ? b : a));
		case "max":
			return values.length === 0 ? 0n : values.reduce((a, b) => (b > a ? b : a));
		case "mean":
			return mean(values, weights);
		case "product":
			return product(values);
		case "capped":
			return least(product(values), PPM);
		case "cappedTimes":
			return (least(product(values.slice(0, -1)), PPM) * (values.at(-1) ?? 0n)) / PPM;
		case "cappedTimesTwo":
			return product([least(product(values.slice(0, -2)), PPM), ...values.slice(-2)]);
		case "share": {
			const divisor = values.slice(1).reduce((all, value) => all * value, 1n);
			return divisor === 0n ? 0n : least((first * PPM ** BigInt(values.length - 1)) / divisor, PPM);
		}
		case "shareOfSum": {
			const divisor = values.at(-1) ?? 0n;
			const sum = values.slice(0, -1).reduce((all, value) => all + value, 0n);
			return divisor === 0n ? 0n : least((sum * PPM) / divisor, PPM);
		}
		case "ratio":
			return second === 0n ? 0n : (first * PPM) / second;
		case "steps":
			return values.slice(2).reduce((at, to) => step(at, to, second), first);
		case "presence":
			return presencePpm(first, second, values[2] ?? 0n);
		case "given":
			throw new TypeError("a given term is not worked out");
		default:
			throw new TypeError(`there is no rule ${String(rule)}`);
	}
}

function least(a: bigint, b: bigint): bigint {
	return a < b ? a : b;
}

/** The first may be of any unit, the others are ppm. */
function product(values: readonly bigint[]): bigint {
	if (values.length === 0) return 0n;
	return values.reduce((all, value) => all * value) / PPM ** BigInt(values.length - 1);
}

function mean(values: readonly bigint[], weights?: readonly number[]): bigint {
	const weighed = values.map((value, i) => value * BigInt(weights?.[i] ?? 1));
	const total = values.reduce((sum, _, i) => sum + BigInt(weights?.[i] ?? 1), 0n);
	return total === 0n ? 0n : weighed.reduce((sum, value) => sum + value, 0n) / total;
}

/** Rounded away from where it stands, so that a hundred successes do reach 10⁶ and a hundred failures 0. */
function step(from: bigint, to: bigint, share: bigint): bigint {
	const exact = from * (PPM - share) + to * share;
	return to > from ? (exact + PPM - 1n) / PPM : exact / PPM;
}

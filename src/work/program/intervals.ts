// Interval arithmetic, docs/work.md §5: from the intervals of its registers, the interval of an instruction,
// or why it may not run. Every rule is exact for independent operands, but for and, or, xor. Both checkers
// follow the same rules, so both give one verdict.
import { bitLength, evaluate } from "../operators/evaluate.ts";
import { type Arithmetic, RSHV_BITS } from "../operators/instruction.ts";
import { I64, type Interval, isInside } from "../operators/tensor-type.ts";
import type { Wrong } from "./fault.ts";

const least = (...values: readonly bigint[]): bigint => values.reduce((a, b) => (a < b ? a : b));
const most = (...values: readonly bigint[]): bigint => values.reduce((a, b) => (a > b ? a : b));
export const point = (value: bigint): Interval => ({ lo: value, hi: value });
export const hull = (...values: readonly bigint[]): Interval => ({ lo: least(...values), hi: most(...values) });
export const showInterval = ({ lo, hi }: Interval): string => `${lo}..${hi}`;

/** The corners of two intervals, through a function that is monotonic in each of them. */
function corners(op: Arithmetic["op"], a: Interval, b: Interval): Interval {
	const at = (x: bigint, y: bigint) => evaluate(op, 0, x, y, 0n)!;
	return hull(at(a.lo, b.lo), at(a.lo, b.hi), at(a.hi, b.lo), at(a.hi, b.hi));
}

function absolute({ lo, hi }: Interval): Interval {
	if (lo >= 0n) return { lo, hi };
	return hi <= 0n ? { lo: -hi, hi: -lo } : { lo: 0n, hi: most(-lo, hi) };
}

/** The least w for which both lie inside −2^w … 2^w − 1, as 2^w. */
function powerAround(a: Interval, b: Interval): bigint {
	const digits = (x: bigint) => bitLength(x < 0n ? -x - 1n : x);
	return 1n << most(digits(a.lo), digits(a.hi), digits(b.lo), digits(b.hi));
}

function bitwise(op: "and" | "or" | "xor", a: Interval, b: Interval): Interval {
	const power = powerAround(a, b);
	const isAPositive = a.lo >= 0n;
	const isBPositive = b.lo >= 0n;
	if (op === "and") {
		if (isAPositive && isBPositive) return { lo: 0n, hi: least(a.hi, b.hi) };
		if (isAPositive || isBPositive) return { lo: 0n, hi: isAPositive ? a.hi : b.hi };
		return { lo: -power, hi: most(a.hi, b.hi) };
	}
	if (!(isAPositive && isBPositive)) return { lo: -power, hi: power - 1n };
	return { lo: op === "or" ? most(a.lo, b.lo) : 0n, hi: power - 1n };
}

function compare(op: "eq" | "lt", a: Interval, b: Interval): Interval {
	if (op === "lt") return a.hi < b.lo ? point(1n) : a.lo >= b.hi ? point(0n) : { lo: 0n, hi: 1n };
	if (a.hi < b.lo || b.hi < a.lo) return point(0n);
	return a.lo === a.hi && b.lo === b.hi ? point(1n) : { lo: 0n, hi: 1n };
}

function select(condition: Interval, a: Interval, b: Interval): Interval {
	if (condition.lo > 0n || condition.hi < 0n) return a;
	if (condition.lo === 0n && condition.hi === 0n) return b;
	return hull(a.lo, a.hi, b.lo, b.hi);
}

/** The interval without the question whether it fits; `bits` of shl, shr, rsh. */
function rawInterval(one: Arithmetic, a: Interval, b: Interval, c: Interval): Interval {
	const bits = "bits" in one ? one.bits : 0;
	const both = (f: (x: bigint) => bigint): Interval => ({ lo: f(a.lo), hi: f(a.hi) });
	switch (one.op) {
		case "add":
			return { lo: a.lo + b.lo, hi: a.hi + b.hi };
		case "sub":
			return { lo: a.lo - b.hi, hi: a.hi - b.lo };
		case "mul": {
			if (one.a !== one.b) return corners("mul", a, b);
			const { lo, hi } = absolute(a);
			return { lo: lo * lo, hi: hi * hi };
		}
		case "neg":
			return { lo: -a.hi, hi: -a.lo };
		case "abs":
			return absolute(a);
		case "min":
		case "max":
			return {
				lo: evaluate(one.op, 0, a.lo, b.lo, 0n)!,
				hi: evaluate(one.op, 0, a.hi, b.hi, 0n)!,
			};
		case "shl":
		case "shr":
		case "rsh":
		case "isqrt":
			return both((x) => evaluate(one.op, bits, x, 0n, 0n)!);
		case "rshv":
		case "div":
		case "rdiv":
			return corners(one.op, a, b);
		case "bitlen": {
			const { lo, hi } = absolute(a);
			return { lo: bitLength(lo), hi: bitLength(hi) };
		}
		case "eq":
		case "lt":
			return compare(one.op, a, b);
		case "and":
		case "or":
		case "xor":
			return bitwise(one.op, a, b);
		case "select":
			return select(a, b, c);
		case "clamp":
			return {
				lo: evaluate("clamp", 0, a.lo, b.lo, c.lo)!,
				hi: evaluate("clamp", 0, a.hi, b.hi, c.hi)!,
			};
	}
}

function domainFault(one: Arithmetic, a: Interval, b: Interval): Wrong | null {
	if ((one.op === "div" || one.op === "rdiv") && b.lo < 1n)
		return { code: "PROGRAM_DIVISOR", message: `${one.op} by ${showInterval(b)}; a divisor is at least 1` };
	if (one.op === "isqrt" && a.lo < 0n)
		return { code: "PROGRAM_DOMAIN", message: `isqrt of ${showInterval(a)}; it needs at least 0` };
	if (one.op === "rshv" && !isInside(b, RSHV_BITS))
		return { code: "PROGRAM_DOMAIN", message: `rshv by ${showInterval(b)}; it takes ${showInterval(RSHV_BITS)}` };
	return null;
}

/** b and c are a where the instruction has none. */
export function arithmeticInterval(one: Arithmetic, a: Interval, b: Interval, c: Interval): Interval | Wrong {
	const fault = domainFault(one, a, b);
	if (fault !== null) return fault;
	const found = rawInterval(one, a, b, c);
	return isInside(found, I64) ? found : overflow(one.op, found);
}

export function overflow(what: string, found: Interval): Wrong {
	return { code: "PROGRAM_OVERFLOW", message: `${what} gives ${showInterval(found)}, outside 64 bits` };
}

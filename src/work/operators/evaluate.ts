// What each arithmetic instruction of `map` computes, docs/work.md §3: on whole numbers without bounds. A
// checked program keeps every value inside 64 bits. A judge that is given false values may meet what the page
// does not define: then the value is null.
import type { Arithmetic } from "./instruction.ts";

/** ⌊a / b⌋ for b ≥ 1. */
function floorDiv(a: bigint, b: bigint): bigint {
	const quotient = a / b;
	return a < 0n && quotient * b !== a ? quotient - 1n : quotient;
}

/** ⌊a·2^−k + ½⌋: to the nearest, halves upwards; k below 0 shifts left. */
function roundShift(a: bigint, k: bigint): bigint {
	return k <= 0n ? a << -k : (a + (1n << (k - 1n))) >> k;
}

const TWO_63 = 2n ** 63n;

/** ⌊√x⌋ for x ≥ 0. */
function isqrt(x: bigint): bigint {
	if (x < 2n) return x;
	if (x < TWO_63) {
		// A double's root is off by one at most.
		const near = BigInt(Math.floor(Math.sqrt(Number(x))));
		return near * near > x ? near - 1n : (near + 1n) * (near + 1n) <= x ? near + 1n : near;
	}
	let root = 1n << BigInt((x.toString(2).length + 1) >> 1);
	for (;;) {
		const next = (root + x / root) >> 1n;
		if (next >= root) return root;
		root = next;
	}
}

/** Number of binary digits of |x|; 0 has none. */
export function bitLength(x: bigint): bigint {
	return x === 0n ? 0n : BigInt((x < 0n ? -x : x).toString(2).length);
}

/** Null where the page defines nothing. b and c are 0 where the instruction has none. */
export function evaluate(op: Arithmetic["op"], bits: number, a: bigint, b: bigint, c: bigint): bigint | null {
	switch (op) {
		case "add":
			return a + b;
		case "sub":
			return a - b;
		case "mul":
			return a * b;
		case "neg":
			return -a;
		case "abs":
			return a < 0n ? -a : a;
		case "min":
			return a < b ? a : b;
		case "max":
			return a > b ? a : b;
		case "shl":
			return a << BigInt(bits);
		case "shr":
			return a >> BigInt(bits);
		case "rsh":
			return roundShift(a, BigInt(bits));
		case "rshv":
			return b < -31n || b > 62n ? null : roundShift(a, b);
		case "div":
			return b < 1n ? null : floorDiv(a, b);
		case "rdiv":
			return b < 1n ? null : floorDiv(2n * a + b, 2n * b);
		case "isqrt":
			return a < 0n ? null : isqrt(a);
		case "bitlen":
			return bitLength(a);
		case "eq":
			return a === b ? 1n : 0n;
		case "lt":
			return a < b ? 1n : 0n;
		case "and":
			return a & b;
		case "or":
			return a | b;
		case "xor":
			return a ^ b;
		case "select":
			return a !== 0n ? b : c;
		case "clamp": {
			const raised = a > b ? a : b;
			return raised < c ? raised : c;
		}
	}
}

// Fused multiply-add, exactly rounded (to nearest, ties to even), from ordinary double arithmetic. JavaScript
// has no fma. fp32: the product of two floats is exact in double, and only a sum that lands on a midpoint can
// round wrongly. fp64: error-free transforms and one rounding to odd (Boldo and Melquiond, 2008); operands
// whose errors could leave the double range take the slow integer route. Checked against C's fmaf and fma bit
// for bit in fma.test.ts.
import { fma64Exact } from "./fma-exact.ts";

const MAX_FLOAT = 2 ** 128 - 2 ** 104;
const FLOAT_OVERFLOW_MIDPOINT = 2 ** 128 - 2 ** 103;

/** fma of three floats (numbers that Math.fround leaves alone), as a float. */
export function fma32(a: number, b: number, c: number): number {
	const product = a * b; // exact: 24 + 24 bits
	const sum = product + c;
	const near = Math.fround(sum);
	// A midpoint between floats is never a float, and the exact value rounded to `sum`: `near` is its nearest
	// float too.
	if (near === sum) return near;
	const part = sum - product;
	const error = product - (sum - part) + (c - part); // exact = sum + error
	if (error === 0 || Number.isNaN(sum)) return near;
	if (!Number.isFinite(near)) {
		// Halfway between the largest float and 2^128, and the rest points back: the largest float is right.
		const pointsBack = Math.abs(sum) === FLOAT_OVERFLOW_MIDPOINT && error > 0 !== sum > 0;
		return pointsBack ? Math.sign(sum) * MAX_FLOAT : near;
	}
	const other = 2 * sum - near; // the mirror image of `near` is a float only when `sum` is a midpoint
	if (Math.fround(other) !== other) return near;
	return error > 0 ? Math.max(near, other) : Math.min(near, other);
}

const double = new Float64Array(1);
const words = new Int32Array(double.buffer);
const LOW = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 0 : 1;
const HIGH = 1 - LOW;

// Inside these bounds no product, error or sum below can overflow or lose bits to underflow
// (2^-400·2^-400·2^-106 > 2^-1074).
const SMALLEST = 2 ** -400;
const LARGEST = 2 ** 400;

function isModerate(x: number): boolean {
	const size = Math.abs(x);
	return size >= SMALLEST && size <= LARGEST;
}

export function fma64(a: number, b: number, c: number): number {
	if (!(isModerate(a) && isModerate(b) && isModerate(c))) return fma64Exact(a, b, c);
	// product + low = a·b exactly (Dekker, halves by Veltkamp).
	const product = a * b;
	let t = a * 134217729;
	const aHigh = t - (t - a);
	const aLow = a - aHigh;
	t = b * 134217729;
	const bHigh = t - (t - b);
	const bLow = b - bHigh;
	const low = aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
	// u + uLow = c + low; s + sLow = product + u; then the exact value is s + sLow + uLow.
	const u = c + low;
	t = u - c;
	const uLow = c - (u - t) + (low - t);
	const s = product + u;
	t = s - product;
	const sLow = product - (s - t) + (u - t);
	const v = sLow + uLow;
	t = v - sLow;
	const error = sLow - (v - t) + (uLow - t);
	return error === 0 ? s + v : s + roundToOdd(v, error);
}

/**
 * v + error truncated or bumped so that the last bit is odd: a later rounding to nearest then sees that
 * something was lost.
 */
function roundToOdd(v: number, error: number): number {
	double[0] = v;
	if ((words[LOW]! & 1) !== 0) return v;
	if (error > 0 === v > 0) words[LOW]! |= 1;
	else {
		if (words[LOW] === 0) words[HIGH]! -= 1;
		words[LOW]! -= 1;
	}
	return double[0]!;
}

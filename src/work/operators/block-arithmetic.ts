// The arithmetic of evaluate.ts for a block of elements in plain numbers, where intervals say that operands
// and results are below 2^53. Every step below is exact in a double; where that needs a thought, it stands
// beside the line. Zero may be −0: nothing here minds.
import type { Arithmetic } from "./instruction.ts";

const TWO_32 = 2 ** 32;

/** ⌊a·2^−k + ½⌋. ⌊(⌊x⌋ + 1) / 2⌋ = ⌊(x + 1) / 2⌋, and neither ⌊a / 2^(k−1)⌋ nor one more loses a bit. */
function roundShift(a: number, k: number): number {
	return k <= 0 ? a * 2 ** -k : Math.floor((Math.floor(a / 2 ** (k - 1)) + 1) / 2);
}

/** a − r is a multiple of b, so the quotient is exact. */
function floorDiv(a: number, b: number): number {
	const rest = a % b;
	return rest < 0 ? (a - rest) / b - 1 : (a - rest) / b;
}

function roundDiv(a: number, b: number): number {
	const quotient = floorDiv(a, b);
	// a − quotient·b without the product, which may pass 2^53.
	const rest = a % b;
	const positive = rest < 0 ? rest + b : rest;
	return positive >= b - positive ? quotient + 1 : quotient;
}

function isqrt(x: number): number {
	let root = Math.floor(Math.sqrt(x));
	while (root * root > x) root -= 1;
	while ((root + 1) * (root + 1) <= x) root += 1;
	return root;
}

function bitLength(x: number): number {
	const size = Math.abs(x);
	return size < TWO_32 ? 32 - Math.clz32(size) : 64 - Math.clz32(Math.floor(size / TWO_32));
}

/** Bitwise instructions take numbers of 32 bits, signed. */
export const isBitwise = (op: string): boolean => op === "and" || op === "or" || op === "xor";

type Numbers = Float64Array;

/** These have a loop of their own. */
type Quick = "add" | "sub" | "mul" | "shl" | "shr" | "rsh" | "clamp";

/** The others, of their registers. */
const FUNCTIONS: Readonly<Record<Exclude<Arithmetic["op"], Quick>, (a: number, b: number, c: number) => number>> = {
	neg: (a) => -a,
	abs: (a) => Math.abs(a),
	min: (a, b) => (a < b ? a : b),
	max: (a, b) => (a > b ? a : b),
	rshv: roundShift,
	div: floorDiv,
	rdiv: roundDiv,
	isqrt,
	bitlen: bitLength,
	eq: (a, b) => (a === b ? 1 : 0),
	lt: (a, b) => (a < b ? 1 : 0),
	and: (a, b) => a & b,
	or: (a, b) => a | b,
	xor: (a, b) => a ^ b,
	select: (a, b, c) => (a !== 0 ? b : c),
};

/** out[i] for the first `count` elements. */
export function blockArithmetic(
	{ op }: Arithmetic,
	bits: number,
	[a, b, c]: readonly [Numbers, Numbers, Numbers],
	out: Numbers,
	count: number,
): void {
	// The most frequent ones without a call an element.
	if (op === "add") for (let i = 0; i < count; i++) out[i] = a[i]! + b[i]!;
	else if (op === "sub") for (let i = 0; i < count; i++) out[i] = a[i]! - b[i]!;
	else if (op === "mul") for (let i = 0; i < count; i++) out[i] = a[i]! * b[i]!;
	else if (op === "shl") multiply(a, 2 ** bits, out, count);
	else if (op === "shr") shiftDown(a, 2 ** -bits, out, count);
	else if (op === "rsh") roundDown(a, 2 ** (1 - bits), out, count);
	else if (op === "clamp") clampAll(a, b, c, out, count);
	else {
		const compute = FUNCTIONS[op];
		for (let i = 0; i < count; i++) out[i] = compute(a[i]!, b[i]!, c[i]!);
	}
}

/** A product with a power of two is exact, as a quotient is. */
function multiply(a: Numbers, by: number, out: Numbers, count: number): void {
	for (let i = 0; i < count; i++) out[i] = a[i]! * by;
}
function shiftDown(a: Numbers, by: number, out: Numbers, count: number): void {
	for (let i = 0; i < count; i++) out[i] = Math.floor(a[i]! * by);
}
/** As roundShift, whose k is 1 or more here. */
function roundDown(a: Numbers, by: number, out: Numbers, count: number): void {
	for (let i = 0; i < count; i++) out[i] = Math.floor((Math.floor(a[i]! * by) + 1) * 0.5);
}
function clampAll(a: Numbers, b: Numbers, c: Numbers, out: Numbers, count: number): void {
	for (let i = 0; i < count; i++) {
		const raised = a[i]! > b[i]! ? a[i]! : b[i]!;
		out[i] = raised < c[i]! ? raised : c[i]!;
	}
}

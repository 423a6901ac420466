// Points and pairings of BN254 as proofs write them: 32 bytes a number, big-endian, one spelling only. The
// arithmetic is @noble/curves'.
import { mulAddUnsafe, pippenger } from "@noble/curves/abstract/curve.js";
import { bn254 } from "@noble/curves/bn254.js";

export type G1 = typeof bn254.G1.Point.BASE;
export type G2 = typeof bn254.G2.Point.BASE;

/** Scalars and coordinates. The inverse of 0 is an error. */
export const { Fr, Fp } = bn254.fields;
/** The order of the scalars. */
export const R = Fr.ORDER;
/** Any number as a scalar. */
export const mod = (value: bigint): bigint => Fr.create(value);
/** The order of the coordinates. */
const P = Fp.ORDER;

export function bigOf(bytes: Uint8Array): bigint {
	let value = 0n;
	for (const byte of bytes) value = (value << 8n) | BigInt(byte);
	return value;
}

/** So many words of 32 bytes. */
export const wordsOf = (bytes: Uint8Array): bigint[] =>
	Array.from({ length: bytes.length / 32 }, (_, i) => bigOf(bytes.subarray(32 * i, 32 * i + 32)));

export function bytesOf(value: bigint): Uint8Array {
	const bytes = new Uint8Array(32);
	for (let i = 31, rest = value; i >= 0; i--, rest >>= 8n) bytes[i] = Number(rest & 255n);
	return bytes;
}

/**
 * spelling: a coordinate is not below the field's order. nowhere: on no curve, or in no subgroup that counts.
 */
export type NoPoint = "spelling" | "nowhere";

/** In words. */
export const POINTS: Readonly<Record<NoPoint, string>> = {
	spelling: "a number of the proof is not below its field's order: another spelling of the same",
	nowhere: "a point of the proof is on no curve, in no subgroup that counts, or at infinity",
};

/** 0, 0 is the point at infinity, as the EVM writes it. */
export function g1Of(x: bigint, y: bigint): G1 | NoPoint {
	if (x >= P || y >= P) return "spelling";
	return checked(() => knownG1(x, y));
}

/** As g1Of; imaginary parts first, and only points of the right subgroup. */
export function g2Of(xi: bigint, xr: bigint, yi: bigint, yr: bigint): G2 | NoPoint {
	if ([xi, xr, yi, yr].some((one) => one >= P)) return "spelling";
	return checked(() => knownG2(xi, xr, yi, yr));
}

function checked<Point extends G1 | G2>(make: () => Point): Point | NoPoint {
	try {
		const point = make();
		// Of the curve and of the subgroup. Where y is 0, no point can even be made.
		if (!point.is0()) point.assertValidity();
		return point;
	} catch {
		return "nowhere";
	}
}

/** Points of published keys, which a test has checked. */
export const knownG1 = (x: bigint, y: bigint): G1 =>
	x === 0n && y === 0n ? bn254.G1.Point.ZERO : bn254.G1.Point.fromAffine({ x, y });
export function knownG2(xi: bigint, xr: bigint, yi: bigint, yr: bigint): G2 {
	if ([xi, xr, yi, yr].every((one) => one === 0n)) return bn254.G2.Point.ZERO;
	const { Fp2 } = bn254.fields;
	return bn254.G2.Point.fromAffine({ x: Fp2.create({ c0: xr, c1: xi }), y: Fp2.create({ c0: yr, c1: yi }) });
}

/** Whether the product of the pairings is one. A pair with the point at infinity counts as one. */
export function isOne(pairs: readonly { readonly g1: G1; readonly g2: G2 }[]): boolean {
	const whole = pairs.filter(({ g1, g2 }) => !g1.is0() && !g2.is0());
	if (whole.length === 0) return true;
	const { Fp12 } = bn254.fields;
	return Fp12.eql(bn254.pairingBatch([...whole]), Fp12.ONE);
}

/** Also by 0 and of the point at infinity. */
export function times(point: G1, scalar: bigint): G1 {
	const reduced = scalar % R;
	return reduced === 0n || point.is0() ? bn254.G1.Point.ZERO : point.multiplyUnsafe(reduced);
}

/** Above so many points, sums of those with the same digit cost less than multiples of each. */
const MANY = 256;

/** Σ scalar·point, with the doublings of all points in common. Scalars are below R, and public. */
export function sumOfMultiples(points: readonly G1[], scalars: readonly bigint[]): G1 {
	const sum = points.length > MANY ? pippenger : mulAddUnsafe;
	return sum(bn254.G1.Point, [...points], [...scalars]);
}

export const G1_ONE: G1 = bn254.G1.Point.BASE;
export const G2_ONE: G2 = bn254.G2.Point.BASE;
/** It as keys have it, gamma of most of them: x imaginary, x real, y imaginary, y real. */
export const G2_ONE_WORDS = [
	"198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2",
	"1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed",
	"090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b",
	"12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa",
] as const;

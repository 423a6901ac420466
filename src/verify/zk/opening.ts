// Does a committed list f of 2^c scalars, as a multilinear polynomial, have this value at this point?
// docs/zk.md §3. With e = Σ eq(point, i)·X^i a polynomial S shows it: f(X)·e(1/X) + f(1/X)·e(X) = 2·value +
// X·S(X) + S(1/X)/X, at a place r that is drawn when S is committed. Then f + η·S is opened at r and 1/r at
// once: 3 points, 3 scalars, 2 pairings.
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import {
	bytesOf,
	Fr,
	type G1,
	G1_ONE,
	type G2,
	G2_ONE,
	g1Of,
	isOne,
	mod,
	type NoPoint,
	R,
	sumOfMultiples,
	wordsOf,
} from "../../protocol/maths/bn254.ts";
import { type Field, NUMBERS } from "./field.ts";
import { productOf } from "./scalars.ts";
import type { Transcript } from "./transcript.ts";

/** S; f(r), f(1/r), S(1/r); W, W′. */
export const OPENING_BYTES = 3 * 64 + 3 * 32;
/** Messages. */
const KIND = { claim: 16, cross: 17, values: 18, line: 19, last: 20 } as const;
/** Proofs of longer lists would have 2^32 powers. */
const MOST_VARIABLES = 32;

export interface OpeningClaim {
	/** 64 bytes; may be a sum that the verifier made. */
	readonly commitment: Uint8Array;
	/** c scalars, c even; the first belongs to the highest bit of an index. */
	readonly point: readonly bigint[];
	readonly value: bigint;
}

/** Σ eq(point, i)·x^i, as a product over the bits of i. */
function eqPolynomial<F>(field: Field<F>, point: readonly F[], x: F): F {
	let square = x;
	const factors = point.toReversed().map((one, k) => {
		if (k > 0) square = field.times(square, square);
		return field.sum([field.of(1n), field.times(one, field.less(square, field.of(1n)))]);
	});
	return productOf(field, factors);
}

/** r, 1/r, and η, which is drawn when the values are said. */
export interface CrossDrawn<F> {
	readonly r: F;
	readonly back: F;
	readonly eta: F;
}

/** What f + η·S has at r and at 1/r, by f(r), f(1/r), S(1/r), and S(r) as the equation leaves it. */
export function crossValues<F>(
	field: Field<F>,
	{ point, value }: { readonly point: readonly F[]; readonly value: F },
	{ r, back, eta }: CrossDrawn<F>,
	[fThere, fBack, sBack]: readonly [F, F, F],
): readonly [there: F, other: F] {
	const crossed = [
		field.times(fThere, eqPolynomial(field, point, back)),
		field.times(fBack, eqPolynomial(field, point, r)),
	];
	const taken = field.sum([field.scaled(value, 2n), field.times(sBack, back)]);
	const sThere = field.times(field.less(field.sum(crossed), taken), back);
	return [field.sum([fThere, field.times(eta, sThere)]), field.sum([fBack, field.times(eta, sBack)])];
}

/** What a sum of commitments is where X² - t·X + 1 is 0: a + b·X. */
export interface Line {
	readonly t: bigint;
	readonly a: bigint;
	readonly b: bigint;
}

/**
 * Whether the points, each so often, are that: they are it, and W times X² - t·X + 1, at a place z that is
 * drawn when W is there.
 */
export function isLine(
	points: readonly G1[],
	counts: readonly bigint[],
	{ t, a, b }: Line,
	{ z, w, last, tau }: { readonly z: bigint; readonly w: G1; readonly last: G1; readonly tau: G2 },
): boolean {
	const sum = sumOfMultiples([...points, G1_ONE, w, last], [...counts, mod(-a - b * z), mod(t * z - z * z - 1n), z]);
	return isOne([
		{ g1: sum, g2: G2_ONE },
		{ g1: last.negate(), g2: tau },
	]);
}

/**
 * `tauG2`: from the powers that the statement names. `transcript`: has absorbed all that came before;
 * afterwards also this proof. Never throws for what a proof says, only for claims that no plan makes.
 */
export function verifyOpening(
	transcript: Transcript,
	tauG2: G2,
	claim: OpeningClaim,
	proof: Uint8Array,
): "true" | "false" | NoPoint {
	const { commitment, point, value } = claim;
	const half = point.length / 2;
	if (!Number.isInteger(half) || half < 1 || point.length > MOST_VARIABLES) throw new Error("c is even, and above 0");
	if (commitment.length !== 64 || proof.length !== OPENING_BYTES) return "spelling";
	const values = wordsOf(proof.subarray(64, 160));
	if ([...point, value, ...values].some((one) => one < 0n || one >= R)) return "spelling";
	const words = wordsOf(concatBytes(commitment, proof.subarray(0, 64), proof.subarray(160)));
	const points = Array.from({ length: 4 }, (_, i) => g1Of(words[2 * i]!, words[2 * i + 1]!));
	for (const wrong of ["spelling", "nowhere"] as const) if (points.includes(wrong)) return wrong;
	const [f, s, w, last] = points as [G1, G1, G1, G1];

	// Whoever calls has absorbed what the claim follows from. Once more here, so that no caller can forget it.
	transcript.absorb(KIND.claim, concatBytes(commitment, ...point.map(bytesOf), bytesOf(value)));
	transcript.absorb(KIND.cross, proof.subarray(0, 64));
	const r = transcript.challenge();
	transcript.absorb(KIND.values, proof.subarray(64, 160));
	const eta = transcript.challenge();
	transcript.absorb(KIND.line, proof.subarray(160, 224));
	const z = transcript.challenge();
	transcript.absorb(KIND.last, proof.subarray(224));
	// Challenges with one place instead of two, which nobody can aim at.
	if (mod(r * r) === 1n || r === 0n) return "false";
	const back = Fr.inv(r);
	const [there, other] = crossValues(NUMBERS, claim, { r, back, eta }, values as [bigint, bigint, bigint]);
	const b = mod((there - other) * Fr.inv(mod(r - back)));
	const line = { t: mod(r + back), a: mod(there - b * r), b };
	return isLine([f, s], [1n, eta], line, { z, w, last, tau: tauG2 }) ? "true" : "false";
}

// Mercury (ePrint 2025/385): does a committed list f of 2^c scalars, as a multilinear polynomial, have this value at this point? docs/zk.md §3.
// With b = 2^(c/2) and f = Σ X^i f_i(X^b): h = Σ eq(u₁,i)·f_i, f = q·(X^b - α) + g, S shows ⟨g,eq(u₁)⟩ = h(α) and ⟨h,eq(u₂)⟩ = value, D shows that g has
// b coefficients. Then one batch of KZG openings at ζ, 1/ζ and α: 8 points, 6 scalars, 2 pairings.
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import {
	bytesOf,
	type G1,
	G1_ONE,
	type G2,
	G2_ONE,
	g1Of,
	isOne,
	type NoPoint,
	R,
	times,
	wordsOf,
} from "../../protocol/maths/bn254.ts";
import { mod } from "./field.ts";
import { power } from "./scalars.ts";
import type { Transcript } from "./transcript.ts";

/** h; q, g; S, D; g(ζ), g(1/ζ), h(ζ), h(1/ζ), h(α), S(1/ζ); quotients at ζ, 1/ζ, α. */
export const MERCURY_BYTES = 8 * 64 + 6 * 32;
/** Messages. */
const KIND = { claim: 16, h: 17, division: 18, inner: 19, scalars: 20, quotients: 21 } as const;
/** Proofs of longer lists would have 2^32 powers. */
const MOST_VARIABLES = 32;

export interface OpeningClaim {
	/** 64 bytes; may be a sum that the verifier made. */
	readonly commitment: Uint8Array;
	/** c scalars, c even; the first belongs to the highest bit of an index. */
	readonly point: readonly bigint[];
	readonly value: bigint;
}

/** Σ eq(u,i)·x^i, as a product over the bits of i. */
function eqPolynomial(u: readonly bigint[], x: bigint): bigint {
	let product = 1n;
	for (let k = u.length - 1, square = x; k >= 0; k--, square = (square * square) % R)
		product = mod(product * (1n + u[k]! * (square - 1n)));
	return product;
}

interface Challenges {
	readonly alpha: bigint;
	readonly gamma: bigint;
	readonly zeta: bigint;
	/** 1/ζ. */
	readonly back: bigint;
	readonly nu: bigint;
	/** Combines the three openings. */
	readonly omega: bigint;
}

/** Null: a challenge without an inverse, which nobody can aim at. */
function replay(transcript: Transcript, claim: OpeningClaim, proof: Uint8Array): Challenges | null {
	const { commitment, point, value } = claim;
	// Whoever calls has absorbed what the claim follows from. Once more here, so that no caller can forget it.
	transcript.absorb(KIND.claim, concatBytes(commitment, ...point.map(bytesOf), bytesOf(value)));
	transcript.absorb(KIND.h, proof.subarray(0, 64));
	const alpha = transcript.challenge();
	transcript.absorb(KIND.division, proof.subarray(64, 192));
	const gamma = transcript.challenge();
	transcript.absorb(KIND.inner, proof.subarray(192, 320));
	const zeta = transcript.challenge();
	transcript.absorb(KIND.scalars, proof.subarray(320, 512));
	const nu = transcript.challenge();
	transcript.absorb(KIND.quotients, proof.subarray(512));
	const omega = transcript.challenge();
	return zeta === 0n ? null : { alpha, gamma, zeta, back: power(zeta, R - 2n), nu, omega };
}

/**
 * `tauG2`: from the powers that the statement names. `transcript`: has absorbed all that came before; afterwards also this proof. Never throws for what
 * a proof says, only for claims that no plan makes.
 */
export function verifyMercury(
	transcript: Transcript,
	tauG2: G2,
	claim: OpeningClaim,
	proof: Uint8Array,
): "true" | "false" | NoPoint {
	const { commitment, point, value } = claim;
	const half = point.length / 2;
	if (!Number.isInteger(half) || half < 1 || point.length > MOST_VARIABLES) throw new Error("c is even, and above 0");
	if (commitment.length !== 64 || proof.length !== MERCURY_BYTES) return "spelling";
	const scalars = wordsOf(proof.subarray(320, 512));
	if ([...point, value, ...scalars].some((one) => one < 0n || one >= R)) return "spelling";
	const words = wordsOf(concatBytes(commitment, proof.subarray(0, 320), proof.subarray(512)));
	const points = Array.from({ length: 9 }, (_, i) => g1Of(words[2 * i]!, words[2 * i + 1]!));
	for (const wrong of ["spelling", "nowhere"] as const) if (points.includes(wrong)) return wrong;
	const drawn = replay(transcript, claim, proof);
	if (drawn === null) return "false";
	return areOpenings(claim, points as G1[], scalars, drawn, tauG2) ? "true" : "false";
}

function areOpenings(
	{ point, value }: OpeningClaim,
	points: readonly G1[],
	scalars: readonly bigint[],
	{ alpha, gamma, zeta, back, nu, omega }: Challenges,
	tauG2: G2,
): boolean {
	const [f, h, q, g, s, d, ...quotients] = points as [G1, G1, G1, G1, G1, G1, G1, G1, G1];
	const [gZeta, gBack, hZeta, hBack, hAlpha, sBack] = scalars as [bigint, bigint, bigint, bigint, bigint, bigint];
	const half = point.length / 2;
	const b = 1n << BigInt(half);
	const [u2, u1] = [point.slice(0, half), point.slice(half)];
	// g(X)·e₁(1/X) + g(1/X)·e₁(X) + γ·(h(X)·e₂(1/X) + h(1/X)·e₂(X)) = 2·(h(α) + γ·value) + X·S(X) + S(1/X)/X: what stands at X^0 on both sides.
	const inner = gZeta * eqPolynomial(u1, back) + gBack * eqPolynomial(u1, zeta);
	const other = hZeta * eqPolynomial(u2, back) + hBack * eqPolynomial(u2, zeta);
	const sZeta = mod((inner + gamma * other - 2n * (hAlpha + gamma * value) - back * sBack) * back);
	// D(X) = X^(b-1)·g(1/X) is a polynomial only where g has no more than b coefficients.
	const dZeta = mod(power(zeta, b - 1n) * gBack);
	const nus = [1n, nu, mod(nu * nu), power(nu, 3n), power(nu, 4n)] as const;
	// At ζ: f - (ζ^b - α)·q - g is 0; g, h, S, D. At 1/ζ: g, h, S. At α: h.
	const link = f.add(times(q, mod(alpha - power(zeta, b)))).add(g.negate());
	const openings = [
		{
			at: zeta,
			sum: sumOf([link, g, h, s, d], nus),
			value: mod(nus[1] * gZeta + nus[2] * hZeta + nus[3] * sZeta + nus[4] * dZeta),
		},
		{ at: back, sum: sumOf([g, h, s], nus), value: mod(gBack + nus[1] * hBack + nus[2] * sBack) },
		{ at: alpha, sum: h, value: hAlpha },
	];
	// e(C - v + x·π, 1) = e(π, τ) for each, all three at once.
	let left = times(G1_ONE, 0n);
	let right = left;
	let total = 0n;
	for (const [k, { at, sum, value: there }] of openings.entries()) {
		const factor = power(omega, BigInt(k));
		left = left.add(times(sum, factor)).add(times(quotients[k]!, mod(factor * at)));
		right = right.add(times(quotients[k]!, factor));
		total = mod(total + factor * there);
	}
	left = left.add(times(G1_ONE, mod(-total)));
	return isOne([
		{ g1: left, g2: G2_ONE },
		{ g1: right.negate(), g2: tauG2 },
	]);
}

const sumOf = (list: readonly G1[], factors: readonly bigint[]): G1 =>
	list.reduce((sum, one, i) => sum.add(times(one, factors[i]!)), times(G1_ONE, 0n));

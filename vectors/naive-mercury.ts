// The prover of docs/zk.md §3, for reading: opens a committed list of 2^c scalars, c even, at a point of its multilinear extension. It can be told to
// cheat in one place and be honest in all else; what then cannot be a polynomial loses the part that makes it none. Nothing imported from src/.
import { inverse, mod, type Point, pointBytes, power, type Transcript, word } from "./naive-bn254.ts";

/** Coefficients, lowest first. */
export type Poly = readonly bigint[];

export const at = (poly: Poly, x: bigint): bigint => poly.reduceRight((sum, one) => mod(sum * x + one), 0n);
export const plus = (a: Poly, b: Poly): Poly =>
	Array.from({ length: Math.max(a.length, b.length) }, (_, i) => mod((a[i] ?? 0n) + (b[i] ?? 0n)));
export const times = (a: Poly, factor: bigint): Poly => a.map((one) => mod(one * factor));

/** By X - x; what remains is left out. */
export function divided(poly: Poly, x: bigint): Poly {
	const quotient: bigint[] = new Array(Math.max(0, poly.length - 1)).fill(0n);
	for (let i = poly.length - 1, carry = 0n; i > 0; i--) {
		carry = mod(poly[i]! + carry * x);
		quotient[i - 1] = carry;
	}
	return quotient;
}

/** eq(u, i) for all i; the first of u is the highest bit. */
export const eqs = (u: readonly bigint[]): Poly =>
	u.reduce<Poly>((list, one) => list.flatMap((e) => [mod(e * (1n - one)), mod(e * one)]), [1n]);

/** Σ_i a_i·b_(i+k) + a_(i+k)·b_i, for k = 1, 2, …: what stands at X^k in a(X)·b(1/X) + a(1/X)·b(X). */
export function crossed(a: Poly, b: Poly): Poly {
	const length = Math.max(a.length, b.length);
	return Array.from({ length: length - 1 }, (_, less) => {
		let sum = 0n;
		for (let i = 0; i + less + 1 < length; i++) {
			const j = i + less + 1;
			sum += (a[i] ?? 0n) * (b[j] ?? 0n) + (a[j] ?? 0n) * (b[i] ?? 0n);
		}
		return mod(sum);
	});
}

export interface Cheat {
	/** Of h, before it is sent. */
	readonly h?: (h: Poly) => Poly;
	/** Of q and g, once α is known and h is sent. */
	readonly division?: (q: Poly, g: Poly, h: Poly, alpha: bigint) => { readonly q: Poly; readonly g: Poly };
	/** Of the six scalars, before they are sent. */
	readonly scalars?: (scalars: readonly bigint[], gamma: bigint) => readonly bigint[];
	readonly s?: (s: Poly) => Poly;
	readonly d?: (d: Poly) => Poly;
	/** What the quotients say nothing of: as for a verifier that does not ask. */
	readonly without?: "link" | "s" | "d" | "alpha";
}

export interface Opening {
	readonly poly: Poly;
	/** c scalars; the first belongs to the highest bit of an index. */
	readonly point: readonly bigint[];
	/** What is said to be there; right unless the prover lies. */
	readonly value: bigint;
}

export const valueAt = (poly: Poly, point: readonly bigint[]): bigint => {
	const e = eqs(point);
	return mod(poly.reduce((sum, one, i) => sum + one * (e[i] ?? 0n), 0n));
};

/** Messages: 16 the claim, 17 h, 18 q and g, 19 S and D, 20 scalars, 21 quotients. */
export function proveMercury(
	transcript: Pick<Transcript, "absorb" | "challenge">,
	commit: (poly: Poly) => Point,
	{ poly: f, point, value }: Opening,
	cheat: Cheat = {},
): Uint8Array {
	const half = point.length / 2;
	const b = 2 ** half;
	const [e2, e1] = [eqs(point.slice(0, half)), eqs(point.slice(half))];
	const sent: Uint8Array[] = [];
	const send = (kind: number, ...parts: readonly Uint8Array[]) => {
		sent.push(...parts);
		transcript.absorb(kind, Buffer.concat(parts));
	};
	const polys = (kind: number, ...list: readonly Poly[]) => send(kind, ...list.map((one) => pointBytes(commit(one))));
	transcript.absorb(16, Buffer.concat([pointBytes(commit(f)), ...point.map(word), word(value)]));

	// Column i: every b-th coefficient from i on.
	const rows = Math.max(b, Math.ceil(f.length / b));
	const columns = Array.from({ length: b }, (_, i) => Array.from({ length: rows }, (_, j) => f[j * b + i] ?? 0n));
	const sum = columns.reduce<Poly>((all, one, i) => plus(all, times(one, e1[i]!)), []);
	const h = cheat.h?.(sum) ?? sum;
	polys(17, h);
	const alpha = transcript.challenge();

	const quotients = columns.map((one) => divided(one, alpha));
	const whole = Array.from({ length: (rows - 1) * b }, (_, k) => quotients[k % b]![Math.floor(k / b)]!);
	const rest = columns.map((one) => at(one, alpha));
	const { q, g } = cheat.division?.(whole, rest, h, alpha) ?? { q: whole, g: rest };
	polys(18, q, g);
	const gamma = transcript.challenge();

	const both = plus(crossed(g, e1), times(crossed(h, e2), gamma));
	const s = cheat.s?.(both) ?? both;
	const turned = Array.from({ length: b }, (_, i) => g[b - 1 - i] ?? 0n);
	const d = cheat.d?.(turned) ?? turned;
	polys(19, s, d);
	const zeta = transcript.challenge();
	const back = inverse(zeta);

	const honest = [at(g, zeta), at(g, back), at(h, zeta), at(h, back), at(h, alpha), at(s, back)];
	send(20, ...(cheat.scalars?.(honest, gamma) ?? honest).map(word));
	const nu = transcript.challenge();
	const combined = (...list: readonly Poly[]): Poly =>
		list.reduce<Poly>((all, one, i) => plus(all, times(one, power(nu, BigInt(i)))), []);
	const link = plus(f, plus(times(q, mod(alpha - power(zeta, BigInt(b)))), times(g, -1n)));
	const shown = (name: NonNullable<Cheat["without"]>, poly: Poly): Poly => (cheat.without === name ? [] : poly);
	const first = combined(shown("link", link), g, h, shown("s", s), shown("d", d));
	const second = combined(g, h, shown("s", s));
	polys(21, divided(first, zeta), divided(second, back), divided(shown("alpha", h), alpha));
	return Buffer.concat(sent);
}

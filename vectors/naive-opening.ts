// The opening of docs/zk.md §3, for reading: one polynomial S shows what a committed list of 2^c scalars has
// at a point of its multilinear extension. It can be told to cheat in one place and be honest in all else;
// what then cannot be a polynomial loses the part that makes it none. Runs hear its first messages with
// another transcript (naive-run.ts). Nothing imported from src/.
import { inverse, mod, type Point, pointBytes, type Transcript, word } from "./naive-bn254.ts";

/** Coefficients, lowest first. */
export type Poly = readonly bigint[];

export const at = (poly: Poly, x: bigint): bigint => poly.reduceRight((sum, one) => mod(sum * x + one), 0n);
export const plus = (a: Poly, b: Poly): Poly =>
	Array.from({ length: Math.max(a.length, b.length) }, (_, i) => mod((a[i] ?? 0n) + (b[i] ?? 0n)));
const times = (a: Poly, factor: bigint): Poly => a.map((one) => mod(one * factor));

/** By X - x; what remains is left out. */
function divided(poly: Poly, x: bigint): Poly {
	const quotient: bigint[] = new Array(Math.max(0, poly.length - 1)).fill(0n);
	for (let i = poly.length - 1, carry = 0n; i > 0; i--) {
		carry = mod(poly[i]! + carry * x);
		quotient[i - 1] = carry;
	}
	return quotient;
}

/** By X² - t·X + 1: what it goes in, and a and b of what remains. */
export function byQuadratic(
	poly: Poly,
	t: bigint,
): { readonly quotient: Poly; readonly a: bigint; readonly b: bigint } {
	const rest = [...poly, 0n, 0n];
	const quotient: bigint[] = new Array(rest.length - 2).fill(0n);
	for (let i = rest.length - 1; i >= 2; i--) {
		quotient[i - 2] = rest[i]!;
		rest[i - 1] = mod(rest[i - 1]! + t * rest[i]!);
		rest[i - 2] = mod(rest[i - 2]! - rest[i]!);
	}
	return { quotient, a: rest[0]!, b: rest[1]! };
}

/** eq(u, i) for all i; the first of u is the highest bit. */
export const eqs = (u: readonly bigint[]): Poly =>
	u.reduce<Poly>((list, one) => list.flatMap((e) => [mod(e * (1n - one)), mod(e * one)]), [1n]);

/** Hex digits that hold a coefficient of a product: a sum of up to 2^20 products of two scalars. */
const DIGITS = 132;
/** A polynomial at 16^DIGITS, where its coefficients lie side by side. */
const packed = (poly: Poly): bigint =>
	BigInt(
		`0x0${poly
			.map((one) => mod(one).toString(16).padStart(DIGITS, "0"))
			.toReversed()
			.join("")}`,
	);

/**
 * Σ_i a_i·b_(i+k) + a_(i+k)·b_i, for k = 1, 2, …: what stands at X^k in a(X)·b(1/X) + a(1/X)·b(X). As one
 * product of large numbers.
 */
function crossed(a: Poly, b: Poly): Poly {
	const length = Math.max(a.length, b.length);
	const backwards = Array.from({ length }, (_, i) => b[length - 1 - i] ?? 0n);
	const product = (packed(a) * packed(backwards)).toString(16).padStart(2 * length * DIGITS, "0");
	const at = (power: number) => {
		const end = product.length - power * DIGITS;
		return BigInt(`0x${product.slice(end - DIGITS, end)}`);
	};
	// What stands at X^0 in a(X)·b(1/X) stands at X^(length - 1) here.
	return Array.from({ length: length - 1 }, (_, less) => mod(at(length + less) + at(length - 2 - less)));
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

/** What is left to check of commitments: f + η·S is a + b·X where X² - t·X + 1 is 0. */
export interface Line {
	readonly eta: bigint;
	readonly t: bigint;
	readonly a: bigint;
	readonly b: bigint;
}

/** What a cheater knows when it chooses. */
export interface OpeningKnown {
	readonly f: Poly;
	readonly s: Poly;
	readonly r: bigint;
	/** Σ eq(point, i)·x^i. */
	readonly e: (x: bigint) => bigint;
	/** What is said to be the value, less what it is. */
	readonly lie: bigint;
}

export interface OpeningCheat {
	readonly s?: (s: Poly, lie: bigint) => Poly;
	/** S is chosen when r is known. */
	readonly late?: (known: OpeningKnown) => Poly;
	/** Another S was heard before; else none. */
	readonly isOtherHeard?: boolean;
	/** In the place of 1/r. */
	readonly back?: bigint;
	/** Of f(r), f(1/r), S(1/r). `eta`: where it is drawn before they are heard. */
	readonly values?: (honest: readonly bigint[], known: OpeningKnown, eta: bigint) => readonly bigint[];
	/** η is drawn before those are heard, which nobody does. */
	readonly areValuesUnheard?: boolean;
	/** b, in the place of what follows from the values. */
	readonly b?: (known: OpeningKnown, eta: bigint) => bigint;
	/** What is opened, in the place of what follows. */
	readonly shown?: (own: Line, known: OpeningKnown) => Line;
	/** z is drawn before W. */
	readonly isWLate?: boolean;
}

/** Who hears what is said, and draws. */
export interface Listener {
	/** S's commitment, then r. */
	s(bytes: Uint8Array | null): bigint;
	/** The three values, then η. */
	values(list: readonly bigint[] | null): bigint;
	/** What is opened and W, then z. */
	w(line: Line, bytes: Uint8Array | null): bigint;
}

/** What a prover says. */
export interface Said {
	readonly s: Uint8Array;
	readonly values: readonly bigint[];
	/** 1/r and b. */
	readonly quotients: readonly [bigint, bigint];
	readonly w: Uint8Array;
	readonly last: Uint8Array;
}

/** Whoever listens has heard the claim. */
export function sayOpening(
	listener: Listener,
	commit: (poly: Poly) => Point,
	{ poly: f, point, value }: Opening,
	cheat: OpeningCheat = {},
): Said {
	const pointOf = (poly: Poly) => pointBytes(commit(poly));
	const eq = eqs(point);
	const e = (x: bigint) => at(eq, x);
	const lie = mod(value - f.reduce((sum, one, i) => sum + one * (eq[i] ?? 0n), 0n));
	const honest = crossed(f, eq);
	const first = cheat.s?.(honest, lie) ?? honest;
	const r = listener.s(cheat.late === undefined || cheat.isOtherHeard ? pointOf(first) : null);
	const s = cheat.late?.({ f, s: first, r, e, lie }) ?? first;
	const known = { f, s, r, e, lie };
	const back = cheat.back ?? inverse(r);

	const early = cheat.areValuesUnheard ? listener.values(null) : 0n;
	const true3 = [at(f, r), at(f, inverse(r)), at(s, inverse(r))];
	const values = cheat.values?.(true3, known, early) ?? true3;
	const eta = cheat.areValuesUnheard ? early : listener.values(values);

	const [fThere, fBack, sBack] = values as [bigint, bigint, bigint];
	const sThere = mod((fThere * e(back) + fBack * e(r) - 2n * value - sBack * back) * back);
	const [there, other] = [mod(fThere + eta * sThere), mod(fBack + eta * sBack)];
	const b = cheat.b?.(known, eta) ?? mod((there - other) * inverse(mod(r - back)));
	const own = { eta, t: mod(r + back), a: mod(there - b * r), b };
	const shown = cheat.shown?.(own, known) ?? own;
	const said = { s: pointOf(s), values, quotients: [back, b] as const };
	return { ...said, ...sayLine(listener, pointOf, plus(f, times(s, shown.eta)), shown, cheat) };
}

function sayLine(
	listener: Listener,
	pointOf: (poly: Poly) => Uint8Array,
	f: Poly,
	line: Line,
	{ isWLate }: OpeningCheat,
): Pick<Said, "w" | "last"> {
	const { t, a, b } = line;
	const rest = (z: bigint) => plus(f, [mod(-a - b * z)]);
	const quadratic = (z: bigint) => mod(z * z - t * z + 1n);
	if (isWLate) {
		const z = listener.w(line, null);
		// Nothing is left for W′.
		return { w: pointOf(times(rest(z), inverse(quadratic(z)))), last: pointOf([]) };
	}
	const { quotient } = byQuadratic(plus(f, [mod(-a), mod(-b)]), t);
	const w = pointOf(quotient);
	const z = listener.w(line, w);
	return { w, last: pointOf(divided(plus(rest(z), times(quotient, mod(-quadratic(z)))), z)) };
}

/** Messages: 16 the claim, 17 S, 18 values, 19 W, 20 W′. Bytes: S; f(r), f(1/r), S(1/r); W, W′. */
export function proveOpening(
	transcript: Pick<Transcript, "absorb" | "challenge">,
	commit: (poly: Poly) => Point,
	opening: Opening,
	cheat: OpeningCheat = {},
): Uint8Array {
	const { poly, point, value } = opening;
	transcript.absorb(16, Buffer.concat([pointBytes(commit(poly)), ...point.map(word), word(value)]));
	const after = (kind: number, bytes: Uint8Array | null) => {
		if (bytes !== null) transcript.absorb(kind, bytes);
		return transcript.challenge();
	};
	const listener: Listener = {
		s: (bytes) => after(17, bytes),
		values: (list) => after(18, list && Buffer.concat(list.map(word))),
		w: (_, bytes) => after(19, bytes),
	};
	const { s, values, w, last } = sayOpening(listener, commit, opening, cheat);
	transcript.absorb(20, last);
	return Buffer.concat([s, ...values.map(word), w, last]);
}

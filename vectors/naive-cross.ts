// The opening of a run, docs/zk.md §13, for reading: one polynomial S shows what a list has at a point of its multilinear extension. It can be told to cheat in one place and be honest in all else;
// what then cannot be a polynomial loses the part that makes it none. Nothing imported from src/.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { inverse, mod, number, type Point, pointBytes, Transcript, word } from "./naive-bn254.ts";
import { at, crossed, divided, eqs, type Opening, type Poly, plus, times } from "./naive-mercury.ts";

/** The transcript of the fold. */
interface FoldTranscript {
	hear(kind: number, list: readonly bigint[]): void;
	challenge(): bigint;
	readonly digest: bigint;
}

/** What is left to check of commitments: f + η·S is a + b·X where X² - t·X + 1 is 0. */
export interface CrossClaim {
	readonly eta: bigint;
	readonly t: bigint;
	readonly a: bigint;
	readonly b: bigint;
}

/** What a cheater knows when it chooses. */
export interface CrossKnown {
	readonly f: Poly;
	readonly s: Poly;
	readonly r: bigint;
	/** Σ eq(point, i)·x^i. */
	readonly e: (x: bigint) => bigint;
	/** What is said to be the value, less what it is. */
	readonly lie: bigint;
}

export interface CrossCheat {
	readonly s?: (s: Poly, lie: bigint) => Poly;
	/** S is chosen when r is known. */
	readonly late?: (known: CrossKnown) => Poly;
	/** Another S was heard before; else none. */
	readonly isOtherHeard?: boolean;
	/** In the place of 1/r. */
	readonly back?: bigint;
	/** Of f(r), f(1/r), S(1/r). `eta`: where it is drawn before they are heard. */
	readonly values?: (honest: readonly bigint[], known: CrossKnown, eta: bigint) => readonly bigint[];
	/** η is drawn before those are heard, which nobody does. */
	readonly areValuesUnheard?: boolean;
	/** b, in the place of what follows from the values. */
	readonly b?: (known: CrossKnown, eta: bigint) => bigint;
	/** What is opened, in the place of what follows. */
	readonly shown?: (own: CrossClaim, known: CrossKnown) => CrossClaim;
	/** z is drawn before W. */
	readonly isWLate?: boolean;
}

export const halves = (bytes: Uint8Array): bigint[] =>
	Array.from({ length: bytes.length / 16 }, (_, i) => number(bytes.subarray(16 * i, 16 * i + 16)));

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

/** Messages: to the fold's transcript 38 S, 39 values; to that of the opening 22 the claim and W. Bytes: S; f(r), f(1/r), S(1/r), 1/r, b; W, W′. */
export function proveCross(
	transcript: FoldTranscript,
	commit: (poly: Poly) => Point,
	{ poly: f, point, value }: Opening,
	cheat: CrossCheat = {},
): Uint8Array {
	const eq = eqs(point);
	const lie = mod(value - f.reduce((sum, one, i) => sum + one * (eq[i] ?? 0n), 0n));
	const honest = crossed(f, eq);
	const first = cheat.s?.(honest, lie) ?? honest;
	if (cheat.late === undefined || cheat.isOtherHeard) transcript.hear(38, halves(pointBytes(commit(first))));
	const r = transcript.challenge();
	const e = (x: bigint) => at(eq, x);
	const s = cheat.late?.({ f, s: first, r, e, lie }) ?? first;
	const known = { f, s, r, e, lie };
	const back = cheat.back ?? inverse(r);

	const early = cheat.areValuesUnheard ? transcript.challenge() : 0n;
	const true3 = [at(f, r), at(f, inverse(r)), at(s, inverse(r))];
	const values = cheat.values?.(true3, known, early) ?? true3;
	if (!cheat.areValuesUnheard) transcript.hear(39, values);
	const eta = cheat.areValuesUnheard ? early : transcript.challenge();

	const [fThere, fBack, sBack] = values as [bigint, bigint, bigint];
	const sThere = mod((fThere * e(back) + fBack * e(r) - 2n * value - sBack * back) * back);
	const [there, other] = [mod(fThere + eta * sThere), mod(fBack + eta * sBack)];
	const b = cheat.b?.(known, eta) ?? mod((there - other) * inverse(mod(r - back)));
	const own = { eta, t: mod(r + back), a: mod(there - b * r), b };
	const shown = cheat.shown?.(own, known) ?? own;
	const opening = openLine(transcript.digest, commit, plus(f, times(s, shown.eta)), shown, cheat);
	return Buffer.concat([pointBytes(commit(s)), ...[...values, back, b].map(word), opening]);
}

/** W and W′. */
function openLine(
	digest: bigint,
	commit: (poly: Poly) => Point,
	f: Poly,
	{ eta, t, a, b }: CrossClaim,
	cheat: CrossCheat,
): Uint8Array {
	const transcript = new Transcript(keccak_256(Buffer.concat([Buffer.from("assay/zk/run/2"), word(digest)])));
	const claim = [eta, t, a, b].map(word);
	const hear = (list: readonly Uint8Array[]) => transcript.absorb(22, Buffer.concat(list));
	const line = (z: bigint) => plus(f, [mod(-a - b * z)]);
	const quadratic = (z: bigint) => mod(z * z - t * z + 1n);
	if (cheat.isWLate) {
		hear(claim);
		const z = transcript.challenge();
		// Nothing is left for W′.
		return Buffer.concat([pointBytes(commit(times(line(z), inverse(quadratic(z))))), pointBytes(commit([]))]);
	}
	const { quotient } = byQuadratic(plus(f, [mod(-a), mod(-b)]), t);
	const w = pointBytes(commit(quotient));
	hear([...claim, w]);
	const z = transcript.challenge();
	return Buffer.concat([w, pointBytes(commit(divided(plus(line(z), times(quotient, mod(-quadratic(z)))), z)))]);
}

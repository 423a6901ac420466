// Openings of committed polynomials by vectors/naive-mercury.ts over powers of a known τ: honest ones of each size, and one cheater for each check.
import { DEV_TAU, inverse, mod, type Point, pointBytes, R, Transcript, timesGenerator, word } from "./naive-bn254.ts";
import { type Cheat, eqs, type Opening, type Poly, proveMercury, valueAt } from "./naive-mercury.ts";
import { hex, label, type Row } from "./rows.ts";

const scalar = (text: string): bigint => BigInt(`0x${hex(label(text))}`) % R;
const scalars = (text: string, count: number): bigint[] =>
	Array.from({ length: count }, (_, i) => scalar(`${text} ${i}`));
/** Whoever knows τ commits without a single power of it. */
const commit = (poly: Poly): Point => timesGenerator(poly.reduceRight((sum, one) => mod(sum * DEV_TAU + one), 0n));

function row(name: string, isTrue: boolean, opening: Opening, cheat: Cheat = {}): Row {
	const statement = label(`statement of ${name}`);
	const proof = proveMercury(new Transcript(statement), commit, opening, cheat);
	return {
		name,
		statement: hex(statement),
		commitment: hex(pointBytes(commit(opening.poly))),
		point: opening.point.map((one) => hex(word(one))).join(""),
		value: hex(word(opening.value)),
		proof: hex(proof),
		isTrue: isTrue ? 1 : 0,
	};
}

function opening(text: string, c: number, poly: Poly = scalars(`${text} f`, 2 ** c)): Opening {
	const point = scalars(`${text} u`, c);
	return { poly, point, value: valueAt(poly, point) };
}

/** The division's remainder made longer by k·(X^b - α), which no division forbids: so that it fits a false h. */
function longer(point: readonly bigint[], isLinked: boolean): NonNullable<Cheat["division"]> {
	return (q, g, h, alpha) => {
		const e1 = eqs(point.slice(point.length / 2));
		const inner = (poly: Poly) => e1.reduce((sum, one, i) => mod(sum + one * poly[i]!), 0n);
		const wanted = h.reduceRight((sum, one) => mod(sum * alpha + one), 0n);
		const k = mod((inner(g) - wanted) * inverse(mod(alpha * e1[0]!)));
		const changed = g.with(0, mod(g[0]! - alpha * k));
		// Not linked: g is as short as it must be, and f is no longer q·(X^b - α) + g.
		return isLinked ? { q: q.with(0, mod(q[0]! - k)), g: [...changed, k] } : { q, g: changed };
	};
}

export function mercuryRows(): Row[] {
	const rows: Row[] = [];
	for (const c of [2, 4, 6, 8]) rows.push(row(`2^${c}`, true, opening(`2^${c}`, c)));
	rows.push(row("all zero", true, opening("all zero", 4, new Array<bigint>(16).fill(0n))));
	rows.push(row("the first alone", true, opening("the first alone", 4, [5n])));
	rows.push(
		row("at a corner", true, { poly: scalars("corner", 16), point: [1n, 0n, 1n, 1n], value: scalar("corner 11") }),
	);
	// Powers from 2^c on count for nothing: that is where blinding would go.
	const long = scalars("long", 17);
	const longPoint = scalars("long u", 4);
	rows.push(
		row("one more than 2^c", true, { poly: long, point: longPoint, value: valueAt(long.slice(0, 16), longPoint) }),
	);

	const c = 4;
	const base = opening("cheats", c);
	const lie = { ...base, value: mod(base.value + 1n) };
	const e2 = eqs(base.point.slice(0, c / 2));
	/** ⟨h, eq(u₂)⟩ becomes the false value. */
	const falseH = (h: Poly): Poly => h.with(0, mod(h[0]! + inverse(e2[0]!)));
	const fits = (isLinked: boolean): Cheat => ({ h: falseH, division: longer(base.point, isLinked) });
	rows.push(row("another value, all else honest", false, lie));
	rows.push(row("a false h and an honest g", false, lie, { h: falseH }));
	// Each of these four passes where one check of the verifier is left out.
	rows.push(row("another value and an S of which nothing is shown", false, lie, { without: "s" }));
	rows.push(row("a false h and a g that fits it, not f", false, lie, { ...fits(false), without: "link" }));
	rows.push(row("a false h and a g that is too long", false, lie, { ...fits(true), without: "d" }));
	rows.push(
		row("a false h(α) that fits γ and the value", false, lie, {
			scalars: (list, gamma) => list.with(4, mod(list[4]! + gamma * (base.value - lie.value))),
			without: "alpha",
		}),
	);
	// g(ζ), g(1/ζ), h(ζ), h(1/ζ), h(α), S(1/ζ)
	for (let i = 0; i < 6; i++)
		rows.push(row(`scalar ${i} by one more`, false, base, { scalars: (list) => list.with(i, mod(list[i]! + 1n)) }));
	rows.push(row("S by one more", false, base, { s: (s) => s.with(0, mod(s[0]! + 1n)) }));
	rows.push(row("D by one more", false, base, { d: (d) => d.with(0, mod(d[0]! + 1n)) }));
	rows.push(row("q by one more", false, base, { division: (q, g) => ({ q: q.with(0, mod(q[0]! + 1n)), g }) }));
	rows.push(
		row("a scale of two", false, { ...base, value: mod(2n * base.value) }, { h: (h) => h.map((one) => mod(2n * one)) }),
	);
	return rows;
}

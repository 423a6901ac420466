// Openings of committed polynomials by vectors/naive-opening.ts over powers of a known τ: honest ones of each
// size, and one cheater for each check.
import { DEV_TAU, inverse, mod, type Point, pointBytes, R, Transcript, timesGenerator, word } from "./naive-bn254.ts";
import { type Opening, type OpeningCheat, type Poly, plus, proveOpening, valueAt } from "./naive-opening.ts";
import { hex, label, type Row } from "./rows.ts";

const scalar = (text: string): bigint => BigInt(`0x${hex(label(text))}`) % R;
const scalars = (text: string, count: number): bigint[] =>
	Array.from({ length: count }, (_, i) => scalar(`${text} ${i}`));
/** Whoever knows τ commits without a single power of it. */
const commit = (poly: Poly): Point => timesGenerator(poly.reduceRight((sum, one) => mod(sum * DEV_TAU + one), 0n));

function row(name: string, isTrue: boolean, opening: Opening, cheat: OpeningCheat = {}): Row {
	const statement = label(`statement of ${name}`);
	const proof = proveOpening(new Transcript(statement), commit, opening, cheat);
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

/** As much more at r and 1/r that the equation holds. */
const lateS: NonNullable<OpeningCheat["late"]> = ({ s, r, lie }) =>
	plus(s, [mod(-2n * lie * inverse(mod(r + inverse(r))))]);
/** f(1/r) and S(1/r) are wrong, f(1/r) + η·S(1/r) is right. */
const unheard: NonNullable<OpeningCheat["values"]> = ([there, back, sBack], { r, e, lie }, eta) => {
	const more = mod(-2n * lie * inverse(mod(eta * e(r) + inverse(r))));
	return [there!, mod(back! - eta * more), mod(sBack! + more)];
};

export function openingRows(): Row[] {
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

	const base = opening("cheats", 4);
	const lie = { ...base, value: mod(base.value + 1n) };
	const more = (poly: Poly): Poly => poly.with(0, mod(poly[0]! + 1n));
	rows.push(row("another value, all else honest", false, lie));
	// Each of these passes where one check of the verifier is left out.
	rows.push(row("another value and an S that is made when r is known", false, lie, { late: lateS }));
	rows.push(row("and another S is heard before", false, lie, { late: lateS, isOtherHeard: true }));
	rows.push(
		row("another value and values that η is known before", false, lie, { areValuesUnheard: true, values: unheard }),
	);
	rows.push(row("another value and a W that is made when z is known", false, lie, { isWLate: true }));
	// f(r), f(1/r), S(1/r)
	for (let i = 0; i < 3; i++)
		rows.push(row(`value ${i} by one more`, false, base, { values: (list) => list.with(i, mod(list[i]! + 1n)) }));
	rows.push(row("S by one more", false, base, { s: more }));
	for (const name of ["eta", "t"] as const)
		rows.push(
			row(`a W for another ${name}`, false, base, { shown: (own) => ({ ...own, [name]: mod(own[name] + 1n) }) }),
		);
	rows.push(
		row("a scale of two", false, { ...base, value: mod(2n * base.value) }, { s: (s) => s.map((one) => mod(2n * one)) }),
	);
	// Powers from 2^c on, in S too, say nothing of the value.
	rows.push(row("another value and an S of higher powers", false, lie, { s: (s, by) => [...s, mod(-2n * by)] }));
	return rows;
}

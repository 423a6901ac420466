// The prover's side of sums over cubes, docs/zk.md §5, for reading: several sums of different sizes in one.
// Nothing imported from src/.
import { inverse, mod, power, type Transcript, word } from "./naive-bn254.ts";
import { eqs } from "./naive-opening.ts";

/** Σ term(columns) over all corners. */
export interface Sum {
	readonly variables: number;
	/** Each has 2^variables values, the first variable the highest bit of an index. */
	readonly columns: readonly (readonly bigint[])[];
	readonly degree: number;
	readonly term: (values: readonly bigint[]) => bigint;
	/** Where all of these columns are 0 the term is. */
	readonly zeroWith?: readonly number[];
}

export interface Sender {
	readonly transcript: Transcript;
	send(kind: number, scalars: readonly bigint[]): void;
}

/**
 * For the values at 0 … degree: the coefficients of the polynomials that are 1 at one of these places and 0
 * at the others.
 */
const BASES = new Map<number, bigint[][]>();
function basesOf(count: number): bigint[][] {
	const known = BASES.get(count);
	if (known !== undefined) return known;
	const bases = Array.from({ length: count }, (_, i) => {
		let basis = [1n];
		let divisor = 1n;
		for (let j = 0; j < count; j++) {
			if (j === i) continue;
			const [less, more] = [basis.map((one) => -BigInt(j) * one), [0n, ...basis]];
			basis = more.map((one, k) => mod(one + (less[k] ?? 0n)));
			divisor = mod(divisor * BigInt(i - j));
		}
		const factor = inverse(divisor);
		return basis.map((one) => mod(one * factor));
	});
	BASES.set(count, bases);
	return bases;
}

/** Coefficients of the polynomial with these values at 0, 1, 2, … */
function coefficients(values: readonly bigint[]): bigint[] {
	const bases = basesOf(values.length);
	return values.map((_, k) => mod(values.reduce((sum, value, i) => sum + value * bases[i]![k]!, 0n)));
}

const HALF = inverse(2n);

/** The polynomial of one round, by its values at 0 … degree; each pair of corners counts by its weight. */
function roundOf(
	{ columns, degree, term, zeroWith }: Sum,
	tables: readonly (readonly bigint[])[],
	weights: readonly bigint[] | null = null,
): bigint[] {
	const half = tables[0]!.length / 2;
	const values = new Array<bigint>(degree + 1).fill(0n);
	const isZero = (i: number) => zeroWith?.every((k) => tables[k]![i] === 0n && tables[k]![i + half] === 0n) ?? false;
	for (let i = 0; i < half; i++) {
		if (isZero(i)) continue;
		const now = columns.map((_, k) => tables[k]![i]!);
		const step = columns.map((_, k) => tables[k]![i + half]! - now[k]!);
		for (let x = 0; x <= degree; x++) {
			values[x]! += weights === null ? term(now) : mod(weights[i]! * term(now));
			for (const [k, one] of step.entries()) now[k] = mod(now[k]! + one);
		}
	}
	return values.map((one) => mod(one));
}

const fold = (table: readonly bigint[], x: bigint): bigint[] => {
	const half = table.length / 2;
	return Array.from({ length: half }, (_, i) => {
		const [low, high] = [table[i]!, table[i + half]!];
		return low === high ? low : mod(low + x * (high - low));
	});
};

/** Sends the rounds; gives the point, and the values of each sum's columns where it ends. */
export function proveSums(
	{ transcript, send }: Sender,
	{ kind, degree, variables, sums }: { kind: number; degree: number; variables: number; sums: readonly Sum[] },
): { readonly point: bigint[]; readonly ends: bigint[][] } {
	const point: bigint[] = [];
	const tables = sums.map((one) => one.columns.map((column) => column.map((value) => mod(value))));
	const wholes = sums.map((one, j) => {
		if (one.variables === variables) return 0n;
		let sum = 0n;
		for (let i = 0; i < 2 ** one.variables; i++) {
			if (one.zeroWith?.every((k) => tables[j]![k]![i] === 0n)) continue;
			sum += one.term(tables[j]!.map((table) => table[i]!));
		}
		return mod(sum);
	});
	const shares = sums.map((one) => power(HALF, BigInt(variables - one.variables)));
	for (let round = 0; round < variables; round++) {
		const poly = new Array<bigint>(degree + 1).fill(0n);
		for (const [j, one] of sums.entries()) {
			const missing = variables - one.variables;
			// Constant along variables that it does not have; divided by the corners of those.
			const own =
				round < missing
					? [mod(wholes[j]! * power(HALF, BigInt(round + 1)))]
					: coefficients(roundOf(one, tables[j]!)).map((c) => mod(c * shares[j]!));
			for (const [k, c] of own.entries()) poly[k] = mod(poly[k]! + c);
		}
		send(kind, [poly[0]!, ...poly.slice(2)]);
		const x = transcript.challenge();
		point.push(x);
		for (const [j, one] of sums.entries())
			if (round >= variables - one.variables) tables[j] = tables[j]!.map((table) => fold(table, x));
	}
	return { point, ends: tables.map((list) => list.map((table) => table[0]!)) };
}

/**
 * Σ eq(ρ, ·)·(all sums' terms) = 0, without the factors of eq: each round is the sum over the variables that
 * are left of eq(ρ, those)·terms. A sum with fewer variables is constant in the first ones.
 */
export function proveZeros(
	{ transcript, send }: Sender,
	{ kind, degree, rho, sums }: { kind: number; degree: number; rho: readonly bigint[]; sums: readonly Sum[] },
): { readonly point: bigint[]; readonly ends: bigint[][] } {
	const point: bigint[] = [];
	const tables = sums.map((one) => one.columns.map((column) => column.map((value) => mod(value))));
	const wholes = sums.map((one, j) => {
		const weights = eqs(rho.slice(rho.length - one.variables));
		let sum = 0n;
		for (const [i, weight] of weights.entries()) {
			if (one.zeroWith?.every((k) => tables[j]![k]![i] === 0n)) continue;
			sum += weight * one.term(tables[j]!.map((table) => table[i]!));
		}
		return mod(sum);
	});
	for (const [round] of rho.entries()) {
		const poly = new Array<bigint>(degree + 1).fill(0n);
		const weights = eqs(rho.slice(round + 1));
		for (const [j, one] of sums.entries()) {
			const own = round < rho.length - one.variables ? [wholes[j]!] : coefficients(roundOf(one, tables[j]!, weights));
			for (const [k, c] of own.entries()) poly[k] = mod(poly[k]! + c);
		}
		send(kind, poly.slice(1));
		const x = transcript.challenge();
		point.push(x);
		for (const [j, one] of sums.entries())
			if (round >= rho.length - one.variables) tables[j] = tables[j]!.map((table) => fold(table, x));
	}
	return { point, ends: tables.map((list) => list.map((table) => table[0]!)) };
}

export const words = (list: readonly bigint[]): Uint8Array => Buffer.concat(list.map(word));

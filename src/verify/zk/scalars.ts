// Arithmetic on scalars for verifiers of proofs, and the multilinear polynomials that they evaluate by themselves: eq, lt, rows of tables. docs/zk.md §5.
import { R } from "../../protocol/maths/bn254.ts";
import type { PlanTable } from "../../work/plan/compile-plan.ts";

export function mod(value: bigint): bigint {
	const rest = value % R;
	return rest < 0n ? rest + R : rest;
}

export function power(base: bigint, exponent: bigint): bigint {
	let result = 1n;
	for (let b = base, e = exponent; e > 0n; e >>= 1n, b = (b * b) % R) if (e & 1n) result = (result * b) % R;
	return result;
}

const HALF = (R + 1n) / 2n;

/** 1 / 2^bits. */
export const unshift = (bits: number): bigint => power(HALF, BigInt(bits));

/** 1, base, base², … */
export function powers(base: bigint, count: number): bigint[] {
	const list = [1n];
	while (list.length < count) list.push((list.at(-1)! * base) % R);
	return list;
}

/** 1 where both are the same corner of the cube, 0 at its other corners. */
export function eqAt(u: readonly bigint[], v: readonly bigint[]): bigint {
	if (u.length !== v.length) throw new Error("eq of points of different cubes");
	return u.reduce((product, one, i) => mod(product * (1n - one - v[i]! + 2n * one * v[i]!)), 1n);
}

/** Bits of a number, highest first, as a corner of a cube. */
export const cornerOf = (value: number, bits: number): bigint[] =>
	Array.from({ length: bits }, (_, i) => BigInt(Math.floor(value / 2 ** (bits - 1 - i)) % 2));

/** 1 where s < t, as numbers; 0 at the cube's other corners. */
export function ltAt(s: readonly bigint[], t: readonly bigint[]): bigint {
	let [sum, same] = [0n, 1n];
	for (const [i, one] of s.entries()) {
		sum = mod(sum + same * (1n - one) * t[i]!);
		same = mod(same * eqAt([one], [t[i]!]));
	}
	return sum;
}

/** What a table holds: up to three numbers a row. */
export function tableAt({ kind, bits }: PlanTable, point: readonly bigint[]): readonly [bigint, bigint, bigint] {
	const number = (list: readonly bigint[]) => list.reduce((sum, one) => mod(2n * sum + one), 0n);
	if (kind === "range") return [number(point), 0n, 0n];
	const half = 1n << BigInt(bits - 1);
	// Rows -(half - 1) … half - 1, and one more, which holds zeros.
	const last = point.reduce((product, one) => mod(product * one), 1n);
	const h = mod(number(point) - (half - 1n) - last * half);
	if (kind === "signed") return [h, 0n, 0n];
	const top = point[0]!;
	return [h, mod(top * (1n + number(point.slice(1))) - last * half), mod(top - last)];
}

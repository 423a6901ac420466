// Arithmetic on scalars for verifiers of proofs, and the multilinear polynomials that they evaluate by
// themselves: eq, lt, rows of tables. docs/zk.md §5.
import { Fr } from "../../protocol/maths/bn254.ts";
import { expTable } from "../../work/models/tables.ts";
import type { PlanTable } from "../../work/plan/compile-plan.ts";
import type { Field } from "./field.ts";

/** 1 / 2^bits. */
export const unshift = (bits: number): bigint => Fr.inv(1n << BigInt(bits));

/** 1, base, base², … */
export function powers<F>(field: Field<F>, base: F, count: number): F[] {
	const list = [field.of(1n)];
	while (list.length < count) list.push(list.length === 1 ? base : field.times(list.at(-1)!, base));
	return list;
}

export const productOf = <F>(field: Field<F>, list: readonly F[]): F =>
	list.length === 0 ? field.of(1n) : list.reduce((product, one) => field.times(product, one));

/** Σ a·b. */
export const innerProduct = <F>(field: Field<F>, a: readonly F[], b: readonly F[]): F =>
	field.sum(a.map((one, i) => field.times(one, b[i]!)));

/** 1 less it. */
export const rest = <F>(field: Field<F>, one: F): F => field.less(field.of(1n), one);

/** 1 where both are the same corner of the cube, 0 at its other corners. */
export function eqAt<F>(field: Field<F>, u: readonly F[], v: readonly F[]): F {
	if (u.length !== v.length) throw new Error("eq of points of different cubes");
	// 1 - u - v + 2uv
	const one = (a: F, b: F) => field.sum([rest(field, a), field.scaled(b, -1n), field.scaled(field.times(a, b), 2n)]);
	return productOf(
		field,
		u.map((a, i) => one(a, v[i]!)),
	);
}

/** eq(point, i) for all i. */
export function eqsAt<F>(field: Field<F>, point: readonly F[]): F[] {
	let list = [field.of(1n)];
	for (const one of point)
		list = list.flatMap((e) => {
			const high = field.times(e, one);
			return [field.less(e, high), high];
		});
	return list;
}

/** Bits of a number, highest first, as a corner of a cube. */
export const cornerOf = <F>(field: Field<F>, value: number, bits: number): F[] =>
	Array.from({ length: bits }, (_, i) => field.of(BigInt(Math.floor(value / 2 ** (bits - 1 - i)) % 2)));

/** 1 where s < t, as numbers; 0 at the cube's other corners. */
export function ltAt<F>(field: Field<F>, s: readonly F[], t: readonly F[]): F {
	let [sum, same] = [field.of(0n), field.of(1n)];
	for (const [i, one] of s.entries()) {
		sum = field.sum([sum, field.times(same, field.times(rest(field, one), t[i]!))]);
		same = field.times(same, eqAt(field, [one], [t[i]!]));
	}
	return sum;
}

/** What a table holds: up to three numbers a row. */
export function tableAt<F>(
	field: Field<F>,
	{ kind, bits, scales }: PlanTable,
	point: readonly F[],
): readonly [F, F, F] {
	const number = (list: readonly F[]) =>
		field.sum(list.map((one, i) => field.scaled(one, 1n << BigInt(list.length - 1 - i))));
	const zero = field.of(0n);
	if (kind === "range") return [number(point), zero, zero];
	if (kind === "exp") {
		const rows = [...expTable(bits, ...scales!)].map(BigInt);
		return [number(point), field.linear(eqsAt(field, point), rows, 0n), zero];
	}
	const half = 1n << BigInt(bits - 1);
	// Rows -(half - 1) … half - 1, and one more, which holds zeros.
	const last = productOf(field, point);
	const h = field.sum([number(point), field.of(1n - half), field.scaled(last, -half)]);
	if (kind === "signed") return [h, zero, zero];
	const top = point[0]!;
	const above = field.times(top, field.sum([field.of(1n), number(point.slice(1))]));
	return [h, field.sum([above, field.scaled(last, -half)]), field.less(top, last)];
}

// Lists of scalars as polynomials in one variable, lowest coefficient first: what openings are made of.
// docs/zk.md §3 and §15.
import { mod } from "../../../protocol/maths/bn254.ts";

export const valueAt = (list: readonly bigint[], x: bigint): bigint =>
	list.reduceRight((sum, one) => mod(sum * x + one), 0n);

/** (list - its value at x) / (X - x). */
export function divided(list: readonly bigint[], x: bigint): bigint[] {
	const quotient = new Array<bigint>(Math.max(0, list.length - 1)).fill(0n);
	for (let i = list.length - 1, carry = 0n; i > 0; i--) {
		carry = mod(list[i]! + carry * x);
		quotient[i - 1] = carry;
	}
	return quotient;
}

/** Σ factor·list. */
export function combined(...terms: readonly { readonly list: readonly bigint[]; readonly factor: bigint }[]): bigint[] {
	const sum = new Array<bigint>(Math.max(...terms.map(({ list }) => list.length))).fill(0n);
	for (const { list, factor } of terms)
		for (const [i, value] of list.entries()) if (value !== 0n) sum[i] = mod(sum[i]! + factor * value);
	return sum;
}

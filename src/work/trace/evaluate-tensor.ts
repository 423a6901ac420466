// A tensor as a multilinear polynomial over its rows and columns, at one point: what a proof says of bytes,
// from the bytes (docs/zk.md §6). An engine does the same in a fraction of the time
// (engine/src/zk/evaluate.cpp). Pure.
import { mod } from "../../protocol/maths/bn254.ts";
import type { Elements } from "../operators/tensor-type.ts";

/**
 * How an element is read: as it is; as what enters the first link of a network; as a row of its own with
 * `add` at the place that it names.
 */
export const READINGS = ["numbers", "entering", "classes"] as const;

/**
 * Rows and columns are padded with zeros to powers of two; the first of the point is the highest bit of a
 * place.
 */
export interface TensorQuestion {
	readonly reading: (typeof READINGS)[number];
	readonly columns: number;
	/** entering: clamp(⌊(x + 2^(shift − 1))/2^shift⌋ + (in the last column) add, ±most). */
	readonly shift: number;
	readonly add: number;
	readonly most: number;
	readonly point: readonly bigint[];
}

/** eq(point, i) for all i. */
export function eqsOf(point: readonly bigint[]): bigint[] {
	let list = [1n];
	for (const one of point) list = list.flatMap((e) => [mod(e * (1n - one)), mod(e * one)]);
	return list;
}

function numberOf(
	{ reading, columns, shift, add, most }: TensorQuestion,
	element: number | bigint,
	column: number,
): bigint {
	if (reading === "numbers") return BigInt(element);
	if (reading === "classes") return BigInt(add);
	const whole = Math.floor((Number(element) + 2 ** (shift - 1)) / 2 ** shift) + (column === columns - 1 ? add : 0);
	return BigInt(Math.min(most, Math.max(-most, whole)));
}

/** The elements are inside what the program takes: a class is a place of its row. */
export function evaluateTensor(question: TensorQuestion, elements: Elements): bigint {
	const { reading, columns, point } = question;
	const half = Math.floor(point.length / 2);
	const [high, low] = [eqsOf(point.slice(0, half)), eqsOf(point.slice(half))];
	const width = 2 ** (point.length - Math.ceil(Math.log2(elements.length / columns)));
	let sum = 0n;
	// Of the places that share a high part: small numbers times scalars, reduced once.
	let [open, part] = [0, 0n];
	const close = (next: number) => {
		if (part !== 0n) sum = mod(sum + mod(part) * high[open]!);
		[open, part] = [next, 0n];
	};
	for (let i = 0; i < elements.length; i++) {
		const [row, column] = [Math.floor(i / columns), i % columns];
		const at = row * width + (reading === "classes" ? Number(elements[i]!) : column);
		const to = Math.floor(at / low.length);
		if (to !== open) close(to);
		const value = numberOf(question, elements[i]!, column);
		if (value !== 0n) part += value * low[at % low.length]!;
	}
	close(0);
	return sum;
}

// In which order samples are seen, docs/work.md §10: public, from the job's seed, each sample once an epoch.
//   affine: sample = (a·x + b) mod n, a coprime to n;  cube: the bits of x in another order, some turned
//     over; n = 2^m.
// x is the place in the epoch. The numbers of each epoch are a table that anyone derives from the seed (this
// file); the program does the rest.

import { type PhiloxKey, philoxBlock, philoxKey } from "../../protocol/hash/philox.ts";
import { at, type Expression, index, segment, step, type Value } from "../builder/expression.ts";
import { drained } from "../program/drained.ts";
import type { Net } from "./numbers.ts";

export type OrderKind = "affine" | "cube";

export interface Schedule {
	readonly batch: number;
	readonly steps: number;
	/** Steps a segment. */
	readonly k: number;
	readonly seed: Uint8Array;
	/** Tables of millions of rows are filled by whoever goes through these; without the list, at once. */
	readonly later?: Generator<void>[];
}

/** Rows of a table that are made at a stretch: a few milliseconds. */
export const ROWS_A_SLICE = 8192;

/** Now, or whenever whoever gave the list likes. */
export function fill({ later }: Omit<Schedule, "batch" | "seed" | "k" | "steps">, steps: Generator<void>): void {
	if (later === undefined) drained(steps);
	else later.push(steps);
}

export interface OrderedSchedule extends Schedule {
	readonly order: OrderKind;
}

/** Fourth word of Philox's counter. */
const DOMAIN = 0x6f72_6472;

/** Words 0 … of an epoch: word i is word i mod 4 of the block with counter (⌊i/4⌋, 0, epoch, domain). */
function* wordsOf(key: PhiloxKey, epoch: number): Generator<number, never> {
	const block = new Uint32Array(4);
	for (let i = 0; ; i++) {
		philoxBlock(key, i, 0, epoch, DOMAIN, block, 0);
		yield* block;
	}
}

function gcd(a: number, b: number): number {
	return b === 0 ? a : gcd(b, a % b);
}

/** a and b of an epoch: the first word mod n that is coprime to n, then the next word mod n. */
function affineRow(words: Iterator<number, never>, n: number): number[] {
	for (;;) {
		const a = words.next().value % n;
		if (gcd(a, n) === 1) return [a, words.next().value % n];
	}
}

/**
 * 2^π(0) … 2^π(m−1), then the mask: π by swapping place i, from m − 1 down to 1, with word mod (i + 1); the
 * mask is a word mod n.
 */
function cubeRow(words: Iterator<number, never>, bits: number): number[] {
	const places = Array.from({ length: bits }, (_, i) => i);
	for (let i = bits - 1; i > 0; i--) {
		const j = words.next().value % (i + 1);
		[places[i], places[j]] = [places[j]!, places[i]!];
	}
	return [...places.map((place) => 2 ** place), words.next().value % 2 ** bits];
}

const columnsOf = (kind: OrderKind, n: number): number => (kind === "affine" ? 2 : Math.log2(n) + 1);

function* orderRows(table: Int32Array, kind: OrderKind, seed: Uint8Array, n: number): Generator<void> {
	const key = philoxKey(seed);
	const columns = columnsOf(kind, n);
	for (let epoch = 0; epoch * columns < table.length; epoch++) {
		const words = wordsOf(key, epoch);
		table.set(kind === "affine" ? affineRow(words, n) : cubeRow(words, columns - 1), epoch * columns);
		if (epoch % ROWS_A_SLICE === ROWS_A_SLICE - 1) yield;
	}
}

/** The table of the input `order`: a row for each epoch. */
export function orderTable(kind: OrderKind, seed: Uint8Array, n: number, epochs: number): Int32Array {
	const table = new Int32Array(epochs * columnsOf(kind, n));
	drained(orderRows(table, kind, seed, n));
	return table;
}

/** [batch]: which samples this step sees. Declares the input `order`. */
export function batchOf(
	{ b, s, given }: Net,
	of: Schedule & {
		readonly kind: OrderKind;
		/** Samples. */
		readonly n: number;
	},
): Value {
	const { kind, seed, n, batch, steps, k } = of;
	const epochs = Math.ceil((steps * batch) / n);
	const columns = columnsOf(kind, n);
	const order = new Int32Array(epochs * columns);
	fill(of, orderRows(order, kind, seed, n));
	given.order = order;
	const table = b.tensor("input", "order", "i32", [epochs, columns], 0, n);
	return s.map([batch], (i) => {
		const count = segment.sub(1).mul(k).add(step).mul(batch).add(i!.value());
		const epoch = count.div(n);
		const x = count.sub(epoch.mul(n)).clamp(0, n - 1);
		const entry = (column: number): Expression => at(table, index(epoch).clamp(), column);
		if (kind === "affine") {
			const sum = x.mul(entry(0)).add(entry(1));
			return sum.sub(sum.div(n).mul(n)).clamp(0, n - 1);
		}
		let row: Expression = entry(columns - 1);
		for (let bit = 0; bit < columns - 1; bit++) row = row.xor(x.div(entry(bit).max(1)).and(1).shl(bit));
		return row.clamp(0, n - 1);
	});
}

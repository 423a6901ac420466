// What the parts of a verification of a segment share: the plan, the transcript, the proof's scalars, and the
// claims about committed columns that each part leaves for the last one. docs/zk.md §5.

import { orderTable } from "../../work/models/order.ts";
import type { ColumnName, PlanBlock, ZkPlan } from "../../work/plan/compile-plan.ts";
import type { Field } from "./field.ts";
import { cornerOf, eqAt, rest } from "./scalars.ts";
import type { Dialogue } from "./sumcheck.ts";
import { biasWeight, pixelWeights } from "./window-kernel.ts";

/** Messages; openings have their own from 16 on. */
export const KIND = {
	...{ values: 1, helpers: 2, lookupRound: 3, lookupValues: 4, productRound: 5, productValues: 6 },
	...{ weightStart: 7, weightRound: 8, weightValues: 9, bytes: 10, claimRound: 11, claimValue: 12 },
} as const;

/**
 * factor · (a block of committed values, as a multilinear polynomial, at a point) + what else is known to
 * belong to it.
 */
export interface ClaimTerm<F> {
	readonly at: number;
	readonly bits: number;
	readonly point: readonly F[];
	readonly factor: F;
	/** Null: nothing. */
	readonly more: F | null;
	/**
	 * One axis of the block has these weights instead of those of a point: it stands after so many variables of
	 * the point.
	 */
	readonly axis?: { readonly after: number; readonly weights: readonly F[] };
}

/** The terms together have this value. */
export interface ColumnClaim<F> {
	readonly terms: readonly ClaimTerm<F>[];
	readonly value: F;
}

export class SegmentRun<F> {
	readonly plan: ZkPlan;
	readonly dialogue: Dialogue<F>;
	readonly field: Field<F>;
	readonly claims: ColumnClaim<F>[] = [];
	readonly #blocks: ReadonlyMap<string, PlanBlock>;
	/** The point of the data's rows for a point of (step, place in the batch). */
	readonly #rowAt: (place: readonly F[]) => readonly F[];

	constructor(plan: ZkPlan, dialogue: Dialogue<F>, rowAt: (place: readonly F[]) => readonly F[]) {
		this.plan = plan;
		this.dialogue = dialogue;
		this.field = dialogue.field;
		this.#blocks = new Map(plan.blocks.map((one) => [`${one.column} ${one.of}`, one]));
		this.#rowAt = rowAt;
	}

	draw(count: number): F[] {
		return Array.from({ length: count }, () => this.dialogue.challenge());
	}

	claim(value: F, terms: readonly ClaimTerm<F>[]): void {
		const more = terms.flatMap((one) => (one.more === null ? [] : [one.more]));
		this.claims.push({ value: this.field.less(value, this.field.sum(more)), terms });
	}

	at(column: ColumnName, of: number, point: readonly F[], factor: F): ClaimTerm<F> {
		return { ...this.#placed(column, of, point.length), point, factor, more: null };
	}

	/**
	 * Σ weights·(what the block has there) over one axis, at a point of all others; the axis stands after
	 * `after` of its variables.
	 */
	over(
		column: ColumnName,
		of: number,
		point: readonly F[],
		axis: { readonly after: number; readonly weights: readonly F[] },
		factor: F,
	): ClaimTerm<F> {
		const bits = point.length + Math.log2(axis.weights.length);
		return { ...this.#placed(column, of, bits), point, factor, more: null, axis };
	}

	#placed(column: ColumnName, of: number, bits: number): { readonly at: number; readonly bits: number } {
		const block = this.#blocks.get(`${column} ${of}`);
		if (block === undefined || block.bits !== bits) throw new Error(`no claim is about ${column} ${of}`);
		return { at: block.at, bits };
	}

	/**
	 * What enters a link: data of the rows that this segment sees, or the units before, each with the bias in
	 * the last column. Of a convolution: patches, at a point of places of the window (`spot`, which plain links
	 * have not) and columns.
	 */
	entering(link: number, place: readonly F[], spot: readonly F[], unit: readonly F[], factor: F): ClaimTerm<F> {
		const { field, plan } = this;
		const { window } = plan.links[link]!;
		if (window !== undefined) {
			const from = link === 0 ? this.#rowAt(place) : place;
			const axis = { after: from.length, weights: pixelWeights(field, window, spot, unit) };
			const bias = field.scaled(biasWeight(field, window, spot, unit), 1n << BigInt(plan.activation));
			const term =
				link === 0 ? this.over("features", 0, from, axis, factor) : this.over("a", link - 1, from, axis, factor);
			return { ...term, more: field.times(factor, bias) };
		}
		if (link === 0) return this.at("features", 0, [...this.#rowAt(place), ...unit], factor);
		const { inputs, inputBits } = plan.links[link]!;
		const bias = field.scaled(eqAt(field, unit, cornerOf(field, inputs - 1, inputBits)), 1n << BigInt(plan.activation));
		return { ...this.at("a", link - 1, [...place, ...unit], factor), more: field.times(factor, bias) };
	}

	classes(place: readonly F[], unit: readonly F[], factor: F): ClaimTerm<F> {
		return this.at("labels", 0, [...this.#rowAt(place), ...unit], factor);
	}
}

/** One epoch of the order `cube`, and where in it the segment begins. docs/work.md §10. */
export interface RowOrder {
	/** Bit j of a row is bit places[j] of the place in the epoch, turned over where the mask has a 1. */
	readonly places: readonly number[];
	readonly mask: number;
	readonly first: number;
}

export function rowOrder({ rowBits, batch }: ZkPlan, seed: Uint8Array, firstStep: number): RowOrder {
	const rows = 2 ** rowBits;
	const epoch = Math.floor((firstStep * batch) / rows);
	const table = orderTable("cube", seed, rows, epoch + 1).subarray(epoch * (rowBits + 1));
	const places = [...table.subarray(0, rowBits)].map((one) => Math.log2(one));
	return { places, mask: table[rowBits]!, first: firstStep * batch - epoch * rows };
}

/** The point of the data's rows for a point of (step, place in the batch). */
export function rowAt<F>(
	field: Field<F>,
	{ rowBits, stepBits, batchBits }: Pick<ZkPlan, "rowBits" | "stepBits" | "batchBits">,
	{ places, mask, first }: RowOrder,
	place: readonly F[],
): F[] {
	const own = stepBits + batchBits;
	const bit = (value: number, at: number): number => Math.floor(value / 2 ** at) % 2;
	return Array.from({ length: rowBits }, (_, i) => {
		const j = rowBits - 1 - i;
		const from = places[j]!;
		const value = from < own ? place[own - 1 - from]! : field.of(BigInt(bit(first, from)));
		return bit(mask, j) === 1 ? rest(field, value) : value;
	});
}

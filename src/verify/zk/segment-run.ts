// What the parts of a verification of a segment share: the plan, the transcript, the proof's scalars, and the claims about committed columns that each part
// leaves for the last one. docs/zk.md §5.

import { orderTable } from "../../work/models/order.ts";
import type { ColumnName, PlanBlock, ZkPlan } from "../../work/plan/compile-plan.ts";
import { cornerOf, eqAt, mod } from "./scalars.ts";
import type { ScalarReader } from "./sumcheck.ts";
import type { Transcript } from "./transcript.ts";

/** Messages; openings have their own from 16 on. */
export const KIND = {
	...{ values: 1, helpers: 2, lookupRound: 3, lookupValues: 4, productRound: 5, productValues: 6 },
	...{ weightStart: 7, weightRound: 8, weightValues: 9, bytes: 10, claimRound: 11, claimValue: 12 },
} as const;

/** factor · (a block of committed values, as a multilinear polynomial, at a point) + what else is known to belong to it. */
export interface ClaimTerm {
	readonly at: number;
	readonly bits: number;
	readonly point: readonly bigint[];
	readonly factor: bigint;
	readonly more: bigint;
}

/** The terms together have this value. */
export interface ColumnClaim {
	readonly terms: readonly ClaimTerm[];
	readonly value: bigint;
}

export class SegmentRun {
	readonly plan: ZkPlan;
	readonly transcript: Transcript;
	readonly reader: ScalarReader;
	readonly claims: ColumnClaim[] = [];
	readonly #blocks: ReadonlyMap<string, PlanBlock>;
	readonly #order: RowOrder;

	constructor(plan: ZkPlan, transcript: Transcript, reader: ScalarReader, order: RowOrder) {
		this.plan = plan;
		this.transcript = transcript;
		this.reader = reader;
		this.#blocks = new Map(plan.blocks.map((one) => [`${one.column} ${one.of}`, one]));
		this.#order = order;
	}

	draw(count: number): bigint[] {
		return Array.from({ length: count }, () => this.transcript.challenge());
	}

	claim(value: bigint, terms: readonly ClaimTerm[]): void {
		this.claims.push({ value: mod(terms.reduce((rest, { more }) => rest - more, value)), terms });
	}

	at(column: ColumnName, of: number, point: readonly bigint[], factor: bigint): ClaimTerm {
		const block = this.#blocks.get(`${column} ${of}`);
		if (block === undefined || block.bits !== point.length) throw new Error(`no claim is about ${column} ${of}`);
		return { at: block.at, bits: block.bits, point, factor, more: 0n };
	}

	/** What enters a link: data of the rows that this segment sees, or the units before, each with the bias in the last column. */
	entering(link: number, place: readonly bigint[], unit: readonly bigint[], factor: bigint): ClaimTerm {
		if (link === 0) return this.at("features", 0, [...rowAt(this.plan, this.#order, place), ...unit], factor);
		const { inputs, inputBits } = this.plan.links[link]!;
		const bias = eqAt(unit, cornerOf(inputs - 1, inputBits)) << BigInt(this.plan.activation);
		return { ...this.at("a", link - 1, [...place, ...unit], factor), more: mod(factor * bias) };
	}

	classes(place: readonly bigint[], unit: readonly bigint[], factor: bigint): ClaimTerm {
		return this.at("labels", 0, [...rowAt(this.plan, this.#order, place), ...unit], factor);
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
function rowAt(
	{ rowBits, stepBits, batchBits }: Pick<ZkPlan, "rowBits" | "stepBits" | "batchBits">,
	{ places, mask, first }: RowOrder,
	place: readonly bigint[],
): bigint[] {
	const own = stepBits + batchBits;
	const bit = (value: number, at: number): bigint => BigInt(Math.floor(value / 2 ** at) % 2);
	return Array.from({ length: rowBits }, (_, i) => {
		const j = rowBits - 1 - i;
		const from = places[j]!;
		const value = from < own ? place[own - 1 - from]! : bit(first, from);
		return bit(mask, j) === 1n ? mod(1n - value) : value;
	});
}

// What the parts of the first sum of a segment's proof share, docs/zk.md §5: how a lookup is written, and the
// values that stand for the columns of all links.
import type { ColumnName, ZkPlan } from "../../work/plan/compile-plan.ts";
import type { Field } from "./field.ts";
import { innerProduct, powers, productOf } from "./scalars.ts";
import { KIND, type SegmentRun } from "./segment-run.ts";

type Point<F> = readonly F[];

/** What must be 0, of these links or tables. */
export interface Fault<F> {
	readonly of: readonly number[];
	readonly is: F;
}

/** helper = Σ 1/part over the parts, as a product that must be 0. */
export function fractionFault<F>(field: Field<F>, helper: F, parts: readonly F[]): F {
	const others = parts.map((_, i) => productOf(field, parts.toSpliced(i, 1)));
	return field.less(field.times(helper, productOf(field, parts)), field.sum(others));
}

export class Lookups<F> {
	readonly #plan: ZkPlan;
	readonly #field: Field<F>;
	readonly #alpha: F;
	readonly #betas: readonly F[];

	constructor({ plan, field }: SegmentRun<F>, alpha: F, beta: F) {
		this.#plan = plan;
		this.#field = field;
		this.#alpha = alpha;
		this.#betas = powers(field, beta, 4);
	}

	/** α less the fingerprint of a row: the table's number from 1 on, then up to three values. */
	part(tag: F, values: readonly F[]): F {
		const field = this.#field;
		return field.less(this.#alpha, field.sum([tag, innerProduct(field, values, this.#betas.slice(1))]));
	}

	range(bits: number, value: F): F {
		return this.part(this.#field.of(this.tagOf("range", bits)), [value]);
	}

	signed(bits: number, value: F): F {
		return this.part(this.#field.of(this.tagOf("signed", bits)), [value]);
	}

	tagOf(kind: string, bits: number): bigint {
		return BigInt(this.#plan.tables.findIndex((one) => one.kind === kind && one.bits === bits) + 1);
	}
}

/**
 * Values of lists, where the sum over the list ended: Σ among·(each member's own, where its sum over the cube
 * ended).
 */
export class ListValues<F> {
	readonly #run: SegmentRun<F>;
	readonly #among: readonly F[];
	readonly #values: Iterator<F>;

	constructor(run: SegmentRun<F>, among: readonly F[], count: number) {
		[this.#run, this.#among] = [run, among];
		this.#values = run.dialogue.message(KIND.lookupValues, count)[Symbol.iterator]();
	}

	/** A list without members has no value in the proof. */
	next(of: readonly number[]): F {
		return of.length === 0 ? this.#run.field.of(0n) : this.#values.next().value!;
	}

	/** Of a committed column. */
	claimed(column: ColumnName, of: readonly number[], at: (member: number) => Point<F>): F {
		const value = this.next(of);
		if (of.length > 0)
			this.#run.claim(
				value,
				of.map((one) => this.#run.at(column, one, at(one), this.#among[one]!)),
			);
		return value;
	}
}

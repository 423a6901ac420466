// Sums over all corners of a cube, reduced to values at one point, docs/zk.md §5. A round says a polynomial
// of a fixed degree by its coefficients but the one of X, which follows from the claim; so no round can have
// another degree, or another sum.
import type { Field } from "./field.ts";
import { unshift } from "./scalars.ts";

/** What the prover says, and what is drawn after it. */
export interface Dialogue<F> {
	readonly field: Field<F>;
	/** The next so many scalars of the proof, told to the transcript as one message. */
	message(kind: number, count: number): readonly F[];
	challenge(): F;
}

/**
 * Sums over cubes of several sizes in one: a smaller one counts as constant along the first variables, and is
 * divided by their corners.
 */
export class JointSum<F> {
	readonly #point: readonly F[];

	constructor(point: readonly F[]) {
		this.#point = point;
	}

	/** Where a sum over a cube of so many variables ends. */
	end(variables: number): readonly F[] {
		return this.#point.slice(this.#point.length - variables);
	}

	share(variables: number): bigint {
		return unshift(this.#point.length - variables);
	}
}

/**
 * Variables of a list of so many members, which follow those of the cubes: its polynomial is that of the
 * members' values where their own sums ended.
 */
export const listBits = (members: number): number => Math.ceil(Math.log2(members));

const valueAt = <F>(field: Field<F>, coefficients: readonly F[], x: F): F =>
	coefficients.reduceRight((sum, one) => field.sum([field.times(sum, x), one]));

/**
 * What must be 0 at every corner: Σ eq(ρ, ·)·value = 0, each round without its factor of eq. It says a
 * polynomial by its coefficients but the constant one, which follows from the claim.
 */
export function reduceZeros<F>(
	{ field, message, challenge }: Dialogue<F>,
	{ kind, rho, degree }: { kind: number; rho: readonly F[]; degree: number },
): { readonly joint: JointSum<F>; readonly claim: F } {
	const point: F[] = [];
	let left = field.of(0n);
	for (const one of rho) {
		const higher = message(kind, degree);
		// (1 - ρ)·p(0) + ρ·p(1) is the claim.
		const constant = field.less(left, field.times(one, field.sum(higher)));
		const x = challenge();
		point.push(x);
		left = valueAt(field, [constant, ...higher], x);
	}
	return { joint: new JointSum(point), claim: left };
}

/** Where the sum ends, and what it must be there. */
export function reduceSum<F>(
	{ field, message, challenge }: Dialogue<F>,
	{ kind, rounds, degree, claim }: { kind: number; rounds: number; degree: number; claim: F },
): { readonly joint: JointSum<F>; readonly claim: F; readonly point: readonly F[] } {
	const point: F[] = [];
	let left = claim;
	for (let round = 0; round < rounds; round++) {
		const [constant, ...higher] = message(kind, degree) as [F, ...F[]];
		// p(0) + p(1) is the claim.
		const linear = field.less(left, field.sum([constant, constant, ...higher]));
		const x = challenge();
		point.push(x);
		left = valueAt(field, [constant, linear, ...higher], x);
	}
	return { joint: new JointSum(point), claim: left, point };
}

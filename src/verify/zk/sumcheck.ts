// Sums over all corners of a cube, reduced to values at one point, docs/zk.md §5. A round says a polynomial of a fixed degree by its coefficients but the
// one of X, which follows from the claim; so no round can have another degree, or another sum.

import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { bytesOf, R } from "../../protocol/maths/bn254.ts";
import { mod, unshift } from "./scalars.ts";
import type { Transcript } from "./transcript.ts";

/** The scalars of a proof, in their order. */
export interface ScalarReader {
	/** The next so many, told to the transcript as one message. */
	message(kind: number, count: number): readonly bigint[];
}

export function createScalarReader(transcript: Transcript, scalars: readonly bigint[]): ScalarReader {
	let at = 0;
	return {
		message(kind, count) {
			const list = scalars.slice(at, at + count);
			at += count;
			transcript.absorb(kind, concatBytes(...list.map(bytesOf)));
			return list;
		},
	};
}

/** Sums over cubes of several sizes in one: a smaller one counts as constant along the first variables, and is divided by their corners. */
export class JointSum {
	readonly #point: readonly bigint[];

	constructor(point: readonly bigint[]) {
		this.#point = point;
	}

	/** Where a sum over a cube of so many variables ends. */
	end(variables: number): readonly bigint[] {
		return this.#point.slice(this.#point.length - variables);
	}

	share(variables: number): bigint {
		return unshift(this.#point.length - variables);
	}
}

/** Variables of a list of so many members, which follow those of the cubes: its polynomial is that of the members' values where their own sums ended. */
export const listBits = (members: number): number => Math.ceil(Math.log2(members));

/**
 * What must be 0 at every corner: Σ eq(ρ, ·)·value = 0, each round without its factor of eq. It says a polynomial by its coefficients but the constant one, which
 * follows from the claim.
 */
export function reduceZeros(
	transcript: Transcript,
	reader: ScalarReader,
	{ kind, rho, degree }: { kind: number; rho: readonly bigint[]; degree: number },
): { readonly joint: JointSum; readonly claim: bigint } {
	const point: bigint[] = [];
	let left = 0n;
	for (const one of rho) {
		const higher = reader.message(kind, degree);
		// (1 - ρ)·p(0) + ρ·p(1) is the claim.
		const constant = mod(left - one * mod(higher.reduce((sum, c) => sum + c, 0n)));
		const x = transcript.challenge();
		point.push(x);
		left = [constant, ...higher].reduceRight((sum, c) => (sum * x + c) % R, 0n);
	}
	return { joint: new JointSum(point), claim: left };
}

/** Where the sum ends, and what it must be there. */
export function reduceSum(
	transcript: Transcript,
	reader: ScalarReader,
	{ kind, rounds, degree, claim }: { kind: number; rounds: number; degree: number; claim: bigint },
): { readonly joint: JointSum; readonly claim: bigint; readonly point: readonly bigint[] } {
	const point: bigint[] = [];
	let left = claim;
	for (let round = 0; round < rounds; round++) {
		const [constant, ...higher] = reader.message(kind, degree) as [bigint, ...bigint[]];
		// p(0) + p(1) is the claim.
		const linear = mod(left - 2n * constant - higher.reduce((sum, one) => sum + one, 0n));
		const x = transcript.challenge();
		point.push(x);
		left = [constant, linear, ...higher].reduceRight((sum, one) => (sum * x + one) % R, 0n);
	}
	return { joint: new JointSum(point), claim: left, point };
}

// Arithmetic that the checks of a proof are written in, once for both who use them: a verifier, which has
// numbers, and a circuit, which has wires whose numbers only the prover knows (circuit.ts).
import { mod, R } from "../../protocol/maths/bn254.ts";

export interface Field<F> {
	of(value: bigint): F;
	sum(list: readonly F[]): F;
	less(a: F, b: F): F;
	times(a: F, b: F): F;
	/** A known number of times: costs a circuit nothing. */
	scaled(a: F, by: bigint): F;
	/** Each a known number of times, and one number more. */
	linear(list: readonly F[], by: readonly bigint[], more: bigint): F;
	/** Whether both are the same. In a circuit they must be. */
	areSame(a: F, b: F): boolean;
}

export const NUMBERS: Field<bigint> = {
	of: mod,
	sum: (list) => mod(list.reduce((sum, one) => sum + one, 0n)),
	less: (a, b) => (a >= b ? a - b : a - b + R),
	times: (a, b) => (a * b) % R,
	scaled: (a, by) => mod(a * by),
	linear: (list, by, more) => mod(list.reduce((sum, one, i) => sum + one * by[i]!, more)),
	areSame: (a, b) => a === b,
};

// Groth16 over BN254: is e(A, B) = e(alpha, beta) · e(inputs, gamma) · e(C, delta)? Strict in form: anybody
// can write a true proof anew (A and B negated, or re-randomised), so a proof is no name for what it proves.
// Never count receipts by their bytes.
import {
	type G1,
	type G2,
	g1Of,
	g2Of,
	isOne,
	knownG1,
	knownG2,
	type NoPoint,
	R,
	times,
	wordsOf,
} from "../../protocol/maths/bn254.ts";

/** A, B, C. */
export const GROTH16_BYTES = 256;

/**
 * `key`: alpha; beta, gamma, delta; a point for 1 and one for each input. Words of 64 hex digits; coordinates
 * of the second group imaginary first.
 */
export function verifyGroth16(
	key: readonly string[],
	proof: Uint8Array,
	inputs: readonly bigint[],
): "true" | "false" | NoPoint {
	const known = key.map((word) => BigInt(`0x${word}`));
	const words = wordsOf(proof);
	if (proof.length !== GROTH16_BYTES || inputs.some((one) => one < 0n || one >= R)) return "spelling";
	const points = [
		g1Of(words[0]!, words[1]!),
		g2Of(words[2]!, words[3]!, words[4]!, words[5]!),
		g1Of(words[6]!, words[7]!),
	];
	for (const wrong of ["spelling", "nowhere"] as const) if (points.includes(wrong)) return wrong;
	const [a, b, c] = points as [G1, G2, G1];
	if (a.is0() || b.is0() || c.is0()) return "nowhere";
	if (known.length !== 14 + 2 * (inputs.length + 1)) throw new Error("a published key is for other inputs");
	const one = (i: number) => knownG1(known[i]!, known[i + 1]!);
	const two = (i: number) => knownG2(known[i]!, known[i + 1]!, known[i + 2]!, known[i + 3]!);
	let sum = one(14);
	for (const [i, input] of inputs.entries()) sum = sum.add(times(one(16 + 2 * i), input));
	const isTrue = isOne([
		{ g1: a.negate(), g2: b },
		{ g1: one(0), g2: two(2) },
		{ g1: sum, g2: two(6) },
		{ g1: c, g2: two(10) },
	]);
	return isTrue ? "true" : "false";
}

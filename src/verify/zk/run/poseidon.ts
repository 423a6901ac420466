// Poseidon over BN254's scalars (ePrint 2019/458; x^5, constants by its Grain generator, as circomlib has
// them), over numbers or wires: the hash of transcripts that a circuit replays. Keccak would cost a circuit a
// hundred times as much. docs/zk.md §13. The constants are @noble/curves'; the permutation is here, because
// noble's takes numbers only and a circuit has wires, and because partial rounds are folded for it.
import { grainGenConstants } from "@noble/curves/abstract/poseidon.js";
import { Fr, mod } from "../../../protocol/maths/bn254.ts";
import type { Field } from "../field.ts";

const FULL_ROUNDS = 8;
/** By the number of lanes, from 2 on. */
const PARTIAL_ROUNDS = [56, 57, 56, 60, 60] as const;

/** Σ factor·(each lane before the partial rounds, then each fifth power that they made) + more. */
interface Linear {
	readonly factors: readonly bigint[];
	readonly more: bigint;
}

interface Parameters {
	/** Of full rounds, by round and lane. */
	readonly constants: readonly (readonly bigint[])[];
	readonly matrix: readonly (readonly bigint[])[];
	/** What each partial round takes to its fifth power. */
	readonly partial: readonly Linear[];
	/** The lanes after them. */
	readonly after: readonly Linear[];
}

function makeParameters(lanes: number): Parameters {
	const roundsPartial = PARTIAL_ROUNDS[lanes - 2]!;
	const options = { Fp: Fr, t: lanes, roundsFull: FULL_ROUNDS, roundsPartial };
	const { roundConstants: constants, mds: matrix } = grainGenConstants(options);
	const half = FULL_ROUNDS / 2;
	const full = [...constants.slice(0, half), ...constants.slice(-half)];
	return { constants: full, matrix, ...partialRoundsOf(constants.slice(half, -half), matrix) };
}

/**
 * All but one lane of a partial round are linear: so is what any of them takes in, once the fifth powers
 * before it are known.
 */
function partialRoundsOf(constants: readonly (readonly bigint[])[], matrix: readonly (readonly bigint[])[]) {
	const lanes = matrix.length;
	const unit = (at: number) => Array.from({ length: lanes + constants.length }, (_, i) => (i === at ? 1n : 0n));
	let state: Linear[] = matrix.map((_, i) => ({ factors: unit(i), more: 0n }));
	const partial: Linear[] = [];
	for (const [round, own] of constants.entries()) {
		const added = state.map(({ factors, more }, i) => ({ factors, more: mod(more + own[i]!) }));
		const [first] = added as [Linear];
		partial.push({ ...first, factors: first.factors.slice(0, lanes + round) });
		const mixed = [{ factors: unit(lanes + round), more: 0n }, ...added.slice(1)];
		state = matrix.map((row) => ({
			factors: unit(0).map((_, k) => mod(mixed.reduce((sum, { factors }, i) => sum + row[i]! * factors[k]!, 0n))),
			more: mod(mixed.reduce((sum, { more }, i) => sum + row[i]! * more, 0n)),
		}));
	}
	return { partial, after: state };
}

const known = new Map<number, Parameters>();
function parametersOf(lanes: number): Parameters {
	const found = known.get(lanes) ?? makeParameters(lanes);
	known.set(lanes, found);
	return found;
}

/** One permutation of 2 to 6 lanes. */
export function permute<F>(field: Field<F>, lanes: readonly F[]): F[] {
	const { constants, matrix, partial, after } = parametersOf(lanes.length);
	const fifth = (one: F): F => {
		const square = field.times(one, one);
		return field.times(field.times(square, square), one);
	};
	let state: F[] = [...lanes];
	const full = (own: readonly bigint[]) => {
		const powered = state.map((one, i) => fifth(field.linear([one], [1n], own[i]!)));
		state = matrix.map((row) => field.linear(powered, row, 0n));
	};
	for (const own of constants.slice(0, FULL_ROUNDS / 2)) full(own);
	for (const { factors, more } of partial) state.push(fifth(field.linear(state, factors, more)));
	state = after.map(({ factors, more }) => field.linear(state, factors, more));
	for (const own of constants.slice(FULL_ROUNDS / 2)) full(own);
	return state;
}

// Poseidon over BN254's scalars (ePrint 2019/458; x^5, constants by its Grain generator, as circomlib has
// them), over numbers or wires: the hash of transcripts that a circuit replays. Keccak would cost a circuit a
// hundred times as much. docs/zk.md §13.
import { R } from "../../../protocol/maths/bn254.ts";
import { type Field, mod } from "../field.ts";
import { power } from "../scalars.ts";

const FULL_ROUNDS = 8;
/** By the number of lanes, from 2 on. */
const PARTIAL_ROUNDS = [56, 57, 56, 60, 60] as const;
const BITS = 254;

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

/** 80 bits that feed back; of pairs of bits the second counts where the first is 1. */
function* grainBits(lanes: number, partialRounds: number): Generator<number, never> {
	const fields: readonly (readonly [number, number])[] = [
		[1, 2],
		[0, 4],
		[BITS, 12],
		[lanes, 12],
		[FULL_ROUNDS, 10],
		[partialRounds, 10],
		[2 ** 30 - 1, 30],
	];
	const state = fields.flatMap(([value, size]) =>
		Array.from({ length: size }, (_, i) => Math.floor(value / 2 ** (size - 1 - i)) % 2),
	);
	let at = 0;
	const next = (): number => {
		const bit = (i: number) => state[(at + i) % 80]!;
		const made = bit(62) ^ bit(51) ^ bit(38) ^ bit(23) ^ bit(13) ^ bit(0);
		state[at] = made;
		at = (at + 1) % 80;
		return made;
	};
	for (let i = 0; i < 160; i++) next();
	for (;;) {
		const counts = next() === 1;
		const bit = next();
		if (counts) yield bit;
	}
}

function makeParameters(lanes: number): Parameters {
	const partialRounds = PARTIAL_ROUNDS[lanes - 2]!;
	const bits = grainBits(lanes, partialRounds);
	const number = () => {
		let value = 0n;
		for (let i = 0; i < BITS; i++) value = 2n * value + BigInt(bits.next().value);
		return value;
	};
	const belowOrder = (): bigint => {
		for (;;) {
			const value = number();
			if (value < R) return value;
		}
	};
	const list = (length: number, draw: () => bigint) => Array.from({ length }, draw);
	const constants = Array.from({ length: FULL_ROUNDS + partialRounds }, () => list(lanes, belowOrder));
	const [xs, ys] = [list(lanes, number), list(lanes, number)];
	const matrix = xs.map((x) => ys.map((y) => power((x + y) % R, R - 2n)));
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

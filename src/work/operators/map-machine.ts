// `map` for one element, docs/work.md §3: places, loads, sections, turns. This is the definition that the
// judge runs, one instruction of it; run-map.ts does the same for whole tensors. Loads come from outside.
import { type PhiloxKey, philoxBlock } from "../../protocol/hash/philox.ts";
import { globalStep, type MapOp } from "../program/shapes.ts";
import { evaluate } from "./evaluate.ts";
import { type Instruction, type Place, VARIABLE } from "./instruction.ts";

/** Which element is computed, and when. */
export interface Moment {
	readonly segment: number;
	readonly step: number;
	readonly k: number;
	readonly key: PhiloxKey;
}

export interface ElementAt extends Moment {
	readonly coordinates: readonly number[];
}

/**
 * The value at flat index `index` of the operand; null when it is not known. `index` null: outside, by an
 * edge that gives zero.
 */
export type Load = (operand: number, index: number | null) => bigint | null;

export function coordinatesOf(flat: number, dims: readonly number[]): number[] {
	const coordinates: number[] = new Array(dims.length);
	let rest = flat;
	for (let axis = dims.length - 1; axis >= 0; axis--) {
		coordinates[axis] = rest % dims[axis]!;
		rest = Math.floor(rest / dims[axis]!);
	}
	return coordinates;
}

const word = new Uint32Array(4);

/** First word of the Philox block: counter (low word, high word of x, global step, domain). */
export function randomWord({ key, segment, step, k }: Moment, x: bigint, domain: number): number {
	const low = Number(BigInt.asUintN(32, x));
	const high = Number(BigInt.asUintN(32, x >> 32n));
	philoxBlock(key, low, high, globalStep(segment, step, k), domain, word, 0);
	return word[0]!;
}

function variable(of: number, at: ElementAt, turn: number): bigint {
	if (of === VARIABLE.segment) return BigInt(at.segment);
	if (of === VARIABLE.step) return BigInt(at.step);
	return BigInt(of === VARIABLE.turn ? turn : at.coordinates[of]!);
}

/**
 * Flat index in an operand of these dims. "outside": an edge says zero. Null: outside where no edge allows
 * it.
 */
export function indexOf(
	place: readonly Place[],
	dims: readonly number[],
	at: ElementAt,
	turn: number,
	registers: readonly bigint[],
): number | "outside" | null {
	let index = 0;
	let isOutside = false;
	for (const [axis, { edge, register, constant, terms }] of place.entries()) {
		const dim = BigInt(dims[axis]!);
		let p = BigInt(constant) + (register === null ? 0n : registers[register]!);
		for (const { of, times } of terms) p += BigInt(times) * variable(of, at, turn);
		if (p < 0n || p >= dim) {
			if (edge === "inside") return null;
			if (edge === "zero") isOutside = true;
			p = edge === "wrap" ? ((p % dim) + dim) % dim : p < 0n ? 0n : dim - 1n;
		}
		index = index * dims[axis]! + Number(p);
	}
	return isOutside ? "outside" : index;
}

/** Runs instructions, appending their registers. False when one of them is not defined. */
export function runSection(
	op: MapOp,
	section: readonly Instruction[],
	registers: bigint[],
	at: ElementAt,
	turn: number,
	load: Load,
): boolean {
	for (const one of section) {
		const value = runInstruction(op, one, registers, at, turn, load);
		if (value === null) return false;
		registers.push(value);
	}
	return true;
}

/** One instruction, from the registers before it. Null when it is not defined. */
export function runInstruction(
	op: MapOp,
	one: Instruction,
	registers: readonly bigint[],
	at: ElementAt,
	turn: number,
	load: Load,
): bigint | null {
	switch (one.op) {
		case "load": {
			const index = indexOf(one.place, op.operands[one.operand]!.dims, at, turn, registers);
			return index === null ? null : load(one.operand, index === "outside" ? null : index);
		}
		case "const":
			return one.value;
		case "iota":
			return BigInt(at.coordinates[one.axis]!);
		case "segment":
			return BigInt(at.segment);
		case "step":
			return BigInt(at.step);
		case "turn":
			return BigInt(turn);
		case "rand":
			return BigInt(randomWord(at, registers[one.a]!, one.domain));
		default: {
			const b = "b" in one ? registers[one.b]! : 0n;
			const c = "c" in one ? registers[one.c]! : 0n;
			return evaluate(one.op, "bits" in one ? one.bits : 0, registers[one.a]!, b, c);
		}
	}
}

export const clampTo = (value: bigint, { lo, hi }: { readonly lo: bigint; readonly hi: bigint }): bigint =>
	value < lo ? lo : value > hi ? hi : value;

/** Carried values before the first turn; `before` holds the registers of the first section. */
export function firstCarried(op: MapOp, before: readonly bigint[]): bigint[] {
	return op.code.carried.map((one) => clampTo(before[one.from]!, one));
}

/**
 * One turn: its registers, those of before and the carried ones among them, and the carried values after it;
 * null where something is not defined.
 */
export function runTurn(
	op: MapOp,
	before: readonly bigint[],
	carried: readonly bigint[],
	at: ElementAt,
	turn: number,
	load: Load,
) {
	const registers = [...before, ...carried];
	if (!runSection(op, op.code.body, registers, at, turn, load)) return null;
	return { registers, carried: op.code.carried.map((one) => clampTo(registers[one.next]!, one)) };
}

/** Registers of after, from those of the first section and the last carried values. */
export function runAfter(
	op: MapOp,
	before: readonly bigint[],
	carried: readonly bigint[],
	at: ElementAt,
	load: Load,
): bigint[] | null {
	// Registers of the body are no one's business after the last turn: their numbers are passed over.
	const registers = [...before, ...carried, ...op.code.body.map(() => 0n)];
	return runSection(op, op.code.after, registers, at, 0, load) ? registers.slice(-op.code.after.length) : null;
}

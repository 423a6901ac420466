// The checker's part for `map`, docs/work.md §5: an interval for every register, instruction by instruction,
// in the order of their numbers. The body is looked at once, with every carried value anywhere in its
// declared interval: the clamp after each turn makes that true.
import { type Instruction, type Place, VARIABLE } from "../operators/instruction.ts";
import { I64, type Interval, isInside } from "../operators/tensor-type.ts";
import type { Wrong } from "./fault.ts";
import { arithmeticInterval, hull, overflow, point, showInterval } from "./intervals.ts";
import type { Code, MapOp, Operand, Output } from "./shapes.ts";

/** What the phase says of the two counters. */
export interface Counters {
	readonly segment: Interval;
	readonly step: Interval;
}

interface Surroundings extends Counters {
	readonly dims: readonly number[];
	readonly turn: Interval;
	readonly operands: readonly (Pick<Operand, "dims"> & { readonly interval: Interval })[];
}

/** Intervals by register, or the first thing that is wrong. */
export type Registers =
	| { readonly ok: true; readonly intervals: readonly Interval[] }
	| { readonly ok: false; readonly wrong: Wrong };

const isWrong = (found: Interval | Wrong): found is Wrong => "code" in found;

function variableInterval(of: number, { dims, segment, step, turn }: Surroundings): Interval {
	if (of === VARIABLE.segment) return segment;
	if (of === VARIABLE.step) return step;
	return of === VARIABLE.turn ? turn : { lo: 0n, hi: BigInt(dims[of]! - 1) };
}

/** The interval of a place before its edge. */
function placeInterval(
	{ register, constant, terms }: Place,
	around: Surroundings,
	registers: readonly Interval[],
): Interval {
	let { lo, hi } = register === null ? point(0n) : registers[register]!;
	lo += BigInt(constant);
	hi += BigInt(constant);
	for (const { of, times } of terms) {
		const range = variableInterval(of, around);
		const ends = hull(BigInt(times) * range.lo, BigInt(times) * range.hi);
		lo += ends.lo;
		hi += ends.hi;
	}
	return { lo, hi };
}

function loadInterval(
	one: Instruction & { op: "load" },
	around: Surroundings,
	registers: readonly Interval[],
): Interval | Wrong {
	const operand = around.operands[one.operand]!;
	let mayBeZero = false;
	for (const [axis, place] of one.place.entries()) {
		const found = placeInterval(place, around, registers);
		if (!isInside(found, I64)) return overflow(`the place along axis ${axis}`, found);
		const range = { lo: 0n, hi: BigInt(operand.dims[axis]! - 1) };
		if (isInside(found, range)) continue;
		if (place.edge === "inside")
			return {
				code: "PROGRAM_INDEX",
				message: `loads operand ${one.operand} at ${showInterval(found)} along axis ${axis}, which has ${showInterval(range)}`,
			};
		if (place.edge === "zero") mayBeZero = true;
	}
	const { lo, hi } = operand.interval;
	return mayBeZero ? hull(lo, hi, 0n) : { lo, hi };
}

function instructionInterval(one: Instruction, around: Surroundings, registers: readonly Interval[]): Interval | Wrong {
	switch (one.op) {
		case "load":
			return loadInterval(one, around, registers);
		case "const":
			return point(one.value);
		case "iota":
			return variableInterval(one.axis, around);
		case "segment":
		case "step":
		case "turn":
			return around[one.op];
		case "rand":
			return { lo: 0n, hi: 2n ** 32n - 1n };
		default: {
			const a = registers[one.a]!;
			return arithmeticInterval(one, a, "b" in one ? registers[one.b]! : a, "c" in one ? registers[one.c]! : a);
		}
	}
}

export function registerIntervals(code: Code, around: Surroundings): Registers {
	const intervals: Interval[] = [];
	const run = (section: readonly Instruction[]): Wrong | null => {
		for (const one of section) {
			const found = instructionInterval(one, around, intervals);
			if (isWrong(found)) return { ...found, instruction: intervals.length };
			intervals.push(found);
		}
		return null;
	};
	const first = run(code.before);
	if (first !== null) return { ok: false, wrong: first };
	for (const { lo, hi } of code.carried) {
		if (lo > hi)
			return {
				ok: false,
				wrong: {
					code: "PROGRAM_INTERVAL",
					message: `a carried value has the interval ${showInterval({ lo, hi })}`,
					instruction: intervals.length,
				},
			};
		intervals.push({ lo, hi });
	}
	const later = run(code.body) ?? run(code.after);
	return later === null ? { ok: true, intervals } : { ok: false, wrong: later };
}

export function checkMap(op: MapOp, intervals: readonly Interval[], counters: Counters): Registers {
	const found = registerIntervals(op.code, {
		...counters,
		dims: op.output.dims,
		turn: { lo: 0n, hi: BigInt(Math.max(op.code.turns, 1) - 1) },
		operands: op.operands.map(({ dims }, i) => ({ dims, interval: intervals[i]! })),
	});
	if (!found.ok) return found;
	const last = found.intervals.length - 1;
	const wrong = outputFault(found.intervals[last]!, op.output);
	return wrong === null ? found : { ok: false, wrong: { ...wrong, instruction: last } };
}

export function outputFault(found: Interval, { lo, hi }: Output): Wrong | null {
	if (isInside(found, { lo, hi })) return null;
	return {
		code: "PROGRAM_OUTPUT",
		message: `gives ${showInterval(found)}, outside the declared ${showInterval({ lo, hi })}`,
	};
}

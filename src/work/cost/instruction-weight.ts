// What the instructions of a map cost, in 32-bit instructions of a card: the weights of docs/workloads.md §8.
// Not here: how fast a card is (work-time.ts). Counted from the code alone, never from data.
import type { Instruction } from "../operators/instruction.ts";
import { elementCount } from "../operators/tensor-type.ts";
import type { Code, MapOp } from "../program/shapes.ts";

/** Those not named take two: 64 bits are two words, and 32 are enough where intervals allow it. */
const WEIGHTS: Readonly<Partial<Record<Instruction["op"], number>>> = {
	const: 0,
	iota: 1,
	segment: 0,
	step: 0,
	turn: 0,
	mul: 3,
	rand: 100,
	div: 70,
	rdiv: 75,
	isqrt: 100,
};
/** Division by a number that the program names is a multiplication. */
const CONSTANT_DIVISION = 20;
/** In a loop many turns have nothing to divide, and skip it (engine/src/cuda/work/ptx/map_arithmetic.cpp). */
const LOOP_DIVISION = { div: 40, rdiv: 44 } as const;
/** A load from the place of the element itself, from one that follows from it, from one that is computed. */
const OWN_LOAD = 1;
const MOVED_LOAD = 2;
const COMPUTED_LOAD = 6;

/** The engine does not ask shorter loops whether they have settled (engine/src/work/program.hpp). */
const MIN_SETTLING = 16;
/** Nodes of a tree that a walk visits, for each doubling of the tree. */
const VISITS_A_LEVEL = 2;

type Load = Extract<Instruction, { op: "load" }>;

/** Its operand has the dims of the output, and each element is read for itself. */
export function isOwnPlace({ operands, output: { dims } }: MapOp, { operand, place }: Load): boolean {
	const from = operands[operand]!.dims;
	return (
		from.length === dims.length &&
		place.every(({ register, constant, terms }, axis) => {
			if (from[axis] !== dims[axis] || register !== null) return false;
			return (
				from[axis] === 1 || (constant === 0 && terms.length === 1 && terms[0]!.of === axis && terms[0]!.times === 1)
			);
		})
	);
}

function loadWeight(op: MapOp, load: Load): number {
	if (isOwnPlace(op, load)) return OWN_LOAD;
	const isMoved = load.place.every(({ register, terms }) => register === null && terms.every(({ of }) => of < 6));
	return isMoved ? MOVED_LOAD : COMPUTED_LOAD;
}

/** `isConstant`: by register. */
function sectionWeight(op: MapOp, section: readonly Instruction[], isConstant: readonly boolean[]): number {
	let weight = 0;
	for (const one of section) {
		if (one.op === "load") weight += loadWeight(op, one);
		else if (one.op === "div" || one.op === "rdiv") {
			if (isConstant[one.b]) weight += CONSTANT_DIVISION;
			else weight += op.code.turns > 0 ? LOOP_DIVISION[one.op] : WEIGHTS[one.op]!;
		} else weight += WEIGHTS[one.op] ?? 2;
	}
	return weight;
}

/** The loop may end before its last turn: its body does not know which turn it is. */
export function maySettle({ turns, body }: Code): boolean {
	const knowsTurn = (one: Instruction): boolean =>
		one.op === "turn" || (one.op === "load" && one.place.some(({ terms }) => terms.some(({ of }) => of === 8)));
	return turns >= MIN_SETTLING && !body.some(knowsTurn);
}

/**
 * A walk over a tree, as renders have it: one carried value is a node's number, from 0 to the number of
 * turns, and names where the body reads a table that has one row more. It ends early nearly always.
 *
 * ATTACK: a loop that looks like one and visits every node is priced as if it did not. How many it visits is
 * in its data, which no quote reads. A host is then paid for less than it does, and hands the part back once
 * that is a fifth (docs/jobs.md §9).
 */
function isWalk({ operands, code }: MapOp): boolean {
	const { before, turns, carried, body } = code;
	if (!maySettle(code)) return false;
	return carried.some(({ lo, hi }, i) => {
		if (lo !== 0n || hi !== BigInt(turns)) return false;
		const register = before.length + i;
		const reads = (one: Instruction): boolean =>
			one.op === "load" &&
			one.place.some((place, axis) => place.register === register && operands[one.operand]!.dims[axis] === turns + 1);
		return body.some(reads);
	});
}

/** Turns that are reckoned with: all, but of a walk what walks take. */
export function turnsOf(op: MapOp): number {
	const { turns } = op.code;
	return isWalk(op) ? Math.min(turns, VISITS_A_LEVEL * (32 - Math.clz32(turns))) : turns;
}

/** Of all elements together. */
export function mapWeight(op: MapOp): bigint {
	const { before, carried, body, after } = op.code;
	const all = [...before, ...carried.map(() => null), ...body, ...after];
	const isConstant = all.map((one) => one?.op === "const");
	const once = sectionWeight(op, before, isConstant) + sectionWeight(op, after, isConstant);
	const each = once + turnsOf(op) * sectionWeight(op, body, isConstant);
	return BigInt(elementCount(op.output.dims)) * BigInt(each);
}

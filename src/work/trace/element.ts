// One element of an op, computed from a few leaves of what the op read: which leaves it takes, and what it
// is. For whoever checks some elements of a run without holding its tensors. Loads may depend on loads: ask
// for what is missing, and try again. Transcripts of the same element are in transcript.ts.
import type { Instruction } from "../operators/instruction.ts";
import { coordinatesOf, type ElementAt, firstCarried, type Moment, runSection } from "../operators/map-machine.ts";
import { readElement } from "../operators/tensor-type.ts";
import type { MapOp, Op } from "../program/shapes.ts";
import { rowsOf, type SumOp } from "./layout.ts";
import { leafOf } from "./tensor-tree.ts";
import { finalNumber, goOn } from "./transcript.ts";

export interface LeafPlace {
	readonly operand: number;
	readonly leaf: number;
}

/** Bytes of a leaf of an operand; null: not known yet. */
export type KnownLeaf = (operand: number, leaf: number) => Uint8Array | null;

/**
 * The element, or the leaves that are missing to go on. An element that no checked program can have is null
 * with nothing missing.
 */
export interface ElementFound {
	readonly value: bigint | null;
	readonly missing: readonly LeafPlace[];
}

class Reader {
	readonly missing = new Map<string, LeafPlace>();
	readonly op: Op;
	readonly known: KnownLeaf;

	constructor(op: Op, known: KnownLeaf) {
		this.op = op;
		this.known = known;
	}

	read(operand: number, index: number): bigint | null {
		const { type } = this.op.operands[operand]!;
		const { leaf, at } = leafOf(index, type);
		const bytes = this.known(operand, leaf);
		if (bytes !== null) return readElement(bytes, type, at);
		this.missing.set(`${operand}/${leaf}`, { operand, leaf });
		return null;
	}

	found(value: bigint | null): ElementFound {
		return { value: this.missing.size > 0 ? null : value, missing: [...this.missing.values()] };
	}
}

export function findElement(op: Op, element: number, moment: Moment, known: KnownLeaf): ElementFound {
	const reader = new Reader(op, known);
	return reader.found(
		op.operator === "map" ? mapElement(op, element, moment, reader) : sumElement(op, element, reader),
	);
}

function sumElement(op: SumOp, element: number, reader: Reader): bigint | null {
	const { rows, length } = rowsOf(op, element);
	const values = rows.map(({ operand, base }) => Array.from({ length }, (_, k) => reader.read(operand, base + k)));
	if (reader.missing.size > 0) return null;
	return finalNumber(
		op,
		goOn(op, element, null, 0, length, (row, k) => values[row]![k]!),
	);
}

const registersOf = (one: Instruction): number[] =>
	one.op === "load"
		? one.place.flatMap(({ register }) => (register === null ? [] : [register]))
		: [one].flatMap((each) => [
				...("a" in each ? [each.a] : []),
				...("b" in each ? [each.b] : []),
				...("c" in each ? [each.c] : []),
			]);

/**
 * Runs a section with registers that may be unknown, so that all loads that depend on nothing missing are
 * found at once.
 */
function runKnown(
	op: MapOp,
	section: readonly Instruction[],
	registers: (bigint | null)[],
	at: ElementAt,
	turn: number,
	reader: Reader,
): void {
	const load = (operand: number, index: number | null) => (index === null ? 0n : reader.read(operand, index));
	for (const one of section) {
		const isKnown = registersOf(one).every((register) => registers[register] !== null);
		const here = registers as bigint[];
		if (!isKnown || !runSection(op, [one], here, at, turn, load)) registers.push(null);
	}
}

function mapElement(op: MapOp, element: number, moment: Moment, reader: Reader): bigint | null {
	const { code } = op;
	const at = { ...moment, coordinates: coordinatesOf(element, op.output.dims) };
	const before: (bigint | null)[] = [];
	runKnown(op, code.before, before, at, 0, reader);
	if (code.turns === 0 || before.includes(null)) return before.at(-1)!;
	let carried: (bigint | null)[] = firstCarried(op, before as bigint[]);
	for (let turn = 0; turn < code.turns; turn++) {
		const registers = [...before, ...carried];
		runKnown(op, code.body, registers, at, turn, reader);
		if (reader.missing.size > 0) return null;
		carried = code.carried.map(({ next, lo, hi }) => {
			const value = registers[next]!;
			return value === null ? null : value < lo ? lo : value > hi ? hi : value;
		});
		if (carried.includes(null)) return null;
	}
	const registers = [...before, ...carried, ...code.body.map(() => null)];
	runKnown(op, code.after, registers, at, 0, reader);
	return registers.at(-1)!;
}

// Transcripts, docs/work.md §9: what whoever ran an op says of one element when asked. judge.ts judges them.
import {
	coordinatesOf,
	type ElementAt,
	firstCarried,
	type Load,
	type Moment,
	runAfter,
	runSection,
	runTurn,
} from "../operators/map-machine.ts";
import { isArg, type Running, reduceOne } from "../operators/run-sums.ts";
import type { MapOp, Op } from "../program/shapes.ts";
import { chunkEnds, partsOf, rowsOf, type SumOp, spanOf } from "./layout.ts";

export type Transcript = readonly bigint[];

/** What is read of an operand, element by element: whole arrays, or leaves as they come. */
export interface Operand {
	at(index: number): number | bigint | undefined;
}

/** One chunk more: `read` gives the values of the rows at a place. */
export function goOn(
	op: SumOp,
	element: number,
	running: Running | null,
	from: number,
	to: number,
	read: (row: number, k: number) => bigint,
): Running {
	let now = running;
	const wanted = op.operator === "scatter_add" ? BigInt(coordinatesOf(element, op.output.dims)[0]!) : 0n;
	for (let k = from; k < to; k++) {
		if (op.operator === "reduce") now = reduceOne(op.reduction, now, read(0, k), k);
		else {
			const sum = now?.value ?? 0n;
			if (op.operator === "matmul") now = { value: sum + read(0, k) * read(1, k), index: 0n };
			else now = { value: read(1, k) === wanted ? sum + read(0, k) : sum, index: 0n };
		}
	}
	return now!;
}

/** The numbers of a running result at a cut. */
export function runningNumbers(op: SumOp, { value, index }: Running): bigint[] {
	return op.operator === "reduce" && isArg(op.reduction) ? [index, value] : [value];
}

/** The element that a finished sum gives. */
export function finalNumber(op: SumOp, { value, index }: Running): bigint {
	return op.operator === "reduce" && isArg(op.reduction) ? index : value;
}

function sumTranscript(op: SumOp, element: number, inputs: readonly Operand[]): bigint[] {
	const { rows } = rowsOf(op, element);
	const read = (row: number, k: number) => BigInt(inputs[rows[row]!.operand]!.at(rows[row]!.base + k)!);
	const ends = chunkEnds(op, element);
	let running: Running | null = null;
	const cuts: bigint[] = [];
	for (let chunk = 0; chunk + 1 < ends.length; chunk++) {
		running = goOn(op, element, running, ends[chunk]!, ends[chunk + 1]!, read);
		if (chunk + 2 < ends.length) cuts.push(...runningNumbers(op, running));
	}
	return [finalNumber(op, running!), ...cuts];
}

/** A map's element while it is computed: before's registers, and all of the turn that was run last. */
class MapRun {
	readonly op: MapOp;
	readonly at: ElementAt;
	readonly before: bigint[] = [];
	turn: readonly bigint[] = [];
	readonly load: Load;

	constructor(op: MapOp, element: number, moment: Moment, inputs: readonly Operand[]) {
		this.op = op;
		this.at = { ...moment, coordinates: coordinatesOf(element, op.output.dims) };
		this.load = (operand, index) => (index === null ? 0n : BigInt(inputs[operand]!.at(index)!));
		if (!runSection(op, op.code.before, this.before, this.at, 0, this.load))
			throw new RangeError("not a checked program");
	}

	/** Carried values after each turn of first … first + turns − 1. */
	*turns(first: number, turns: number): Generator<bigint[]> {
		let carried = firstCarried(this.op, this.before);
		for (let turn = 0; turn < first + turns; turn++) {
			const ran = runTurn(this.op, this.before, carried, this.at, turn, this.load)!;
			carried = ran.carried;
			this.turn = ran.registers;
			if (turn >= first) yield carried;
		}
	}
}

function mapTranscript(op: MapOp, element: number, moment: Moment, inputs: readonly Operand[]): bigint[] {
	const run = new MapRun(op, element, moment, inputs);
	if (op.code.turns === 0) return [run.before.at(-1)!, ...run.before];
	const every = partsOf(op.code.turns, op.code.carried.length)[0]!;
	const marks: bigint[] = [];
	let carried: bigint[] = [];
	let turn = 0;
	for (carried of run.turns(0, op.code.turns)) {
		turn += 1;
		if (turn % every === 0 || turn === op.code.turns) marks.push(...carried);
	}
	const after = runAfter(op, run.before, carried, run.at, run.load)!;
	return [after.at(-1)!, ...run.before, ...marks, ...after];
}

export function createTranscript(op: Op, element: number, moment: Moment, inputs: readonly Operand[]): Transcript {
	return op.operator === "map" ? mapTranscript(op, element, moment, inputs) : sumTranscript(op, element, inputs);
}

/** Of the span of turns that the path names. */
export function createSpanTranscript(
	op: MapOp,
	element: number,
	moment: Moment,
	inputs: readonly Operand[],
	path: readonly number[],
): Transcript {
	const span = spanOf(op, path);
	if (span === null) throw new RangeError(`no span ${path.join(".")}`);
	const run = new MapRun(op, element, moment, inputs);
	const every = partsOf(span.turns, op.code.carried.length)[0]!;
	const marks: bigint[] = [];
	let turn = 0;
	for (const carried of run.turns(span.first, span.turns)) {
		turn += 1;
		if (turn % every === 0 && turn < span.turns) marks.push(...carried);
	}
	return span.turns === 1 ? run.turn : marks;
}

/** i64, big-endian, one after the other. */
export function encodeTranscript(transcript: Transcript): Uint8Array {
	const view = new DataView(new ArrayBuffer(8 * transcript.length));
	for (const [i, number] of transcript.entries()) view.setBigInt64(8 * i, number);
	return new Uint8Array(view.buffer);
}

/** Null when the bytes are not whole numbers. */
export function decodeTranscript(bytes: Uint8Array): Transcript | null {
	if (bytes.length % 8 !== 0) return null;
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	return Array.from({ length: bytes.length / 8 }, (_, i) => view.getBigInt64(8 * i));
}

// The other side of judge.ts, docs/work.md §9: whoever ran an op itself finds the one contradiction in what
// the accused says. Pure: answers of the accused come in through `ask`. How far a search before this went
// (segment, trace leaf, tensor leaf) is not known here.
import { coordinatesOf, type Moment, runInstruction } from "../operators/map-machine.ts";
import { bytesOf, type Elements, elementCount, readElement } from "../operators/tensor-type.ts";
import type { MapOp, Op } from "../program/shapes.ts";
import type { Contradiction, ShownLeaf, Words } from "./judge.ts";
import { chunkEnds, marksOf, numbersACut, partsOf, rowsOf, type SumOp, sectionsOf, spanOf } from "./layout.ts";
import { LEAF_BYTES, leafOf, type TensorTree, tensorTree } from "./tensor-tree.ts";
import { createSpanTranscript, createTranscript, type Operand, type Transcript } from "./transcript.ts";

/** A tensor of one's own: its elements, and any leaf with its path. */
export interface OwnTensor extends Operand {
	leaf(index: number): ShownLeaf;
}

/** What the accuser ran. */
export interface OwnRun {
	readonly op: Op;
	readonly moment: Moment;
	readonly inputs: readonly OwnTensor[];
	readonly output: OwnTensor;
}

export function ownTensor(elements: Elements): OwnTensor {
	let made: TensorTree | null = null;
	const leaf = (index: number): ShownLeaf => {
		made ??= tensorTree(elements);
		return { bytes: made.leaf(index), path: made.path(index) };
	};
	return { at: (index) => elements.at(index), leaf };
}

export interface Accusation {
	readonly element: number;
	readonly words: Words;
	readonly contradiction: Contradiction;
}

/** Of the element; with a path, of that span of its turns. */
export type Ask = (element: number, path: readonly number[]) => Transcript;

const leafHolding = (own: OwnTensor, op: Op, operand: number, index: number): ShownLeaf =>
	own.leaf(leafOf(index, op.operands[operand]!.type).leaf);

const firstDifference = (a: Transcript, b: Transcript): number => a.findIndex((number, i) => number !== b[i]);

/** The first element of a leaf that differs from one's own, or null when only the filling does. */
function falseElement({ op, output }: OwnRun, leaf: number, bytes: Uint8Array): number | null {
	const perLeaf = LEAF_BYTES / bytesOf(op.output.type);
	const count = elementCount(op.output.dims);
	for (let at = 0; at < perLeaf && leaf * perLeaf + at < count; at++)
		if (readElement(bytes, op.output.type, at) !== BigInt(output.at(leaf * perLeaf + at)!)) return leaf * perLeaf + at;
	return null;
}

/**
 * `leaf`: number of a leaf of the output that differs from one's own, `shown` the accused's with its path.
 */
export function accuse(run: OwnRun, leaf: number, shown: ShownLeaf, ask: Ask): Accusation | null {
	const element = falseElement(run, leaf, shown.bytes);
	if (element === null) {
		const isLast = (leaf + 1) * LEAF_BYTES > elementCount(run.op.output.dims) * bytesOf(run.op.output.type);
		return isLast ? { element: 0, words: { transcript: [] }, contradiction: { kind: "filling", leaf: shown } } : null;
	}
	const { op } = run;
	const transcript = ask(element, []);
	const said = readElement(shown.bytes, op.output.type, leafOf(element, op.output.type).at);
	if (said !== transcript[0]) return { element, words: { transcript }, contradiction: { kind: "value", leaf: shown } };
	return op.operator === "map" ? accuseMap(run, op, element, transcript, ask) : accuseSum(run, op, element, transcript);
}

function accuseSum({ moment, inputs }: OwnRun, op: SumOp, element: number, transcript: Transcript): Accusation | null {
	const own = createTranscript(op, element, moment, inputs);
	const ends = chunkEnds(op, element);
	const first = firstDifference(transcript.slice(1), own.slice(1));
	const chunk = first < 0 ? ends.length - 2 : Math.floor(first / numbersACut(op));
	const leaves = rowsOf(op, element).rows.map(({ operand, base }) =>
		leafHolding(inputs[operand]!, op, operand, base + ends[chunk]!),
	);
	return { element, words: { transcript }, contradiction: { kind: "chunk", chunk, leaves } };
}

/** The contradiction of the first false register of its section; `registers`: one's own, up to it. */
function falseInstruction(
	{ inputs, moment }: OwnRun,
	op: MapOp,
	element: number,
	register: number,
	registers: readonly bigint[],
	turn: number,
): Contradiction {
	const { before, body, after } = op.code;
	const { bodyFrom, afterFrom } = sectionsOf(op);
	const one = before[register] ?? body[register - bodyFrom] ?? after[register - afterFrom]!;
	let leaf: ShownLeaf | null = null;
	const at = { ...moment, coordinates: coordinatesOf(element, op.output.dims) };
	runInstruction(op, one, registers, at, turn, (operand, index) => {
		leaf = index === null ? null : leafHolding(inputs[operand]!, op, operand, index);
		return 0n;
	});
	return { kind: "instruction", register, leaf };
}

function accuseMap(run: OwnRun, op: MapOp, element: number, transcript: Transcript, ask: Ask): Accusation | null {
	const own = createTranscript(op, element, run.moment, run.inputs);
	const words = { transcript };
	const first = firstDifference(transcript.slice(1), own.slice(1));
	if (first < 0) return { element, words, contradiction: { kind: "end" } };
	const { carried, after, body } = op.code;
	const before = own.slice(1, 1 + op.code.before.length);
	const made = (register: number, registers: readonly bigint[]): Accusation => ({
		...{ element, words, contradiction: falseInstruction(run, op, element, register, registers, 0) },
	});
	if (first < before.length) return made(first, before);
	const afterFrom = own.length - after.length;
	if (first + 1 >= afterFrom) {
		const registers = [...before, ...own.slice(afterFrom - carried.length, afterFrom), ...body.map(() => 0n)];
		return made(registers.length + first + 1 - afterFrom, [...registers, ...own.slice(afterFrom)]);
	}
	return accuseTurn(run, op, element, transcript, ask, [Math.floor((first - before.length) / carried.length)]);
}

/**
 * Down from the first false mark to one turn. Of what was said on the way only the span with the mark is
 * needed, if any.
 */
function accuseTurn(
	run: OwnRun,
	op: MapOp,
	element: number,
	transcript: Transcript,
	ask: Ask,
	start: readonly number[],
): Accusation {
	const path = [...start];
	const spans = [transcript];
	for (;;) {
		const { turns, first: turn } = spanOf(op, path)!;
		const said = ask(element, [...path]);
		spans.push(said);
		const own = createSpanTranscript(op, element, run.moment, run.inputs, path);
		const first = firstDifference(said, own);
		if (turns === 1) {
			const { carried, before } = op.code;
			const marks = marksOf(op, path);
			const told = (contradiction: Contradiction, depth?: number): Accusation => ({
				...{ element, contradiction },
				words: { transcript: said, path, ...(depth !== undefined && { marked: { depth, transcript: spans[depth]! } }) },
			});
			if (first < 0) return told({ kind: "turn" }, marks.end.depth);
			const isCarried = first >= before.length && first < before.length + carried.length;
			if (isCarried) return told({ kind: "start" }, marks.start?.depth);
			return told(falseInstruction(run, op, element, first, own, turn));
		}
		path.push(
			first < 0 ? partsOf(turns, op.code.carried.length).length - 1 : Math.floor(first / op.code.carried.length),
		);
	}
}

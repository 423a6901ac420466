// The other side of judge.ts, docs/work.md §9: whoever ran an op itself finds the one contradiction in what the accused says.
// Pure: answers of the accused come in through `ask`. How far a search before this went (segment, trace leaf, tensor leaf) is not known here.
import type { Moment } from "../operators/map-machine.ts";
import { bytesOf, type Elements, elementCount, readElement } from "../operators/tensor-type.ts";
import type { MapOp, Op } from "../program/shapes.ts";
import type { Contradiction, ShownLeaf, Words } from "./judge.ts";
import { chunkEnds, loadCount, numbersACut, partsOf, rowsOf, type SumOp, spanOf } from "./layout.ts";
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

/** `leaf`: number of a leaf of the output that differs from one's own, `shown` the accused's with its path. */
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

/** The contradiction of load `load`, the first false one of its section. */
function falseLoad(
	{ moment, inputs }: OwnRun,
	op: MapOp,
	element: number,
	section: "before" | "body" | "after",
	load: number,
	path: readonly number[],
): Contradiction {
	const place = loadPlace(op, element, moment, inputs, section, load, path);
	const leaf = place.index === null ? null : leafHolding(inputs[place.operand]!, op, place.operand, place.index);
	return { kind: "load", section, load, leaf };
}

/** Where one's own run of the element has that load. */
function loadPlace(
	op: MapOp,
	element: number,
	moment: Moment,
	inputs: readonly OwnTensor[],
	section: "before" | "body" | "after",
	load: number,
	path: readonly number[],
): { readonly operand: number; readonly index: number | null } {
	const places: { operand: number; index: number | null }[] = [];
	const watch = (operand: number, index: number | null): void => {
		places.push({ operand, index });
	};
	const turn = section === "body" ? spanOf(op, path)!.first : 0;
	createTranscript(op, element, moment, inputs, watch);
	const before = loadCount(op.code.before);
	const body = loadCount(op.code.body);
	const from = section === "before" ? 0 : section === "body" ? before + turn * body : before + op.code.turns * body;
	return places[from + load]!;
}

function accuseMap(run: OwnRun, op: MapOp, element: number, transcript: Transcript, ask: Ask): Accusation | null {
	const { moment, inputs } = run;
	const own = createTranscript(op, element, moment, inputs);
	const words = { transcript };
	const first = firstDifference(transcript.slice(1), own.slice(1));
	const end: Accusation = { element, words, contradiction: { kind: "end" } };
	if (first < 0) return end;
	const before = loadCount(op.code.before);
	const { carried, after } = op.code;
	if (first < before) return { element, words, contradiction: falseLoad(run, op, element, "before", first, []) };
	const afterFrom = own.length - 1 - loadCount(after);
	if (first >= afterFrom)
		return { element, words, contradiction: falseLoad(run, op, element, "after", first - afterFrom, []) };
	return accuseTurn(run, op, element, transcript, ask, [Math.floor((first - before) / carried.length)]);
}

/** Down from the first false mark to one turn. */
function accuseTurn(
	run: OwnRun,
	op: MapOp,
	element: number,
	transcript: Transcript,
	ask: Ask,
	start: readonly number[],
): Accusation {
	const path = [...start];
	const spans: Transcript[] = [];
	for (;;) {
		const { turns } = spanOf(op, path)!;
		const said = ask(element, [...path]);
		spans.push(said);
		const own = createSpanTranscript(op, element, run.moment, run.inputs, path);
		const first = firstDifference(said, own);
		const words: Words = { transcript, path, spans };
		if (turns === 1) {
			if (first < 0) return { element, words, contradiction: { kind: "turn" } };
			return { element, words, contradiction: falseLoad(run, op, element, "body", first, path) };
		}
		path.push(first < 0 ? partsOf(turns).length - 1 : Math.floor(first / op.code.carried.length));
	}
}

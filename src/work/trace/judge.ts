// The judge of one contradiction, docs/work.md §9. It knows the op's leaf, the roots of the op's trace leaf, what the accused said, and a
// few shown leaves; it runs nothing else. It convicts or says why nothing is shown; it never clears anyone of anything.
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import {
	coordinatesOf,
	type ElementAt,
	firstCarried,
	type Moment,
	runAfter,
	runSection,
	runTurn,
} from "../operators/map-machine.ts";
import { isArg, type Running } from "../operators/run-sums.ts";
import { bytesOf, elementCount, readElement, type TensorType } from "../operators/tensor-type.ts";
import type { MapOp, Op } from "../program/shapes.ts";
import {
	chunkEnds,
	loadCount,
	numbersACut,
	rowsOf,
	type SumOp,
	spanLength,
	spanOf,
	transcriptLength,
} from "./layout.ts";
import { LEAF_BYTES, leafCount, leafOf, rootOfLeaf } from "./tensor-tree.ts";
import { finalNumber, goOn, runningNumbers, type Transcript } from "./transcript.ts";

/** Which element of which op is in question, and the roots of its trace leaf. */
export interface Question {
	readonly op: Op;
	readonly element: number;
	readonly moment: Moment;
	readonly inputs: readonly Uint8Array[];
	readonly output: Uint8Array;
}

export interface ShownLeaf {
	readonly bytes: Uint8Array;
	readonly path: readonly Uint8Array[];
}

/** What the accused said: of the element and, for turns, of the span of each part of `path`. */
export interface Words {
	readonly transcript: Transcript;
	readonly path?: readonly number[];
	readonly spans?: readonly Transcript[];
}

export type Contradiction =
	| { readonly kind: "value" | "filling"; readonly leaf: ShownLeaf }
	| { readonly kind: "chunk"; readonly chunk: number; readonly leaves: readonly ShownLeaf[] }
	| {
			readonly kind: "load";
			readonly section: "before" | "body" | "after";
			readonly load: number;
			/** None when the place is outside. */
			readonly leaf: ShownLeaf | null;
	  }
	| { readonly kind: "turn" }
	| { readonly kind: "end" };

/** Why nothing is shown: `place` (there is no such element, chunk, load or turn), `words` (no transcript of it), `leaf` (not the leaf of that tensor), `undefined` (the words lead nowhere), `agrees`. */
export type Nothing = "place" | "words" | "leaf" | "undefined" | "agrees";

export type Judgement =
	/** The number that the accused said, and what it must be by what is shown. */
	| { readonly convicts: true; readonly said: bigint; readonly right: bigint }
	| { readonly convicts: false; readonly reason: Nothing; readonly why: string };

const nothing = (reason: Nothing, why: string): Judgement => ({ convicts: false, reason, why });
const compare = (said: bigint, right: bigint): Judgement =>
	said === right ? nothing("agrees", "what is shown agrees") : { convicts: true, said, right };
/** The first pair that differs. */
function compareAll(said: readonly bigint[], right: readonly bigint[]): Judgement {
	const first = right.findIndex((number, i) => number !== said[i]);
	return compare(said[Math.max(0, first)] ?? 0n, right[Math.max(0, first)] ?? 0n);
}

interface Tensor {
	readonly type: TensorType;
	readonly dims: readonly number[];
}

/** The shown leaf is leaf number `index` of the tensor under this root. */
function isShown(shown: ShownLeaf, index: number, { type, dims }: Tensor, root: Uint8Array): boolean {
	const found = rootOfLeaf(shown.bytes, index, elementCount(dims) * bytesOf(type), shown.path);
	return found !== null && equalBytes(found, root);
}

/** The element of a tensor, by its shown leaf; null when that leaf is not shown. */
function shownElement(shown: ShownLeaf, element: number, tensor: Tensor, root: Uint8Array): bigint | null {
	const { leaf, at } = leafOf(element, tensor.type);
	return isShown(shown, leaf, tensor, root) ? readElement(shown.bytes, tensor.type, at) : null;
}

function judgeFilling({ op, output }: Question, leaf: ShownLeaf): Judgement {
	const byteLength = elementCount(op.output.dims) * bytesOf(op.output.type);
	if (!isShown(leaf, leafCount(byteLength) - 1, op.output, output))
		return nothing("leaf", "not the last leaf of the output");
	const used = byteLength % LEAF_BYTES;
	const filling = used === 0 ? [] : [...leaf.bytes.subarray(used)];
	return compare(BigInt(filling.find((byte) => byte !== 0) ?? 0), 0n);
}

function judgeChunk(
	question: Question,
	op: SumOp,
	transcript: Transcript,
	chunk: number,
	leaves: readonly ShownLeaf[],
): Judgement {
	const { element } = question;
	const ends = chunkEnds(op, element);
	const { rows } = rowsOf(op, element);
	const last = ends.length - 2;
	if (!(Number.isSafeInteger(chunk) && chunk >= 0 && chunk <= last)) return nothing("place", "there is no such chunk");
	if (leaves.length !== rows.length) return nothing("leaf", "another number of leaves");
	const places = rows.map(({ operand, base }) => leafOf(base + ends[chunk]!, op.operands[operand]!.type));
	for (const [i, { operand }] of rows.entries())
		if (!isShown(leaves[i]!, places[i]!.leaf, op.operands[operand]!, question.inputs[operand]!))
			return nothing("leaf", `not the leaf of operand ${operand}`);
	const size = numbersACut(op);
	const said = (cut: number): Transcript => transcript.slice(1 + cut * size, 1 + (cut + 1) * size);
	const read = (row: number, k: number) =>
		readElement(leaves[row]!.bytes, op.operands[rows[row]!.operand]!.type, places[row]!.at + k - ends[chunk]!);
	const before = chunk === 0 ? null : runningOf(op, said(chunk - 1));
	const running = goOn(op, element, before, ends[chunk]!, ends[chunk + 1]!, read);
	if (chunk === last) return compare(transcript[0]!, finalNumber(op, running));
	return compareAll(said(chunk), runningNumbers(op, running));
}

export function runningOf(op: SumOp, numbers: Transcript): Running {
	if (op.operator === "reduce" && isArg(op.reduction)) return { index: numbers[0]!, value: numbers[1]! };
	return { index: 0n, value: numbers[0]! };
}

/** A map's transcript, taken apart. */
export class MapWords {
	readonly op: MapOp;
	readonly at: ElementAt;
	readonly value: bigint;
	readonly loads: { readonly before: Transcript; readonly body: Transcript; readonly after: Transcript };
	/** Carried values at the marks of the whole, the last one at the end. */
	readonly marks: readonly Transcript[];
	/** Registers of before; null when its loads lead to what is not defined. */
	readonly before: readonly bigint[] | null;

	constructor(op: MapOp, { element, moment }: Question, { transcript, spans = [] }: Words) {
		this.op = op;
		this.at = { ...moment, coordinates: coordinatesOf(element, op.output.dims) };
		this.value = transcript[0]!;
		const first = 1 + loadCount(op.code.before);
		const afterFrom = transcript.length - loadCount(op.code.after);
		this.loads = { before: transcript.slice(1, first), body: spans.at(-1) ?? [], after: transcript.slice(afterFrom) };
		this.marks = cut(transcript.slice(first, afterFrom), op.code.carried.length);
		const registers: bigint[] = [];
		const isDefined = runSection(op, op.code.before, registers, this.at, 0, saying(this.loads.before));
		this.before = isDefined ? registers : null;
	}

	/** Carried values before and after the turn at the end of the path. */
	turn({ path = [], spans = [] }: Words): { start: Transcript; end: Transcript; number: number } | null {
		const span = spanOf(this.op, path);
		if (this.before === null || span === null || span.turns !== 1) return null;
		let start: Transcript = firstCarried(this.op, this.before);
		let end = this.marks.at(-1)!;
		let marks = this.marks.slice(0, -1);
		for (const [depth, part] of path.entries()) {
			if (part > 0) start = marks[part - 1]!;
			if (part < marks.length) end = marks[part]!;
			marks = depth + 1 < path.length ? cut(spans[depth]!, this.op.code.carried.length) : [];
		}
		return { start, end, number: span.first };
	}
}

const cut = (numbers: Transcript, size: number): Transcript[] =>
	size === 0 ? [] : Array.from({ length: numbers.length / size }, (_, i) => numbers.slice(i * size, (i + 1) * size));

/** Loads give what the transcript says, in order. */
export function saying(values: Transcript): () => bigint | null {
	let next = 0;
	return () => values[next++] ?? null;
}

function judgeLoad(
	question: Question,
	words: Words,
	said: MapWords,
	{ section, load, leaf }: Contradiction & { kind: "load" },
): Judgement {
	const { op } = said;
	const values = said.loads[section];
	if (!(Number.isSafeInteger(load) && load >= 0 && load < values.length))
		return nothing("place", "there is no such load");
	let found: { readonly operand: number; readonly index: number | null } | null = null;
	let next = 0;
	const watch = (operand: number, index: number | null): bigint | null => {
		if (next === load) {
			found = { operand, index };
			return null;
		}
		return values[next++]!;
	};
	if (section === "before") runSection(op, op.code.before, [], said.at, 0, watch);
	else if (said.before === null) return nothing("undefined", "before is not defined");
	else if (section === "after") runAfter(op, said.before, said.marks.at(-1) ?? [], said.at, watch);
	else {
		const turn = said.turn(words);
		if (turn === null) return nothing("place", "the path names no turn");
		runTurn(op, said.before, turn.start, said.at, turn.number, watch);
	}
	if (found === null) return nothing("undefined", "the load is not reached");
	const { operand, index } = found as { readonly operand: number; readonly index: number | null };
	if (index === null)
		return leaf === null ? compare(values[load]!, 0n) : nothing("leaf", "the place is outside: no leaf has it");
	if (leaf === null) return nothing("leaf", "a leaf must be shown");
	const element = shownElement(leaf, index, op.operands[operand]!, question.inputs[operand]!);
	return element === null ? nothing("leaf", `not the leaf of operand ${operand}`) : compare(values[load]!, element);
}

function judgeMap(question: Question, op: MapOp, words: Words, contradiction: Contradiction): Judgement {
	const said = new MapWords(op, question, words);
	if (contradiction.kind === "load") return judgeLoad(question, words, said, contradiction);
	if (said.before === null) return nothing("undefined", "before is not defined");
	if (contradiction.kind === "turn") {
		const turn = said.turn(words);
		if (turn === null) return nothing("place", "the path names no turn");
		const end = runTurn(op, said.before, turn.start, said.at, turn.number, saying(said.loads.body));
		return end === null ? nothing("undefined", "the turn is not defined") : compareAll(turn.end, end);
	}
	if (contradiction.kind !== "end") return nothing("place", "a map has no such contradiction");
	const value = runAfter(op, said.before, said.marks.at(-1) ?? [], said.at, saying(said.loads.after));
	return value === null ? nothing("undefined", "the end is not defined") : compare(said.value, value);
}

/** Transcripts have the lengths that the op and the element give them. */
function areWords({ op, element }: Question, { transcript, path = [], spans = [] }: Words): boolean {
	if (transcript.length !== transcriptLength(op, element) || path.length !== spans.length) return false;
	if (op.operator !== "map") return path.length === 0;
	return spans.every((one, i) => {
		const span = spanOf(op, path.slice(0, i + 1));
		return span !== null && one.length === spanLength(op, span.turns);
	});
}

export function judgeElement(question: Question, words: Words, contradiction: Contradiction): Judgement {
	const { op, element, inputs, output } = question;
	if (!(Number.isSafeInteger(element) && element >= 0 && element < elementCount(op.output.dims)))
		return nothing("place", "there is no such element");
	if (inputs.length !== op.operands.length) return nothing("place", "another number of input roots");
	if (contradiction.kind === "filling") return judgeFilling(question, contradiction.leaf);
	if (!areWords(question, words)) return nothing("words", "not a transcript of this element");
	if (contradiction.kind === "value") {
		const found = shownElement(contradiction.leaf, element, op.output, output);
		return found === null ? nothing("leaf", "not the element's leaf") : compare(found, words.transcript[0]!);
	}
	if (op.operator === "map") return judgeMap(question, op, words, contradiction);
	if (contradiction.kind !== "chunk") return nothing("place", "a sum has no such contradiction");
	return judgeChunk(question, op, words.transcript, contradiction.chunk, contradiction.leaves);
}

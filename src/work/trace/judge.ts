// The judge of one contradiction, docs/work.md §9. It knows the op's leaf, the roots of the op's trace leaf,
// what the accused said, and a few shown leaves; it runs nothing else. It convicts or says why nothing is
// shown; it never clears anyone of anything.
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import {
	clampTo,
	coordinatesOf,
	type ElementAt,
	firstCarried,
	type Moment,
	runInstruction,
} from "../operators/map-machine.ts";
import { isArg, type Running } from "../operators/run-sums.ts";
import { bytesOf, elementCount, readElement, type TensorType } from "../operators/tensor-type.ts";
import type { MapOp, Op } from "../program/shapes.ts";
import {
	chunkEnds,
	marksOf,
	numbersACut,
	rowsOf,
	type SumOp,
	sectionsOf,
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

/**
 * What the accused said: of the element or, with a path, of that turn. Of `start` and `turn`, also of the
 * span of its first parts that has the mark.
 */
export interface Words {
	readonly transcript: Transcript;
	readonly path?: readonly number[];
	readonly marked?: { readonly depth: number; readonly transcript: Transcript };
}

export type Contradiction =
	| { readonly kind: "value" | "filling"; readonly leaf: ShownLeaf }
	| { readonly kind: "chunk"; readonly chunk: number; readonly leaves: readonly ShownLeaf[] }
	/** By its register. The leaf is a load's, unless its place is outside. */
	| { readonly kind: "instruction"; readonly register: number; readonly leaf: ShownLeaf | null }
	| { readonly kind: "start" }
	| { readonly kind: "turn" }
	| { readonly kind: "end" };

/**
 * Why nothing is shown: `place` (there is no such element, chunk, instruction or turn), `words` (no
 * transcript of it), `leaf` (not the leaf of that tensor), `undefined` (the words lead nowhere), `agrees`.
 */
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
	/** The turn that it is of; null: it is of the whole. */
	readonly turn: number | null;
	/** Each at its number; of the whole, with the last carried values, those of body are nobody's. */
	readonly registers: readonly bigint[];

	constructor(op: MapOp, { element, moment }: Question, { transcript, path = [] }: Words) {
		this.op = op;
		this.at = { ...moment, coordinates: coordinatesOf(element, op.output.dims) };
		this.turn = path.length === 0 ? null : spanOf(op, path)!.first;
		const { before, carried, body, after } = op.code;
		const afterFrom = transcript.length - after.length;
		const last = transcript.slice(afterFrom - carried.length, afterFrom);
		const whole = () => [
			...[...transcript.slice(1, 1 + before.length), ...last],
			...[...body.map(() => 0n), ...transcript.slice(afterFrom)],
		];
		this.registers = this.turn === null ? whole() : transcript;
	}
}

/**
 * The mark that a contradiction of a turn needs: at its end, or at its start unless that is the first one's.
 */
function markOf(op: MapOp, path: readonly number[], { kind }: Contradiction) {
	const { start, end } = marksOf(op, path);
	return kind === "turn" ? end : kind === "start" ? start : null;
}

/** What an instruction makes of the registers that are told is not what is told of its own. */
function judgeInstruction(
	question: Question,
	said: MapWords,
	{ register, leaf }: Contradiction & { kind: "instruction" },
): Judgement {
	const { op, turn } = said;
	const { before, body, after } = op.code;
	const { bodyFrom, afterFrom, end } = sectionsOf(op);
	const isOne = Number.isSafeInteger(register) && register >= 0 && register < end;
	const isTold = register < before.length || (turn === null ? register >= afterFrom : register < afterFrom);
	if (!isOne || !isTold || (register >= before.length && register < bodyFrom))
		return nothing("place", "there is no such instruction");
	const one = before[register] ?? body[register - bodyFrom] ?? after[register - afterFrom]!;
	if (one.op !== "load" && leaf !== null) return nothing("leaf", "only a load has a leaf");
	const { registers } = said;
	let wrong: Judgement | null = null;
	const load = (operand: number, index: number | null): bigint | null => {
		if ((index === null) !== (leaf === null)) {
			wrong = nothing("leaf", index === null ? "the place is outside: no leaf has it" : "a leaf must be shown");
			return null;
		}
		const found = index === null ? 0n : shownElement(leaf!, index, op.operands[operand]!, question.inputs[operand]!);
		if (found === null) wrong = nothing("leaf", `not the leaf of operand ${operand}`);
		return found;
	};
	const right = runInstruction(op, one, registers, said.at, turn ?? 0, load);
	if (wrong !== null) return wrong;
	return right === null ? nothing("undefined", "the instruction is not defined") : compare(registers[register]!, right);
}

/**
 * The carried values that a turn tells are not those at its start; what it makes of them is not what is told
 * of its end.
 */
function judgeTurn({ op, registers }: MapWords, { path = [], marked }: Words, shown: Contradiction): Judgement {
	const mark = markOf(op, path, shown);
	const { before, carried } = op.code;
	const from = mark === null ? 0 : (mark.depth === 0 ? 1 + before.length : 0) + mark.mark * carried.length;
	const told = marked?.transcript.slice(from, from + carried.length) ?? firstCarried(op, registers);
	if (shown.kind === "start") return compareAll(registers.slice(before.length, sectionsOf(op).bodyFrom), told);
	return compareAll(
		told,
		carried.map((one) => clampTo(registers[one.next]!, one)),
	);
}

function judgeMap(question: Question, op: MapOp, words: Words, shown: Contradiction): Judgement {
	const said = new MapWords(op, question, words);
	if (shown.kind === "instruction") return judgeInstruction(question, said, shown);
	if (shown.kind === "start" || shown.kind === "turn") return judgeTurn(said, words, shown);
	if (shown.kind !== "end") return nothing("place", "a map has no such contradiction");
	return compare(words.transcript[0]!, words.transcript.at(-1)!);
}

/**
 * Transcripts have the lengths that the op and the element give them, and there are those that the
 * contradiction needs.
 */
function areWords({ op, element }: Question, { transcript, path = [], marked }: Words, shown: Contradiction): boolean {
	const isOfTurn = shown.kind === "start" || shown.kind === "turn";
	if (shown.kind !== "instruction" && path.length > 0 !== isOfTurn) return false;
	if (path.length === 0) return marked === undefined && transcript.length === transcriptLength(op, element);
	if (op.operator !== "map" || spanOf(op, path)?.turns !== 1 || transcript.length !== spanLength(op, 1)) return false;
	const mark = markOf(op, path, shown);
	if (mark === null || marked === undefined) return mark === null && marked === undefined;
	const length =
		mark.depth === 0 ? transcriptLength(op, element) : spanLength(op, spanOf(op, path.slice(0, mark.depth))!.turns);
	return marked.depth === mark.depth && marked.transcript.length === length;
}

export function judgeElement(question: Question, words: Words, contradiction: Contradiction): Judgement {
	const { op, element, inputs, output } = question;
	if (!(Number.isSafeInteger(element) && element >= 0 && element < elementCount(op.output.dims)))
		return nothing("place", "there is no such element");
	if (inputs.length !== op.operands.length) return nothing("place", "another number of input roots");
	if (contradiction.kind === "filling") return judgeFilling(question, contradiction.leaf);
	if (!areWords(question, words, contradiction)) return nothing("words", "not a transcript of this element");
	if (contradiction.kind === "value") {
		const found = shownElement(contradiction.leaf, element, op.output, output);
		return found === null ? nothing("leaf", "not the element's leaf") : compare(found, words.transcript[0]!);
	}
	if (op.operator === "map") return judgeMap(question, op, words, contradiction);
	if (contradiction.kind !== "chunk") return nothing("place", "a sum has no such contradiction");
	return judgeChunk(question, op, words.transcript, contradiction.chunk, contradiction.leaves);
}

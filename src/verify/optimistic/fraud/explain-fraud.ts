// A fraud file told as a story: the way from the segment down to the number, the op as text, and the
// arithmetic of the number worked out again line by line. For people who look; whether the file convicts is
// judge-fraud.ts, which is asked first: of a file that proves nothing there is no story.
import { coordinatesOf } from "../../../work/operators/map-machine.ts";
import type { Running } from "../../../work/operators/run-sums.ts";
import { bytesOf, elementCount, readElement as readAt } from "../../../work/operators/tensor-type.ts";
import { printInstruction, printOp } from "../../../work/program/print-text.ts";
import type { MapOp, Op } from "../../../work/program/shapes.ts";
import { type Contradiction, MapWords, type Question, runningOf, type Words } from "../../../work/trace/judge.ts";
import { chunkEnds, numbersACut, rowsOf, type SumOp, sectionsOf } from "../../../work/trace/layout.ts";
import { LEAF_BYTES, leafCount, leafOf } from "../../../work/trace/tensor-tree.ts";
import { finalNumber, goOn } from "../../../work/trace/transcript.ts";
import { decodeFraudFile, type ElementShown } from "./fraud-file.ts";
import { Shown } from "./fraud-parts.ts";
import type { FraudVerdict, ValidFraud } from "./fraud-verdict.ts";
import { readElement, verifyFraud } from "./judge-fraud.ts";

/** One stop on the way down: number `at` of `of`. */
export interface WayStop {
	readonly name: "segment" | "step" | "operator" | "leaf" | "element" | "operand" | "tensor";
	readonly at: number;
	/** Counted from `first` on; null: not in the file. */
	readonly of: number | null;
	readonly first: number;
	/** The operator's name, a phase. */
	readonly what: string;
}

/**
 * A place that a sum goes over: its number, what each operand has there, what it adds, and the sum after it.
 */
interface SumTerm {
	readonly k: number;
	readonly values: readonly string[];
	readonly running: string;
}

/** An instruction with what was said of it. */
interface MapLine {
	readonly text: string;
	readonly value: string;
}

export type Working =
	/**
	 * One chunk of a sum. `before`: what was said of the sum before it; null: it begins. `isLast`: it ends with
	 * the element itself.
	 */
	| {
			readonly kind: "sum";
			readonly columns: readonly string[];
			readonly from: number;
			readonly to: number;
			readonly length: number;
			readonly before: string | null;
			readonly terms: readonly SumTerm[];
			readonly isLast: boolean;
	  }
	/** Instructions of one section of a map, with what was said of each. */
	| {
			readonly kind: "map";
			readonly section: "before" | "body" | "after";
			readonly turn: number | null;
			readonly carried: readonly string[];
			readonly lines: readonly MapLine[];
			/** The one that was not so; null: what is wrong is what came out. */
			readonly wrong: number | null;
	  }
	/** A number that a shown leaf holds. */
	| {
			readonly kind: "leaf";
			readonly leaf: number;
			readonly at: number;
			readonly around: readonly { readonly index: number; readonly value: string }[];
			readonly what: string;
	  };

export interface FraudStory {
	readonly verdict: ValidFraud;
	readonly job: string;
	readonly part: number;
	readonly chainId: string;
	readonly way: readonly WayStop[];
	/** The op's definition, as `assay program show` prints it, with tensors by number. */
	readonly op: readonly string[] | null;
	/** Where the element lies in its tensor. */
	readonly coordinates: readonly number[];
	readonly working: Working | null;
}

const nameOf = (tensor: number): string => `tensor${tensor}`;

/** `verdict`: verifyFraud's, of this file. Null: the file proves nothing. */
export function explainFraud(file: Uint8Array, verdict: FraudVerdict = verifyFraud(file)): FraudStory | null {
	const decoded = decodeFraudFile(file);
	if (verdict.status !== "valid" || !decoded.ok) return null;
	const { envelope, attachments } = decoded.evidence;
	const { body } = envelope;
	const shown = new Shown(body, attachments);
	const { fault, claim } = body;
	const told = { verdict, job: BigInt(claim.job).toString(16).padStart(64, "0"), part: claim.part };
	const rest = { ...told, chainId: claim.chainId };
	if (fault.kind === "element") return { ...rest, ...elementStory(shown, fault, verdict) };
	const op = fault.kind === "wire" || (fault.kind === "writer" && fault.op !== null) ? shown.op(fault.op!, "") : null;
	const text = op === null || verdict.op === null ? null : printOp(op, verdict.op, nameOf);
	return { ...rest, way: wayOf(shown, verdict, []), op: text, coordinates: [], working: null };
}

/** From the large to the small, as far as the fault goes. */
function wayOf(shown: Shown, { step, op, operator, operand, tensor }: ValidFraud, more: readonly WayStop[]): WayStop[] {
	const { first, segments } = shown.claim;
	const stop = (name: WayStop["name"], at: number | null, of: number | null, what = "", from = 0): WayStop[] =>
		at === null ? [] : [{ name, at, of, what, first: from }];
	return [
		...stop("segment", shown.body.segment, segments, shown.phase, first),
		...stop("step", step, shown.steps),
		...stop("operator", op, shown.ops, operator ?? ""),
		...more,
		...stop("operand", operand, null),
		...stop("tensor", tensor, null),
	];
}

function elementStory(shown: Shown, fault: ElementShown, verdict: ValidFraud) {
	const { question, words, contradiction } = readElement(shown, fault);
	const { op, element } = question;
	const { type, dims } = op.output;
	const count = elementCount(dims);
	const place = leafOf(element, type);
	const isFilling = contradiction.kind === "filling";
	const leaves = leafCount(count * bytesOf(type));
	const perLeaf = LEAF_BYTES / bytesOf(type);
	const leaf = isFilling ? leaves - 1 : place.leaf;
	const more: WayStop[] = [
		{ name: "leaf", at: leaf, of: leaves, first: 0, what: "1 KiB" },
		...(isFilling
			? []
			: [
					{
						name: "element" as const,
						at: element,
						of: Math.min(perLeaf, count - leaf * perLeaf),
						first: leaf * perLeaf,
						what: `${type}[${dims.join(",")}]`,
					},
				]),
	];
	return {
		way: wayOf(shown, verdict, more),
		op: printOp(op, fault.op.number, nameOf),
		coordinates: isFilling ? [] : coordinatesOf(element, dims),
		working: workingOf(question, words, contradiction),
	};
}

function workingOf(question: Question, words: Words, contradiction: Contradiction): Working {
	const { op } = question;
	switch (contradiction.kind) {
		case "chunk":
			return sumWorking(question, op as SumOp, words, contradiction);
		case "value":
			return leafWorking(contradiction.leaf.bytes, op.output, question.element);
		case "filling":
			return fillingWorking(contradiction.leaf.bytes, op);
		default:
			return mapWorking(question, op as MapOp, words, contradiction);
	}
}

function sumWorking(
	{ element }: Question,
	op: SumOp,
	{ transcript }: Words,
	{ chunk, leaves }: Extract<Contradiction, { kind: "chunk" }>,
): Working {
	const ends = chunkEnds(op, element);
	const { rows, length } = rowsOf(op, element);
	const [from, to] = [ends[chunk]!, ends[chunk + 1]!];
	const places = rows.map(({ operand, base }) => leafOf(base + from, op.operands[operand]!.type));
	const read = (row: number, k: number) =>
		readAt(leaves[row]!.bytes, op.operands[rows[row]!.operand]!.type, places[row]!.at + k - from);
	const size = numbersACut(op);
	const said = chunk === 0 ? null : runningOf(op, transcript.slice(1 + (chunk - 1) * size, 1 + chunk * size));
	let running: Running | null = said;
	const terms: SumTerm[] = [];
	for (let k = from; k < to; k++) {
		running = goOn(op, element, running, k, k + 1, read);
		terms.push({ k, values: rows.map((_, row) => `${read(row, k)}`), running: `${finalNumber(op, running)}` });
	}
	const columns =
		op.operator === "matmul" ? ["a", "b"] : op.operator === "scatter_add" ? ["value", "goes to row"] : ["value"];
	const before = said === null ? null : `${finalNumber(op, said)}`;
	return { kind: "sum", columns, from, to, length, before, terms, isLast: chunk === ends.length - 2 };
}

const AROUND = 4;

function leafWorking(bytes: Uint8Array, { type, dims }: Op["output"], index: number): Working {
	const { leaf } = leafOf(index, type);
	const first = (leaf * LEAF_BYTES) / bytesOf(type);
	const end = Math.min(elementCount(dims), first + LEAF_BYTES / bytesOf(type));
	const from = Math.max(first, index - AROUND);
	const around = Array.from({ length: Math.min(end, index + AROUND + 1) - from }, (_, i) => ({
		...{ index: from + i, value: `${readAt(bytes, type, from + i - first)}` },
	}));
	return { kind: "leaf", leaf, at: index, around, what: "what it committed to" };
}

function fillingWorking(bytes: Uint8Array, { output: { type, dims } }: Op): Working {
	const byteLength = elementCount(dims) * bytesOf(type);
	const used = byteLength % LEAF_BYTES;
	const first = bytes.findIndex((byte, i) => i >= used && byte !== 0);
	const from = Math.max(used, first - AROUND);
	const around = Array.from({ length: Math.min(2 * AROUND + 1, LEAF_BYTES - from) }, (_, i) => ({
		...{ index: from + i, value: `${bytes[from + i]}` },
	}));
	return { kind: "leaf", leaf: leafCount(byteLength) - 1, at: first, around, what: "bytes after the tensor's end" };
}

/** The section that the contradiction lies in, instruction by instruction, as it was told. */
function mapWorking(question: Question, op: MapOp, words: Words, contradiction: Contradiction): Working {
	const said = new MapWords(op, question, words);
	const { bodyFrom, afterFrom } = sectionsOf(op);
	const isInstruction = contradiction.kind === "instruction";
	const section = isInstruction
		? sectionOf(op, contradiction.register)
		: contradiction.kind === "end"
			? lastSection(op)
			: "body";
	const { registers } = said;
	const first = { before: 0, body: bodyFrom, after: afterFrom }[section];
	return {
		...{ kind: "map", section, turn: said.turn },
		lines: op.code[section].map((one, i) => ({
			...{ text: printInstruction(one, first + i).trim(), value: `${registers[first + i]}` },
		})),
		wrong: isInstruction ? contradiction.register - first : null,
		carried: section === "before" ? [] : registers.slice(op.code.before.length, bodyFrom).map((one) => `${one}`),
	};
}

const lastSection = ({ code }: MapOp): "before" | "after" => (code.turns > 0 ? "after" : "before");

function sectionOf(op: MapOp, register: number): "before" | "body" | "after" {
	const { bodyFrom, afterFrom } = sectionsOf(op);
	return register < bodyFrom ? "before" : register < afterFrom ? "body" : "after";
}

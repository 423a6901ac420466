// A fraud file as the chain's judge takes it, docs/chain.md §12: the same parts, in the arguments of `prove`,
// and the answers under which the accused's signatures must stand. Not here: whether it convicts
// (judge-fraud.ts), signing and sending (src/chain/contracts/disputes.ts).
import { hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { type Hex, packed, toHex } from "../../../protocol/chain/hex.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import { sumShapeFault } from "../../../work/program/check-sums.ts";
import { decodeOp } from "../../../work/program/decode.ts";
import type { Phase } from "../../../work/program/shapes.ts";
import { chunkEnds } from "../../../work/trace/layout.ts";
import { NO_WRITER, phaseOf } from "../answers.ts";
import { decodeFraudFile, type ElementShown, type FaultShown, type FraudBody, type TraceShown } from "./fraud-file.ts";

const QUESTION = 7;
const hex = (text: string): Hex => `0x${text}`;

/** How an answer is signed, EIP-712: docs/chain.md §12. */
export const ANSWER_TYPE = "Answer(bytes32 claim,bytes32 question,bytes32 answerHash)";

/** What is asked of a claim: the root of a segment's trace. */
export const traceQuestion = (segment: number): Hex =>
	toHex(keccak(Uint8Array.of(QUESTION, 0), packed(BigInt(segment), 8)));

/** The transcript of an element; with a path, of that span of its turns. */
export const transcriptQuestion = (
	segment: number,
	{ step, op }: Pick<TraceShown, "step" | "op">,
	element: number,
	path: readonly number[],
): Hex => {
	const place = [
		packed(BigInt(segment), 8),
		packed(BigInt(step), 4),
		packed(BigInt(op), 4),
		packed(BigInt(element), 8),
	];
	return toHex(keccak(Uint8Array.of(QUESTION, 1), ...place, ...path.map((part) => packed(BigInt(part), 2))));
};

/** Which op of a phase writes a tensor. */
export const writerQuestion = (phase: Phase, tensor: number): Hex =>
	toHex(keccak(Uint8Array.of(QUESTION, 2, phase === "init" ? 0 : 1), packed(tensor, 2)));

const writerSaid = (segment: number, tensor: number, op: number): AnswerSaid => ({
	question: writerQuestion(phaseOf(segment), tensor),
	answerHash: toHex(keccak(packed(op, 4))),
});

/**
 * The tensor of which a file shows by the whole program that nothing writes it; on the chain the accused's
 * word shows it.
 */
export function unwrittenTensor(fault: FaultShown, attachments: readonly Uint8Array[]): number | null {
	if ((fault.kind !== "wire" && fault.kind !== "end") || !("whole" in fault.origin) || !fault.origin.whole) return null;
	if (fault.kind === "end") return fault.root.tensor;
	const decoded = attachments[0] === undefined ? null : decodeOp(attachments[0]);
	return decoded?.ok ? (decoded.value.op.operands[fault.operand]?.index ?? null) : null;
}

/** One first word: the question, and the hash of what was answered. */
export interface AnswerSaid {
	readonly question: Hex;
	readonly answerHash: Hex;
}

const KINDS = ["value", "filling", "chunk", "instruction", "start", "turn", "end"] as const;
const NOWHERE = 0xffff_ffff;

/**
 * What is said of an element or a turn, and the span with its mark; and the tensor leaves that follow them.
 */
function wordsOf(fault: ElementShown, attachments: readonly Uint8Array[]) {
	const [opLeaf, transcript, ...rest] = attachments;
	const marks = fault.marked === null ? 0 : 1;
	if (opLeaf === undefined || transcript === undefined || rest.length < marks) return null;
	const isSilent = fault.contradiction.kind === "filling" && transcript.length === 0;
	const transcripts = isSilent ? [] : [transcript, ...rest.slice(0, marks)];
	return { opLeaf, transcripts, leaves: rest.slice(marks) };
}

/** The first words that a file rests on, in the order in which it has their signatures. */
export function answersOf(
	{ fault, segment, trace }: Pick<FraudBody, "fault" | "segment" | "trace">,
	attachments: readonly Uint8Array[],
): readonly AnswerSaid[] {
	if (fault.kind === "words")
		return fault.answers.map((answer) => ({ question: hex(fault.question), answerHash: hex(answer) }));
	if (fault.kind === "writer") return [writerSaid(segment, fault.tensor, fault.said)];
	const tensor = unwrittenTensor(fault, attachments);
	const none = tensor === null ? [] : [writerSaid(segment, tensor, NO_WRITER)];
	if (trace === null) return none;
	const told = { question: traceQuestion(segment), answerHash: toHex(keccak(hexToBytes(trace)!)) };
	if (fault.kind !== "element") return [told, ...none];
	const transcripts = wordsOf(fault, attachments)?.transcripts ?? [];
	const paths = [fault.turns, fault.turns.slice(0, fault.marked ?? 0)];
	return [
		told,
		...transcripts.map((words, i) => ({
			question: transcriptQuestion(segment, fault.leaf, fault.element, paths[i]!),
			answerHash: toHex(keccak(words)),
		})),
	];
}

/** The first words of a file, by its bytes; null when it is none. */
export function answersOfFile(file: Uint8Array): readonly AnswerSaid[] | null {
	const decoded = decodeFraudFile(file);
	return decoded.ok ? answersOf(decoded.evidence.envelope.body, decoded.evidence.attachments) : null;
}

/**
 * The arguments of `prove` that a file of a false element gives, without terms and signatures; null for any
 * other file.
 */
export function elementProof(file: Uint8Array) {
	const decoded = decodeFraudFile(file);
	if (!decoded.ok || decoded.evidence.envelope.body.fault.kind !== "element") return null;
	const { body } = decoded.evidence.envelope;
	const fault = body.fault as ElementShown;
	const { segment, program, trace, claim } = body;
	const words = wordsOf(fault, decoded.evidence.attachments);
	if (words === null || trace === null) return null;
	const { opLeaf, transcripts, leaves } = words;
	const answers = answersOf(body, decoded.evidence.attachments);
	return {
		seed: hex(fault.seed),
		claim: { program: hex(claim.program), inputs: hex(claim.inputs), segments: BigInt(claim.segments) },
		accused: {
			part: claim.part,
			segmentRoot: hex(claim.segmentRoot),
			resultRoot: hex(claim.resultRoot),
			head: hex(program.head),
			tensors: hex(program.tensors),
			ops: hex(program.ops),
			segment: BigInt(segment),
			trace: hex(trace),
		},
		fault: {
			op: { number: fault.op.number, leaf: toHex(opLeaf), path: fault.op.path.map(hex) },
			leaf: {
				step: fault.leaf.step,
				op: fault.leaf.op,
				inputs: fault.leaf.inputs.map(hex),
				output: hex(fault.leaf.output),
				path: fault.leaf.path.map(hex),
			},
			inputs: hex(fault.inputs),
			words: {
				...{ element: BigInt(fault.element), turns: fault.turns, marked: fault.marked ?? 0 },
				transcripts: transcripts.map(toHex),
			},
			shown: shownOf(fault, opLeaf, leaves),
		},
		answers,
		...signaturesIn(body, transcripts.length),
	};
}

/**
 * As `prove` takes them: the first apart from those of so many transcripts. Empty where the file has none:
 * then the words on the chain count.
 */
function signaturesIn(
	{ signed }: FraudBody,
	transcripts: number,
): { readonly traceSignature: Hex; readonly signatures: readonly Hex[] } {
	const [trace, ...others] = (signed?.signatures ?? []).map(hex);
	return {
		traceSignature: trace ?? "0x",
		signatures: Array.from({ length: transcripts }, (_, i): Hex => others[i] ?? "0x"),
	};
}

/**
 * The arguments of `proveTwoWords` that a file of two answers gives, without terms; null for any other file.
 */
export function twoWordsProof(file: Uint8Array) {
	const decoded = decodeFraudFile(file);
	if (!decoded.ok || decoded.evidence.envelope.body.fault.kind !== "words") return null;
	const { fault, claim, program, segment, signed } = decoded.evidence.envelope.body;
	const [one, two] = (signed?.signatures ?? []).map(hex);
	if (fault.kind !== "words" || one === undefined || two === undefined) return null;
	return {
		accused: {
			...{ part: claim.part, segmentRoot: hex(claim.segmentRoot), resultRoot: hex(claim.resultRoot) },
			...{ head: hex(program.head), tensors: hex(program.tensors), ops: hex(program.ops), segment: BigInt(segment) },
			...{ trace: hex("00".repeat(32)), traceSignature: "0x" as Hex },
		},
		question: hex(fault.question),
		answers: [hex(fault.answers[0]!), hex(fault.answers[1]!)] as const,
		signatures: [one, two] as const,
	};
}

function shownOf({ contradiction: said, element }: ElementShown, opLeaf: Uint8Array, leaves: readonly Uint8Array[]) {
	const paths = "paths" in said ? said.paths : "path" in said && said.path !== null ? [said.path] : [];
	return {
		kind: KINDS.indexOf(said.kind),
		place:
			said.kind === "chunk" ? chunkStart(opLeaf, element, said.chunk) : said.kind === "instruction" ? said.register : 0,
		leaves: leaves.map(toHex),
		paths: paths.map((path) => path.map(hex)),
	};
}

/** The chain knows a chunk by the place that it begins with. */
export function chunkStart(opLeaf: Uint8Array, element: number, chunk: number): number {
	const decoded = decodeOp(opLeaf);
	if (!decoded.ok || decoded.value.op.operator === "map") return NOWHERE;
	if (sumShapeFault(decoded.value.op) !== null) return NOWHERE;
	const ends = chunkEnds(decoded.value.op, element);
	return chunk >= 0 && chunk + 1 < ends.length ? ends[chunk]! : NOWHERE;
}

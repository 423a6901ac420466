// The fraud file, docs/jobs.md §7: one contradiction in what a claim and the answers about one of its
// segments say, with all that a judge needs and nothing of the program but the leaves in question. Its shape,
// how it is made and how it is read; judge-fraud.ts judges it.
import {
	hex,
	int,
	list,
	object,
	oneOf,
	orNull,
	type Shape,
	type Typed,
	variants,
} from "../../../protocol/bytes/shape.ts";
import {
	attachmentShape,
	type Container,
	type DecodeResult,
	decodeContainer,
	encodeContainer,
	entriesOf,
} from "../../../protocol/probe/container.ts";
import { LIMITS } from "../../../work/program/shapes.ts";
import { claimFields } from "../../../work/runs/claim-file.ts";

const U32 = 0xffff_ffff;
/** A tree of 2³² leaves. */
const path = list(hex(32), 32);

/** An op of the program; its leaf is attached. */
const opShown = object({ number: int(0, LIMITS.ops), path });
/** A leaf of the segment's trace. */
const traceShown = object({
	step: int(0, LIMITS.steps),
	op: int(0, LIMITS.ops),
	inputs: list(hex(32), LIMITS.operands),
	output: hex(32),
	path,
});
/** S_segment, and its place in the claim's segment tree. */
const stateShown = object({ segment: int(0, LIMITS.segment + 1), states: hex(32), results: hex(32), path });
/** A tensor's root in the tree of states, results or inputs. */
const rootShown = object({
	tensor: int(0, LIMITS.tensors),
	root: hex(32),
	index: int(0, LIMITS.tensors),
	count: int(1, LIMITS.tensors),
	path,
});
export type OpShown = Typed<typeof opShown>;
export type TraceShown = Typed<typeof traceShown>;
export type StateShown = Typed<typeof stateShown>;
export type RootShown = Typed<typeof rootShown>;

/**
 * Where a root must come from. `whole`: the program is attached, which shows that no op writes the tensor.
 */
const origin = variants("from", {
	op: object({ from: oneOf("op"), leaf: traceShown, writer: orNull(opShown) }),
	constant: object({ from: oneOf("constant"), path }),
	input: object({ from: oneOf("input"), seed: hex(32), root: rootShown }),
	state: object({ from: oneOf("state"), state: stateShown, root: rootShown, whole: oneOf(true, false) }),
	zero: object({ from: oneOf("zero"), whole: oneOf(true, false) }),
});
export type OriginShown = Typed<typeof origin>;

const contradiction = variants("kind", {
	value: object({ kind: oneOf("value"), path }),
	filling: object({ kind: oneOf("filling"), path }),
	chunk: object({ kind: oneOf("chunk"), chunk: int(0, U32), paths: list(path, 2) }),
	instruction: object({ kind: oneOf("instruction"), register: int(0, LIMITS.registers), path: orNull(path) }),
	start: object({ kind: oneOf("start") }),
	turn: object({ kind: oneOf("turn") }),
	end: object({ kind: oneOf("end") }),
});

const pair = <T>(item: Shape<T>): Shape<readonly T[]> => {
	const two = list(item, 2);
	return (value, where) =>
		two(value, where) ?? ((value as readonly T[]).length === 2 ? null : { where, detail: "must have two items" });
};

/** Of a path of turns: 4,096 turns are six levels of four parts. */
const MOST_SPANS = 6;

const fault = variants("kind", {
	element: object({
		kind: oneOf("element"),
		op: opShown,
		leaf: traceShown,
		/** The job's seed, and the tree of its inputs: together the claim's inputs. */
		seed: hex(32),
		inputs: hex(32),
		element: int(0, LIMITS.elements),
		/** Leads to a turn: its transcript is attached. None: that of the element is. */
		turns: list(int(0, LIMITS.turns), MOST_SPANS),
		/**
		 * Of a contradiction that a mark shows: the span of so many parts of the path, whose transcript is
		 * attached, too.
		 */
		marked: orNull(int(0, MOST_SPANS)),
		contradiction,
	}),
	wire: object({ kind: oneOf("wire"), op: opShown, leaf: traceShown, operand: int(0, LIMITS.operands), origin }),
	end: object({ kind: oneOf("end"), of: oneOf("state", "result"), state: stateShown, root: rootShown, origin }),
	start: object({ kind: oneOf("start"), of: oneOf("state", "result"), state: stateShown, root: rootShown, path }),
	result: object({ kind: oneOf("result"), state: stateShown }),
	/**
	 * The word about who writes a tensor in the segment's phase: an op's number, 2³² − 1 for none. The op that
	 * shows it; null: there is none of that number.
	 */
	writer: object({ kind: oneOf("writer"), tensor: int(0, LIMITS.tensors), said: int(0, U32), op: orNull(opShown) }),
	/** Hashes of two answers to one question (docs/chain.md §12), both signed. */
	words: object({ kind: oneOf("words"), question: hex(32), answers: pair(hex(32)) }),
});
export type FaultShown = Typed<typeof fault>;
export type ElementShown = Extract<FaultShown, { kind: "element" }>;

const claim = object(claimFields);

/** A trace, two transcripts. */
const MOST_ANSWERS = 3;
/**
 * Who signed the answers, for which contract on the claim's chain; in the order of `answersOf` in
 * fraud-proof.ts.
 */
const signed = object({ disputes: hex(20), account: hex(20), signatures: list(hex(65), MOST_ANSWERS) });
export type FraudSignatures = Typed<typeof signed>;

const body = object({
	format: oneOf("assay-fraud"),
	/** Early, so that a file of another version is refused as such. */
	version: oneOf(2),
	/** Hash of the claim. */
	accused: hex(32),
	claim,
	/** The 20 bytes before a program's first leaf, and its two trees: together the claim's program. */
	program: object({ head: hex(20), tensors: hex(32), ops: hex(32) }),
	segment: int(0, LIMITS.segment),
	/** What the accused answered when asked for the trace of the segment; null where it is not needed. */
	trace: orNull(hex(32)),
	fault,
	/** Null: whoever made the file gives its word that these were the answers. */
	signed: orNull(signed),
});
export interface FraudBody extends Typed<typeof body> {}

/** A leaf of an op, two transcripts, two leaves; of a wire, the leaves of two ops and of a tensor. */
const ATTACHMENTS = 5;
const envelope = object({ attachments: list(attachmentShape, ATTACHMENTS), body: body as Shape<FraudBody> });
interface FraudEnvelope extends Typed<typeof envelope> {}

export function makeFraudFile(
	said: Omit<FraudBody, "format" | "version">,
	attachments: readonly Uint8Array[],
): Uint8Array {
	const made: FraudEnvelope = {
		attachments: entriesOf(attachments),
		body: { format: "assay-fraud", version: 2, ...said },
	};
	return encodeContainer(made, attachments);
}

/** The same file with the accused's signatures in it; null when it is none. */
export function signFraudFile(file: Uint8Array, by: FraudSignatures): Uint8Array | null {
	const decoded = decodeFraudFile(file);
	if (!decoded.ok) return null;
	const { format: _, version: __, ...said } = decoded.evidence.envelope.body;
	return makeFraudFile({ ...said, signed: by }, decoded.evidence.attachments);
}

export const decodeFraudFile = (file: Uint8Array): DecodeResult<Container<FraudEnvelope>> =>
	decodeContainer(file, envelope);

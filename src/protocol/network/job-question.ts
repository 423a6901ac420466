// What is asked about a part of a job, docs/jobs.md §14: of whoever claimed it (`audit` null), or of whoever
// ran some of it again as audit n. On the wire it is canonical JSON; the answer is bytes, told in pages as
// hex. Its length follows from the program and the question. Shapes only.
import type { AssayError } from "../assay-error.ts";
import { decodeCanonicalJson, encodeCanonicalJson } from "../bytes/canonical-json.ts";
import { int, list, object, oneOf, orNull, type Typed, variants } from "../bytes/shape.ts";
import { codedError } from "../coded-error.ts";

const U32 = 0xffff_ffff;
const about = { audit: orNull(int(0, 0xffff)), page: int(0, 0xffff), segment: int(0, U32) };
const place = { ...about, step: int(0, U32), op: int(0, 0xffff) };
/** Of a path of turns: 4,096 turns are three levels of 16 parts, or six of four. */
const path = list(int(0, 15), 6);

const shape = variants("kind", {
	/**
	 * Roots of all state and result tensors before the segment; their bytes are uploaded before it is answered.
	 */
	state: object({ kind: oneOf("state"), ...about }),
	/** The same roots, without the bytes. */
	roots: object({ kind: oneOf("roots"), ...about }),
	/** Root of the segment's trace. A first word. */
	trace: object({ kind: oneOf("trace"), ...about }),
	/** Up to 16 nodes of that tree, four levels below one. */
	nodes: object({ kind: oneOf("nodes"), ...about, level: int(0, 64), index: int(0, Number.MAX_SAFE_INTEGER) }),
	/** A leaf of that tree: roots of all operands, root of the output. */
	op: object({ kind: oneOf("op"), ...place }),
	/** Up to 16 nodes of the tree of what the op gave, four levels below one. */
	tree: object({ kind: oneOf("tree"), ...place, level: int(0, 64), index: int(0, Number.MAX_SAFE_INTEGER) }),
	/** 1,024 bytes of what the op gave (`of` null) or read, and their path. */
	leaf: object({ kind: oneOf("leaf"), ...place, of: orNull(int(0, 7)), leaf: int(0, U32) }),
	/** Of an element; with a path, of that span of its turns. A first word. */
	transcript: object({ kind: oneOf("transcript"), ...place, element: int(0, 2 ** 40), path }),
	/**
	 * Which op of the segment's phase writes a state, scratch or result tensor: its number, 2³² − 1: none. A
	 * first word.
	 */
	writer: object({ kind: oneOf("writer"), ...about, tensor: int(0, 0xffff) }),
});
export type JobQuestion = Typed<typeof shape>;

/** Of one page of an answer. */
export const ANSWER_PAGE_BYTES = 20_000;

export const questionText = (question: JobQuestion): string => encodeCanonicalJson(question);

export const questionBad = (why: string): AssayError =>
	codedError("JOB_QUESTION", `this question cannot be answered: ${why}`);

/** Throws JOB_QUESTION. */
export function readQuestion(text: string): JobQuestion {
	const decoded = decodeCanonicalJson(text);
	if (!decoded.ok) throw questionBad(decoded.detail);
	const fault = shape(decoded.value, "");
	if (fault !== null) throw questionBad(`${fault.where} ${fault.detail}`);
	return decoded.value as unknown as JobQuestion;
}

/** As the agent link carries it. */
export interface SaidAnswer {
	/** One page, as hex. */
	readonly answer: string;
	/** Of the whole answer, by the claimant's account on the chain: 130 hex digits. Only of first words. */
	readonly signature: string | null;
}

// Questions about a part of a job and the bytes that answer them, docs/jobs.md §14: which there are, how long
// each answer is, and answers of somebody far away held against what that one committed to. Pure: questions
// go out through `ask`.
import { AssayError } from "../../protocol/assay-error.ts";
import { concatBytes, equalBytes } from "../../protocol/bytes/bytes.ts";
import { packed } from "../../protocol/chain/hex.ts";
import { pathLength } from "../../protocol/hash/merkle.ts";
import { type JobQuestion, questionText } from "../../protocol/network/job-question.ts";
import { bytesOf, elementCount } from "../../work/operators/tensor-type.ts";
import type { Op, Program } from "../../work/program/shapes.ts";
import { type JobClaim, stateHashOf, type TraceLeaf } from "../../work/trace/commitments.ts";
import type { ShownLeaf } from "../../work/trace/judge.ts";
import { spanLength, spanOf, transcriptLength } from "../../work/trace/layout.ts";
import { LEAF_BYTES, leafCount, rootOfLeaf } from "../../work/trace/tensor-tree.ts";
import { decodeTranscript, encodeTranscript, type Transcript } from "../../work/trace/transcript.ts";
import {
	type Answers,
	type AskedTree,
	askedLeaf,
	askedOutput,
	askedTrace,
	noAnswer,
	nodesBelow,
	type OpPlace,
	phaseOf,
	type StateRoots,
	stepsOf,
} from "./answers.ts";

/** Whose segments the questions are about: S_first … S_{first + segments} were claimed. */
export interface AskedPart {
	readonly program: Program;
	readonly first: number;
	readonly segments: number;
}

const kept = (program: Program, kind: "state" | "result"): number =>
	program.tensors.filter((one) => one.kind === kind).length;

const opAt = ({ program }: Pick<AskedPart, "program">, { segment, op }: Pick<OpPlace, "segment" | "op">) =>
	program[phaseOf(segment)][op];

export const traceLeaves = (program: Program, segment: number): number =>
	stepsOf(program, segment) * program[phaseOf(segment)].length;

/** Of what the op reads or gives. */
function operandBytes(op: Op, of: number | null): number | null {
	const side = of === null ? op.output : op.operands[of];
	return side === undefined ? null : elementCount(side.dims) * bytesOf(side.type);
}

/** Bytes of the answer; null: there is no such thing to ask about. */
export function answerLength(part: AskedPart, question: JobQuestion): number | null {
	const { program, first, segments } = part;
	const { segment, kind } = question;
	const isBetween = kind === "state" || kind === "roots";
	if (segment < first || segment > first + segments || (segment === first + segments && !isBetween)) return null;
	switch (question.kind) {
		case "state":
		case "roots":
			return 32 * (kept(program, "state") + kept(program, "result"));
		case "trace":
			return 32;
		case "nodes":
			return nodesLength(traceLeaves(program, segment), question);
		case "writer": {
			const kind = program.tensors[question.tensor]?.kind;
			return kind === "state" || kind === "scratch" || kind === "result" ? WRITER_BYTES : null;
		}
		case "op":
		case "tree":
		case "leaf":
		case "transcript": {
			const op = opAt(part, question);
			return op === undefined || question.step >= stepsOf(program, segment) ? null : opAnswerLength(op, question);
		}
	}
}

/** An op's number. */
const WRITER_BYTES = 4;

/** Of nodes below one in a tree of so many leaves. */
function nodesLength(
	count: number,
	{ level, index }: { readonly level: number; readonly index: number },
): number | null {
	if (level < 1 || level > Math.ceil(Math.log2(Math.max(1, count)))) return null;
	const wanted = nodesBelow(count, level, index);
	return wanted < 1 ? null : 32 * wanted;
}

function opAnswerLength(
	op: Op,
	question: Extract<JobQuestion, { kind: "op" | "tree" | "leaf" | "transcript" }>,
): number | null {
	if (question.kind === "op") return 32 * (op.operands.length + 1);
	if (question.kind === "tree") return nodesLength(leafCount(operandBytes(op, null)!), question);
	if (question.kind === "leaf") {
		const bytes = operandBytes(op, question.of);
		if (bytes === null || question.leaf >= leafCount(bytes)) return null;
		return LEAF_BYTES + 32 * pathLength(question.leaf, leafCount(bytes));
	}
	const { element, path } = question;
	if (element >= elementCount(op.output.dims)) return null;
	if (path.length === 0) return 8 * transcriptLength(op, element);
	const span = op.operator === "map" && op.code.turns > 0 ? spanOf(op, path) : null;
	return op.operator !== "map" || span === null ? null : 8 * spanLength(op, span.turns);
}

/**
 * The whole answer; throws NO_ANSWER where none came. Its length is checked here. `own`: what the asker has
 * itself, for roads that look at it.
 */
export type Ask = (question: JobQuestion, own?: Answers) => Promise<Uint8Array>;

export const cut = (bytes: Uint8Array, from = 0): Uint8Array[] =>
	Array.from({ length: (bytes.length - from) / 32 }, (_, i) => bytes.slice(from + 32 * i, from + 32 * (i + 1)));

type WithoutUsual<Q> = Q extends unknown ? Omit<Q, "audit" | "page"> : never;

/**
 * Somebody's answers over `ask`, each held against that one's own words: states, trace root, trace leaves. So
 * who is asked cannot lead a search astray; it can only contradict itself, or fail. `failed` says why it did,
 * once it did.
 */
export class RemoteAnswers implements Answers {
	readonly claim: JobClaim;
	readonly states: readonly Uint8Array[];
	failed: string | null = null;
	private readonly program: Program;
	readonly audit: number | null;
	private readonly send: Ask;
	private readonly known = new Map<string, Promise<Uint8Array>>();
	private readonly traces = new Map<number, Promise<AskedTree>>();
	private readonly outputs = new Map<string, Promise<AskedTree>>();

	constructor(
		program: Program,
		said: Pick<Answers, "claim" | "states"> & { readonly audit: number | null },
		send: Ask,
	) {
		this.program = program;
		this.claim = said.claim;
		this.states = said.states;
		this.audit = said.audit;
		this.send = send;
	}

	private async held<T>(answer: () => Promise<T>): Promise<T> {
		try {
			return await answer();
		} catch (error) {
			// Anything else is none of its doing.
			if (error instanceof AssayError && error.code === "NO_ANSWER") this.failed ??= error.message;
			throw error;
		}
	}

	private ask(asked: WithoutUsual<JobQuestion>): Promise<Uint8Array> {
		return this.bytes({ ...asked, audit: this.audit, page: 0 } as JobQuestion);
	}

	/** The whole answer as it was told, asked for once; its length is right. */
	answer(question: JobQuestion, own?: Answers): Promise<Uint8Array> {
		return this.held(() => this.bytes(question, own));
	}

	private async bytes(question: JobQuestion, own?: Answers): Promise<Uint8Array> {
		const name = questionText(question);
		const found = this.known.get(name);
		if (found !== undefined) return found;
		const { first, segments } = this.claim;
		const length = answerLength({ program: this.program, first, segments }, question);
		// A question of ours that makes no sense would be our own mistake.
		if (length === null) throw new RangeError(`there is nothing to ask: ${name}`);
		const sent = this.send(question, own).then((bytes) => {
			if (bytes.length !== length) throw noAnswer(`${bytes.length} bytes came for ${question.kind}, not ${length}`);
			return bytes;
		});
		this.known.set(name, sent);
		return sent;
	}

	stateRoots(segment: number): Promise<StateRoots> {
		return this.rootsBy("roots", segment);
	}

	/** The same, after the bytes behind them were uploaded. */
	uploadedState(segment: number): Promise<StateRoots> {
		return this.rootsBy("state", segment);
	}

	private rootsBy(kind: "roots" | "state", segment: number): Promise<StateRoots> {
		return this.held(async () => {
			const all = cut(await this.ask({ kind, segment }));
			const count = kept(this.program, "state");
			const roots = { state: all.slice(0, count), results: all.slice(count) };
			const folded = stateHashOf(this.program, segment, roots.state, roots.results);
			if (!equalBytes(folded, this.states[segment - this.claim.first]!))
				throw noAnswer(`the roots that came for S_${segment} do not lead to it`);
			return roots;
		});
	}

	traceRoot(segment: number): Promise<Uint8Array> {
		return this.held(() => this.ask({ kind: "trace", segment }));
	}

	traceNodes(segment: number, level: number, index: number): Promise<readonly Uint8Array[]> {
		return this.held(async () => (await this.traceTree(segment)).below(level, index));
	}

	/** As they were said, whether the tree has them or not. */
	private said(): Pick<Answers, "traceNodes" | "traceLeaf" | "outputNodes"> {
		return {
			outputNodes: async ({ segment, step, op }, level, index) =>
				cut(await this.ask({ kind: "tree", segment, step, op, level, index })),
			traceNodes: async (segment, level, index) => cut(await this.ask({ kind: "nodes", segment, level, index })),
			traceLeaf: async ({ segment, step, op }) => {
				const all = cut(await this.ask({ kind: "op", segment, step, op }));
				return { step, op, inputs: all.slice(0, -1), output: all.at(-1)! };
			},
		};
	}

	/** Of one segment. */
	traceTree(segment: number): Promise<AskedTree> {
		const made = async () =>
			askedTrace(this.said(), segment, await this.traceRoot(segment), traceLeaves(this.program, segment));
		const found = this.traces.get(segment) ?? made();
		this.traces.set(segment, found);
		return found;
	}

	traceLeaf(place: OpPlace): Promise<TraceLeaf> {
		return this.held(async () => {
			const ops = this.program[phaseOf(place.segment)];
			const trace = await this.traceTree(place.segment);
			const index = place.step * ops.length + place.op;
			return askedLeaf(this.said(), trace, place, index, ops[place.op]!.operands.length);
		});
	}

	/** Of what an op gave. */
	outputTree(place: OpPlace): Promise<AskedTree> {
		const name = `${place.segment} ${place.step} ${place.op}`;
		const made = async () => {
			const count = leafCount(operandBytes(opAt({ program: this.program }, place)!, null)!);
			return askedOutput(this.said(), place, (await this.traceLeaf(place)).output, count);
		};
		const found = this.outputs.get(name) ?? made();
		this.outputs.set(name, found);
		return found;
	}

	outputNodes(place: OpPlace, level: number, index: number): Promise<readonly Uint8Array[]> {
		return this.held(async () => (await this.outputTree(place)).below(level, index));
	}

	writer(segment: number, tensor: number): Promise<number> {
		return this.held(async () => {
			const said = await this.ask({ kind: "writer", segment, tensor });
			return new DataView(said.buffer, said.byteOffset).getUint32(0);
		});
	}

	leaf(place: OpPlace, of: number | "output", leaf: number): Promise<ShownLeaf> {
		return this.held(async () => {
			const side = of === "output" ? null : of;
			const { segment, step, op } = place;
			const { inputs, output } = await this.traceLeaf(place);
			const bytes = await this.ask({ kind: "leaf", segment, step, op, of: side, leaf });
			const shown = { bytes: bytes.slice(0, LEAF_BYTES), path: cut(bytes, LEAF_BYTES) };
			const byteLength = operandBytes(opAt({ program: this.program }, place)!, side)!;
			const root = rootOfLeaf(shown.bytes, leaf, byteLength, shown.path);
			if (root === null || !equalBytes(root, side === null ? output : inputs[side]!))
				throw noAnswer(`leaf ${leaf} is not in what step ${step}, op ${op} ${side === null ? "gave" : "read"}`);
			return shown;
		});
	}

	transcript(place: OpPlace, element: number, path: readonly number[]): Promise<Transcript> {
		return this.held(async () => {
			const { segment, step, op } = place;
			const said = decodeTranscript(await this.ask({ kind: "transcript", segment, step, op, element, path }));
			if (said === null) throw noAnswer("a transcript is a list of 64-bit numbers");
			return said;
		});
	}
}

/** Roots as they are told: state, then results. */
export const rootsAnswer = ({ state, results }: StateRoots): Uint8Array => concatBytes(...state, ...results);

/**
 * The bytes that answer a question, by somebody's run; whether it is one about that run, the caller knows.
 */
export async function answerTo(run: Omit<Answers, "claim" | "states">, question: JobQuestion): Promise<Uint8Array> {
	const { segment } = question;
	switch (question.kind) {
		case "state":
		case "roots":
			return rootsAnswer(await run.stateRoots(segment));
		case "trace":
			return run.traceRoot(segment);
		case "nodes":
			return concatBytes(...(await run.traceNodes(segment, question.level, question.index)));
		case "op": {
			const { inputs, output } = await run.traceLeaf(question);
			return concatBytes(...inputs, output);
		}
		case "tree":
			return concatBytes(...(await run.outputNodes(question, question.level, question.index)));
		case "writer":
			return packed(await run.writer(segment, question.tensor), WRITER_BYTES);
		case "leaf": {
			const { bytes, path } = await run.leaf(question, question.of ?? "output", question.leaf);
			return concatBytes(bytes, ...path);
		}
		case "transcript":
			return encodeTranscript(await run.transcript(question, question.element, question.path));
	}
}

// The silent road, docs/disputes.md: a question that nobody answered off chain, as the chain asks it; what
// was answered there, as answers of the same search; and what an honest provider answers there. So a dispute
// may change roads at any level, and back. Pure; who sends what is the caller's affair.
import { concatBytes, equalBytes } from "../../protocol/bytes/bytes.ts";
import { packed } from "../../protocol/chain/hex.ts";
import { keccakNode } from "../../protocol/hash/keccak-tree.ts";
import { leafHash, merkleLevels, nodeHash } from "../../protocol/hash/merkle.ts";
import type { ChainQuestion } from "../../protocol/network/chain-question.ts";
import type { JobQuestion } from "../../protocol/network/job-question.ts";
import { bytesOf, elementCount } from "../../work/operators/tensor-type.ts";
import type { Op, Program, TensorKind } from "../../work/program/shapes.ts";
import { traceLeafHash } from "../../work/trace/commitments.ts";
import { writerOf } from "../../work/trace/origins.ts";
import { LEAF_BYTES, leafCount } from "../../work/trace/tensor-tree.ts";
import { depthOf, LEVELS, NO_WRITER, nodesBelow, type OpPlace, phaseOf } from "./answers.ts";
import { answerWithHint, withoutHint } from "./chain-hint.ts";
import { type Accused, questionKey } from "./next-question.ts";
import { type Ask, answerLength, cut, RemoteAnswers, traceLeaves } from "./questions.ts";

const opAt = (program: Program, { segment, op }: OpPlace): Op | undefined => program[phaseOf(segment)][op];
const outputLeaves = ({ output }: Op): number => leafCount(elementCount(output.dims) * bytesOf(output.type));
const numbersOf = ({ tensors }: Program, kind: TensorKind): number[] =>
	tensors.flatMap((one, i) => (one.kind === kind ? [i] : []));
const placeOf = ({ segment, step, op }: OpPlace): OpPlace => ({ segment, step, op });

/** What the accused said, held against its own words. All that a question builds on was asked before it. */
export const knownOf = (program: Program, accused: Accused): RemoteAnswers =>
	new RemoteAnswers(program, accused, async (question) => {
		const found = accused.said.get(questionKey(question));
		if (found === undefined) throw new RangeError(`nobody has answered ${questionKey(question)}`);
		return found;
	});

/** The same question for the chain. `question` is what nextQuestion asks for with these very answers. */
export async function chainQuestionOf(
	program: Program,
	accused: Accused,
	question: JobQuestion,
): Promise<ChainQuestion> {
	const { segment } = question;
	const known = knownOf(program, accused);
	switch (question.kind) {
		case "trace":
			return { kind: "trace", segment, count: traceLeaves(program, segment) };
		case "writer":
			return { kind: "writer", phase: segment === 0 ? 0 : 1, tensor: question.tensor };
		case "state":
		case "roots": {
			const [states, results] = [numbersOf(program, "state"), numbersOf(program, "result")];
			return { kind: "roots", segment, state: accused.states[segment - accused.claim.first]!, states, results };
		}
		case "nodes": {
			const { level: height, index } = question;
			const node = await (await known.traceTree(segment)).node(height, index);
			return {
				kind: "nodes",
				tree: "trace",
				segment,
				step: 0,
				op: 0,
				height,
				index,
				count: traceLeaves(program, segment),
				node,
			};
		}
		case "transcript": {
			const { element, path: turns } = question;
			const { first, segments } = accused.claim;
			const numbers = answerLength({ program, first, segments }, question)! / 8;
			return { kind: "transcript", ...placeOf(question), element, turns, numbers };
		}
		case "op": {
			const { step, op } = question;
			const of = opAt(program, question)!;
			const hash = await (await known.traceTree(segment)).node(0, step * program[phaseOf(segment)].length + op);
			return { kind: "op", segment, step, op, operands: of.operands.length, leaves: outputLeaves(of), hash };
		}
		case "tree": {
			const { level: height, index } = question;
			const node = await (await known.outputTree(question)).node(height, index);
			const count = outputLeaves(opAt(program, question)!);
			return { kind: "nodes", tree: "output", ...placeOf(question), height, index, count, node };
		}
		case "leaf": {
			const count = outputLeaves(opAt(program, question)!);
			const hash = await (await known.outputTree(question)).node(0, question.leaf);
			return { kind: "leaf", ...placeOf(question), index: question.leaf, count, hash };
		}
	}
}

/** A question that was answered on the chain, which has held the answer against it. */
export interface ChainAnswer {
	readonly question: ChainQuestion;
	readonly answer: Uint8Array;
}

/**
 * The accused with what it said on the chain; what it said elsewhere stands. Answers about other things than
 * its claim are left out.
 */
export async function withChainAnswers(
	program: Program,
	accused: Accused,
	hinted: readonly ChainAnswer[],
): Promise<Accused> {
	const answers = hinted.flatMap(({ question, answer }) => withoutHint(question, answer));
	const said = new Map(accused.said);
	const { audit } = accused;
	const hear = (question: JobQuestion, bytes: Uint8Array) => {
		if (!said.has(questionKey(question))) said.set(questionKey(question), bytes);
	};
	// A leaf's path is that of the nodes above it, so leaves come last.
	const later = answers.filter(({ question }) => question.kind === "leaf");
	for (const { question, answer } of answers) {
		if (question.kind === "leaf" || question.kind === "writer") {
			if (question.kind === "writer")
				for (const segment of question.phase === 0 ? [0] : segmentsOf(accused))
					hear({ kind: "writer", audit, page: 0, segment, tensor: question.tensor }, answer);
			continue;
		}
		for (const [asked, bytes] of heardOf(program, question, answer))
			hear({ ...asked, audit, page: 0 } as JobQuestion, bytes);
	}
	const known = knownOf(program, { ...accused, said });
	for (const { question, answer } of later) {
		if (question.kind !== "leaf") continue;
		try {
			const path = await (await known.outputTree(question)).path(question.index);
			const asked = { kind: "leaf", ...placeOf(question), of: null, leaf: question.index } as const;
			hear({ ...asked, audit, page: 0 }, concatBytes(answer, ...path));
		} catch {
			// Somebody asked for a leaf of a tree that is not known here: it will be asked for when its turn comes.
		}
	}
	return { ...accused, said };
}

/** The writer's word is about a phase: every segment but the first has the same. */
const segmentsOf = ({ claim: { first, segments } }: Accused): number[] =>
	Array.from({ length: segments }, (_, i) => first + i).filter((segment) => segment > 0);

type Unsaid = JobQuestion extends infer Q ? (Q extends unknown ? Omit<Q, "audit" | "page"> : never) : never;

function heardOf(program: Program, question: ChainQuestion, answer: Uint8Array): [Unsaid, Uint8Array][] {
	switch (question.kind) {
		case "trace": {
			const { segment, count } = question;
			const root = merkleLevels(cut(answer), keccakNode).at(-1)![0]!;
			const level = depthOf(count);
			const told: [Unsaid, Uint8Array] = [{ kind: "trace", segment }, root];
			return level === 0 ? [told] : [told, [{ kind: "nodes", segment, level, index: 0 }, answer]];
		}
		case "transcript": {
			const { element, turns: path } = question;
			return [[{ kind: "transcript", ...placeOf(question), element, path }, answer]];
		}
		case "nodes": {
			const { segment, height: level, index } = question;
			if (question.tree === "trace") return [[{ kind: "nodes", segment, level, index }, answer]];
			return question.tree === "segments" ? [] : [[{ kind: "tree", ...placeOf(question), level, index }, answer]];
		}
		case "op": {
			if (opAt(program, question) === undefined) return [];
			const roots = answer.slice(0, 32 * question.operands);
			const nodes = answer.slice(32 * question.operands);
			const output = merkleLevels(cut(nodes)).at(-1)![0]!;
			const level = depthOf(question.leaves);
			const told: [Unsaid, Uint8Array] = [{ kind: "op", ...placeOf(question) }, concatBytes(roots, output)];
			return level === 0 ? [told] : [told, [{ kind: "tree", ...placeOf(question), level, index: 0 }, nodes]];
		}
		case "roots":
			return [[{ kind: "roots", segment: question.segment }, answer]];
		default:
			return [];
	}
}

/** Whose claim is asked about on the chain. */
export interface ClaimedPart {
	readonly program: Program;
	readonly first: number;
	/** S_first … */
	readonly states: readonly Uint8Array[];
}

/**
 * A provider's answer on the chain, from its own answers off chain (`ask`, which keeps first words). Null:
 * the question is not one about this claim, so no silence convicts, and its deposit is won. Throws what `ask`
 * throws.
 */
export const chainAnswer = (part: ClaimedPart, ask: Ask, question: ChainQuestion): Promise<Uint8Array | null> =>
	answerWithHint(question, (plain) => plainAnswer(part, ask, plain));

async function plainAnswer(part: ClaimedPart, ask: Ask, question: ChainQuestion): Promise<Uint8Array | null> {
	const { program, first, states } = part;
	if (question.kind === "nodes" && question.tree === "segments") return segmentNodes(part, question);
	if (question.kind === "writer") return writerAnswer(program, question);
	const asked = askedOffChain(part, question);
	if (asked === null) return null;
	const said = (one: Unsaid): Promise<Uint8Array> | null => {
		const whole = { ...one, audit: null, page: 0 } as JobQuestion;
		const length = answerLength({ program, first, segments: states.length - 1 }, whole);
		return length === null ? null : ask(whole);
	};
	const bytes = await said(asked);
	if (bytes === null) return null;
	switch (question.kind) {
		case "trace": {
			const level = depthOf(question.count);
			return level === 0 ? bytes : said({ kind: "nodes", segment: question.segment, level, index: 0 });
		}
		case "transcript":
			return bytes.length === 8 * question.numbers ? bytes : null;
		case "nodes": {
			const hash = question.tree === "trace" ? keccakNode : nodeHash;
			return equalBytes(merkleLevels(cut(bytes), hash).at(-1)![0]!, question.node) ? bytes : null;
		}
		case "op": {
			const roots = cut(bytes);
			const { step, op } = question;
			const leaf = { step, op, inputs: roots.slice(0, -1), output: roots.at(-1)! };
			if (!equalBytes(traceLeafHash(leaf), question.hash)) return null;
			const level = depthOf(question.leaves);
			const nodes = level === 0 ? leaf.output : await said({ kind: "tree", ...placeOf(question), level, index: 0 });
			return nodes === null ? null : concatBytes(...leaf.inputs, nodes);
		}
		case "leaf": {
			const leaf = bytes.slice(0, LEAF_BYTES);
			return equalBytes(leafHash(leaf), question.hash) ? leaf : null;
		}
		case "roots":
			return bytes;
	}
}

/**
 * It follows from the program, whatever the part's segments are: silence about any of its tensors convicts.
 */
function writerAnswer(
	program: Program,
	{ phase, tensor }: Extract<ChainQuestion, { kind: "writer" }>,
): Uint8Array | null {
	if (phase > 1 || tensor >= program.tensors.length) return null;
	const found = writerOf(program, phase === 0 ? "init" : "step", tensor);
	return packed(found < 0 ? NO_WRITER : found, 4);
}

/** What the question asks for off chain; null: what it says of the program is not so. */
function askedOffChain(
	{ program, first, states }: ClaimedPart,
	question: Exclude<ChainQuestion, { kind: "writer" }>,
): Unsaid | null {
	const { segment } = question;
	switch (question.kind) {
		case "trace":
			return question.count === traceLeaves(program, segment) && question.count > 0 ? { kind: "trace", segment } : null;
		case "transcript":
			return { kind: "transcript", ...placeOf(question), element: question.element, path: question.turns };
		case "roots": {
			const { state, states: numbers, results } = question;
			const isSame = (all: readonly number[], kind: TensorKind) => `${all}` === `${numbersOf(program, kind)}`;
			const own = states[segment - first];
			const isOwn = own !== undefined && equalBytes(own, state);
			return isOwn && isSame(numbers, "state") && isSame(results, "result") ? { kind: "roots", segment } : null;
		}
		case "nodes": {
			const { height: level, index, count } = question;
			if (question.tree === "trace")
				return count === traceLeaves(program, segment) ? { kind: "nodes", segment, level, index } : null;
			const op = opAt(program, question);
			return op !== undefined && count === outputLeaves(op)
				? { kind: "tree", ...placeOf(question), level, index }
				: null;
		}
		case "op": {
			const op = opAt(program, question);
			const isSo = op !== undefined && question.operands === op.operands.length && question.leaves === outputLeaves(op);
			return isSo ? { kind: "op", ...placeOf(question) } : null;
		}
		case "leaf": {
			const op = opAt(program, question);
			if (op === undefined || question.count !== outputLeaves(op)) return null;
			return { kind: "leaf", ...placeOf(question), of: null, leaf: question.index };
		}
	}
}

/** Nodes of the list of states, which everyone who has the list can give. */
function segmentNodes(
	{ states }: ClaimedPart,
	{ height, index, count, node }: Extract<ChainQuestion, { kind: "nodes" }>,
): Uint8Array | null {
	const levels = merkleLevels(states, keccakNode);
	if (count !== states.length || height < 1 || height >= levels.length || nodesBelow(count, height, index) < 1)
		return null;
	if (!equalBytes(levels[height]![index]!, node)) return null;
	const down = Math.min(LEVELS, height);
	return concatBytes(...levels[height - down]!.slice(index * 2 ** down, (index + 1) * 2 ** down));
}

// A hint in a question on the chain, docs/chain.md §12: two bytes of each node as the asker has it itself.
// The answer goes on under the first node that is another one, so that one round goes down twice as far. A
// hint asks for more, never for less: whoever hints wrongly asks again. Bytes and places only.
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { type ChainQuestion, HINT_BYTES } from "../../protocol/network/chain-question.ts";
import { type Answers, depthOf, LEVELS, nodesBelow } from "./answers.ts";
import { cut } from "./questions.ts";

/** Those that ask for nodes of a tree. */
type ForNodes = Extract<ChainQuestion, { kind: "trace" | "nodes" | "op" }>;
type NodesQuestion = Extract<ChainQuestion, { kind: "nodes" }>;

const isForNodes = (question: ChainQuestion): question is ForNodes =>
	question.kind === "trace" || question.kind === "nodes" || question.kind === "op";

/** The node that the nodes lie under. */
function nodeOf(question: ForNodes): Omit<NodesQuestion, "kind" | "node" | "hint"> {
	if (question.kind === "nodes") return question;
	const { segment } = question;
	if (question.kind === "trace") {
		const { count } = question;
		return { tree: "trace", segment, step: 0, op: 0, height: depthOf(count), index: 0, count };
	}
	const { step, op, leaves: count } = question;
	return { tree: "output", segment, step, op, height: depthOf(count), index: 0, count };
}

/** The same without its hint. */
export function plainOf(question: ChainQuestion): ChainQuestion {
	if (!isForNodes(question) || question.hint === undefined) return question;
	const { hint: _, ...plain } = question;
	return plain;
}

/** What the hint asks for besides these nodes, the answer to the question without it. Null: nothing. */
function nextOf(question: ForNodes, hint: Uint8Array, nodes: readonly Uint8Array[]): ChainQuestion | null {
	const { tree, segment, step, op, height, index, count } = nodeOf(question);
	const [at] = hint as unknown as [number];
	const isOther = (node: Uint8Array, i: number) =>
		i === nodes.length - 1 || (node[at] ?? 0) !== hint[1 + 2 * i] || (node[at + 1] ?? 0) !== hint[2 + 2 * i];
	const which = nodes.findIndex(isOther);
	const down = Math.min(LEVELS, height);
	const place = { segment, step, op, index: index * 2 ** down + which, count };
	if (height > down) return { kind: "nodes", tree, ...place, height: height - down, node: nodes[which]! };
	return tree === "output" ? { kind: "leaf", ...place, hash: nodes[which]! } : null;
}

const rootsBefore = (question: ForNodes): number => (question.kind === "op" ? 32 * question.operands : 0);

/**
 * The answer to a question with or without a hint, from answers to those without. Null where one of those is.
 */
export async function answerWithHint(
	question: ChainQuestion,
	answer: (plain: ChainQuestion) => Promise<Uint8Array | null>,
): Promise<Uint8Array | null> {
	const first = await answer(plainOf(question));
	if (first === null || !isForNodes(question) || question.hint === undefined) return first;
	const next = nextOf(question, question.hint, cut(first.slice(rootsBefore(question))));
	const second = next === null ? new Uint8Array(0) : await answer(next);
	return second === null ? null : concatBytes(first, second);
}

/**
 * A question and its answer as those without a hint that they stand for. The chain has checked that it is
 * one.
 */
export function withoutHint(
	question: ChainQuestion,
	answer: Uint8Array,
): { question: ChainQuestion; answer: Uint8Array }[] {
	if (!isForNodes(question) || question.hint === undefined) return [{ question, answer }];
	const { height, index, count } = nodeOf(question);
	const size = rootsBefore(question) + 32 * nodesBelow(count, height, index);
	const first = answer.slice(0, size);
	const next = nextOf(question, question.hint, cut(first.slice(rootsBefore(question))));
	const told = { question: plainOf(question), answer: first };
	return next === null ? [told] : [told, { question: next, answer: answer.slice(size) }];
}

/**
 * The question with what the asker has itself, where an answer can go on. `at` is a place that the accused
 * could not know when it claimed: below 31. Throws what `own` throws.
 */
export async function withHint(question: ChainQuestion, own: Answers, at: number): Promise<ChainQuestion> {
	if (!isForNodes(question)) return question;
	const { tree, segment, step, op, height, index } = nodeOf(question);
	if (tree === "segments" || (tree === "trace" && height <= LEVELS)) return question;
	const hint = new Uint8Array(HINT_BYTES);
	hint[0] = at;
	if (height > 0) {
		const nodes =
			tree === "trace"
				? await own.traceNodes(segment, height, index)
				: await own.outputNodes({ segment, step, op }, height, index);
		for (const [i, node] of nodes.entries()) hint.set(node.subarray(at, at + 2), 1 + 2 * i);
	}
	return { ...question, hint };
}

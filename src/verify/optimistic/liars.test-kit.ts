// Whole runs in memory that answer every question about themselves, honestly or not, for tests of disputes:
// one wrong element in a chosen op and step, with or without what follows from it; wrong wiring, state, data,
// start, result; other words than the run's; silence at a chosen kind of question.
import { AssayError } from "../../protocol/assay-error.ts";
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import { keccakNode } from "../../protocol/hash/keccak-tree.ts";
import { leafHash, merkleLevels } from "../../protocol/hash/merkle.ts";
import { philoxKey } from "../../protocol/hash/philox.ts";
import type { JobQuestion } from "../../protocol/network/job-question.ts";
import type { Sample } from "../../work/builder/samples.test-kit.ts";
import type { Elements } from "../../work/operators/tensor-type.ts";
import type { CheckedProgram } from "../../work/program/check-program.ts";
import { programRoot } from "../../work/program/open-program.ts";
import { createMachine } from "../../work/program/run-program.ts";
import type { Op, Program, TensorKind } from "../../work/program/shapes.ts";
import {
	inputsHashOf,
	resultRootOf,
	segmentTree,
	stateHashOf,
	type TraceLeaf,
	traceLeafHash,
} from "../../work/trace/commitments.ts";
import { writerOf } from "../../work/trace/origins.ts";
import { leafCount, tensorRoot, tensorTree } from "../../work/trace/tensor-tree.ts";
import { createSpanTranscript, createTranscript } from "../../work/trace/transcript.ts";
import { type Answers, LEVELS, NO_WRITER, type OpPlace, phaseOf, type StateRoots } from "./answers.ts";
import type { JobAtHand } from "./search.ts";

/** What a liar does; what follows from it, it does rightly. */
export type Lie =
	/** One element of an op's output, and everything that it leads to. */
	| ({ readonly kind: "element"; readonly element: number } & OpPlace)
	/** The same, but nobody reads it: later ops go on from the right one. */
	| ({ readonly kind: "lone element"; readonly element: number } & OpPlace)
	/** A byte after the end of an op's output. */
	| ({ readonly kind: "filling" } & OpPlace)
	/** An op says that it read something else; the state after the segment is made up. */
	| ({ readonly kind: "wire"; readonly operand: number } & OpPlace)
	/** The state or result after a segment has another root, at this place among those of its kind. */
	| { readonly kind: "state"; readonly of: "state" | "result"; readonly segment: number; readonly at: number }
	/** It began with something else than zeros, or computes with other data than the job's. */
	| { readonly kind: "data"; readonly input: string }
	| { readonly kind: "result" };

interface Ran {
	readonly leaf: TraceLeaf;
	readonly inputs: readonly Elements[];
	/** As bytes, whole leaves. */
	readonly output: Uint8Array;
	readonly told: Elements;
}

export interface RunInMemory {
	readonly job: JobAtHand;
	readonly answers: Answers;
}

const OTHER = new Uint8Array(32).fill(0x5a);
const flip = (elements: Elements, at: number, op: Op): void => {
	const { lo, hi } = op.output;
	const now = BigInt(elements[at]!);
	const told = now < hi ? now + 1n : now > lo ? now - 1n : now;
	if (elements instanceof BigInt64Array) elements[at] = told;
	else elements[at] = Number(told);
};

/** Whether the lie can be told: an op whose output has one possible number leaves no other. */
const isSame = (a: Elements, b: Elements): boolean => a.every((one, i) => one === b[i]);

const filled = (elements: Elements): Uint8Array => {
	const tree = tensorTree(elements);
	const bytes = new Uint8Array(1024 * leafCount(elements.byteLength));
	for (let i = 0; 1024 * i < bytes.length; i++) bytes.set(tree.leaf(i), 1024 * i);
	return bytes;
};

const leavesOf = (bytes: Uint8Array): Uint8Array[] =>
	Array.from({ length: bytes.length / 1024 }, (_, i) => bytes.slice(1024 * i, 1024 * (i + 1)));

function wrongData({ given }: Sample, program: Program, lie: Lie | null): Sample["given"] {
	if (lie?.kind !== "data") return given;
	const elements = given[lie.input]!.slice();
	const { lo, hi } = program.tensors.find(({ name }) => name === lie.input)!;
	flip(elements, 0, { output: { lo, hi } } as Op);
	return { ...given, [lie.input]: elements };
}

/** Segments 0 … `segments` − 1. Null: the lie would be the truth. */
export function runInMemory(
	checked: CheckedProgram,
	given: Sample["given"],
	seed: Uint8Array,
	segments: number,
	lie: Lie | null = null,
): RunInMemory | null {
	const { program } = checked;
	const numbers = (kind: TensorKind) => program.tensors.flatMap((one, i) => (one.kind === kind ? [i] : []));
	const used = wrongData({ program, given }, program, lie);
	if (lie?.kind === "data" && isSame(used[lie.input]!, given[lie.input]!)) return null;
	const machine = createMachine(checked, seed, used);
	const ran: Ran[][] = [];
	const states: Uint8Array[] = [];
	const roots: StateRoots[] = [];
	let isTrue = lie !== null && lie.kind !== "result" && lie.kind !== "data" && lie.kind !== "state";
	const isAt = (place: OpPlace) =>
		lie !== null && "op" in lie && lie.segment === place.segment && lie.step === place.step && lie.op === place.op;
	const commit = () => {
		const of = (kind: TensorKind) => numbers(kind).map((i) => tensorRoot(machine.tensors[i]!));
		let said: StateRoots = { state: of("state"), results: of("result") };
		if (lie?.kind === "state" && lie.segment + 1 === machine.next) {
			const other = (all: readonly Uint8Array[]) => all.map((one, i) => (i === lie.at ? OTHER : one));
			said = lie.of === "state" ? { ...said, state: other(said.state) } : { ...said, results: other(said.results) };
		}
		roots.push(said);
		states.push(stateHashOf(program, machine.next, said.state, said.results));
	};
	commit();
	for (let segment = 0; segment < segments; segment++) {
		const all: Ran[] = [];
		machine.runSegment(({ step, number, op, inputs, output }) => {
			const place = { segment, step, op: number };
			let told = output;
			if (isAt(place) && (lie?.kind === "element" || lie?.kind === "lone element")) {
				if (lie.kind === "lone element") told = output.slice();
				const before = told.slice();
				flip(told, lie.element, op);
				isTrue = isSame(before, told);
			}
			const bytes = filled(told);
			if (isAt(place) && lie?.kind === "filling" && told.byteLength < bytes.length) {
				bytes[bytes.length - 1] = 1;
				isTrue = false;
			}
			const root = merkleLevels(leavesOf(bytes).map(leafHash)).at(-1)![0]!;
			let read = inputs.map((one) => tensorRoot(one));
			if (isAt(place) && lie?.kind === "wire" && lie.operand < read.length) {
				read = read.with(lie.operand, OTHER);
				isTrue = false;
			}
			all.push({ leaf: { step, op: number, inputs: read, output: root }, inputs: [...inputs], output: bytes, told });
		});
		ran.push(all);
		commit();
	}
	if (isTrue) return null;
	const inputRoots = numbers("input").map((i) => tensorRoot(given[program.tensors[i]!.name]!));
	const claim = {
		...{ chainId: 0n, escrow: new Uint8Array(20), job: 0n, part: 0, program: programRoot(program) },
		...{ inputs: inputsHashOf(program, seed, inputRoots), first: 0, segments, segmentRoot: segmentTree(states).root },
		resultRoot: lie?.kind === "result" ? OTHER : resultRootOf(program, roots.at(-1)!.results),
	};
	const job = { program, seed, inputRoots };
	return { job, answers: { claim, states, ...answering(job, ran, roots) } };
}

function answering(
	{ program, seed }: JobAtHand,
	ran: readonly (readonly Ran[])[],
	roots: readonly StateRoots[],
): Omit<Answers, "claim" | "states"> {
	const levels = ran.map((all) =>
		all.length === 0
			? [[new Uint8Array(32)]]
			: merkleLevels(
					all.map(({ leaf }) => traceLeafHash(leaf)),
					keccakNode,
				),
	);
	const opAt = ({ segment, step, op }: OpPlace) => ran[segment]![step * program[phaseOf(segment)].length + op]!;
	const below = (tree: readonly (readonly Uint8Array[])[], level: number, index: number) => {
		const down = Math.min(LEVELS, level);
		return tree[level - down]!.slice(index * 2 ** down, (index + 1) * 2 ** down);
	};
	const outputTree = (place: OpPlace) => merkleLevels(leavesOf(opAt(place).output).map(leafHash));
	return {
		stateRoots: async (segment) => roots[segment]!,
		traceRoot: async (segment) => levels[segment]!.at(-1)![0]!,
		traceNodes: async (segment, level, index) => below(levels[segment]!, level, index),
		traceLeaf: async (place) => opAt(place).leaf,
		outputNodes: async (place, level, index) => below(outputTree(place), level, index),
		leaf: async (place, of, leaf) => {
			const { inputs, output } = opAt(place);
			if (of !== "output") {
				const tree = tensorTree(inputs[of]!);
				return { bytes: tree.leaf(leaf), path: tree.path(leaf) };
			}
			const tree = outputTree(place);
			const path = tree.slice(0, -1).flatMap((level, up) => level[(leaf >> up) ^ 1] ?? []);
			return { bytes: leavesOf(output)[leaf]!, path };
		},
		/** Its output's own number comes first, whatever the op gives. */
		transcript: async (place, element, path) => {
			const { inputs, told } = opAt(place);
			const op = program[phaseOf(place.segment)][place.op]!;
			const moment = { segment: place.segment, step: place.step, k: program.k, key: philoxKey(seed) };
			if (op.operator === "map" && path.length > 0) return createSpanTranscript(op, element, moment, inputs, path);
			return createTranscript(op, element, moment, inputs).with(0, BigInt(told[element]!));
		},
		writer: async (segment, tensor) => {
			const found = writerOf(program, phaseOf(segment), tensor);
			return found < 0 ? NO_WRITER : found;
		},
	};
}

/** Says one number of every transcript otherwise, and of spans too: which, `at` tells. */
export const otherWords = (said: Answers, at: (length: number, depth: number) => number): Answers => ({
	...said,
	transcript: async (place, element, path) => {
		const words = [...(await said.transcript(place, element, path))];
		const which = at(words.length, path.length);
		// The first number is the output's own, which only "value" could contradict.
		if (which < words.length && !(which === 0 && path.length === 0)) words[which]! ^= 1n;
		return words;
	},
});

/** Knows no writer of what is written, and one of what is not. */
export const otherWriter = (said: Answers): Answers => ({
	...said,
	writer: async (segment, tensor) => ((await said.writer(segment, tensor)) === NO_WRITER ? 0 : NO_WRITER),
});

/** Answers nothing of one kind. */
export const silentAt =
	(kind: JobQuestion["kind"], ask: (question: JobQuestion) => Promise<Uint8Array>) =>
	async (question: JobQuestion): Promise<Uint8Array> => {
		if (question.kind === kind) throw new AssayError("NO_ANSWER", `no answer to ${kind}`, { hint: "" });
		return ask(question);
	};

/** Whether two runs made the same claim. */
export const isSameClaim = (a: Answers, b: Answers): boolean =>
	equalBytes(a.claim.segmentRoot, b.claim.segmentRoot) && equalBytes(a.claim.resultRoot, b.claim.resultRoot);

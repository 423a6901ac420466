// Answers of an accused who changed roots instead of elements, for tests: a false wire of every kind of
// source, a false state after the segment, a false start, another result. Each is consistent with its own
// claim, so that only the wire itself can give it away.
import { keccakNode } from "../../protocol/hash/keccak-tree.ts";
import { merkleLevels } from "../../protocol/hash/merkle.ts";
import { type Answers, LEVELS, type StateRoots } from "../../verify/optimistic/answers.ts";
import type { Source } from "../../work/program/shapes.ts";
import { segmentTree, stateHashOf, type TraceLeaf, traceLeafHash } from "../../work/trace/commitments.ts";
import type { OpenedRun } from "./open-run.ts";

const SEGMENT = 2;
const OTHER = new Uint8Array(32).fill(0x5a);

interface Forgery {
	readonly leaf?: (leaf: TraceLeaf) => TraceLeaf;
	/** Of the state after the segment. */
	readonly after?: (roots: StateRoots) => StateRoots;
	readonly start?: (roots: StateRoots) => StateRoots;
	readonly resultRoot?: Uint8Array;
}

async function forge(run: OpenedRun, own: Answers, { leaf, after, start, resultRoot }: Forgery): Promise<Answers> {
	const { program } = run;
	const leaves: TraceLeaf[] = [];
	for (let step = 0; step < program.k; step++)
		for (let op = 0; op < program.step.length; op++) {
			const honest = await own.traceLeaf({ segment: SEGMENT, step, op });
			leaves.push(leaf?.(honest) ?? honest);
		}
	const levels = merkleLevels(leaves.map(traceLeafHash), keccakNode);
	const states = [...run.states];
	const roots = new Map<number, StateRoots>();
	const put = async (segment: number, change?: (of: StateRoots) => StateRoots) => {
		const honest = await own.stateRoots(segment);
		const said = change?.(honest) ?? honest;
		roots.set(segment, said);
		states[segment] = stateHashOf(program, segment, said.state, said.results);
	};
	await put(0, start);
	// A false leaf needs a false end, or nobody would look.
	const falseEnd = (of: StateRoots): StateRoots => ({ ...of, state: of.state.with(0, OTHER) });
	if (start === undefined && resultRoot === undefined) await put(SEGMENT + 1, after ?? falseEnd);
	const claim = { ...run.claim, segmentRoot: segmentTree(states).root, resultRoot: resultRoot ?? run.claim.resultRoot };
	return {
		...own,
		...{ claim, states },
		stateRoots: async (segment) => roots.get(segment) ?? (await own.stateRoots(segment)),
		traceRoot: async () => levels.at(-1)![0]!,
		traceNodes: async (_, level, index) => {
			const down = Math.min(LEVELS, level);
			return levels[level - down]!.slice(index * 2 ** down, (index + 1) * 2 ** down);
		},
		traceLeaf: async ({ step, op }) => leaves[step * program.step.length + op]!,
	};
}

/** A trace in which these leaves are others. */
export const forgedTrace = (run: OpenedRun, own: Answers, leaf: (honest: TraceLeaf) => TraceLeaf): Promise<Answers> =>
	forge(run, own, { leaf });

/**
 * Each with what it does. The run has state, scratch, constants, inputs, and a state tensor that no step op
 * writes.
 */
export function forgedAnswers(run: OpenedRun, own: Answers): [what: string, answers: () => Promise<Answers>][] {
	const { program } = run;
	const made: [string, () => Promise<Answers>][] = [];
	const readers = program.step.flatMap((op, number) => op.operands.map((operand, at) => ({ number, at, ...operand })));
	for (const source of ["op", "constant", "input", "state", "scratch"] as const satisfies readonly Source[])
		for (const step of [0, 1])
			for (const { number, at, index } of readers.filter((one) => one.source === source)) {
				const leaf = (honest: TraceLeaf): TraceLeaf =>
					honest.step === step && honest.op === number ? { ...honest, inputs: honest.inputs.with(at, OTHER) } : honest;
				made.push([`step ${step}, op ${number} reads ${source} ${index}`, () => forge(run, own, { leaf })]);
			}
	const states = program.tensors.filter(({ kind }) => kind === "state");
	for (const [i, { name }] of states.entries())
		made.push([
			`${name} after the segment`,
			() => forge(run, own, { after: (of) => ({ ...of, state: of.state.with(i, OTHER) }) }),
		]);
	made.push([
		"a result after the segment",
		() => forge(run, own, { after: (of) => ({ ...of, results: of.results.with(0, OTHER) }) }),
	]);
	made.push([
		"a state before the first segment",
		() => forge(run, own, { start: (of) => ({ ...of, state: of.state.with(1, OTHER) }) }),
	]);
	made.push([
		"a result before the first segment",
		() => forge(run, own, { start: (of) => ({ ...of, results: of.results.with(0, OTHER) }) }),
	]);
	made.push(["another result", () => forge(run, own, { resultRoot: OTHER })]);
	return made;
}

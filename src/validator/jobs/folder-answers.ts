// What a run's folder says of the op that wrote a false tensor, docs/jobs.md §6. A folder has no trace: one's
// own engine makes it, and it is right, so by itself it shows only that the state after a segment is not what
// the ops gave. Where the folder holds that state, its tensors are what the run says those ops gave: then the
// search goes on to the leaf and the element.
import type { RunReplay } from "../../engine/client/replay-run.ts";
import { bytesToHex, equalBytes } from "../../protocol/bytes/bytes.ts";
import { keccakNode } from "../../protocol/hash/keccak-tree.ts";
import { leafHash, merkleLevels, merklePath } from "../../protocol/hash/merkle.ts";
import type { Answers, OpPlace } from "../../verify/optimistic/answers.ts";
import { LEVELS, phaseOf } from "../../verify/optimistic/answers.ts";
import { bytesOf, elementCount } from "../../work/operators/tensor-type.ts";
import { rootBytes } from "../../work/runs/journal.ts";
import { traceLeafHash } from "../../work/trace/commitments.ts";
import { endOrigin } from "../../work/trace/origins.ts";
import { leafCount } from "../../work/trace/tensor-tree.ts";
import { answersOf, type OpenedRun } from "./open-run.ts";

type Levels = readonly (readonly Uint8Array[])[];

/** A tensor as the folder has it. */
interface KeptTensor {
	readonly root: Uint8Array;
	readonly leaf: (number: number) => Uint8Array;
	readonly levels: Levels;
}

const nodesOf = (levels: Levels, level: number, index: number): readonly Uint8Array[] => {
	const down = Math.min(LEVELS, level);
	return levels[level - down]?.slice(index * 2 ** down, (index + 1) * 2 ** down) ?? [];
};

/** Null: not there, or not what its name says. */
async function keptTensor(run: OpenedRun, tensor: number, root: Uint8Array): Promise<KeptTensor | null> {
	const blob = await run.readBlob(bytesToHex(root));
	const { type, dims } = run.program.tensors[tensor]!;
	const count = leafCount(elementCount(dims) * bytesOf(type));
	if (blob === null) return null;
	const bytes = new Uint8Array(1024 * count);
	bytes.set(blob.subarray(0, elementCount(dims) * bytesOf(type)));
	const leaf = (number: number) => bytes.subarray(1024 * number, 1024 * (number + 1));
	const levels = merkleLevels(Array.from({ length: count }, (_, i) => leafHash(leaf(i))));
	return equalBytes(levels.at(-1)![0]!, root) ? { root, leaf, levels } : null;
}

/**
 * By place in the segment's trace: tensors of the state after it that are not what one's own engine gives.
 */
async function falseOutputs(run: OpenedRun, replay: RunReplay, segment: number): Promise<Map<number, KeptTensor>> {
	const { program } = run;
	const found = new Map<number, KeptTensor>();
	if (segment < 0 || !run.kept.includes(segment + 1)) return found;
	const line = run.journal.segments[segment]!;
	await replay.traceRoot(segment);
	const right = await replay.stateRoots(segment + 1);
	for (const [kind, said, computed] of [
		["state", rootBytes(line.state), right.state],
		["result", rootBytes(line.results), right.results],
	] as const) {
		const numbers = program.tensors.flatMap((tensor, i) => (tensor.kind === kind ? [i] : []));
		for (const [i, tensor] of numbers.entries()) {
			const origin = endOrigin(program, phaseOf(segment), tensor);
			if (origin.from !== "op" || equalBytes(said[i]!, computed[i]!)) continue;
			const kept = await keptTensor(run, tensor, said[i]!);
			if (kept !== null) found.set(origin.step * program[phaseOf(segment)].length + origin.op, kept);
		}
	}
	return found;
}

/**
 * Answers for a run from its folder: what it keeps of the state after the segment in question, and for the
 * rest an engine.
 */
export async function folderAnswers(run: OpenedRun, replay: RunReplay, segment: number): Promise<Answers> {
	const computed = answersOf(run, replay, "journal");
	const outputs = await falseOutputs(run, replay, segment);
	if (outputs.size === 0) return computed;
	const ops = run.program[phaseOf(segment)].length;
	const at = (place: OpPlace): KeptTensor | undefined =>
		place.segment === segment ? outputs.get(place.step * ops + place.op) : undefined;
	const leaves = (await replay.traceLeaves(segment)).map((leaf, i) => {
		const kept = outputs.get(i);
		return kept === undefined ? leaf : { ...leaf, output: kept.root };
	});
	const trace = merkleLevels(leaves.map(traceLeafHash), keccakNode);
	return {
		...computed,
		traceRoot: async (of) => (of === segment ? trace.at(-1)![0]! : computed.traceRoot(of)),
		traceNodes: async (of, level, index) =>
			of === segment ? nodesOf(trace, level, index) : computed.traceNodes(of, level, index),
		traceLeaf: async (place) => {
			const kept = at(place);
			const leaf = await computed.traceLeaf(place);
			return kept === undefined ? leaf : { ...leaf, output: kept.root };
		},
		outputNodes: async (place, level, index) => {
			const kept = at(place);
			return kept === undefined ? computed.outputNodes(place, level, index) : nodesOf(kept.levels, level, index);
		},
		leaf: async (place, of, leaf) => {
			const kept = of === "output" ? at(place) : undefined;
			if (kept === undefined) return computed.leaf(place, of, leaf);
			return { bytes: kept.leaf(leaf), path: merklePath(kept.levels, leaf) };
		},
	};
}

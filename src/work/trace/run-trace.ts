// Runs a segment and commits to all that lies in it: the trace of docs/work.md §7, and S_j between segments.
import { type KeccakTree, keccakTree } from "../../protocol/hash/keccak-tree.ts";
import type { Elements } from "../operators/tensor-type.ts";
import type { Machine } from "../program/run-program.ts";
import type { TensorKind } from "../program/shapes.ts";
import { inputsHash, rootsTree, stateHash, type TensorRoot, type TraceLeaf, traceLeafHash } from "./commitments.ts";
import { tensorRoot } from "./tensor-tree.ts";

export interface Trace {
	readonly leaves: readonly TraceLeaf[];
	readonly tree: KeccakTree;
}

/** Runs the machine's next segment. `see` gets what each op read and gave, beside its leaf. */
export function traceSegment(
	machine: Machine,
	see?: (leaf: TraceLeaf, inputs: readonly Elements[], output: Elements) => void,
): Trace {
	const leaves: TraceLeaf[] = [];
	// Elements are replaced, never changed, so one root an array is enough.
	const known = new Map<Elements, Uint8Array>();
	const root = (elements: Elements): Uint8Array => {
		const found = known.get(elements) ?? tensorRoot(elements);
		known.set(elements, found);
		return found;
	};
	machine.runSegment(({ step, number, inputs, output }) => {
		const leaf = { step, op: number, inputs: inputs.map(root), output: root(output) };
		leaves.push(leaf);
		see?.(leaf, inputs, output);
	});
	return { leaves, tree: keccakTree(leaves.map(traceLeafHash)) };
}

function rootsOf({ checked, tensors }: Machine, kind: TensorKind): TensorRoot[] {
	return checked.program.tensors.flatMap(({ kind: own }, tensor) =>
		own === kind ? [{ tensor, root: tensorRoot(tensors[tensor]!) }] : [],
	);
}

/** S_j for the machine's next segment j. */
export function machineState(machine: Machine): Uint8Array {
	return stateHash(machine.next, rootsOf(machine, "state"), rootsOf(machine, "result"));
}

export const machineResult = (machine: Machine): Uint8Array => rootsTree(rootsOf(machine, "result")).root;

export const machineInputs = (machine: Machine): Uint8Array => inputsHash(machine.seed, rootsOf(machine, "input"));

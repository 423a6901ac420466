// A segment of a run that was traced (docs/work.md §7): the roots of its state before it and of every op's
// output. From these every other root follows: what each op read, and the state after. Pure; whether the
// elements under the roots are right is spot-check.ts.
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import { leafHash, nodeHash } from "../../protocol/hash/merkle.ts";
import { bytesOf, type Elements, elementCount } from "../../work/operators/tensor-type.ts";
import type { Phase, Program, TensorKind } from "../../work/program/shapes.ts";
import { stateHash, type TensorRoot } from "../../work/trace/commitments.ts";
import { endOrigin, type Origin, operandOrigins } from "../../work/trace/origins.ts";
import { LEAF_BYTES, leafCount } from "../../work/trace/tensor-tree.ts";

export interface TracedSegment {
	readonly program: Program;
	readonly segment: number;
	/** Of constants and inputs, by tensor number: their roots, and what they hold where that is known. */
	readonly given: ReadonlyMap<number, Uint8Array>;
	readonly known?: ReadonlyMap<number, Elements>;
	/** Roots of the state tensors, then of the result tensors, before the segment; in the program's order. */
	readonly before: readonly Uint8Array[];
	/** Roots of the outputs: step · ops + op. */
	readonly outputs: readonly Uint8Array[];
}

export const phaseOf = (segment: number): Phase => (segment === 0 ? "init" : "step");

/** Tensor numbers of the roots that S_j commits to. */
export function committedTensors({ tensors }: Program): number[] {
	const of = (kind: TensorKind) => tensors.flatMap((tensor, i) => (tensor.kind === kind ? [i] : []));
	return [...of("state"), ...of("result")];
}

/** How many output roots a segment's trace has. */
export function tracedOutputs(program: Program, segment: number): number {
	return segment === 0 ? program.init.length : program.k * program.step.length;
}

/**
 * All nodes of a level are alike but the last, which may have fewer leaves below it: two hashes a level,
 * however large the tensor.
 */
function rootOfZeros(bytes: number): Uint8Array {
	let inner = leafHash(new Uint8Array(LEAF_BYTES));
	let last = inner;
	for (let width = leafCount(bytes); width > 1; width = Math.ceil(width / 2)) {
		if (width % 2 === 0) last = nodeHash(inner, last);
		inner = nodeHash(inner, inner);
	}
	return last;
}

/** Roots of state and result tensors before segment 0. */
export function rootsOfZeros(program: Program): Uint8Array[] {
	return committedTensors(program).map((tensor) => rootOfZeroTensor(program, tensor));
}

function rootOfZeroTensor({ tensors }: Program, tensor: number): Uint8Array {
	const { dims, type } = tensors[tensor]!;
	return rootOfZeros(elementCount(dims) * bytesOf(type));
}

function rootAt(traced: TracedSegment, origin: Origin): Uint8Array {
	const { program, segment, given, before, outputs } = traced;
	if (origin.from === "op") return outputs[origin.step * program[phaseOf(segment)].length + origin.op]!;
	if (origin.from === "given") return given.get(origin.tensor)!;
	if (origin.from === "state") return before[committedTensors(program).indexOf(origin.tensor)]!;
	return rootOfZeroTensor(program, origin.tensor);
}

/** Roots of what an op read. */
export function operandRoots(traced: TracedSegment, step: number, op: number): Uint8Array[] {
	return operandOrigins(traced.program, phaseOf(traced.segment), step, op).map((origin) => rootAt(traced, origin));
}

/** S_j and S_{j+1} as the traced roots give them. */
function tracedStates(traced: TracedSegment): readonly [Uint8Array, Uint8Array] {
	const { program, segment, before } = traced;
	const tensors = committedTensors(program);
	const after = tensors.map((tensor) => rootAt(traced, endOrigin(program, phaseOf(segment), tensor)));
	return [stateOf(program, segment, before), stateOf(program, segment + 1, after)];
}

/** S_j from the roots of the state tensors, then of the result tensors. */
export function stateOf(program: Program, segment: number, roots: readonly Uint8Array[]): Uint8Array {
	const named = committedTensors(program).map((tensor, i) => ({ tensor, root: roots[i]! }));
	const isState = ({ tensor }: TensorRoot) => program.tensors[tensor]!.kind === "state";
	return stateHash(
		segment,
		named.filter(isState),
		named.filter((one) => !isState(one)),
	);
}

/** Both ends of the trace are what the run committed to; else which is not. */
export function falseEnd(
	traced: TracedSegment,
	committed: readonly [Uint8Array, Uint8Array],
): "before" | "after" | null {
	const [before, after] = tracedStates(traced);
	if (!equalBytes(before, committed[0])) return "before";
	return equalBytes(after, committed[1]) ? null : "after";
}

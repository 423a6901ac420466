// Wires, docs/work.md §7: the root that an operand, or a state after the segment, must have. The judge finds
// from the op's leaf where it must come from, and accepts no other place.
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import { bytesOf, elementCount, type TensorType } from "../../../work/operators/tensor-type.ts";
import type { Op, Program, Source } from "../../../work/program/shapes.ts";
import { zeroRoot } from "../../../work/trace/tensor-tree.ts";
import type { FaultShown, OriginShown } from "./fraud-file.ts";
import type { Shown } from "./fraud-parts.ts";
import { Unproven } from "./fraud-verdict.ts";

/** A root that was said, and the one it must be; both as hex. */
export interface Wire {
	readonly said: string;
	readonly right: string;
	readonly tensor: number | null;
	readonly shows: string;
}

const misplaced = (detail: string): Unproven => new Unproven("FRAUD_PLACE", "fault.origin", detail);

/** No op of the segment's phase writes the tensor. */
function mustHaveNoWriter(shown: Shown, program: Program, tensor: number): void {
	if (program[shown.phase].some(({ target }) => target === tensor)) throw misplaced("an op writes this tensor");
}

/** The tensor's root before the segment: its leaf in S_j, or zeros for scratch. */
function beforeSegment(shown: Shown, origin: OriginShown, source: Source, tensor: number, bytes: number): Uint8Array {
	if (source === "state") {
		if (origin.from !== "state" || origin.root.tensor !== tensor) throw misplaced("must be the state's root in S_j");
		shown.state(origin.state, shown.body.segment, "fault.origin.state");
		return shown.root(origin.root, origin.state.states, "FRAUD_STATE", "fault.origin.root");
	}
	if (origin.from !== "zero") throw misplaced("must be zeros");
	return zeroRoot(bytes);
}

const isWhole = (origin: OriginShown): boolean => "whole" in origin && origin.whole;

function rightRoot(
	shown: Shown,
	op: Op,
	number: number,
	step: number,
	operand: number,
	origin: OriginShown,
): Uint8Array {
	const { source, index, type, dims } = op.operands[operand]!;
	if (source === "op") {
		if (origin.from !== "op" || origin.writer !== null || origin.leaf.step !== step || origin.leaf.op !== index)
			throw misplaced(`must be op ${index} of the same step`);
		if (index >= number) throw misplaced("an op reads only what came before it");
		return shown.trace(origin.leaf, "fault.origin.leaf").output;
	}
	if (source === "constant") {
		if (origin.from !== "constant") throw misplaced("must be a constant");
		const { root } = shown.tensor(index, origin.path, "fault.origin");
		if (root === null) throw misplaced("the tensor is no constant");
		return root;
	}
	if (source === "input") {
		if (origin.from !== "input" || origin.root.tensor !== index) throw misplaced("must be the job's input");
		return shown.input(origin.seed, origin.root, "fault.origin");
	}
	if (step > 0 && origin.from === "op") {
		const { writer, leaf } = origin;
		if (writer === null || leaf.step !== step - 1 || leaf.op !== writer.number)
			throw misplaced("must be the writer in the step before");
		if (shown.op(writer, "fault.origin.writer").target !== index) throw misplaced("that op does not write this tensor");
		return shown.trace(leaf, "fault.origin.leaf").output;
	}
	if (isWhole(origin) !== step > 0) throw misplaced("the program is attached after step 0 only");
	if (step > 0) mustHaveNoWriter(shown, shown.wholeProgram(), index);
	return beforeSegment(shown, origin, source, index, elementCount(dims) * bytesOf(type));
}

export function judgeWire(shown: Shown, fault: Extract<FaultShown, { kind: "wire" }>): Wire & { readonly op: Op } {
	const op = shown.op(fault.op, "fault.op");
	const { step, op: number } = fault.leaf;
	if (number !== fault.op.number) throw new Unproven("FRAUD_PLACE", "fault.leaf.op", "another op");
	const { inputs } = shown.trace(fault.leaf, "fault.leaf");
	const said = inputs[fault.operand];
	if (said === undefined || inputs.length !== op.operands.length)
		throw new Unproven("FRAUD_PLACE", "fault.operand", "there is no such operand");
	const right = rightRoot(shown, op, number, step, fault.operand, fault.origin);
	const { source, index } = op.operands[fault.operand]!;
	const tensor = source === "op" ? null : index;
	return { said: bytesToHex(said), right: bytesToHex(right), tensor, shows: fault.origin.from, op };
}

/** A tensor's root in S_{j+1}. */
export function judgeEnd(shown: Shown, { of, state, root, origin }: Extract<FaultShown, { kind: "end" }>): Wire {
	const { segment } = shown.body;
	shown.state(state, segment + 1, "fault.state");
	const said = shown.root(root, of === "state" ? state.states : state.results, "FRAUD_STATE", "fault.root");
	const { tensor } = root;
	const wire = (right: Uint8Array): Wire => ({
		...{ said: bytesToHex(said), right: bytesToHex(right), tensor, shows: origin.from },
	});
	if (origin.from === "op") {
		const { writer, leaf } = origin;
		if (writer === null || leaf.op !== writer.number || leaf.step !== shown.steps - 1)
			throw misplaced("must be the writer in the last step");
		if (shown.op(writer, "fault.origin.writer").target !== tensor)
			throw misplaced("that op does not write this tensor");
		return wire(shown.trace(leaf, "fault.origin.leaf").output);
	}
	if (origin.from !== "state" || !origin.whole || origin.root.tensor !== tensor)
		throw misplaced("must be the writer in the last step, or the state before where there is none");
	mustHaveNoWriter(shown, shown.wholeProgram(), tensor);
	shown.state(origin.state, segment, "fault.origin.state");
	const tree = of === "state" ? origin.state.states : origin.state.results;
	return wire(shown.root(origin.root, tree, "FRAUD_STATE", "fault.origin.root"));
}

/** A tensor that is not zero in S_0. */
export function judgeStart(shown: Shown, fault: Extract<FaultShown, { kind: "start" }>): Wire {
	const { of, state, root, path } = fault;
	if (shown.body.segment !== 0) throw new Unproven("FRAUD_PLACE", "segment", "a run starts with segment 0");
	shown.state(state, 0, "fault.state");
	const said = shown.root(root, of === "state" ? state.states : state.results, "FRAUD_STATE", "fault.root");
	const { type, dims } = shown.tensor(root.tensor, path, "fault");
	const right = zeroRoot(elementCount(dims) * bytesOf(type as TensorType));
	return { said: bytesToHex(said), right: bytesToHex(right), tensor: root.tensor, shows: "zero" };
}

/** The claimed result is not that of the last state. */
export function judgeResult(shown: Shown, { state }: Extract<FaultShown, { kind: "result" }>): Wire {
	const { first, segments } = shown.claim;
	if (shown.body.segment !== first + segments - 1)
		throw new Unproven("FRAUD_PLACE", "segment", "must be the claim's last");
	shown.state(state, first + segments, "fault.state");
	const { resultRoot } = shown.body.claim;
	return { said: resultRoot, right: state.results, tensor: null, shows: "state" };
}

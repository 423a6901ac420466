// Some elements of a traced segment computed again from leaves that whoever ran it shows. One generator for
// both sides: it says which leaves it needs next and is given what came; a probe drives it with an engine, a
// verifier with the leaves in a file. What it needs follows from the drawn places and from leaves that were
// found right, so nothing in a file can choose it.
import { bytesToHex, equalBytes } from "../../protocol/bytes/bytes.ts";
import { type PhiloxKey, philoxKey } from "../../protocol/hash/philox.ts";
import {
	bytesOf,
	elementCount,
	elementsToBytes,
	readElement,
	type TensorType,
} from "../../work/operators/tensor-type.ts";
import type { Op } from "../../work/program/shapes.ts";
import { findElement, type LeafPlace } from "../../work/trace/element.ts";
import type { ShownLeaf } from "../../work/trace/judge.ts";
import { LEAF_BYTES, leafOf, rootOfLeaf } from "../../work/trace/tensor-tree.ts";
import { operandRoots, phaseOf, type TracedSegment } from "./traced-segment.ts";

/** An op of the segment and elements of its output. */
export interface DrawnOp {
	readonly step: number;
	readonly op: number;
	readonly elements: readonly number[];
}

interface PlaceAsked {
	/** Number of the operand. */
	readonly of: number | "output";
	readonly leaf: number;
}

export interface LeavesAsked {
	readonly step: number;
	readonly op: number;
	readonly places: readonly PlaceAsked[];
}

export interface SpotFault {
	readonly kind: "leaf" | "root" | "element";
	/** Which of the leaves shown so far, counted over the whole check, is the last one seen. */
	readonly shown: number;
	readonly detail: string;
}

/** A tensor under its root: the leaves of it that were found right. */
interface Held {
	readonly type: TensorType;
	readonly bytes: number;
	readonly root: Uint8Array;
	readonly leaves: Map<number, Uint8Array>;
	/** All of it, where that is known without being shown. */
	readonly whole: Uint8Array | null;
}

export type SpotCheck = Generator<LeavesAsked, SpotFault | null, readonly ShownLeaf[]>;

export function* spotCheck(traced: TracedSegment, seed: Uint8Array, drawn: readonly DrawnOp[]): SpotCheck {
	const state = { shown: 0, key: philoxKey(seed), tensors: createTensors(traced) };
	for (const one of drawn) {
		const found = yield* checkOp(traced, one, state);
		if (found !== null) return found;
	}
	return null;
}

type Tensors = ReturnType<typeof createTensors>;

/** One for each root and size, so that a leaf is shown once, whichever ops read it. */
function createTensors({ program, given, known = new Map() }: TracedSegment) {
	const tensors = new Map<string, Held>();
	const nameOf = (root: Uint8Array, bytes: number) => `${bytesToHex(root)} ${bytes}`;
	for (const [tensor, elements] of known) {
		const { type } = program.tensors[tensor]!;
		const root = given.get(tensor)!;
		const whole = elementsToBytes(elements);
		tensors.set(nameOf(root, whole.length), { type, bytes: whole.length, root, leaves: new Map(), whole });
	}
	return ({ type, dims }: { type: TensorType; dims: readonly number[] }, root: Uint8Array): Held => {
		const bytes = elementCount(dims) * bytesOf(type);
		const found = tensors.get(nameOf(root, bytes)) ?? { type, bytes, root, leaves: new Map(), whole: null };
		tensors.set(nameOf(root, bytes), found);
		return found;
	};
}

function leafIn({ leaves, whole }: Held, leaf: number): Uint8Array | null {
	if (whole === null) return leaves.get(leaf) ?? null;
	const filled = new Uint8Array(LEAF_BYTES);
	filled.set(whole.subarray(leaf * LEAF_BYTES, (leaf + 1) * LEAF_BYTES));
	return filled;
}

function* checkOp(
	traced: TracedSegment,
	{ step, op: number, elements }: DrawnOp,
	state: { shown: number; readonly key: PhiloxKey; readonly tensors: Tensors },
): SpotCheck {
	const { program, segment, outputs } = traced;
	const ops = program[phaseOf(segment)];
	const op = ops[number]!;
	const moment = { segment, step, k: program.k, key: state.key };
	const roots = operandRoots(traced, step, number);
	const read = op.operands.map((operand, i) => state.tensors(operand, roots[i]!));
	const output = state.tensors(op.output, outputs[step * ops.length + number]!);
	for (const element of elements) {
		const { leaf, at } = leafOf(element, op.output.type);
		let wanted: PlaceAsked[] = leafIn(output, leaf) === null ? [{ of: "output", leaf }] : [];
		for (;;) {
			const found = findElement(op, element, moment, (operand, place) => leafIn(read[operand]!, place));
			wanted.push(...found.missing.map(asPlace));
			if (wanted.length === 0) {
				const said = readElement(leafIn(output, leaf)!, op.output.type, at);
				if (found.value === said) break;
				return { kind: "element", shown: state.shown, detail: wrongElement(op, element, said, found.value) };
			}
			const shown = yield { step, op: number, places: wanted };
			for (const [i, place] of wanted.entries()) {
				const fault = takeLeaf(place.of === "output" ? output : read[place.of]!, place, shown[i], state.shown);
				if (fault !== null) return fault;
				state.shown += 1;
			}
			wanted = [];
		}
	}
	return null;
}

const asPlace = ({ operand, leaf }: LeafPlace): PlaceAsked => ({ of: operand, leaf });

const wrongElement = ({ operator }: Op, element: number, said: bigint, right: bigint | null): string =>
	`element ${element} of a ${operator} is ${said}; its operands give ${right ?? "nothing"}`;

/** Only leaves that lead to the tensor's root are kept. */
function takeLeaf(held: Held, { leaf }: PlaceAsked, shown: ShownLeaf | undefined, count: number): SpotFault | null {
	const wrong = (kind: SpotFault["kind"], detail: string): SpotFault => ({ kind, shown: count, detail });
	if (shown === undefined) return wrong("leaf", `leaf ${leaf} is missing`);
	const root = rootOfLeaf(shown.bytes, leaf, held.bytes, shown.path);
	if (root === null) return wrong("leaf", `leaf ${leaf} or its path has another size than it must`);
	if (!equalBytes(root, held.root)) return wrong("root", `leaf ${leaf} does not lead to its root`);
	held.leaves.set(leaf, shown.bytes);
	return null;
}

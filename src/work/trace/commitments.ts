// What a run commits to, docs/work.md §7: state hashes, inputs, claim, trace leaves. Integers are big-endian,
// as contracts pack them.
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { type KeccakTree, keccak, keccakLeaf, keccakNode, keccakTree } from "../../protocol/hash/keccak-tree.ts";
import { rootFromPath } from "../../protocol/hash/merkle.ts";
import { bytesOf, elementCount } from "../operators/tensor-type.ts";
import type { ProgramShape, TensorKind } from "../program/shapes.ts";
import { zeroRoot } from "./tensor-tree.ts";

const STATE = Uint8Array.of(4);
const INPUTS = Uint8Array.of(5);
const CLAIM = Uint8Array.of(6);

/** `size` bytes, big-endian. */
function be(value: number | bigint, size: number): Uint8Array {
	let rest = BigInt(value);
	const bytes = new Uint8Array(size);
	for (let at = size - 1; at >= 0; at--, rest >>= 8n) bytes[at] = Number(rest & 0xffn);
	if (rest !== 0n) throw new RangeError(`${value} has more than ${size} bytes`);
	return bytes;
}

/**
 * A tensor's number in the program and its root. The number is hashed with it: a judge of one leaf knows
 * whose it is without knowing which tensors come before.
 */
export interface TensorRoot {
	readonly tensor: number;
	readonly root: Uint8Array;
}

const tensorRootHash = ({ tensor, root }: TensorRoot): Uint8Array => keccakLeaf(concatBytes(be(tensor, 2), root));

/** Over the roots of tensors, in the program's order. */
export const rootsTree = (roots: readonly TensorRoot[]): KeccakTree => keccakTree(roots.map(tensorRootHash));

/** The root of such a tree that one of its leaves leads to; null when the path is of another length. */
export const treeFromRoot = (
	of: TensorRoot,
	{ index, count, path }: { readonly index: number; readonly count: number; readonly path: readonly Uint8Array[] },
): Uint8Array | null => rootFromPath(tensorRootHash(of), index, count, path, keccakNode);

/** Roots of all tensors of a kind, in the program's order, with their numbers. */
export function numbered({ tensors }: ProgramShape, kind: TensorKind, roots: readonly Uint8Array[]): TensorRoot[] {
	const numbers = tensors.flatMap((tensor, i) => (tensor.kind === kind ? [i] : []));
	if (numbers.length !== roots.length) throw new RangeError(`${roots.length} roots of ${numbers.length} tensors`);
	return numbers.map((tensor, i) => ({ tensor, root: roots[i]! }));
}

/** S_j: what state and result tensors hold before segment j. */
export function stateHash(segment: number, state: readonly TensorRoot[], results: readonly TensorRoot[]): Uint8Array {
	return stateHashFrom(segment, rootsTree(state).root, rootsTree(results).root);
}

/** From the roots of both trees. */
export const stateHashFrom = (segment: number, stateTree: Uint8Array, resultTree: Uint8Array): Uint8Array =>
	keccak(STATE, be(segment, 8), stateTree, resultTree);

/** S_j from the roots of all state and all result tensors, in the program's order. */
export function stateHashOf(
	program: ProgramShape,
	segment: number,
	stateRoots: readonly Uint8Array[],
	resultRoots: readonly Uint8Array[],
): Uint8Array {
	return stateHash(segment, numbered(program, "state", stateRoots), numbered(program, "result", resultRoots));
}

/** S_0: everything is zero. */
export function firstState(program: ProgramShape): Uint8Array {
	const zeros = (kind: TensorKind) =>
		program.tensors
			.filter((tensor) => tensor.kind === kind)
			.map(({ type, dims }) => zeroRoot(elementCount(dims) * bytesOf(type)));
	return stateHashOf(program, 0, zeros("state"), zeros("result"));
}

/** From the roots of all inputs, in the program's order. */
export const inputsHashOf = (program: ProgramShape, seed: Uint8Array, roots: readonly Uint8Array[]): Uint8Array =>
	inputsHash(seed, numbered(program, "input", roots));

/** The result root of a claim, from the roots of all results, in the program's order. */
export const resultRootOf = (program: ProgramShape, roots: readonly Uint8Array[]): Uint8Array =>
	rootsTree(numbered(program, "result", roots)).root;

export function inputsHash(seed: Uint8Array, inputs: readonly TensorRoot[]): Uint8Array {
	return inputsHashFrom(seed, rootsTree(inputs).root);
}

/** From the root of the inputs' tree. */
export const inputsHashFrom = (seed: Uint8Array, inputTree: Uint8Array): Uint8Array => keccak(INPUTS, seed, inputTree);

/** The state hashes are the leaf hashes: their first byte keeps them apart from nodes. */
export const segmentTree = (stateHashes: readonly Uint8Array[]): KeccakTree => keccakTree(stateHashes);

export interface JobClaim {
	readonly chainId: bigint;
	/** 20 bytes. */
	readonly escrow: Uint8Array;
	readonly job: bigint;
	readonly part: number;
	readonly program: Uint8Array;
	readonly inputs: Uint8Array;
	/** The part's first segment, and how many it has. */
	readonly first: number;
	readonly segments: number;
	readonly segmentRoot: Uint8Array;
	readonly resultRoot: Uint8Array;
}

export function claimHash(claim: JobClaim): Uint8Array {
	const { chainId, escrow, job, part, program, inputs, first, segments, segmentRoot, resultRoot } = claim;
	const where = [be(chainId, 32), escrow, be(job, 32), be(part, 4)];
	return keccak(CLAIM, ...where, program, inputs, be(first, 8), be(segments, 8), segmentRoot, resultRoot);
}

export interface TraceLeaf {
	readonly step: number;
	readonly op: number;
	readonly inputs: readonly Uint8Array[];
	readonly output: Uint8Array;
}

export function traceLeafHash({ step, op, inputs, output }: TraceLeaf): Uint8Array {
	return keccakLeaf(concatBytes(be(step, 4), be(op, 4), ...inputs, output));
}

// From hostile bytes to a program that may run, and its root: the one door for whoever runs, shows or judges
// programs.
import { keccak, keccakLeaf, keccakTree } from "../../protocol/hash/keccak-tree.ts";
import { type CheckedProgram, checkSteps } from "./check-program.ts";
import { decodeSteps } from "./decode.ts";
import { drained } from "./drained.ts";
import { encodeHead, encodeLeaves, encodeProgram } from "./encode.ts";
import type { Checked } from "./fault.ts";
import type { Program } from "./shapes.ts";

const ROOT = Uint8Array.of(3);

/** keccak(3 ‖ head ‖ tree over the tensors' leaves ‖ tree over the ops' leaves). */
export function programRoot(program: Program): Uint8Array {
	const { tensors, ops } = encodeLeaves(program);
	return programRootOf(
		encodeHead(program),
		keccakTree(tensors.map(keccakLeaf)).root,
		keccakTree(ops.map(keccakLeaf)).root,
	);
}

/** From the head and the roots of both trees. */
export const programRootOf = (head: Uint8Array, tensorTree: Uint8Array, opTree: Uint8Array): Uint8Array =>
	keccak(ROOT, head, tensorTree, opTree);

export const openProgram = (bytes: Uint8Array): Checked<CheckedProgram> => drained(openProgramSteps(bytes));

/** As openProgram, a few ops at a time: for a thread that has others to serve. */
export function* openProgramSteps(bytes: Uint8Array): Generator<void, Checked<CheckedProgram>> {
	const decoded = yield* decodeSteps(bytes);
	return decoded.ok ? yield* checkSteps(decoded.value) : decoded;
}

/** A program of our own making goes the same way, so that nothing passes which its bytes would not. */
export function sealProgram(program: Program): Checked<CheckedProgram> {
	return openProgram(encodeProgram(program));
}

// The tree of a blob in pieces, docs/jobs.md §12, by the portable hash: leaves of 1 KiB, pieces of 1 MiB,
// whose roots are nodes of the whole tree. For browsers, and for names of small bodies; programs on Node hash
// ten times as fast (src/platform/blob-tree.ts).
import { leafHash, merkleRoot } from "./merkle.ts";

const LEAF_BYTES = 1024;
export const PIECE_BYTES = 1 << 20;
export const pieceCount = (size: number): number => Math.max(1, Math.ceil(size / PIECE_BYTES));
/** Of piece `at` of a blob of so many bytes. */
export const pieceBytes = (size: number, at: number): number => Math.min(PIECE_BYTES, size - at * PIECE_BYTES);

/** The root of one piece: also of a whole blob that is not longer. */
export function pieceRootOf(bytes: Uint8Array): Uint8Array {
	const leaves = Array.from({ length: Math.max(1, Math.ceil(bytes.length / LEAF_BYTES)) }, (_, i) => {
		const held = bytes.subarray(LEAF_BYTES * i, LEAF_BYTES * (i + 1));
		if (held.length === LEAF_BYTES) return leafHash(held);
		const leaf = new Uint8Array(LEAF_BYTES);
		leaf.set(held);
		return leafHash(leaf);
	});
	return merkleRoot(leaves);
}

/** The blob's root, from those of its pieces. */
export const foldRoots = (roots: readonly Uint8Array[]): Uint8Array => merkleRoot(roots);

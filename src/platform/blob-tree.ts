// The tree of a blob in pieces, docs/jobs.md §12: the tagged SHA-256 tree of docs/hardware-proof.md §1 over
// leaves of 1 KiB. A piece of 1 MiB is 2^10 leaves, so its root is a node of the whole tree: each piece is
// checked as it comes, and their roots fold to the blob's. By OpenSSL, which is ten times as fast as the pure
// floors' hash, and in slices, so that others are served in between: 8 ms a MiB on a core without SHA
// instructions.
import { hash } from "node:crypto";
import { inSlices } from "./in-slices.ts";

export { PIECE_BYTES, pieceBytes, pieceCount } from "../protocol/hash/blob-tree.ts";

const LEAF_BYTES = 1024;
/** Leaves or nodes hashed at a stretch: half a millisecond or so, ten times what a turn of the loop costs. */
const SLICE = 64;
const HASH_BYTES = 32;
/** A tagged hash begins with its tag's hash, twice. */
const TAG_BYTES = 2 * HASH_BYTES;

/**
 * What is hashed: the tag, then room for so many bytes. Filled and hashed in one stretch, never kept over an
 * await.
 */
function tagged(tag: string, bytes: number): Buffer {
	const digest = hash("sha256", tag, "buffer");
	return Buffer.concat([digest, digest, Buffer.alloc(bytes)]);
}
const LEAF = tagged("assay/leaf/1", LEAF_BYTES);
const NODE = tagged("assay/node/1", 2 * HASH_BYTES);

/** Puts hash `at` into `level`. */
function put(level: Buffer, at: number, hashed: Buffer): void {
	// As text: a buffer for each hash costs a third more.
	level.write(hash("sha256", hashed, "binary"), at * HASH_BYTES, "binary");
}

/**
 * Halves the level in place: nodes of pairs; what is left over goes up as it is. Gives how many there are
 * now.
 */
function* foldLevel(level: Buffer, count: number): Generator<void, number> {
	for (let i = 0; 2 * i + 1 < count; i++) {
		level.copy(NODE, TAG_BYTES, 2 * i * HASH_BYTES, (2 * i + 2) * HASH_BYTES);
		put(level, i, NODE);
		if (i % SLICE === SLICE - 1) yield;
	}
	if (count % 2 === 1) level.copyWithin(((count - 1) / 2) * HASH_BYTES, (count - 1) * HASH_BYTES, count * HASH_BYTES);
	return Math.ceil(count / 2);
}

/** Yields now and then, so that whoever goes through it may let others in. */
function* foldAll(level: Buffer, count: number): Generator<void, Uint8Array> {
	let left = count;
	while (left > 1) {
		left = yield* foldLevel(level, left);
		if (left > SLICE) yield;
	}
	return new Uint8Array(level.subarray(0, HASH_BYTES));
}

function* treeRoot(bytes: Uint8Array): Generator<void, Uint8Array> {
	const leaves = Math.max(1, Math.ceil(bytes.length / LEAF_BYTES));
	const level = Buffer.allocUnsafe(leaves * HASH_BYTES);
	for (let at = 0; at < leaves; at++) {
		const part = bytes.subarray(at * LEAF_BYTES, (at + 1) * LEAF_BYTES);
		LEAF.set(part, TAG_BYTES);
		if (part.length < LEAF_BYTES) LEAF.fill(0, TAG_BYTES + part.length);
		put(level, at, LEAF);
		if (at % SLICE === SLICE - 1) yield;
	}
	return yield* foldAll(level, leaves);
}

/** The root of one piece: also of a whole blob that is not longer. */
export const pieceRoot = (bytes: Uint8Array): Promise<Uint8Array> => inSlices(treeRoot(bytes));

/** The blob's root, from those of its pieces. */
export function foldPieces(roots: readonly Uint8Array[]): Uint8Array {
	const steps = foldAll(Buffer.concat(roots), roots.length);
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
	}
}

/** The same in slices, for lists that strangers send: 32,768 roots take 90 ms. */
export const foldInSlices = (roots: readonly Uint8Array[]): Promise<Uint8Array> =>
	inSlices(foldAll(Buffer.concat(roots), roots.length));

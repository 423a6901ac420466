// The tree of a blob in pieces, docs/jobs.md §12: the tagged SHA-256 tree of docs/hardware-proof.md §1 over leaves of 1 KiB. A piece of 1 MiB is
// 2^10 leaves, so its root is a node of the whole tree: each piece is checked as it comes, and their roots fold to the blob's. By OpenSSL, which is ten
// times as fast as the pure floors' hash, and in slices, so that others are served in between.
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";

const LEAF_BYTES = 1024;
export const PIECE_BYTES = 1 << 20;
/** Leaves hashed at a stretch: a millisecond or so. */
const SLICE = 512;

function midstate(tag: string) {
	const digest = createHash("sha256").update(tag).digest();
	return createHash("sha256").update(digest).update(digest);
}
const LEAF = midstate("assay/leaf/1");
const NODE = midstate("assay/node/1");

const node = (left: Uint8Array, right: Uint8Array): Uint8Array => NODE.copy().update(left).update(right).digest();

export const pieceCount = (size: number): number => Math.max(1, Math.ceil(size / PIECE_BYTES));
/** Of piece `at` of a blob of so many bytes. */
export const pieceBytes = (size: number, at: number): number => Math.min(PIECE_BYTES, size - at * PIECE_BYTES);

function leafAt(bytes: Uint8Array, at: number): Uint8Array {
	const part = bytes.subarray(at * LEAF_BYTES, (at + 1) * LEAF_BYTES);
	if (part.length === LEAF_BYTES) return LEAF.copy().update(part).digest();
	const filled = new Uint8Array(LEAF_BYTES);
	filled.set(part);
	return LEAF.copy().update(filled).digest();
}

/** The root of one piece: also of a whole blob that is not longer. */
export async function pieceRoot(bytes: Uint8Array): Promise<Uint8Array> {
	let level: Uint8Array[] = [];
	const leaves = Math.max(1, Math.ceil(bytes.length / LEAF_BYTES));
	for (let at = 0; at < leaves; at++) {
		level.push(leafAt(bytes, at));
		if (at % SLICE === SLICE - 1) await setImmediate();
	}
	for (; level.length > 1; ) {
		const next: Uint8Array[] = [];
		for (let i = 0; i < level.length; i += 2)
			next.push(i + 1 < level.length ? node(level[i]!, level[i + 1]!) : level[i]!);
		level = next;
		await setImmediate();
	}
	return level[0]!;
}

/** The blob's root, from those of its pieces. */
export function foldPieces(roots: readonly Uint8Array[]): Uint8Array {
	let level = [...roots];
	while (level.length > 1)
		level = Array.from({ length: Math.ceil(level.length / 2) }, (_, i) =>
			2 * i + 1 < level.length ? node(level[2 * i]!, level[2 * i + 1]!) : level[2 * i]!,
		);
	return level[0]!;
}

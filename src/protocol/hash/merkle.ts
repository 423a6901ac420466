// Merkle trees by tagged SHA-256, docs/hardware-proof.md §1: leaf and node tags differ, so neither passes for
// the other; a last node without a neighbour is promoted unchanged, so nothing is ever hashed with itself. A
// path's length is a function of (index, count): any other length is refused before a hash is computed. Trees
// of the same shape with other hashes (keccak-tree.ts) pass in how two nodes are hashed.
import { tagged } from "./tagged-hash.ts";

export function leafHash(leaf: Uint8Array): Uint8Array {
	return tagged("assay/leaf/1", leaf);
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
	return tagged("assay/node/1", left, right);
}

/** Number of siblings on the way from leaf `index` to the root of a tree of `count` leaves. */
export function pathLength(index: number, count: number): number {
	let length = 0;
	let at = index;
	for (let width = count; width > 1; width = Math.ceil(width / 2)) {
		const promoted = at === width - 1 && width % 2 === 1;
		if (!promoted) length += 1;
		at = Math.floor(at / 2);
	}
	return length;
}

/**
 * The root that this leaf hash and path lead to, or null when the index or the path's length is impossible.
 */
export function rootFromPath(
	hash: Uint8Array,
	index: number,
	count: number,
	path: readonly Uint8Array[],
	node = nodeHash,
): Uint8Array | null {
	if (!(Number.isSafeInteger(index) && index >= 0 && index < count) || path.length !== pathLength(index, count))
		return null;
	let found = hash;
	let at = index;
	let used = 0;
	for (let width = count; width > 1; width = Math.ceil(width / 2)) {
		const promoted = at === width - 1 && width % 2 === 1;
		if (!promoted) {
			const sibling = path[used++]!;
			found = at % 2 === 0 ? node(found, sibling) : node(sibling, found);
		}
		at = Math.floor(at / 2);
	}
	return found;
}

/**
 * Some levels up from a leaf: the node there, and its neighbour; null: it has none. The path is one of the
 * tree.
 */
export function climb(
	hash: Uint8Array,
	index: number,
	count: number,
	path: readonly Uint8Array[],
	levels: number,
): { readonly node: Uint8Array; readonly beside: Uint8Array | null } {
	let [node, at, width, used] = [hash, index, count, 0];
	for (let level = 0; ; level++) {
		const beside = at === width - 1 && width % 2 === 1 ? null : path[used++]!;
		if (level === levels) return { node, beside };
		if (beside !== null) node = at % 2 === 0 ? nodeHash(node, beside) : nodeHash(beside, node);
		at = Math.floor(at / 2);
		width = Math.ceil(width / 2);
	}
}

/** All levels, leaf hashes first. A verifier never needs a whole tree. */
export function merkleLevels(leafHashes: readonly Uint8Array[], node = nodeHash): readonly (readonly Uint8Array[])[] {
	if (leafHashes.length === 0) throw new RangeError("a tree has at least one leaf");
	const levels: (readonly Uint8Array[])[] = [leafHashes];
	for (let level = leafHashes; level.length > 1; level = levels.at(-1)!) {
		const next: Uint8Array[] = [];
		for (let i = 0; i < level.length; i += 2) {
			const right = level[i + 1];
			next.push(right === undefined ? level[i]! : node(level[i]!, right));
		}
		levels.push(next);
	}
	return levels;
}

export function merkleRoot(leafHashes: readonly Uint8Array[]): Uint8Array {
	return merkleLevels(leafHashes).at(-1)![0]!;
}

export function merklePath(levels: readonly (readonly Uint8Array[])[], index: number): Uint8Array[] {
	const path: Uint8Array[] = [];
	let at = index;
	for (const level of levels.slice(0, -1)) {
		const sibling = level[at ^ 1];
		if (sibling !== undefined) path.push(sibling);
		at >>>= 1;
	}
	return path;
}

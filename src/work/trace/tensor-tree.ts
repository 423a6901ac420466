// A tensor's root, docs/work.md §1: the tagged SHA-256 tree of docs/hardware-proof.md §1 over 1 KiB leaves,
// the last one filled with zeros.
import { leafHash, merkleLevels, merklePath, nodeHash, rootFromPath } from "../../protocol/hash/merkle.ts";
import { bytesOf, type Elements, elementsToBytes, type TensorType } from "../operators/tensor-type.ts";

export const LEAF_BYTES = 1024;

export interface TensorTree {
	readonly root: Uint8Array;
	leaf(index: number): Uint8Array;
	path(index: number): Uint8Array[];
}

export const leafCount = (byteLength: number): number => Math.ceil(byteLength / LEAF_BYTES);

/** Which leaf holds an element, and its place there. */
export function leafOf(element: number, type: TensorType): { readonly leaf: number; readonly at: number } {
	const perLeaf = LEAF_BYTES / bytesOf(type);
	return { leaf: Math.floor(element / perLeaf), at: element % perLeaf };
}

export function tensorTree(elements: Elements): TensorTree {
	const bytes = elementsToBytes(elements);
	const leaf = (index: number): Uint8Array => {
		const filled = new Uint8Array(LEAF_BYTES);
		filled.set(bytes.subarray(index * LEAF_BYTES, (index + 1) * LEAF_BYTES));
		return filled;
	};
	const levels = merkleLevels(Array.from({ length: leafCount(bytes.length) }, (_, i) => leafHash(leaf(i))));
	return { root: levels.at(-1)![0]!, leaf, path: (index) => merklePath(levels, index) };
}

export const tensorRoot = (elements: Elements): Uint8Array => tensorTree(elements).root;

/** Of so many zero bytes, without going through them: all nodes of a level but the last are equal. */
export function zeroRoot(byteLength: number): Uint8Array {
	let each = leafHash(new Uint8Array(LEAF_BYTES));
	let last = each;
	for (let width = leafCount(byteLength); width > 1; width = Math.ceil(width / 2)) {
		if (width % 2 === 0) last = nodeHash(each, last);
		each = nodeHash(each, each);
	}
	return last;
}

/** The root that a shown leaf leads to, or null when leaf or path have another size than they must. */
export function rootOfLeaf(
	leaf: Uint8Array,
	index: number,
	byteLength: number,
	path: readonly Uint8Array[],
): Uint8Array | null {
	if (leaf.length !== LEAF_BYTES || path.some((node) => node.length !== 32)) return null;
	return rootFromPath(leafHash(leaf), index, leafCount(byteLength), path);
}

// Merkle trees by keccak256, as the contracts hash them (contracts/src/trees/KeccakTree.sol, docs/chain.md): the shape of merkle.ts, other hashes.
// leaf = keccak(0x00 ‖ packed fields), node = keccak(0x01 ‖ left ‖ right); a last node without a neighbour is promoted unchanged.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { concatBytes } from "../bytes/bytes.ts";
import { merklePath, pathLength } from "./merkle.ts";

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

export const keccak = (...parts: readonly Uint8Array[]): Uint8Array => keccak_256(concatBytes(...parts));

export const keccakLeaf = (packed: Uint8Array): Uint8Array => keccak(LEAF, packed);

export const keccakNode = (left: Uint8Array, right: Uint8Array): Uint8Array => keccak(NODE, left, right);

export interface KeccakTree {
	readonly count: number;
	/** 32 zero bytes for a tree without leaves. */
	readonly root: Uint8Array;
	path(index: number): Uint8Array[];
}

export function keccakTree(leafHashes: readonly Uint8Array[]): KeccakTree {
	const levels: (readonly Uint8Array[])[] = [leafHashes];
	for (let level = leafHashes; level.length > 1; level = levels.at(-1)!) {
		const next: Uint8Array[] = [];
		for (let i = 0; i < level.length; i += 2) {
			const right = level[i + 1];
			next.push(right === undefined ? level[i]! : keccakNode(level[i]!, right));
		}
		levels.push(next);
	}
	return {
		count: leafHashes.length,
		root: levels.at(-1)![0] ?? new Uint8Array(32),
		path(index) {
			if (!(Number.isSafeInteger(index) && index >= 0 && index < leafHashes.length))
				throw new RangeError(`a tree of ${leafHashes.length} leaves has no leaf ${index}`);
			return merklePath(levels, index);
		},
	};
}

/** The root that this leaf hash and path lead to, or null when the index or the path's length is impossible. */
export function keccakRootFromPath(
	hash: Uint8Array,
	index: number,
	count: number,
	path: readonly Uint8Array[],
): Uint8Array | null {
	if (!(Number.isSafeInteger(index) && index >= 0 && index < count) || path.length !== pathLength(index, count))
		return null;
	let node = hash;
	let at = index;
	let used = 0;
	for (let width = count; width > 1; width = Math.ceil(width / 2)) {
		if (!(at === width - 1 && width % 2 === 1)) {
			const sibling = path[used++]!;
			node = at % 2 === 0 ? keccakNode(node, sibling) : keccakNode(sibling, node);
		}
		at = Math.floor(at / 2);
	}
	return node;
}

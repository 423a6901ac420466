// Merkle trees by keccak256, as the contracts hash them (contracts/src/trees/KeccakTree.sol, docs/chain.md):
// the shape of merkle.ts, other hashes. leaf = keccak(0x00 ‖ packed fields), node = keccak(0x01 ‖ left ‖
// right); a last node without a neighbour is promoted unchanged.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { concatBytes } from "../bytes/bytes.ts";
import { merkleLevels, merklePath } from "./merkle.ts";

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
	const levels = leafHashes.length === 0 ? [leafHashes] : merkleLevels(leafHashes, keccakNode);
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

/**
 * The root of a tree whose leaves come one by one, with no more kept than its height. Equal to keccakTree's.
 */
export class GrowingTree {
	/** Perfect subtrees of descending size, by their height. */
	private readonly peaks: { readonly height: number; readonly hash: Uint8Array }[] = [];

	add(leafHash: Uint8Array): void {
		let [height, hash] = [0, leafHash];
		while (this.peaks.at(-1)?.height === height) {
			hash = keccakNode(this.peaks.pop()!.hash, hash);
			height += 1;
		}
		this.peaks.push({ height, hash });
	}

	/** 32 zero bytes before the first leaf. */
	get root(): Uint8Array {
		const [last, ...others] = this.peaks.toReversed().map(({ hash }) => hash);
		return last === undefined ? new Uint8Array(32) : others.reduce((right, left) => keccakNode(left, right), last);
	}
}

// Lists sorted by provider under a Merkle root: who has which place, and what to open to show a provider's leaf or that it has none. docs/chain.md.
// Providers are 0x and 40 lower-case hex digits, so that their order as text is that of the numbers.
import type { Opening } from "../../protocol/chain/epoch-shapes.ts";
import { toHex } from "../../protocol/chain/hex.ts";
import { type KeccakTree, keccakTree } from "../../protocol/hash/keccak-tree.ts";

export interface SortedTree<Leaf> {
	readonly leaves: readonly Leaf[];
	/** Of the tree alone, without any count. */
	readonly root: Uint8Array;
	open(index: number): Opening<Leaf>;
	/** Its leaf; or the two it would lie between (one at either end, none in an empty tree). */
	openProvider(provider: string): readonly Opening<Leaf>[];
	indexOf(provider: string): number | null;
}

/** As given, in order or not: hostile lists are looked at too. `isSortedByProvider` says which they are. */
export function createSortedTree<Leaf extends { readonly provider: string }>(
	leaves: readonly Leaf[],
	hash: (leaf: Leaf) => Uint8Array,
): SortedTree<Leaf> {
	const tree: KeccakTree = keccakTree(leaves.map(hash));
	const open = (index: number): Opening<Leaf> => ({ index, leaf: leaves[index]!, path: tree.path(index).map(toHex) });
	/** How many leaves lie before where this provider is or would be. */
	const place = (provider: string): number => {
		let [low, high] = [0, leaves.length];
		while (low < high) {
			const middle = (low + high) >> 1;
			if (leaves[middle]!.provider < provider) low = middle + 1;
			else high = middle;
		}
		return low;
	};
	return {
		leaves,
		root: tree.root,
		open,
		indexOf(provider) {
			const at = place(provider);
			return leaves[at]?.provider === provider ? at : null;
		},
		openProvider(provider) {
			const at = place(provider);
			if (leaves[at]?.provider === provider) return [open(at)];
			return [at - 1, at].filter((index) => index >= 0 && index < leaves.length).map(open);
		},
	};
}

export function isSortedByProvider(leaves: readonly { readonly provider: string }[]): boolean {
	return leaves.every(({ provider }, i) => i === 0 || leaves[i - 1]!.provider < provider);
}

export const byProvider = (a: { readonly provider: string }, b: { readonly provider: string }): number =>
	a.provider < b.provider ? -1 : a.provider > b.provider ? 1 : 0;

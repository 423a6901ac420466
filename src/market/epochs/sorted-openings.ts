// Lists sorted by account under a Merkle root: who has which place, and what to open to show an account's
// leaf or that it has none. docs/epochs.md. Accounts are 0x and 40 lower-case hex digits, so that their order
// as text is that of the numbers.
import type { Opening } from "../../protocol/chain/epoch-shapes.ts";
import { toHex } from "../../protocol/chain/hex.ts";
import { type KeccakTree, keccakTree } from "../../protocol/hash/keccak-tree.ts";

export interface SortedTree<Leaf> {
	readonly leaves: readonly Leaf[];
	/** Of the tree alone, without any count. */
	readonly root: Uint8Array;
	open(index: number): Opening<Leaf>;
	/** Its leaf; or the two it would lie between (one at either end, none in an empty tree). */
	openAccount(account: string): readonly Opening<Leaf>[];
	indexOf(account: string): number | null;
}

/** As given, in order or not: hostile lists are looked at too. `isSorted` says which they are. */
export function createSortedTree<Leaf>(
	leaves: readonly Leaf[],
	accountOf: (leaf: Leaf) => string,
	hash: (leaf: Leaf) => Uint8Array,
): SortedTree<Leaf> {
	const tree: KeccakTree = keccakTree(leaves.map(hash));
	const open = (index: number): Opening<Leaf> => ({ index, leaf: leaves[index]!, path: tree.path(index).map(toHex) });
	const isAt = (index: number, account: string) => index < leaves.length && accountOf(leaves[index]!) === account;
	/** How many leaves lie before where this account is or would be. */
	const place = (account: string): number => {
		let [low, high] = [0, leaves.length];
		while (low < high) {
			const middle = (low + high) >> 1;
			if (accountOf(leaves[middle]!) < account) low = middle + 1;
			else high = middle;
		}
		return low;
	};
	return {
		leaves,
		root: tree.root,
		open,
		indexOf(account) {
			const at = place(account);
			return isAt(at, account) ? at : null;
		},
		openAccount(account) {
			const at = place(account);
			if (isAt(at, account)) return [open(at)];
			return [at - 1, at].filter((index) => index >= 0 && index < leaves.length).map(open);
		},
	};
}

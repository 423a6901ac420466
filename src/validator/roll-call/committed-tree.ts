// The tree of all answers that came in time, as it is committed to: hosts in the order of their keys, devices
// in that of their claims. Pure.
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { type KeccakTree, keccakTree } from "../../protocol/hash/keccak-tree.ts";
import type { RollCallBody } from "../../protocol/roll-call/roll-file.ts";
import type { JudgedReply } from "./judge-reply.ts";

export interface TreeEntry extends JudgedReply {
	readonly providerId: string;
	/** Place of its first leaf. */
	readonly first: number;
}

export interface CommittedTree {
	readonly tree: KeccakTree;
	readonly entries: readonly TreeEntry[];
	readonly byProvider: ReadonlyMap<string, TreeEntry>;
	/** Of the answer of this host's i-th device, as its file states it. */
	proofOf(entry: TreeEntry, i: number): RollCallBody["tree"];
}

export function committedTree(judged: readonly (JudgedReply & { readonly providerId: string })[]): CommittedTree {
	const sorted = judged.toSorted((a, b) => (a.providerId < b.providerId ? -1 : 1));
	let first = 0;
	const entries = sorted.map((one) => {
		const entry = { ...one, first };
		first += one.leaves.length;
		return entry;
	});
	const tree = keccakTree(sorted.flatMap(({ leaves }) => leaves));
	const root = bytesToHex(tree.root);
	return {
		tree,
		entries,
		byProvider: new Map(entries.map((entry) => [entry.providerId, entry])),
		proofOf: ({ first: from }, i) => ({
			...{ index: from + i, count: tree.count, root },
			path: tree.path(from + i).map(bytesToHex),
		}),
	};
}

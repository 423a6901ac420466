// An honest `chase` in plain TypeScript and at toy sizes, docs/hardware-proof.md §13: every label, and where
// each hop went.
import {
	chaseFeed,
	foldLabel,
	hopFrom,
	hopTarget,
	INTERVAL_HOPS,
	labelOf,
	statesOf,
} from "../../src/protocol/hash/chase.ts";
import { leafHash, merkleLevels } from "../../src/protocol/hash/merkle.ts";
import { mixKeys } from "../../src/protocol/hash/mix.ts";
import type { Tree } from "./toy-maths.ts";

export interface ToyChase {
	/** Its leaves are the labels. */
	readonly tree: Tree;
	/** visited[interval][chain]: the covered leaf of each hop. */
	readonly visited: readonly (readonly (readonly number[])[])[];
}

export function chaseOf(leaves: readonly Uint8Array[], nonce: Uint8Array, intervals: number): ToyChase {
	const keys = mixKeys(nonce);
	const labels: Uint8Array[] = [];
	const visited: number[][][] = [];
	let lefts: Uint8Array[] = [];
	let starts = statesOf(chaseFeed(nonce, 0, []));
	for (let r = 0; r < intervals; r++) {
		const fed = statesOf(chaseFeed(nonce, r, lefts));
		const hops: number[][] = [];
		const ends = starts.map((start) => {
			let state = start;
			const at: number[] = [];
			for (let hop = 0; hop < INTERVAL_HOPS; hop++) {
				at.push(hopTarget(state, leaves.length));
				state = hopFrom(state, keys, leaves[at.at(-1)!]!);
			}
			hops.push(at);
			return state;
		});
		labels.push(labelOf(ends));
		visited.push(hops);
		lefts = foldLabel(lefts, r, labels.at(-1)!);
		starts = ends.map((end, chain) => end ^ fed[chain]!);
	}
	const levels = merkleLevels(labels.map((label) => leafHash(label)));
	return { tree: { leaves: labels, levels, root: levels.at(-1)![0]! }, visited };
}

// A tree that grows leaf by leaf has the root of one that was built at once, at every size; and a round's
// path leads to it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { roundLeaf, roundTree } from "../chain/probe-receipt.ts";
import { nextSeed } from "../probe/challenge-seed.ts";
import { GrowingTree, keccakLeaf, keccakNode, keccakTree } from "./keccak-tree.ts";
import { rootFromPath } from "./merkle.ts";

const bytes = (n: number) => new Uint8Array(32).fill(n);

test("a growing tree is the tree of the leaves so far", () => {
	const growing = new GrowingTree();
	const leaves: Uint8Array[] = [];
	assert.deepEqual(growing.root, keccakTree([]).root);
	for (let n = 0; n < 130; n++) {
		const leaf = keccakLeaf(Uint8Array.of(n));
		leaves.push(leaf);
		growing.add(leaf);
		assert.deepEqual(growing.root, keccakTree(leaves).root, `${n + 1} leaves`);
	}
	assert.notDeepEqual(growing.root, keccakTree(leaves.toReversed()).root);
});

test("the tree of a challenge's rounds: each seed follows from the round before, each round has a path", () => {
	const roots = [1, 2, 3, 4, 5].map(bytes);
	const tree = roundTree(bytes(9), roots);
	let seed: Uint8Array = bytes(9);
	for (const [round, root] of roots.entries()) {
		const found = rootFromPath(roundLeaf(seed, root), round, roots.length, tree.path(round), keccakNode);
		assert.deepEqual(found, tree.root);
		assert.notDeepEqual(rootFromPath(roundLeaf(seed, bytes(7)), round, 5, tree.path(round), keccakNode), tree.root);
		seed = nextSeed(seed, root);
	}
	// Another order, another first seed, one round less: another tree.
	for (const other of [
		roundTree(bytes(9), roots.toReversed()),
		roundTree(bytes(8), roots),
		roundTree(bytes(9), roots.slice(1)),
	])
		assert.notDeepEqual(other.root, tree.root);
});

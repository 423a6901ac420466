// Hops, folds and whole chases, against vectors/.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex } from "../bytes/bytes.ts";
import { fromHex, vectorLeaf, vectorRows } from "../vectors.test-kit.ts";
import { chaseFeed, foldLabel, hopFrom, hopTarget, labelOf, leftSiblings, statesOf } from "./chase.ts";
import { leafHash, merkleLevels, merklePath } from "./merkle.ts";
import { mixKeys } from "./mix.ts";

interface Hop {
	nonce: string;
	seed: string;
	leaf: number;
	state: string;
	leaves: number;
	target: number;
	next: string;
}

test("hops are those of the vectors, and every part of them counts", () => {
	for (const row of vectorRows<Hop>("hop")) {
		const state = BigInt(`0x${row.state}`);
		const next = BigInt(`0x${row.next}`);
		const leaf = vectorLeaf(fromHex(row.seed), row.leaf);
		const keys = mixKeys(fromHex(row.nonce));
		assert.equal(hopTarget(state, row.leaves), row.target);
		assert.equal(hopFrom(state, keys, leaf), next);
		for (const bit of [0n, 31n, 32n, 63n]) assert.notEqual(hopFrom(state ^ (1n << bit), keys, leaf), next);
		for (const byte of [0, 511, 1023]) {
			const changed = leaf.slice();
			changed[byte]! ^= 1;
			assert.notEqual(hopFrom(state, keys, changed), next);
		}
	}
	assert.equal(hopTarget(2n ** 64n - 1n, 128), 127, "the last state goes to the last leaf");
});

interface Chase {
	nonce: string;
	intervals: number;
	root: string;
	labels: string;
}

const labelsOf = (row: Chase) =>
	Array.from({ length: row.intervals }, (_, i) => fromHex(row.labels.slice(64 * i, 64 * (i + 1))));

test("labels fold into the root of the vectors; at each of them the fold is the left part of its path", () => {
	for (const row of vectorRows<Chase>("chase")) {
		const labels = labelsOf(row);
		const levels = merkleLevels(labels.map((label) => leafHash(label)));
		let lefts: Uint8Array[] = [];
		for (const [r, label] of labels.entries()) {
			assert.deepEqual(lefts, leftSiblings(r, merklePath(levels, r)), `before label ${r}`);
			assert.deepEqual(labelOf(statesOf(label)), label);
			lefts = foldLabel(lefts, r, label);
		}
		assert.deepEqual(lefts.map(bytesToHex), [row.root]);
	}
});

test("F binds the nonce, the interval and every left sibling", () => {
	const row = vectorRows<Chase>("chase").at(-1)!;
	const nonce = fromHex(row.nonce);
	const levels = merkleLevels(labelsOf(row).map((label) => leafHash(label)));
	const lefts = leftSiblings(7, merklePath(levels, 7));
	assert.equal(lefts.length, 3);
	const fed = bytesToHex(chaseFeed(nonce, 7, lefts));
	const others = [
		chaseFeed(lefts[0]!, 7, lefts),
		chaseFeed(nonce, 6, lefts),
		...lefts.map((_, i) => chaseFeed(nonce, 7, lefts.toSpliced(i, 1, nonce))),
		chaseFeed(nonce, 7, lefts.slice(1)),
		chaseFeed(nonce, 7, lefts.toReversed()),
	];
	for (const other of others) assert.notEqual(bytesToHex(other), fed);
});

// The digest of a leaf under a nonce, against vectors/.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex } from "../bytes/bytes.ts";
import { fromHex, vectorLeaf, vectorRows } from "../vectors.test-kit.ts";
import { mixKeys, mixLeaf } from "./mix.ts";

const rows = vectorRows<{ nonce: string; seed: string; leaf: number; keptLeaf: number; digest: string }>("mix");

test("digests are those of the vectors", () => {
	for (const row of rows) {
		const leaf = vectorLeaf(fromHex(row.seed), row.leaf);
		assert.equal(bytesToHex(mixLeaf(mixKeys(fromHex(row.nonce)), leaf, row.keptLeaf)), row.digest);
	}
});

test("any changed bit of the leaf, its place or the nonce changes the digest", () => {
	const { nonce, seed, leaf: number, keptLeaf, digest } = rows[0]!;
	const leaf = vectorLeaf(fromHex(seed), number);
	for (let bit = 0; bit < 8192; bit += 37) {
		const changed = leaf.slice();
		changed[bit >> 3]! ^= 1 << (bit & 7);
		assert.notEqual(bytesToHex(mixLeaf(mixKeys(fromHex(nonce)), changed, keptLeaf)), digest, `bit ${bit}`);
	}
	assert.notEqual(bytesToHex(mixLeaf(mixKeys(fromHex(nonce)), leaf, keptLeaf + 1)), digest);
	for (let byte = 0; byte < 16; byte++) {
		const changed = fromHex(nonce);
		changed[byte]! ^= 1;
		assert.notEqual(bytesToHex(mixLeaf(mixKeys(changed), leaf, keptLeaf)), digest, `nonce byte ${byte}`);
	}
});

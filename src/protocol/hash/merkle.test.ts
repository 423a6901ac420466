// Trees of odd and even sizes against vectors/; wrong lengths, sides and kinds of node do not reach the root.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex } from "../bytes/bytes.ts";
import { fromHex, vectorLeaf, vectorRows } from "../vectors.test-kit.ts";
import { leafHash, merkleLevels, merklePath, merkleRoot, nodeHash, pathLength, rootFromPath } from "./merkle.ts";
import { type Tag, tagged } from "./tagged-hash.ts";

const rows = vectorRows<{ count: number; seed: string; index: number; root: string; path: string }>("sha-tree");
const nodesOf = (path: string) => (path.match(/.{64}/g) ?? []).map(fromHex);

test("tagged hashes are those of the vectors, in one part or in many", () => {
	for (const { tag, input, hash } of vectorRows<{ tag: Tag; input: string; hash: string }>("tagged-hash")) {
		const bytes = fromHex(input);
		assert.equal(bytesToHex(tagged(tag, bytes)), hash);
		assert.equal(bytesToHex(tagged(tag, bytes.subarray(0, 3), bytes.subarray(3))), hash);
	}
});

test("roots and paths are those of the vectors", () => {
	for (const { count, seed, index, root, path } of rows) {
		const hashes = Array.from({ length: count }, (_, i) => leafHash(vectorLeaf(fromHex(seed), i)));
		assert.equal(bytesToHex(merkleRoot(hashes)), root);
		assert.deepEqual(merklePath(merkleLevels(hashes), index), nodesOf(path));
		assert.equal(pathLength(index, count), path.length / 64);
		assert.equal(bytesToHex(rootFromPath(hashes[index]!, index, count, nodesOf(path))!), root);
	}
});

test("a path of any other length, index or leaf does not reach the root", () => {
	for (const { count, seed, index, root, path } of rows) {
		const hash = leafHash(vectorLeaf(fromHex(seed), index));
		const nodes = nodesOf(path);
		assert.equal(rootFromPath(hash, index, count, [...nodes, hash]), null);
		if (nodes.length > 0) assert.equal(rootFromPath(hash, index, count, nodes.slice(1)), null);
		for (const wrong of [-1, count, 0.5, Number.NaN]) assert.equal(rootFromPath(hash, wrong, count, nodes), null);
		const other = rootFromPath(leafHash(new Uint8Array(1024)), index, count, nodes);
		assert.notEqual(bytesToHex(other!), root);
	}
});

test("a node does not pass for a leaf", () => {
	const [left, right] = [leafHash(Uint8Array.of(1)), leafHash(Uint8Array.of(2))];
	const root = nodeHash(left, right);
	// The 64 bytes of two children, offered as the one leaf of a smaller tree.
	const joined = new Uint8Array([...left, ...right]);
	assert.notDeepEqual(rootFromPath(leafHash(joined), 0, 1, []), root);
});

test("pathLength agrees with built trees for all counts up to 70", () => {
	for (let count = 1; count <= 70; count++) {
		const levels = merkleLevels(Array.from({ length: count }, (_, i) => leafHash(Uint8Array.of(i))));
		for (let index = 0; index < count; index++)
			assert.equal(merklePath(levels, index).length, pathLength(index, count), `${index} of ${count}`);
	}
	assert.throws(() => merkleRoot([]));
});

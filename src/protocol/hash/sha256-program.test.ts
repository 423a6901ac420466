// SHA-256 by WebAssembly against the plain JavaScript: every length around a block's and the memory's
// borders, in one part and in several.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { sha256 } from "@noble/hashes/sha2.js";
import { codeFile, sha256ProgramCode } from "./sha256-program.test-kit.ts";
import { startSha256Program } from "./sha256-program.ts";
import { plainHash, quickenHashes, sha256Of, type Tag, tagged } from "./tagged-hash.ts";

const bytesOf = (length: number, salt = 1): Uint8Array =>
	Uint8Array.from({ length }, (_, i) => (Math.imul(i + salt, 0x9e3779b1) >>> 13) & 255);

test("the program is what its definition gives, and runs here", async () => {
	assert.equal(readFileSync(codeFile, "utf8"), await sha256ProgramCode());
	assert.ok(startSha256Program() !== null);
});

test("hashes of every length are those of plain JavaScript", () => {
	const program = startSha256Program()!;
	const lengths = [...Array(200).keys(), 1023, 1024, 1025, ...[65_471, 65_472, 65_535, 65_536, 65_537, 200_000]];
	for (const length of lengths) {
		const bytes = bytesOf(length);
		assert.deepEqual(program.hash([bytes]), sha256(bytes), `${length}`);
	}
	quickenHashes();
	for (const length of [0, 64, 1024, 70_000]) assert.deepEqual(sha256Of(bytesOf(length)), sha256(bytesOf(length)));
});

test("parts are hashed as if they were one, and one hash leaves nothing for the next", () => {
	quickenHashes();
	for (const tag of ["assay/leaf/1", "assay/node/1", "assay/evidence/1"] satisfies Tag[]) {
		const plain = plainHash(tag);
		for (const lengths of [[], [0], [32, 32], [1024], [63, 0, 1, 65], [65_500, 100, 70_000], [1, 65_535, 1]]) {
			const parts = lengths.map((length, i) => bytesOf(length, i));
			const joined = new Uint8Array(Buffer.concat(parts));
			assert.deepEqual(tagged(tag, ...parts), plain(parts), `${tag} ${lengths}`);
			assert.deepEqual(tagged(tag, joined), plain([joined]), `${tag} ${lengths}`);
		}
	}
});

test("a length above 2³² bits stands in both words of the padding", () => {
	const program = startSha256Program()!;
	// A state that claims half a GiB before: the padding alone tells it from the same state after one block
	// less.
	const words = Uint32Array.from({ length: 8 }, (_, i) => i);
	const [long, short] = [2 ** 29 + 64, 64].map((bytes) => program.hash([], { words, bytes }));
	assert.notDeepEqual(long, short);
});

// Blobs: the same root as a tensor's; uploads in pieces that survive cuts and crashes; a wrong byte is
// refused at once; what somebody holds stays, what nobody holds goes; a name alone gives nobody anything.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { PIECE_BYTES, pieceCount } from "../../platform/blob-tree.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { leafHash, merkleRoot } from "../../protocol/hash/merkle.ts";
import { bytesOf, described, upload } from "./blob-bytes.test-kit.ts";
import { BLOB_LIMITS, openBlobStore } from "./blob-store.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-blobs-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
let folders = 0;
const newFolder = () => join(scratch, `store${folders++}`);

const refuses = (act: Promise<unknown>, code: string) =>
	assert.rejects(act, (error) => error instanceof AssayError && error.code === code && error.hint !== "");
const TWO = bytesOf(PIECE_BYTES + 5000);

test("a blob's root is the tree's of docs/work.md §1, also where pieces fold", async () => {
	for (const size of [1, 1024, 1025, 5000, PIECE_BYTES + 3 * 1024 + 1]) {
		const bytes = bytesOf(size);
		const leaves = Array.from({ length: Math.ceil(size / 1024) }, (_, i) => {
			const leaf = new Uint8Array(1024);
			leaf.set(bytes.subarray(1024 * i, 1024 * (i + 1)));
			return leafHash(leaf);
		});
		const { blob, pieces } = await described(bytes);
		assert.equal(blob.root, bytesToHex(merkleRoot(leaves)));
		assert.equal(pieces.length, pieceCount(size));
	}
});

test("in pieces, in order, each once; then read by ranges", async () => {
	const store = await openBlobStore(newFolder());
	const { blob, pieces } = await described(TWO);
	const piece = (i: number) => TWO.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES);
	await refuses(store.put("ann", blob, 0, piece(0)), "BLOB_UNKNOWN");
	assert.equal(await store.begin("ann", blob, pieces), 0);
	await refuses(store.put("ann", blob, PIECE_BYTES, piece(1)), "BLOB_OFFSET");
	await refuses(store.put("ann", blob, 0, piece(0).subarray(1)), "BLOB_OFFSET");
	await refuses(store.read("ann", blob, 0, 1), "BLOB_UNKNOWN");
	assert.equal(await store.put("ann", blob, 0, piece(0)), PIECE_BYTES);
	await refuses(store.put("ann", blob, 0, piece(0)), "BLOB_OFFSET");
	assert.equal(await store.begin("ann", blob, pieces), PIECE_BYTES);
	assert.equal(await store.put("ann", blob, PIECE_BYTES, piece(1)), TWO.length);
	assert.equal(await store.put("ann", blob, PIECE_BYTES, piece(1)), TWO.length, "an answer that was lost");
	assert.equal(await store.begin("ann", blob, pieces), TWO.length);
	assert.deepEqual(await store.read("ann", blob, 990, 20), TWO.slice(990, 1010));
	assert.deepEqual(await store.read("ann", blob, TWO.length - 5, 100), TWO.slice(-5));
	assert.equal((await store.read("ann", blob, TWO.length + 5, 100)).length, 0);
	assert.deepEqual(await store.held("ann"), [blob]);
});

test("a wrong byte is refused with its piece, a tree that does not fold before the first byte; what came before stays", async () => {
	const store = await openBlobStore(newFolder());
	const { blob, pieces } = await described(TWO);
	for (const wrong of [
		pieces.slice(1),
		[...pieces, pieces[0]!],
		[pieces[1]!, pieces[0]!],
		[pieces[0]!, new Uint8Array(31)],
		[],
	])
		await refuses(store.begin("ann", blob, wrong), "BLOB_TREE");
	await refuses(store.begin("ann", { ...blob, size: blob.size + 2 ** 20 }, pieces), "BLOB_TREE");
	await store.begin("ann", blob, pieces);
	await store.put("ann", blob, 0, TWO.subarray(0, PIECE_BYTES));
	const bad = TWO.slice(PIECE_BYTES);
	bad[4321]! ^= 1;
	await refuses(store.put("ann", blob, PIECE_BYTES, bad), "BLOB_WRONG");
	assert.equal(await store.begin("ann", blob, pieces), PIECE_BYTES);
	assert.equal(await store.put("ann", blob, PIECE_BYTES, TWO.subarray(PIECE_BYTES)), TWO.length);
});

test("a restart goes on where the upload stood; a piece torn by a crash is asked for again", async () => {
	const folder = newFolder();
	const { blob, pieces } = await described(TWO);
	const first = await openBlobStore(folder);
	await first.begin("ann", blob, pieces);
	await first.put("ann", blob, 0, TWO.subarray(0, PIECE_BYTES));
	const part = join(folder, "parts", "ann", `${blob.root}-${blob.size}.bytes`);
	// Killed in the middle of the second piece.
	appendFileSync(part, new Uint8Array(100));
	assert.equal(await (await openBlobStore(folder)).begin("ann", blob, pieces), PIECE_BYTES);
	// All bytes written, the last ones not what they must be.
	appendFileSync(part, new Uint8Array(4900));
	assert.equal(await (await openBlobStore(folder)).begin("ann", blob, pieces), PIECE_BYTES);
	truncateSync(part, PIECE_BYTES - 1);
	assert.equal(await (await openBlobStore(folder)).begin("ann", blob, pieces), 0);
	// Killed after the last byte, before it had its name.
	writeFileSync(part, TWO);
	const last = await openBlobStore(folder);
	assert.equal(await last.begin("ann", blob, pieces), TWO.length);
	assert.deepEqual(await last.read("ann", blob, 0, TWO.length), TWO);
	assert.deepEqual(readdirSync(join(folder, "parts")), [], "its folder goes with the last upload");
});

test("two with one blob: knowing its name gives nothing; each has its own; the last one's release removes it", async () => {
	const folder = newFolder();
	const store = await openBlobStore(folder);
	const bytes = bytesOf(3000);
	const blob = await upload(store, "ann", bytes);
	const { pieces } = await described(bytes);
	await refuses(store.read("bob", blob, 0, 10), "BLOB_UNKNOWN");
	await refuses(store.share("bob", blob, "eve"), "BLOB_UNKNOWN");
	assert.equal(await store.begin("bob", blob, pieces), 0, "no word that it is there");
	await store.put("bob", blob, 0, bytes);
	const other = { ...blob, size: 2999 };
	assert.deepEqual(await store.shareAll("ann", [other, blob], "job-8"), [other], "what it has goes, the rest is named");
	assert.deepEqual(await store.shareAll("bob", [other], "eve"), [other]);
	assert.deepEqual([await store.held("job-8"), await store.held("eve")], [[blob], []]);
	await store.release("job-8", blob);
	await store.share("ann", blob, "job-7");
	await store.release("ann", blob);
	await store.release("bob", blob);
	assert.deepEqual(await store.read("job-7", blob, 0, 3000), bytes, "a blob in use is never collected");
	await store.sweep(Date.now() + 1e9);
	assert.deepEqual(await store.read("job-7", blob, 0, 3000), bytes);
	await store.release("job-7", blob);
	assert.deepEqual(readdirSync(join(folder, "whole")), []);
	await refuses(store.read("job-7", blob, 0, 10), "BLOB_UNKNOWN");
	await store.release("job-7", blob);
});

test("quotas, names, sizes; uploads that nobody goes on with are given up", async () => {
	const folder = newFolder();
	const store = await openBlobStore(folder, {
		limits: { mostBytes: 10_000, mostHeldBytes: 12_000, mostUploads: 2, reserveBytes: 0 },
	});
	const begin = async (size: number, salt = 1, holder = "ann") => {
		const { blob, pieces } = await described(bytesOf(size, salt));
		return store.begin(holder, blob, pieces);
	};
	await refuses(begin(10_001), "BLOB_LARGE");
	await upload(store, "ann", bytesOf(9000));
	await refuses(begin(3001, 2), "BLOB_QUOTA");
	assert.equal(await begin(1500, 3), 0);
	assert.equal(await begin(1500, 3), 0, "begun before: counted once");
	await refuses(begin(1501, 4), "BLOB_QUOTA");
	assert.equal(await begin(500, 5), 0);
	await refuses(begin(10, 6), "BLOB_QUOTA");
	assert.equal(await begin(9000, 7, "bob"), 0, "another's quota is its own");
	await store.sweep(Date.now() - 1000);
	await refuses(begin(10, 6), "BLOB_QUOTA");
	await store.sweep(Date.now() + 1000);
	assert.equal(await begin(10, 6), 0);
	assert.deepEqual(await store.held("ann"), [(await described(bytesOf(9000))).blob]);
	for (const holder of ["", "..", "a/b", "ANN", "x".repeat(81)]) await refuses(begin(10, 1, holder), "BLOB_NAME");
	for (const blob of [
		{ root: "../../etc", size: 1 },
		{ root: "A".repeat(64), size: 1 },
		{ root: "a".repeat(64), size: 1.5 },
		{ root: "a".repeat(64), size: -1 },
	])
		await refuses(store.begin("ann", blob, []), "BLOB_NAME");
	assert.equal(BLOB_LIMITS.mostBytes, 32 * 2 ** 30);
});

test("ten uploaders at once, of the same bytes and of others, with releases in between", async () => {
	const folder = newFolder();
	const store = await openBlobStore(folder);
	const same = bytesOf(2000);
	const blobs = await Promise.all(
		Array.from({ length: 10 }, async (_, i) => {
			const own = await upload(store, `holder-${i}`, bytesOf(1000 + i));
			const blob = await upload(store, `holder-${i}`, same);
			if (i % 2 === 1) await store.release(`holder-${i}`, blob);
			return { own, blob };
		}),
	);
	for (const [i, { own, blob }] of blobs.entries()) {
		assert.deepEqual(await store.read(`holder-${i}`, own, 0, 9999), bytesOf(1000 + i));
		if (i % 2 === 0) assert.deepEqual(await store.read(`holder-${i}`, blob, 0, 9999), same);
		else await refuses(store.read(`holder-${i}`, blob, 0, 9999), "BLOB_UNKNOWN");
	}
	assert.equal(readdirSync(join(folder, "whole")).length, 11);
});

test("a piece has its place, also where another has the same bytes", async () => {
	const store = await openBlobStore(newFolder());
	const same = new Uint8Array(2 * PIECE_BYTES);
	const { blob, pieces } = await described(same);
	await store.begin("ann", blob, pieces);
	await refuses(store.put("ann", blob, PIECE_BYTES, same.subarray(PIECE_BYTES)), "BLOB_OFFSET");
	assert.equal(await store.put("ann", blob, 0, same.subarray(PIECE_BYTES)), PIECE_BYTES);
});

test("many that are begun at once are not more than one after the other", async () => {
	const store = await openBlobStore(newFolder(), { limits: { mostUploads: 2 } });
	const all = await Promise.all(Array.from({ length: 8 }, (_, i) => described(bytesOf(100, i))));
	const begun = await Promise.allSettled(all.map(({ blob, pieces }) => store.begin("ann", blob, pieces)));
	assert.equal(begun.filter(({ status }) => status === "fulfilled").length, 2);
});

test("an upload that was begun while there was room does not take the reserve", async () => {
	const folder = newFolder();
	const { blob, pieces } = await described(TWO);
	await (await openBlobStore(folder)).begin("ann", blob, pieces);
	const later = await openBlobStore(folder, { limits: { reserveBytes: 2 ** 62 } });
	await refuses(later.put("ann", blob, 0, TWO.subarray(0, PIECE_BYTES)), "BLOB_FULL");
	await refuses(later.begin("bob", blob, pieces), "BLOB_FULL");
});

test("a piece of which the disk takes a part is not acknowledged, nor the file of a download", () => {
	const here = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
	const script = `
		const { openBlobStore } = await import(${here("blob-store.ts")});
		const { nameBlob, downloadBlob } = await import(${here("../../api/blob-transfer.ts")});
		const bytes = new Uint8Array(2 ** 20).fill(7);
		const { blob, roots } = await nameBlob({ bytes });
		const store = await openBlobStore(${JSON.stringify(newFolder())});
		const said = [];
		await store.begin("ann", blob, roots);
		await store.put("ann", blob, 0, bytes).then(() => said.push("stored"), (error) => said.push(error.code));
		const api = { getBlob: async () => bytes };
		await downloadBlob(api, blob, ${JSON.stringify(join(scratch, "download.bin"))}).then(() => said.push("there"), (error) => said.push(error.code));
		console.log(said.join(" "));`;
	// Files of half a MiB at most.
	const run = ["-c", 'ulimit -f 512; exec "$0" --input-type=module -e "$1"', process.execPath, script];
	assert.equal(execFileSync("bash", run, { encoding: "utf8" }).trim(), "FILE_UNWRITABLE EFBIG");
});

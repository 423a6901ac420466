// What a stranger's uploads may cost the others: keys are free, so bounds are on all of them together, and
// whoever holds the most gives way; counts are bounded as bytes are; leftovers go; nothing takes a long
// stretch.
import assert from "node:assert/strict";
import {
	existsSync,
	linkSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { foldInSlices, foldPieces, PIECE_BYTES } from "../../platform/blob-tree.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { bytesOf, described, smallDisk, upload } from "./blob-bytes.test-kit.ts";
import { openBlobStore } from "./blob-store.ts";
import type { Guest, Standing } from "./guest-room.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-hostile-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
let folders = 0;
const newFolder = () => join(scratch, `store${folders++}`);
const refuses = (act: Promise<unknown>, code: string) =>
	assert.rejects(act, (error) => error instanceof AssayError && error.code === code && error.hint !== "");
const at = (from: string, standing: Standing = "stranger"): Guest => ({ from, standing });
/** One of a hundred parts of a small disk. */
const MB = 20_000;
/** As the validator sets them, on a disk of 100 MB. */
const SHARED = { limits: { guestPpm: 500_000, workPpm: 100_000, reserveBytes: 10 * MB }, disk: smallDisk(100 * MB) };
const DAY = 86_400_000;

test("H1, F13: fresh keys of one address, which never funded anything, do not fill the disk: others' uploads stay, and new ones come in", async () => {
	const store = await openBlobStore(newFolder(), SHARED);
	const honest = await upload(store, "honest", bytesOf(5 * MB, 1), at("b"));
	for (let key = 0; key < 30; key++) await upload(store, `key-${key}`, bytesOf(3 * MB, 100 + key), at("a"));
	assert.deepEqual(await store.held("honest"), [honest]);
	const last = await upload(store, "late", bytesOf(4 * MB, 2), at("c"));
	assert.deepEqual(await store.held("late"), [last]);
	assert.deepEqual(
		await store.held("key-0"),
		[],
		"what was unused the longest went, of the address that holds the most",
	);
	assert.equal((await store.held("key-29")).length, 1);
	const { bavail } = await SHARED.disk(join(scratch, `store${folders - 1}`));
	assert.ok(bavail >= 50 * MB, "half of the disk is left to jobs");
});

test("H1: what is announced counts, and who announces all of it is the one that gives way", async () => {
	const store = await openBlobStore(newFolder(), SHARED);
	const { blob, pieces } = await described(bytesOf(20 * MB, 7));
	for (const key of ["key-1", "key-2"]) assert.equal(await store.begin(key, blob, pieces, at("a")), 0);
	await refuses(
		store.begin("key-3", (await described(bytesOf(60 * MB))).blob, (await described(bytesOf(60 * MB))).pieces, at("a")),
		"BLOB_FULL",
	);
	await upload(store, "honest", bytesOf(15 * MB, 8), at("b"));
	assert.equal((await store.held("honest")).length, 1);
	await refuses(store.put("key-1", blob, 0, bytesOf(20 * MB, 7).subarray(0, PIECE_BYTES)), "BLOB_UNKNOWN");
});

test("H1: a provider at work has room that strangers leave free, and waits where there is none", async () => {
	const folder = newFolder();
	const other = join(folder, "other.bin");
	const store = await openBlobStore(folder, SHARED);
	// Something else takes the disk up to what is kept free.
	writeFileSync(other, new Uint8Array(82 * MB));
	const { blob, pieces } = await described(bytesOf(2 * MB));
	await refuses(store.begin("stranger", blob, pieces, at("a")), "BLOB_FULL");
	await upload(store, "worker", bytesOf(6 * MB, 3), at("a", "working"));
	await refuses(
		store.begin(
			"worker",
			(await described(bytesOf(9 * MB))).blob,
			(await described(bytesOf(9 * MB))).pieces,
			at("a", "working"),
		),
		"BLOB_FULL",
	);
	rmSync(other);
	await store.begin("stranger", blob, pieces, at("a"));
	// Of what strangers hold a provider takes, when that is all there is.
	writeFileSync(other, new Uint8Array(80 * MB));
	await upload(store, "stranger", bytesOf(2 * MB), at("a")).catch(() => {});
	writeFileSync(other, new Uint8Array(84 * MB - 2 * MB));
	assert.equal((await upload(store, "worker", bytesOf(1 * MB, 4), at("a", "working"))).size, MB);
});

test("H1: a customer's own part is four times a stranger's, and nobody's shuts newcomers out", async () => {
	const store = await openBlobStore(newFolder(), SHARED);
	await upload(store, "customer", bytesOf(35 * MB, 1), at("a", "customer"));
	for (let key = 0; key < 8; key++) await upload(store, `key-${key}`, bytesOf(5 * MB, 50 + key), at("a"));
	assert.equal((await store.held("customer")).length, 1, "of the same address, and its part is its own");
	for (let key = 0; key < 4; key++) await upload(store, `rich-${key}`, bytesOf(10 * MB, 80 + key), at("a", "customer"));
	assert.equal((await upload(store, "new", bytesOf(2 * MB, 99), at("n"))).size, 2 * MB);
});

test("H1: many that begin at once when the room is taken end, each with room or without", async () => {
	const store = await openBlobStore(newFolder(), SHARED);
	const all = await Promise.all(Array.from({ length: 12 }, (_, i) => described(bytesOf(12 * MB, i))));
	const begun = await Promise.allSettled(
		all.map(({ blob, pieces }, i) => store.begin(`key-${i}`, blob, pieces, at(`a${i % 2}`))),
	);
	for (const one of begun) if (one.status === "rejected") assert.equal(one.reason.code, "BLOB_FULL");
	const late = await described(bytesOf(12 * MB, 99));
	assert.equal(await store.begin("late", late.blob, late.pieces, at("c")), 0);
});

test("H1: after a restart what was here before counts, and its owner has it still", async () => {
	const folder = newFolder();
	const first = await openBlobStore(folder, SHARED);
	for (let key = 0; key < 10; key++) await upload(first, `key-${key}`, bytesOf(4 * MB, key), at("a"));
	const second = await openBlobStore(folder, SHARED);
	assert.deepEqual((await second.held("key-9")).length, 1);
	for (let key = 10; key < 20; key++) await upload(second, `key-${key}`, bytesOf(4 * MB, key), at("a"));
	const { bavail } = await SHARED.disk(folder);
	assert.ok(bavail >= 50 * MB);
});

test("M2: a blob whose file has all the names that it can have is held by further ones", async () => {
	const folder = newFolder();
	const store = await openBlobStore(folder);
	const bytes = bytesOf(1377);
	const blob = await upload(store, "first", bytes);
	const name = `${blob.root}-${blob.size}`;
	const names = join(folder, "names");
	mkdirSync(names);
	let links = 0;
	try {
		for (; links < 70_000; links++) linkSync(join(folder, "whole", name), join(names, String(links)));
	} catch (error) {
		assert.equal((error as NodeJS.ErrnoException).code, "EMLINK");
	}
	await upload(store, "second", bytes);
	await store.share("first", blob, "job-1");
	for (const holder of ["first", "second", "job-1"])
		assert.deepEqual(await store.read(holder, blob, 0, 2000), bytes, holder);
	for (const holder of ["second", "job-1"]) await store.release(holder, blob);
	assert.deepEqual(await store.read("first", blob, 0, 2000), bytes);
	rmSync(names, { recursive: true });
	await store.release("first", blob);
	await store.sweep(Date.now() + 1e9);
	assert.deepEqual(readdirSync(join(folder, "whole")), []);
});

test("M2: where the second body is full too, a job gets a third", async () => {
	const folder = newFolder();
	const store = await openBlobStore(folder);
	const bytes = bytesOf(1377);
	const blob = await upload(store, "first", bytes);
	const whole = join(folder, "whole", `${blob.root}-${blob.size}`);
	try {
		for (let i = 0; i < 70_000; i++) linkSync(whole, join(folder, "parts", `x${i}.link`));
	} catch (error) {
		assert.equal((error as NodeJS.ErrnoException).code, "EMLINK");
		await store.share("first", blob, "job-1");
		assert.notEqual(
			statSync(join(folder, "holders", "job-1", `${blob.root}-${blob.size}`)).ino,
			statSync(join(folder, "holders", "first", `${blob.root}-${blob.size}`)).ino,
		);
		assert.equal(statSync(whole).nlink, 2);
		assert.deepEqual(await store.read("job-1", blob, 0, 2000), bytes);
	}
	assert.deepEqual(await store.shareAll("nobody", [blob], "job-2"), [blob]);
});

test("M3: a holder has so many blobs and no more; a list has as many as were asked for", async () => {
	const store = await openBlobStore(newFolder(), { limits: { mostHeldBlobs: 5 } });
	for (let i = 0; i < 5; i++) await upload(store, "ann", bytesOf(10, i));
	const { blob, pieces } = await described(bytesOf(10, 9));
	await refuses(store.begin("ann", blob, pieces), "BLOB_QUOTA");
	await store.begin("bob", blob, pieces);
	const all = await store.held("ann");
	const first = await store.list("ann", { after: null, limit: 3 });
	assert.deepEqual(first.rows, all.slice(0, 3));
	assert.deepEqual(await store.list("ann", { after: first.next, limit: 3 }), { rows: all.slice(3), next: null });
	await store.release("ann", all[0]!);
	await store.begin("ann", blob, pieces);
});

test("M4: inodes are shared and kept free as bytes are, and folders of uploads go", async () => {
	const folder = newFolder();
	const files = { limits: { guestPpm: 500_000, workPpm: 100_000, reserveBytes: 0 }, disk: smallDisk(1e9, 100) };
	const store = await openBlobStore(folder, files);
	const honest = await upload(store, "honest", bytesOf(8, 1), at("b"));
	for (let key = 0; key < 35; key++) await upload(store, `key-${key}`, bytesOf(8, 1000 + key), at("a"));
	const { ffree } = await files.disk(folder);
	assert.ok(ffree >= 45, `${ffree} of 100 are left`);
	assert.deepEqual(await store.held("honest"), [honest]);
	assert.deepEqual(readdirSync(join(folder, "parts")), []);
	for (let i = 0; i < 35; i++) writeFileSync(join(folder, `other-${i}`), "");
	const { blob, pieces } = await described(bytesOf(8, 2));
	await upload(store, "worker", bytesOf(8, 3), at("c", "working"));
	await store.begin("late", blob, pieces, at("d"));
	await store.sweep(Date.now() + 1e9);
	assert.deepEqual(readdirSync(join(folder, "parts")), [], "of an upload that was given up");
});

test("M5: 32,768 roots are folded in slices: others have their turns in between", async () => {
	const roots = Array.from({ length: 32_768 }, (_, i) => new Uint8Array(32).fill(i & 255));
	let turns = 0;
	let isFolding = true;
	const turn = () => {
		turns += 1;
		if (isFolding) setImmediate(turn);
	};
	setImmediate(turn);
	const root = await foldInSlices(roots);
	isFolding = false;
	assert.ok(turns > 50, `${turns} turns`);
	assert.deepEqual(root, foldPieces(roots));
	const store = await openBlobStore(newFolder(), { limits: { mostHeldBytes: 2 ** 30 } });
	const tooMuch = store.begin("ann", { root: "0".repeat(64), size: 2 ** 35 }, roots);
	await refuses(tooMuch, "BLOB_QUOTA");
	const [size, many] = [300 * PIECE_BYTES, roots.slice(0, 300)];
	await refuses(store.begin("ann", { root: bytesToHex(root), size }, many), "BLOB_TREE");
});

test("M6: onto another disk a blob is copied", async (t) => {
	const other = "/dev/shm";
	if (!existsSync(other) || statSync(other).dev === statSync(scratch).dev) return t.skip("there is no other disk");
	const folder = mkdtempSync(join(other, "assay-blobs-"));
	try {
		const store = await openBlobStore(newFolder());
		const bytes = bytesOf(3000);
		const blob = await upload(store, "ann", bytes);
		for (let i = 0; i < 2; i++) await store.linkTo("ann", blob, join(folder, "there"));
		assert.deepEqual(new Uint8Array(readFileSync(join(folder, "there"))), bytes);
		await refuses(store.linkTo("bob", blob, join(folder, "not")), "BLOB_UNKNOWN");
	} finally {
		rmSync(folder, { recursive: true });
	}
});

test("L1: who comes back while the sweep goes on keeps everything", async () => {
	const folder = newFolder();
	const store = await openBlobStore(folder);
	const blob = await upload(store, "ann", bytesOf(10, 1));
	const { pieces } = await described(bytesOf(10, 1));
	const old = new Date(Date.now() - 2 * DAY);
	utimesSync(join(folder, "holders", "ann"), old, old);
	const idle = await store.idleHolders(Date.now() - DAY);
	assert.deepEqual(idle, ["ann"]);
	assert.equal(await store.begin("ann", blob, pieces), blob.size);
	const other = await upload(store, "ann", bytesOf(10, 2));
	for (const holder of idle) await store.releaseUnused(holder, Date.now() - DAY);
	assert.equal((await store.held("ann")).length, 2);
	assert.deepEqual(await store.read("ann", other, 0, 10), bytesOf(10, 2));
});

test("L2, L7: drafts that a killed process left go, and one odd file keeps nothing else from going", async () => {
	const folder = newFolder();
	const store = await openBlobStore(folder);
	const { blob, pieces } = await described(bytesOf(10));
	await store.begin("zoe", blob, pieces);
	const parts = join(folder, "parts");
	const draft = join(parts, "zoe", `${blob.root}-10.roots.0123456789abcdef.draft`);
	writeFileSync(draft, "");
	const old = new Date(Date.now() - 2 * DAY);
	utimesSync(draft, old, old);
	utimesSync(join(parts, "zoe", `${blob.root}-10.roots`), old, old);
	for (const odd of [join(parts, "a file"), join(parts, "file"), join(folder, "holders", "file")])
		writeFileSync(odd, "");
	mkdirSync(join(folder, "whole", "folder"));
	assert.deepEqual(await store.idleHolders(Date.now() + 1e9), []);
	await store.sweep(Date.now() - DAY);
	assert.deepEqual(readdirSync(parts), ["a file", "file"]);
});

test("L3: an unfinished upload can be given up, and beginning it again renews it", async () => {
	const folder = newFolder();
	const store = await openBlobStore(folder, { limits: { mostUploads: 1 } });
	const [one, other] = [await described(bytesOf(10, 1)), await described(bytesOf(10, 2))];
	await store.begin("ann", one.blob, one.pieces);
	await refuses(store.begin("ann", other.blob, other.pieces), "BLOB_QUOTA");
	const old = new Date(Date.now() - 2 * DAY);
	utimesSync(join(folder, "parts", "ann", `${one.blob.root}-10.roots`), old, old);
	await store.begin("ann", one.blob, one.pieces);
	await store.sweep(Date.now() - DAY);
	await refuses(store.begin("ann", other.blob, other.pieces), "BLOB_QUOTA");
	await store.release("ann", one.blob);
	assert.equal(await store.begin("ann", other.blob, other.pieces), 0);
	await refuses(store.put("ann", one.blob, 0, bytesOf(10, 1)), "BLOB_UNKNOWN");
});

test("L5: wrong roots on disk are replaced by the right ones that a begin brings", async () => {
	const folder = newFolder();
	const bytes = bytesOf(2 * PIECE_BYTES);
	const { blob, pieces } = await described(bytes);
	const store = await openBlobStore(folder);
	await store.begin("ann", blob, pieces);
	await store.put("ann", blob, 0, bytes.subarray(0, PIECE_BYTES));
	const roots = join(folder, "parts", "ann", `${blob.root}-${blob.size}.roots`);
	const wrong = readFileSync(roots);
	wrong[40]! ^= 1;
	writeFileSync(roots, wrong);
	await refuses(store.put("ann", blob, PIECE_BYTES, bytes.subarray(PIECE_BYTES)), "BLOB_WRONG");
	await upload(store, "ann", bytes);
	assert.deepEqual(await store.read("ann", blob, 0, bytes.length), bytes);
});

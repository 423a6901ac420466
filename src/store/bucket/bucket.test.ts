// Evidence in a bucket: what one data folder puts another reads, without a disk in common; a bucket that
// fails half-way loses nothing; one that lies is found out. ASSAY_S3_URL (with AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY) runs the first of these against a real server.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import type { ReceiptFile } from "../../protocol/chain/probe-receipt.ts";
import { openEvidenceFolder } from "../files/evidence.ts";
import { createReceiptFolder } from "../files/receipt-folder.ts";
import { bucketAddress, createBucket } from "./bucket.ts";
import { signedHeaders } from "./sign-request.ts";
import { KEYS, startToyS3, type ToyS3 } from "./toy-s3.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-bucket-"));
let toy: ToyS3;
before(async () => {
	toy = await startToyS3();
});
beforeEach(() => {
	toy.fault = "none";
});
after(async () => {
	await toy.close();
	rmSync(scratch, { recursive: true, force: true });
});

let count = 0;
const bucketOf = (more: object = {}) => createBucket({ url: toy.url, ...KEYS, tries: 2, waitMs: 1, ...more });
const folderOf = (bucket = bucketOf(), name = `machine-${count++}`) =>
	openEvidenceFolder(join(scratch, name), bucket).then((folder) => ({ ...folder, path: join(scratch, name) }));
const file = () => new Uint8Array(randomBytes(300_000));
const nameOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const probe = () => randomBytes(16).toString("hex");
const filesIn = (path: string): number =>
	readdirSync(join(path, "evidence"), { recursive: true, withFileTypes: true }).filter((one) => one.isFile()).length;
async function all(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
	const held: Uint8Array[] = [];
	for await (const piece of pieces) held.push(piece);
	return Buffer.concat(held);
}

const { ASSAY_S3_URL, AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "", AWS_REGION = "us-east-1" } = process.env;
const real = {
	url: ASSAY_S3_URL ?? "",
	accessKeyId: AWS_ACCESS_KEY_ID,
	secretAccessKey: AWS_SECRET_ACCESS_KEY,
	region: AWS_REGION,
};
for (const [where, make] of [
	["the toy", () => bucketOf()] as const,
	...(ASSAY_S3_URL === undefined ? [] : [["a real server", () => createBucket(real)] as const]),
])
	test(`${where}: what one machine puts, another reads, streams and finds; its own disk is empty again`, async () => {
		const [one, other] = [await folderOf(make()), await folderOf(make())];
		const bytes = file();
		const { sha256 } = await one.store.put(probe(), bytes);
		assert.equal(sha256, nameOf(bytes));
		assert.deepEqual([filesIn(one.path), readdirSync(join(one.path, "unsent"))], [0, []]);
		assert.deepEqual(Buffer.from(await other.store.get(sha256)), Buffer.from(bytes));
		const { sizeBytes, bytes: pieces } = await other.store.stream(sha256);
		assert.deepEqual([sizeBytes, await all(pieces)], [bytes.length, Buffer.from(bytes)]);
		assert.equal(await other.store.has(sha256), true);
		assert.equal((await one.pending()).length, 1);
		const unknown = nameOf(file());
		assert.equal(await other.store.has(unknown), false);
		await assert.rejects(other.store.get(unknown), { code: "EVIDENCE_MISSING" });
		await one.store.remove(sha256);
		await assert.rejects(other.store.get(sha256), { code: "EVIDENCE_MISSING" });
		// Twice is as good as once.
		const kept = await one.store.keep(bytes);
		assert.equal(await one.store.keep(bytes), kept);
		await one.store.remove(kept);
	});

for (const fault of ["500", "cut", "redirect"] as const)
	test(`a bucket that fails half-way (${fault}) loses nothing: it waits here, and is sent when the bucket is back`, async () => {
		const [one, other] = [await folderOf(), await folderOf()];
		const bytes = file();
		toy.fault = fault;
		const { sha256 } = await one.store.put(probe(), bytes);
		assert.deepEqual(readdirSync(join(one.path, "unsent")), [sha256]);
		assert.deepEqual(Buffer.from(await one.store.get(sha256)), Buffer.from(bytes));
		await assert.rejects(one.sendUnsent(), { code: "BUCKET_FAILED" });
		assert.equal(filesIn(one.path), 1);
		toy.fault = "none";
		await assert.rejects(other.store.get(sha256), { code: "EVIDENCE_MISSING" });
		// Another process of the same folder, after a kill.
		const again = await openEvidenceFolder(one.path, bucketOf());
		assert.equal(await again.sendUnsent(), 1);
		assert.deepEqual([filesIn(one.path), readdirSync(join(one.path, "unsent"))], [0, []]);
		assert.deepEqual(Buffer.from(await other.store.get(sha256)), Buffer.from(bytes));
	});

test("a note without its file is left while it may be in the making, and goes later", async () => {
	const one = await folderOf();
	const note = join(one.path, "unsent", nameOf(file()));
	writeFileSync(note, "");
	assert.equal(await one.sendUnsent(), 0);
	assert.ok(existsSync(note));
	utimesSync(note, new Date(0), new Date(0));
	await one.sendUnsent();
	assert.ok(!existsSync(note));
});

test("a bucket that gives other bytes, or no end of them, is found out", async () => {
	const [one, other] = [await folderOf(), await folderOf()];
	const { sha256 } = await one.store.put(probe(), file());
	toy.fault = "other bytes";
	await assert.rejects(other.store.get(sha256), { code: "EVIDENCE_CORRUPT" });
	await assert.rejects(other.store.stream(sha256), { code: "EVIDENCE_CORRUPT" });
	toy.fault = "endless";
	await assert.rejects(other.store.get(sha256), { code: "BUCKET_FAILED" });
});

test("what the server refuses is not asked again; what it cannot do now is", async () => {
	const before = toy.requests;
	await assert.rejects(bucketOf({ secretAccessKey: "wrong" }).get("x", 10), /SignatureDoesNotMatch/);
	assert.equal(toy.requests, before + 1);
	toy.fault = "500";
	await assert.rejects(bucketOf({ tries: 3 }).get("x", 10), { code: "BUCKET_FAILED" });
	assert.equal(toy.requests, before + 4);
});

test("addresses: a bucket, with a prefix or without; no keys in it, no bucket of nothing", () => {
	for (const good of ["https://s3.example/bucket", "http://127.0.0.1:9000/my-bucket/a/b/"]) bucketAddress(good);
	for (const bad of [
		"s3://bucket",
		"https://s3.example/",
		"https://key:secret@s3.example/bucket",
		"https://s3.example/b?x=1",
		"https://s3.example/../b!",
	])
		assert.throws(() => bucketAddress(bad), { code: "CONFIG_BAD" }, bad);
});

test("signatures are those of AWS's own page (Signature Calculations, examples of GET and PUT)", () => {
	const keys = {
		...{ accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" },
		region: "us-east-1",
	};
	const at = (path: string) => new URL(`https://examplebucket.s3.amazonaws.com${path}`);
	const nowMs = Date.UTC(2013, 4, 24);
	const signatureOf = (headers: Record<string, string>) => /Signature=(.*)$/.exec(headers.authorization!)![1];
	const get = { method: "GET", url: at("/test.txt"), body: new Uint8Array(0), nowMs, headers: { range: "bytes=0-9" } };
	assert.equal(
		signatureOf(signedHeaders(get, keys)),
		"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
	);
	const put = {
		...{ method: "PUT", url: at("/test%24file.text"), body: Buffer.from("Welcome to Amazon S3."), nowMs },
		headers: { date: "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY" },
	};
	assert.equal(
		signatureOf(signedHeaders(put, keys)),
		"98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
	);
});

test("receipts: durable here first, in the bucket when it takes them, found by another machine; those of other evidence are refused", async () => {
	const [one, two] = ["receipts-1", "receipts-2"].map((name) => join(scratch, name)) as [string, string];
	const bucket = bucketOf({ tries: 1 });
	const [here, there] = [one, two].map((folder) => createReceiptFolder(folder, bucket)) as [Receipts, Receipts];
	const [evidence, other] = ["03".repeat(32), "04".repeat(32)] as [string, string];
	const receipts: ReceiptFile = {
		...{
			format: "assay-receipts",
			version: 2,
			evidence,
			probeId: "02".repeat(16),
			chainId: 7,
			receipts: [],
			missing: [],
		},
		...{ slashing: `0x${"5a".repeat(20)}`, provider: `0x${"a1".repeat(20)}` },
	};
	toy.fault = "500";
	await here.put(receipts);
	assert.deepEqual(await here.get(evidence), receipts);
	await assert.rejects(here.sendUnsent(), { code: "BUCKET_FAILED" });
	await assert.rejects(there.get(evidence), { code: "BUCKET_FAILED" });
	toy.fault = "none";
	assert.equal(await there.get(evidence), null);
	// After a restart, too: the note is in the folder.
	await createReceiptFolder(one, bucket).sendUnsent();
	assert.deepEqual(await there.get(evidence), receipts);
	const before = toy.requests;
	await here.sendUnsent();
	assert.equal(toy.requests, before, "it is sent once");
	const [name, bytes] = [...toy.objects].find(([key]) => key.includes("/receipts/"))!;
	toy.objects.set(name.replace(`/03/${"03".repeat(31)}`, `/04/${"04".repeat(31)}`), bytes);
	await assert.rejects(there.get(other), { code: "RECEIPTS_BAD" });
});
type Receipts = ReturnType<typeof createReceiptFolder>;

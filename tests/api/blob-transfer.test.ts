// Blobs over the API and back, with the real store behind it: cut connections, wrong bytes, servers that are
// away, files that change; who may read what.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { downloadBlob, fetchBlob, nameBlob, uploadBlob, uploadBlobs } from "../../src/api/blob-transfer.ts";
import { type ApiClient, createApiClient } from "../../src/api/create-client.ts";
import { PIECE_BYTES } from "../../src/platform/blob-tree.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import type { BlobName } from "../../src/protocol/network/job-spec.ts";
import { type BlobStoreOptions, openBlobStore } from "../../src/store/blobs/blob-store.ts";
import type { JobSummary } from "../../src/store/jobs/job-rows.ts";
import { jobHolder } from "../../src/validator/jobs/blobs/blob-holders.ts";
import { createRemoteBlobs } from "../../src/validator/jobs/blobs/remote-blobs.ts";
import { blobHandlers } from "../../src/validator/serving/blob-handlers.ts";
import { startCuttingProxy } from "./cutting-proxy.ts";
import { signerOf, startToyApi, tokenOf } from "./toy-api.test-kit.ts";
import { toyHandlers } from "./toy-handlers.test-kit.ts";
import { AUDIENCE, NOW_MS } from "./toy-network.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-transfer-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
let names = 0;
const fresh = (name: string) => join(scratch, `${names++}-${name}`);
const noWait = { sleepMs: async () => {} };
type Role = "customer" | "provider" | "admin";

function bytesOf(size: number, salt = 1): Uint8Array {
	const bytes = new Uint8Array(size);
	for (let i = 0; i < size; i += 61) bytes[i] = (i / 61 + salt) & 255;
	return bytes;
}

/** Jobs by id: whose, and by whom. */
interface ToyJob {
	readonly customer: string;
	readonly provider: string;
	readonly method?: string;
	readonly claim?: string;
}

async function serve(jobs: Record<string, ToyJob> = {}, options: BlobStoreOptions = {}) {
	const blobs = await openBlobStore(fresh("blobs"), options);
	const summary = async (id: string) => {
		const job = jobs[id];
		if (job === undefined) return null;
		const { method = "sampled", claim = null } = job;
		const part = { provider: job.provider, claim, excluded: [], audits: [{ auditor: "a".repeat(64) }] };
		const record = { terms: { method: { name: method, count: 0 } }, parts: [part] };
		return { customer: job.customer, record } as unknown as JobSummary;
	};
	const store = { jobs: { summary, standingOf: async () => "stranger" } } as never;
	const api = await startToyApi({ handlers: { ...toyHandlers, ...blobHandlers({ store, blobs }) } });
	const clientOf = (role: Role, url = api.url, more: object = {}): ApiClient =>
		createApiClient({ baseUrl: url, signer: signerOf(role), audience: AUDIENCE, nowMs: () => NOW_MS, ...more });
	after(() => api.server.close());
	return { api, blobs, clientOf };
}
const wrongName = (blob: BlobName): BlobName => ({ ...blob, root: `${blob.root.slice(1)}0` });
const code = (expected: string) => (error: unknown) => error instanceof AssayError && error.code === expected;

test("a file of five pieces over connections that are cut 12 times arrives whole, and comes back so", async () => {
	const { api, blobs, clientOf } = await serve();
	const bytes = bytesOf(4 * PIECE_BYTES + 12_345);
	const path = fresh("file");
	writeFileSync(path, bytes);
	const cuts = [100, 50_000, 700_000, PIECE_BYTES + 900, 2 * PIECE_BYTES, 300, 1_500_000, 999_999, 10, 20_000];
	const proxy = await startCuttingProxy(api.url, [...cuts, 1, 1_048_576]);
	after(proxy.close);
	const client = clientOf("customer", proxy.url, { timeoutMs: 600_000 });
	const seen: number[] = [];
	const blob = await uploadBlob(client, { path }, { ...noWait, onProgress: (done) => seen.push(done) });
	assert.equal(proxy.cuts(), 12);
	assert.deepEqual(blob, (await nameBlob({ bytes })).blob);
	assert.equal(seen.at(-1), bytes.length);
	const holder = signerOf("customer").key;
	assert.ok(Buffer.from(await blobs.read(holder, blob, 0, blob.size)).equals(bytes));
	const again = await startCuttingProxy(api.url, [200]);
	after(again.close);
	const into = fresh("back");
	await downloadBlob(clientOf("customer", again.url), blob, into, noWait);
	assert.equal(again.cuts(), 1);
	assert.ok(readFileSync(into).equals(bytes));
	assert.ok(Buffer.from(await fetchBlob(clientOf("customer"), blob)).equals(bytes));
});

test("a download goes on with what is on disk, and a wrong byte there or on the way is found", async () => {
	const { clientOf } = await serve();
	const bytes = bytesOf(3 * PIECE_BYTES + 10);
	const client = clientOf("provider");
	const blob = await uploadBlob(client, { bytes: () => bytes });
	const asked: number[] = [];
	const counted = (spoil = -1): Pick<ApiClient, "getBlob" | "getJobBlob"> => ({
		...client,
		getBlob: async (input) => {
			asked.push(input.query.first! / PIECE_BYTES);
			const piece = await client.getBlob(input);
			if (asked.at(-1) === spoil) piece[7]! ^= 1;
			return piece;
		},
	});
	const path = fresh("resumed");
	writeFileSync(`${path}.part`, bytes.subarray(0, 2 * PIECE_BYTES + 500));
	await downloadBlob(counted(), blob, path);
	assert.deepEqual(asked, [2, 3]);
	assert.ok(readFileSync(path).equals(bytes));
	const torn = bytes.slice(0, 2 * PIECE_BYTES);
	torn[5]! ^= 1;
	const other = fresh("torn");
	writeFileSync(`${other}.part`, torn);
	await assert.rejects(downloadBlob(counted(), blob, other), code("BLOB_WRONG"));
	assert.throws(() => statSync(`${other}.part`), "what was wrong is not kept");
	await assert.rejects(downloadBlob(counted(1), blob, other), code("BLOB_WRONG"));
	await assert.rejects(fetchBlob(counted(3), blob), code("BLOB_WRONG"));
	const short: typeof client = {
		...client,
		getBlob: async (input) => (await client.getBlob(input)).subarray(1),
	};
	await assert.rejects(fetchBlob(short, blob), code("BLOB_WRONG"));
	assert.throws(() => statSync(other));
	await downloadBlob(counted(), blob, other);
	await assert.rejects(fetchBlob(client, wrongName(blob)), code("BLOB_UNKNOWN"));
});

test("what the server refuses is told at once; what passes is waited for; a file that changes is found", async () => {
	const { clientOf } = await serve({}, { limits: { mostBytes: 3 * PIECE_BYTES } });
	const client = clientOf("customer");
	await assert.rejects(uploadBlob(client, { bytes: bytesOf(3 * PIECE_BYTES + 1) }), code("BLOB_LARGE"));
	await assert.rejects(uploadBlob(client, { bytes: new Uint8Array(0) }), code("REQUEST_BAD"));
	let away = 7;
	const waits: number[] = [];
	const busy: Pick<ApiClient, "beginBlob" | "putBlob"> = {
		beginBlob: client.beginBlob,
		putBlob: async (input, call) => {
			if (away-- > 0) throw new AssayError(away % 2 ? "NOT_READY" : "API_UNREACHABLE", "away");
			return await client.putBlob(input, call);
		},
	};
	const sleepMs = async (ms: number) => void waits.push(ms);
	await uploadBlob(busy, { bytes: bytesOf(2 * PIECE_BYTES) }, { sleepMs });
	assert.deepEqual(waits, [100, 200, 400, 800, 1600, 3200, 6400]);
	away = 100;
	const impatient = uploadBlob(busy, { bytes: bytesOf(5000, 9) }, { sleepMs, patienceMs: 20_000 });
	await assert.rejects(impatient, code("NOT_READY"));
	const gone = { ...busy, putBlob: async () => Promise.reject(new AssayError("BLOB_UNKNOWN", "given up")) };
	await assert.rejects(uploadBlob(gone, { bytes: bytesOf(5000, 9) }, noWait), code("BLOB_UNKNOWN"));

	const path = fresh("changing");
	writeFileSync(path, bytesOf(2 * PIECE_BYTES, 5));
	const changing: Pick<ApiClient, "beginBlob" | "putBlob"> = {
		putBlob: client.putBlob,
		beginBlob: async (input, call) => {
			writeFileSync(path, bytesOf(2 * PIECE_BYTES, 6));
			return await client.beginBlob(input, call);
		},
	};
	await assert.rejects(uploadBlob(changing, { path }), code("BLOB_WRONG"));
	const shrinking = {
		putBlob: client.putBlob,
		beginBlob: async (...args: Parameters<ApiClient["beginBlob"]>) => {
			truncateSync(path, PIECE_BYTES);
			return await client.beginBlob(...args);
		},
	};
	await assert.rejects(uploadBlob(shrinking, { path }), code("BLOB_WRONG"));
	const abort = new AbortController();
	abort.abort();
	await assert.rejects(uploadBlob(client, { bytes: bytesOf(10) }, { signal: abort.signal }), /abort/i);
});

test("H1: a full disk is waited out, before the first piece and between two; one's own quota is not", async () => {
	const GB = 1e9;
	let freeBytes = GB;
	const disk = async () => ({ bsize: 1, blocks: 100 * GB, bavail: freeBytes, files: 0, ffree: 0 });
	const { clientOf } = await serve({}, { disk, limits: { mostHeldBytes: 5 * PIECE_BYTES } });
	const client = clientOf("provider");
	const waits: number[] = [];
	const sleepMs = async (ms: number) => {
		freeBytes = waits.push(ms) % 3 === 0 ? 50 * GB : GB;
	};
	const fills: Pick<ApiClient, "beginBlob" | "putBlob"> = {
		beginBlob: client.beginBlob,
		putBlob: async (input, call) => {
			if (input.query.offset === PIECE_BYTES && waits.length < 6) freeBytes = GB;
			return await client.putBlob(input, call);
		},
	};
	const bytes = bytesOf(3 * PIECE_BYTES);
	const blob = await uploadBlob(fills, { bytes }, { sleepMs });
	assert.equal(waits.length, 6);
	assert.deepEqual(await fetchBlob(client, blob), bytes);
	await assert.rejects(uploadBlob(client, { bytes: bytesOf(3 * PIECE_BYTES, 2) }, noWait), code("BLOB_QUOTA"));
	const query = { size: 10, from: "10.0.0.1" };
	const named = { params: { root: blob.root }, query, body: new Uint8Array(32) };
	await assert.rejects(client.beginBlob(named), code("CALLER_OTHER"));
	await assert.rejects(clientOf("admin").beginBlob(named), code("BLOB_TREE"));
});

test("each its own; a job's are for its customer and its providers, and unknown to everybody else", async () => {
	const [customer, provider] = [signerOf("customer").key, signerOf("provider").key];
	const [mine, theirs, none, unclaimed, open] = ["1", "2", "3", "4", "5"].map((digit) => digit.repeat(64)) as [
		...[string, string, string, string, string],
	];
	const stranger = "9".repeat(64);
	const optimistic = { customer: stranger, provider: stranger, method: "optimistic" };
	const { api, blobs, clientOf } = await serve({
		[mine]: { customer, provider },
		[theirs]: { customer: stranger, provider: stranger, claim: none },
		[unclaimed]: optimistic,
		[open]: { ...optimistic, claim: none },
	});
	const bytes = bytesOf(5000);
	const client = clientOf("customer");
	const [blob, second] = (await uploadBlobs(client, [{ bytes }, { bytes: bytesOf(100, 3) }])) as [BlobName, BlobName];
	await assert.rejects(fetchBlob(clientOf("provider"), blob), code("BLOB_UNKNOWN"));
	await assert.rejects(fetchBlob(client, blob, { job: mine }), code("BLOB_UNKNOWN"), "the job does not hold it yet");
	for (const job of [mine, theirs, unclaimed, open]) await blobs.share(customer, blob, jobHolder(job));
	for (const role of ["customer", "provider", "admin"] as const)
		assert.deepEqual(await fetchBlob(clientOf(role), blob, { job: mine }), bytes);
	assert.deepEqual(await fetchBlob(clientOf("provider"), blob, { job: open }), bytes, "anyone may run it again");
	for (const job of [theirs, none, unclaimed])
		for (const role of ["customer", "provider"] as const)
			await assert.rejects(fetchBlob(clientOf(role), blob, { job }), code("JOB_UNKNOWN"));
	await assert.rejects(fetchBlob(client, second, { job: mine }), code("BLOB_UNKNOWN"));

	const rows = async (role: Role) => (await clientOf(role).listBlobs({})).rows;
	assert.deepEqual(
		await rows("customer"),
		[blob, second].toSorted((a, b) => (a.root < b.root ? -1 : 1)),
	);
	assert.deepEqual(await rows("provider"), []);
	const one = await client.listBlobs({ query: { limit: 1 } });
	const two = await client.listBlobs({ query: { limit: 1, cursor: one.cursor! } });
	assert.deepEqual([[...one.rows, ...two.rows], two.cursor], [await rows("customer"), null]);
	for (const act of [
		clientOf("provider").listBlobs({ query: { holder: customer } }),
		clientOf("provider").getBlob({ params: { root: blob.root }, query: { size: 5000, holder: customer } }),
		clientOf("provider").releaseBlob({ params: { root: blob.root }, query: { size: 5000, holder: customer } }),
		clientOf("provider").beginBlob({
			...{ params: { root: blob.root }, query: { size: 5000, holder: customer }, body: new Uint8Array(32) },
		}),
	])
		await assert.rejects(act, code("CALLER_OTHER"));
	// Releasing another's is releasing one's own, of which there is none.
	await clientOf("provider").releaseBlob({ params: { root: blob.root }, query: { size: 5000 } });
	assert.deepEqual(await fetchBlob(client, blob), bytes);
	await client.releaseBlob({ params: { root: blob.root }, query: { size: 5000 } });
	await assert.rejects(fetchBlob(client, blob), code("BLOB_UNKNOWN"));
	assert.deepEqual(await fetchBlob(client, blob, { job: mine }), bytes, "the job holds it whatever its customer does");
	const token = createApiClient({ baseUrl: api.url, token: tokenOf("customer") });
	assert.deepEqual((await token.listBlobs({})).rows, [second], "a token that speaks for a key");
	await assert.rejects(
		client.beginBlob({ params: { root: blob.root }, query: { size: 5000 }, body: new Uint8Array(31) }),
		code("BLOB_TREE"),
	);
});

test("behind the door of another process: the same as in the folder", async () => {
	const { blobs, clientOf } = await serve();
	const door = createRemoteBlobs(clientOf("admin"));
	const bytes = bytesOf(2 * PIECE_BYTES + 17);
	const { blob, roots } = await nameBlob({ bytes });
	let at = await door.begin("ann", blob, roots);
	while (at < blob.size) at = await door.put("ann", blob, at, bytes.subarray(at, at + PIECE_BYTES));
	assert.deepEqual(await blobs.held("ann"), [blob]);
	assert.deepEqual(await door.held("ann"), [blob]);
	await door.share("ann", blob, "job-1");
	await door.release("ann", blob);
	assert.deepEqual([await door.held("ann"), await blobs.held("job-1")], [[], [blob]]);
	assert.ok(
		Buffer.from(await door.read("job-1", blob, 5, 2 * PIECE_BYTES)).equals(bytes.subarray(5, 5 + 2 * PIECE_BYTES)),
	);
	assert.ok(Buffer.from(await door.read("job-1", blob, 0, 1e9)).equals(bytes));
	const linked = fresh("linked");
	await door.linkTo("job-1", blob, linked);
	assert.ok(readFileSync(linked).equals(bytes));
	await assert.rejects(door.linkTo("ann", blob, fresh("none")), code("BLOB_UNKNOWN"));
	await assert.rejects(door.read("ann", blob, 0, 10), code("BLOB_UNKNOWN"));
	await assert.rejects(door.share("ann", blob, "eve"), code("BLOB_UNKNOWN"));
	assert.deepEqual(await door.shareAll("ann", [blob], "eve"), [blob]);
	assert.deepEqual(await door.shareAll("job-1", [blob], "job-2"), []);
});

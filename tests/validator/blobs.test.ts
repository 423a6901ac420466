// Blobs at a real validator: uploads over its API, by customers and providers; what goes when nobody wants
// it, and what never does; a second process without the folder.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fetchBlob, nameBlob, uploadBlob } from "../../src/api/blob-transfer.ts";
import { type ApiClient, createApiClient } from "../../src/api/create-client.ts";
import { createParams } from "../../src/market/params.ts";
import { createNodeSigner } from "../../src/platform/node-ed25519.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import type { JobPart, JobRecord } from "../../src/protocol/network/job.ts";
import type { JobSpec } from "../../src/protocol/network/job-spec.ts";
import { openBlobStore } from "../../src/store/blobs/blob-store.ts";
import type { Store } from "../../src/store/open-store.ts";
import { serverFolder } from "../../src/store/open-store.ts";
import { copyCluster } from "../../src/store/postgres/cluster.test-kit.ts";
import { createValidator, type RunningValidator } from "../../src/validator/create-validator.ts";
import { auditHolder, jobHolder } from "../../src/validator/jobs/blobs/blob-holders.ts";
import { sweepBlobs } from "../../src/validator/jobs/blobs/sweep-blobs.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-blobs-"));
const secretKey = new Uint8Array(32).fill(7);
const signer = createNodeSigner(new Uint8Array(32).fill(9));
const stops: (() => Promise<unknown>)[] = [];
after(async () => {
	for (const stop of stops.reverse()) await stop();
	rmSync(scratch, { recursive: true, force: true });
});

async function start(blobs: string | null, databaseUrl: string | null = null): Promise<RunningValidator> {
	const dataDir = join(scratch, "data");
	if (databaseUrl === null && stops.length === 0) await copyCluster(serverFolder(dataDir), { durable: false });
	const validator = createValidator({
		...{
			dataDir,
			blobs,
			secretKey,
			databaseUrl,
			probes: false,
			listen: { port: 0 },
			api: { limits: { writesPerS: 1000 } },
		},
	});
	stops.push(() => validator.stop());
	return await validator.start();
}
const clientOf = (url: string, audience: string): ApiClient => createApiClient({ baseUrl: url, signer, audience });
const code = (expected: string) => (error: unknown) => error instanceof AssayError && error.code === expected;

const spec: JobSpec = {
	...{ format: "assay-job", version: 1, title: "a job", kind: "program" },
	...{ program: { root: "a".repeat(64), size: 20 }, seed: "b".repeat(64), given: [], segments: 4 },
	...{ metrics: [], previews: [], method: { name: "sampled", count: 2 } },
};
const terms = {
	...{
		customer: signer.key,
		program: "a".repeat(64),
		inputs: "c".repeat(64),
		method: spec.method,
		segments: 4,
		parts: 1,
	},
	...{
		priceMicros: 100,
		feeMicros: 2,
		auditMicros: 10,
		bondMicros: 50,
		startByMs: 4_000_000_000_000,
		workMs: 9,
		windowMs: 9,
		checkedMs: 9,
	},
};
const recordOf = (id: string, state: JobPart["state"]): JobRecord => ({
	...{ id, terms },
	parts: [
		{
			...{
				part: 0,
				attempt: 1,
				state,
				provider: null,
				base: 0,
				isAlone: false,
				untilMs: 0,
				lastBeatMs: 0,
				done: 0,
				lastProgressMs: 0,
			},
			...{
				claim: null,
				claimedAtMs: 0,
				assignedAtMs: 0,
				isChecked: false,
				isDisputed: false,
				audits: [],
				excluded: [],
			},
		},
	],
});
const createJob = (store: Store, id: string, atMs: number) =>
	store.jobs.create({ id, customer: signer.key, spec, offer: {}, record: recordOf(id, "open"), atMs });

test("through a process without the folder to the one that has it, and back", async () => {
	const first = await start(null);
	const second = await start(first.url);
	const bytes = new Uint8Array(1_500_000).fill(5);
	const there = clientOf(second.url, second.key);
	const blob = await uploadBlob(there, { bytes });
	const here = clientOf(first.url, first.key);
	for (const client of [here, there]) {
		assert.deepEqual(await fetchBlob(client, blob), bytes);
		assert.deepEqual((await client.listBlobs({})).rows, [blob]);
	}
	const id = "1".repeat(64);
	await createJob(first.store, id, Date.now());
	await assert.rejects(fetchBlob(there, blob, { job: id }), code("BLOB_UNKNOWN"));
	await (await openBlobStore(join(scratch, "data", "blobs"))).share(signer.key, blob, jobHolder(id));
	assert.deepEqual(await fetchBlob(there, blob, { job: id }), bytes);
	const stranger = createApiClient({
		...{ baseUrl: second.url, audience: second.key, signer: createNodeSigner(new Uint8Array(32).fill(3)) },
	});
	await assert.rejects(fetchBlob(stranger, blob, { job: id }), code("JOB_UNKNOWN"));
	await there.releaseBlob({ params: { root: blob.root }, query: { size: blob.size } });
	assert.deepEqual((await here.listBlobs({})).rows, []);
	assert.deepEqual(await fetchBlob(here, blob, { job: id }), bytes);
});

test("what nobody wants goes: idle uploads and holdings after a day, a job's a week after its end; what is in use never", async () => {
	const { store } = await start(null);
	const folder = join(scratch, "swept");
	const blobs = await openBlobStore(folder);
	const bytes = new Uint8Array(5000).fill(1);
	const { blob, roots } = await nameBlob({ bytes });
	const put = async (holder: string) => {
		await blobs.begin(holder, blob, roots);
		await blobs.put(holder, blob, 0, bytes);
	};
	const [ended, open, never] = ["4", "5", "6"].map((digit) => digit.repeat(64)) as [string, string, string];
	const DAY = 86_400_000;
	const now = Date.now();
	const clock = { nowMs: now };
	const params = createParams();
	const sweep = () =>
		sweepBlobs(
			{ store, env: { nowMs: () => clock.nowMs } as never, config: { params, keepHistoryMs: 90 * DAY } as never },
			blobs,
		);
	for (const id of [ended, open]) await createJob(store, id, now);
	for (const holder of ["ann", "bob", jobHolder(ended), auditHolder(ended), jobHolder(open), jobHolder(never)])
		await put(holder);
	await blobs.begin("carl", blob, roots);
	await store.jobs.change({ id: ended, version: 1, record: recordOf(ended, "paid"), atMs: now });
	await store.jobs.change({ id: ended, version: 2, record: recordOf(ended, "paid"), atMs: now + 1 });

	await sweep();
	assert.deepEqual(holdersOf(folder).length, 6);
	clock.nowMs = now + 1.5 * DAY;
	utimesSync(join(folder, "holders", "bob"), new Date(now + DAY), new Date(now + DAY));
	await sweep();
	assert.deepEqual(holdersOf(folder), [auditHolder(ended), "bob", jobHolder(ended), jobHolder(open)].sort());
	assert.deepEqual(readdirSync(join(folder, "parts")), [], "an upload that nobody went on with");
	await assert.rejects(blobs.read("ann", blob, 0, 5), code("BLOB_UNKNOWN"));
	clock.nowMs = now + 7 * DAY - 1000;
	await sweep();
	assert.deepEqual(holdersOf(folder), [auditHolder(ended), jobHolder(ended), jobHolder(open)].sort());
	assert.equal((await store.jobs.summary(ended))?.isCleared, false);
	clock.nowMs = now + 7 * DAY + 1000;
	await sweep();
	assert.deepEqual(holdersOf(folder), [jobHolder(open)]);
	assert.equal((await store.jobs.summary(ended))?.isCleared, true);
	clock.nowMs = now + 3650 * DAY;
	await sweep();
	assert.deepEqual(await blobs.read(jobHolder(open), blob, 0, 5000), bytes, "of a job that is not over");
	await blobs.releaseAll(jobHolder(open));
	assert.deepEqual(readdirSync(join(folder, "whole")), []);
});

const holdersOf = (folder: string): string[] => readdirSync(join(folder, "holders")).sort();

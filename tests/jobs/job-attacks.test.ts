// Words about jobs that nobody may believe: of another attempt, another's job, another's offer, after the
// time, of blobs that are not there. One validator, no chain, workers that do nothing by themselves: the test
// speaks for them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fetchBlob, uploadBlob } from "../../src/api/blob-transfer.ts";
import { createApiClient } from "../../src/api/create-client.ts";
import type { Job } from "../../src/api/types.ts";
import type { JobOffer } from "../../src/protocol/network/job-offer.ts";
import { eventually, signerOf } from "../validator/toy-agent.test-kit.ts";
import { openStage, prepare, type Stage, submit } from "./job-stage.test-kit.ts";
import type { ToyWorker } from "./toy-worker.test-kit.ts";

const METHOD = { name: "optimistic", count: 0 } as const;
const salt = (n: number): string => n.toString(16).padStart(64, "0");
const ROOT = "ab".repeat(32);
let stage: Stage;
let worker: ToyWorker;
let stranger: ReturnType<typeof createApiClient>;
let skippedMs = 0;
const nowMs = () => Date.now() + skippedMs;
/** A job whose only part the worker has. */
let taken: string;

before(async () => {
	// Time enough that only what the test wants lapses.
	stage = await openStage({
		hasChain: false,
		params: { jobAcceptMs: 600_000, jobBeatMs: 600_000, jobLeastWorkMs: 600_000, jobStuckMs: 1000 },
		nowMs,
	});
	worker = await stage.worker(1, { isDeaf: true });
	stranger = createApiClient({ baseUrl: stage.validator.url, signer: signerOf(77), nowMs });
});
after(() => stage.close());

const refuses = (code: string, act: Promise<unknown>) =>
	assert.rejects(act, (error: Error & { code?: string }) => {
		assert.equal(error.code, code, String(error));
		return true;
	});
const offered = (id: string): Promise<Job> =>
	eventually(async () => {
		const job = await stage.customer.getJob({ params: { id } });
		return job.record.parts[0]!.state === "assigned" && job;
	});

test("an offer is for its customer, its spec and its time, as the validator signed it", async () => {
	const { spec, offer } = await prepare(stage, { method: METHOD, salt: salt(1) });
	const hand = (changed: JobOffer, client = stage.customer, of = spec) =>
		client.submitJob({ body: { spec: of, offer: changed } as never });
	await refuses("JOB_OFFER", hand({ ...offer, terms: { ...offer.terms, priceMicros: 1 } }));
	await refuses("JOB_OFFER", hand({ ...offer, untilMs: offer.untilMs + 1 }));
	await refuses("JOB_OFFER", hand({ ...offer, perWindow: 1000 }));
	await refuses("JOB_OFFER", hand(offer, stranger));
	await refuses("JOB_OFFER", hand(offer, stage.customer, { ...spec, segments: 6, title: "another" }));
	await refuses("JOB_PRICE", prepare(stage, { method: METHOD, salt: salt(2), mostMicros: 0 }));
	await refuses("JOB_SPEC", prepare(stage, { method: { name: "redundant", count: 9 }, salt: salt(3) }));
	await refuses("JOB_NO_PROVIDER", prepare(stage, { method: { name: "redundant", count: 2 }, salt: salt(4) }));
});

test("what names blobs that the customer does not have is refused, and says which", async () => {
	const { spec } = await prepare(stage, { method: METHOD, salt: salt(5) });
	const body = {
		spec: { ...spec, program: { ...spec.program, root: ROOT } },
		mostMicros: null,
		account: null,
		salt: salt(6),
	};
	await refuses("JOB_INPUTS", stage.customer.quoteJob({ body: body as never }));
	// Another's blobs are not one's own, whoever knows their names.
	await refuses("JOB_INPUTS", stranger.quoteJob({ body: { ...body, spec } as never }));
});

test("only the drawn provider speaks for its part, and only of this attempt; the job keeps what it needs", async () => {
	const { id } = await submit(stage, { method: METHOD, salt: salt(7) });
	await offered(id);
	taken = id;
	const params = { id, part: 0 };
	const other = await stage.worker(2, { isDeaf: true });
	await refuses("JOB_UNKNOWN", other.client.getPartOffer({ params }));
	await refuses("JOB_UNKNOWN", other.client.acceptPart({ params, body: { attempt: 1 } }));
	await refuses(
		"JOB_UNKNOWN",
		other.client.beatPart({ params, body: { attempt: 1, done: 1, metrics: [], previews: [] } }),
	);
	await refuses("JOB_UNKNOWN", stranger.getJob({ params: { id } }));
	await refuses("JOB_UNKNOWN", stranger.getJobResult({ params: { id } }));
	await refuses("JOB_STATE", worker.client.acceptPart({ params, body: { attempt: 2 } }));
	const states = await uploadBlob(worker.client, { bytes: new Uint8Array(32 * 7) });
	const claim = { attempt: 1, segmentRoot: ROOT, resultRoot: ROOT, states, state: [], results: [] };
	await refuses("JOB_STATE", worker.client.claimPart({ params, body: claim }));
	await worker.client.acceptPart({ params, body: { attempt: 1 } });
	assert.equal((await worker.client.acceptPart({ params, body: { attempt: 1 } })).state, "running", "said twice");
	await refuses("JOB_STATE", worker.client.declinePart({ params, body: { attempt: 2, why: "of another attempt" } }));
	await refuses("JOB_UNKNOWN", other.client.declinePart({ params, body: { attempt: 1, why: "another's part" } }));
	await refuses("JOB_CLAIM", worker.client.claimPart({ params, body: claim }));
	const { go } = await worker.client.beatPart({ params, body: { attempt: 2, done: 1, metrics: [], previews: [] } });
	assert.equal(go, false, "of another attempt");
	await refuses(
		"JOB_STATE",
		worker.client.beatPart({ params, body: { attempt: 1, done: 99, metrics: [], previews: [] } }),
	);
	await refuses(
		"JOB_UNKNOWN",
		worker.client.answerAudit({ params: { ...params, at: 0 }, body: { attempt: 1, states } }),
	);
	await refuses("JOB_STATE", stage.customer.cancelJob({ params: { id } }));
	// The customer's blobs may go: the job has its own hold.
	const { spec } = await stage.customer.getJob({ params: { id } });
	const { root, size } = spec.program;
	await stage.customer.releaseBlob({ params: { root }, query: { size } });
	assert.equal((await fetchBlob(worker.client, spec.program, { job: id })).length, size);
	await refuses("BLOB_UNKNOWN", fetchBlob(worker.client, { root: ROOT, size }, { job: id }));
	await refuses("JOB_UNKNOWN", fetchBlob(stranger, spec.program, { job: id }));
	await other.close();
});

test("who shows progress keeps its part; who lives and shows none loses it, and its claim comes too late", async () => {
	const params = { id: taken, part: 0 };
	const part = async () => (await stage.customer.getJob({ params: { id: taken } })).record.parts[0]!;
	const beat = async (done: number) =>
		(await worker.client.beatPart({ params, body: { attempt: 1, done, metrics: [], previews: [] } })).go;
	// Ten minutes for six segments: 100 s for each.
	for (const done of [1, 2, 3]) {
		skippedMs += 90_000;
		assert.equal(await beat(done), true);
		// The validator has looked at it.
		await sleep(400);
	}
	skippedMs += 60_000;
	assert.equal(await beat(3), true);
	assert.equal((await part()).state, "running");
	skippedMs += 60_000;
	await eventually(async () => (await part()).state === "open");
	assert.equal(await beat(4), false);
	assert.deepEqual((await part()).excluded, [worker.id]);
	const late = {
		attempt: 1,
		segmentRoot: ROOT,
		resultRoot: ROOT,
		states: { root: ROOT, size: 224 },
		state: [],
		results: [],
	};
	await refuses("JOB_STATE", worker.client.claimPart({ params, body: late }));
	const { reputation } = await stage.customer.getProviderWork({ params: { id: worker.id } });
	assert.deepEqual([reputation.counts.late, reputation.counts.lost], [1, 0]);
});

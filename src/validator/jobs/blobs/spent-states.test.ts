// What a job that goes on lets go, in a real folder of blobs: states of windows that agree, and the ends of
// parts that nobody can dispute or build on any more. Everything else stays.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { foldInSlices, pieceRoot } from "../../../platform/blob-tree.ts";
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import type { JobAudit, JobPart } from "../../../protocol/network/job.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import { type BlobStore, openBlobStore } from "../../../store/blobs/blob-store.ts";
import type { Job } from "../keeper/job-context.ts";
import { auditHolder, jobHolder } from "./blob-holders.ts";
import { createSpentStates } from "./spent-states.ts";

const ID = "ab".repeat(32);
const HOST = "cd".repeat(32);
const folder = mkdtempSync(join(tmpdir(), "assay-spent-"));
let blobs: BlobStore;
before(async () => {
	blobs = await openBlobStore(folder);
});
after(() => rmSync(folder, { recursive: true, force: true }));

async function put(size: number, ...holders: string[]): Promise<BlobName> {
	const bytes = new Uint8Array(randomBytes(size));
	const pieces = [await pieceRoot(bytes)];
	const blob = { root: bytesToHex(await foldInSlices(pieces)), size };
	for (const holder of holders) {
		await blobs.begin(holder, blob, pieces);
		await blobs.put(holder, blob, 0, bytes);
	}
	return blob;
}

const names = (all: readonly BlobName[]) => all.map(({ root }) => root).sort();
const heldBy = async (holder: string) => names(await blobs.held(holder));

test("a long job holds the inputs, all lists of states, the last end that is paid, and what is still to be run again", async () => {
	const [job, audit] = [jobHolder(ID), auditHolder(ID)];
	const [program, input] = [await put(500, job), await put(700, job)];
	/** Two segments a part, so a list has three states. */
	const claims = await Promise.all(
		[0, 1, 2, 3].map(async () => ({
			states: await put(96, HOST, audit, job),
			state: [await put(2000, HOST, audit, job)],
			results: [await put(300, HOST, audit, job)],
		})),
	);
	// One tensor does not change from the first part to the last.
	const same = await put(900, HOST, audit, job);
	for (const claim of claims) claim.state.push(same);
	const [begun, agreed] = [await put(2000, job), await put(2000, job)];
	const begins = new Map([
		[0, [agreed, same]],
		[1, [begun, same]],
	]);
	const forgotten: string[] = [];
	const part = (number: number, state: JobPart["state"], audits: Partial<JobAudit>[]): JobPart =>
		({ part: number, attempt: 1, state, claim: `${number}`, provider: HOST, audits }) as unknown as JobPart;
	const source = {
		blobs,
		store: { jobs: { claim: async (hash: string) => ({ provider: HOST, body: claims[Number(hash)] }) } },
		works: { ofJob: async () => ({ state: [], results: [] }) },
		auditBegins: {
			known: (_: string, __: JobPart, first: number) => begins.get(first) ?? [],
			forget: (id: string) => forgotten.push(id),
		},
	};
	const spent = createSpentStates(() => source as never, 1000);
	const jobWith = (parts: JobPart[], name = "sampled"): Job =>
		({
			id: ID,
			spec: { program, given: [{ tensor: 0, ...input }], previews: [] },
			offer: { terms: { segments: 8, parts: 4, method: { name, count: 1 } } },
			record: { parts },
		}) as never;
	const audits = [
		{ first: 0, answer: "x", agrees: true },
		{ first: 1, answer: null, agrees: null },
	];
	const parts = [part(0, "paid", []), part(1, "paid", []), part(2, "claimed", audits), part(3, "claimed", [])];

	const everything = await heldBy(job);
	await spent.trim(jobWith(parts, "zk"));
	await spent.trim(
		jobWith([part(0, "claimed", []), ...parts.slice(1)].map((one) => ({ ...one, state: "claimed", audits: [] }))),
	);
	assert.deepEqual(await heldBy(job), everything, "of a proven job, or before anything is paid or agrees, all stays");

	await createSpentStates(() => source as never).trim(jobWith(parts));
	assert.deepEqual(await heldBy(job), everything, "a small job keeps all that it has");

	await spent.trim(jobWith(parts));
	const lists = claims.map(({ states }) => states);
	const ends = (from: number) => claims.slice(from).flatMap(({ state, results }) => [state[0]!, ...results]);
	assert.deepEqual(await heldBy(job), names([program, input, same, begun, ...lists, ...ends(1)]));
	assert.deepEqual(await heldBy(audit), names([same, ...lists, ...ends(1)]));
	// Its own room is free of what is paid; what both a paid and a later part end with it uploads again.
	assert.deepEqual(await heldBy(HOST), names([...lists, ...ends(2)]));
	assert.deepEqual(forgotten, [ID]);

	await spent.trim(jobWith(parts.map((one) => (one.part === 2 ? { ...one, state: "paid" } : one))));
	assert.deepEqual(await heldBy(job), names([program, input, same, ...lists, ...ends(2)]));
	assert.deepEqual(await heldBy(audit), names([same, ...lists, ...ends(2)]));
	assert.deepEqual(await heldBy(HOST), names([...lists, ...ends(3)]));
});

// Programs that are kept opened: read whole once, and still nobody is told of a program whose bytes it has
// not.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nameBlob } from "../../../api/blob-transfer.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { hexToBytes } from "../../../protocol/bytes/bytes.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import { toyWorkload } from "../../../provider/jobs/toy-run.test-kit.ts";
import { mlpSample } from "../../../work/builder/samples.test-kit.ts";
import { openJobWork } from "../../../work/program/job-work.ts";
import { specOfWorkload } from "../../../work/workloads/spec-of-workload.ts";
import { jobHolder } from "../blobs/blob-holders.ts";
import { createJobWorks } from "./job-works.ts";

async function sample() {
	const { spec, blobs } = await specOfWorkload(toyWorkload(mlpSample(), 5), {
		...{ title: "a job", kind: "program", method: { name: "optimistic", count: 0 } },
		rootOf: async (bytes) => hexToBytes((await nameBlob({ bytes })).blob.root, 32)!,
	});
	const names = await Promise.all(
		blobs.map(async ({ bytes }) => ({ bytes: bytes(), ...(await nameBlob({ bytes: bytes() })) })),
	);
	const { bytes } = names.find(({ blob }) => blob.root === spec.program.root)!;
	const holders = new Set(["ann", jobHolder("1")]);
	const lengths: number[] = [];
	const works = createJobWorks({
		blobs: {
			async read(holder: string, _: BlobName, first: number, length: number) {
				if (!holders.has(holder)) throw new AssayError("BLOB_UNKNOWN", "this holder has no such blob");
				lengths.push(length);
				return bytes.subarray(first, first + length);
			},
		},
	});
	return { spec, bytes, works, lengths };
}

test("a program is read whole once, whichever jobs have it; each job's own inputs count", async () => {
	const { spec, bytes, works, lengths } = await sample();
	const other = { ...spec, seed: "ab".repeat(32), segments: 3 };
	assert.deepEqual(await works.open(spec, "ann"), openJobWork(spec, bytes));
	assert.deepEqual(await works.open(other, "ann"), openJobWork(other, bytes));
	assert.deepEqual(await works.ofJob({ id: "1", spec: other }), openJobWork(other, bytes));
	assert.deepEqual(await works.ofJob({ id: "1", spec: other }), openJobWork(other, bytes));
	assert.deepEqual(lengths, [bytes.length, 1, 1]);
	await assert.rejects(works.open({ ...spec, segments: 2 ** 40 }, "ann"), { code: "JOB_SPEC" });
});

test("ATTACK: who names a program that another has is told nothing of it", async () => {
	const { spec, works } = await sample();
	await works.open(spec, "ann");
	await assert.rejects(works.open(spec, "eve"), { code: "JOB_INPUTS" });
	await assert.rejects(works.ofJob({ id: "2", spec }), { code: "JOB_INPUTS" });
});

// Programs that are kept opened: read whole once, and still nobody is told of a program whose bytes it has
// not.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { nameBlob } from "../../../api/blob-transfer.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { hexToBytes } from "../../../protocol/bytes/bytes.ts";
import type { BlobName, JobSpec } from "../../../protocol/network/job-spec.ts";
import { toyWorkload } from "../../../provider/jobs/toy-run.test-kit.ts";
import { buildProgram } from "../../../work/builder/build-program.ts";
import { at } from "../../../work/builder/expression.ts";
import { mlpSample, type Sample } from "../../../work/builder/samples.test-kit.ts";
import { openJobWork } from "../../../work/program/job-work.ts";
import { specOfWorkload } from "../../../work/workloads/spec-of-workload.ts";
import { jobHolder } from "../blobs/blob-holders.ts";
import { createJobWorks } from "./job-works.ts";
import { createProgramDesk } from "./program-desk.ts";

const ANN = { holder: "ann", address: "198.51.100.7" };

/** As many maps of 200 roots each: a customer's, to keep whoever opens it busy. */
function expensiveSample(maps: number): Sample {
	const b = buildProgram();
	const x = b.tensor("input", "x", "i64", [1], 0, 2n ** 40n);
	const out = b.tensor("state", "out", "i64", [1], 0, 2n ** 40n);
	for (let n = 0; n < maps; n++)
		b.step.map(
			[1],
			() => {
				let value = at(x, 0);
				for (let i = 0; i < 200; i++) value = value.isqrt();
				return value;
			},
			n === maps - 1 ? { to: out } : { type: "i64" },
		);
	return { program: b.program(), given: { x: new BigInt64Array(1) } };
}

async function sample(of: Sample = mlpSample(), budget?: { maxMs: number; maxMiB: number }) {
	const { spec, blobs } = await specOfWorkload(toyWorkload(of, 5), {
		...{ title: "a job", kind: "program", method: { name: "optimistic", count: 0 } },
		rootOf: async (bytes) => hexToBytes((await nameBlob({ bytes })).blob.root, 32)!,
	});
	const names = await Promise.all(
		blobs.map(async ({ bytes }) => ({ bytes: bytes(), ...(await nameBlob({ bytes: bytes() })) })),
	);
	const { bytes } = names.find(({ blob }) => blob.root === spec.program.root)!;
	const holders = new Set(["ann", jobHolder("1")]);
	const lengths: number[] = [];
	const desk = createProgramDesk({ maxWaitMs: 3_600_000, ...budget });
	after(() => desk.close());
	const clock = { nowMs: 0 };
	const works = createJobWorks({
		desk,
		nowMs: () => clock.nowMs,
		blobs: {
			async read(holder: string, _: BlobName, first: number, length: number) {
				if (!holders.has(holder)) throw new AssayError("BLOB_UNKNOWN", "this holder has no such blob");
				lengths.push(length);
				return bytes.subarray(first, first + length);
			},
		},
	});
	return { spec, bytes, works, lengths, clock, holders };
}

test("a program is read whole once, whichever jobs have it; each job's own inputs count", async () => {
	const { spec, bytes, works, lengths } = await sample();
	const other = { ...spec, seed: "ab".repeat(32), segments: 3 };
	assert.deepEqual(await works.open(spec, ANN), openJobWork(spec, bytes));
	assert.deepEqual(await works.open(other, ANN), openJobWork(other, bytes));
	assert.deepEqual(await works.ofJob({ id: "1", spec: other }), openJobWork(other, bytes));
	assert.deepEqual(await works.ofJob({ id: "1", spec: other }), openJobWork(other, bytes));
	assert.deepEqual(lengths, [1, bytes.length, 1, 1]);
	await assert.rejects(works.open({ ...spec, segments: 2 ** 40 }, ANN), { code: "JOB_SPEC" });
});

test("ATTACK: who names a program that another has is told nothing of it", async () => {
	const { spec, works } = await sample();
	await works.open(spec, ANN);
	await assert.rejects(works.open(spec, { ...ANN, holder: "eve" }), { code: "JOB_INPUTS" });
	await assert.rejects(works.ofJob({ id: "2", spec }), { code: "JOB_INPUTS" });
});

/** Turns of this thread's loop until it is done: others' requests are served in each of them. */
async function turnsOf(act: Promise<unknown>): Promise<number> {
	let turns = 0;
	let isDone = false;
	const done = act.finally(() => {
		isDone = true;
	});
	while (!isDone) {
		await new Promise((resolve) => setImmediate(resolve));
		turns += 1;
	}
	await done;
	return turns;
}

test("F5 a program is opened, checked and counted beside this thread, which serves others meanwhile", async () => {
	const { spec, bytes, works } = await sample(expensiveSample(100));
	assert.ok((await turnsOf(works.open(spec, ANN))) > 50, "from a blob to what it costs");
	const own = await sample(expensiveSample(100));
	assert.ok((await turnsOf(own.works.programOfJob({ id: "1", spec: own.spec }))) > 20, "with its ops");
	assert.deepEqual(await works.open(spec, ANN), openJobWork(spec, bytes));
	const asked = works.provingOps({ ...spec, segments: 3 }, ANN);
	await assert.rejects(asked, { code: "PROGRAM_UNPROVABLE" });
});

test("F5 a program beyond the budget is refused, not called false; the next one is opened", async () => {
	const slow = await sample(mlpSample(), { maxMs: 1, maxMiB: 512 });
	await assert.rejects(slow.works.open(slow.spec, ANN), { code: "PROGRAM_BUDGET", message: /0\.001 s/ });
	const wide = await sample(expensiveSample(1200), { maxMs: 60_000, maxMiB: 24 });
	await assert.rejects(wide.works.open(wide.spec, ANN), { code: "PROGRAM_BUDGET", message: /24 MiB/ });
	const { spec } = await sample();
	await assert.rejects(wide.works.open(spec, { ...ANN, holder: "eve" }), { code: "JOB_INPUTS" });
});

test("F5 a fault of a program comes back from the thread as what it is", async () => {
	const { spec, works } = await sample();
	const root = "00".repeat(32);
	const cut = { ...spec, program: { root, size: spec.program.size - 1 } };
	await assert.rejects(works.open(cut, ANN), { code: "PROGRAM_MALFORMED" });
	assert.equal((await works.open(spec, ANN)).root.length, 64);
});

test("F5 an address pays for what it has opened by bytes, and nobody else with it", async () => {
	const { spec, works, clock } = await sample();
	const size = 1 << 20;
	const others = Array.from({ length: 6 }, (_, n) => ({ ...spec, program: { root: `${n}`.repeat(64), size } }));
	const came: string[] = [];
	for (const one of others)
		await works.open(one, ANN).then(
			() => came.push("opened"),
			(error: AssayError) => came.push(error.code),
		);
	assert.deepEqual(came, [...Array(4).fill("opened"), "RATE_LIMITED", "RATE_LIMITED"]);
	const known = works.open(spec, { ...ANN, address: "198.51.100.8" });
	assert.equal((await known).root.length, 64, "another address");
	assert.equal((await works.open(spec, ANN)).root.length, 64, "what is known costs nothing");
	clock.nowMs += 9000;
	assert.equal((await works.open(others[5]!, ANN)).root.length, 64, "nine seconds later");
});

test("F5 a hundred who ask for one program have it opened once", async () => {
	const { spec, works, lengths, bytes } = await sample();
	const all = Array.from({ length: 60 }, () => works.open(spec, ANN));
	assert.equal(new Set((await Promise.all(all)).map(({ root }) => root)).size, 1);
	assert.equal(lengths.filter((length) => length === bytes.length).length, 1);
});

/** The same bytes under other names: to this validator as many programs. */
const others = (spec: JobSpec, count: number): JobSpec[] =>
	Array.from({ length: count }, (_, n) => ({
		...spec,
		program: { ...spec.program, root: n.toString(16).padStart(64, "0") },
	}));
const stranger = (n: number) => ({ holder: "ann", address: `198.51.100.${n}` });

test("F5 ATTACK: a hundred strangers' programs wait behind one that a job is worked at with", async () => {
	const { spec, works } = await sample(expensiveSample(60));
	let opened = 0;
	const theirs = others(spec, 20).map((one, n) =>
		works.open(one, stranger(n)).then(() => {
			opened += 1;
		}),
	);
	await works.ofJob({ id: "1", spec });
	const before = opened;
	await Promise.all(theirs);
	assert.ok(before <= 2, `${before} of 20 came before the job's`);
});

test("F5 ATTACK: strangers' programs do not push out those that jobs are worked at with", async () => {
	const { spec, works, lengths, bytes } = await sample();
	await works.ofJob({ id: "1", spec });
	for (const [n, one] of others(spec, 100).entries()) await works.open(one, stranger(n));
	lengths.length = 0;
	await works.ofJob({ id: "1", spec });
	assert.deepEqual(lengths, [], `${bytes.length} bytes would be read, and opened again`);
});

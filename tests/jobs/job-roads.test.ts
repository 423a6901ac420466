// Roads of jobs that are seldom driven: several parts with a death in between, a claimant that withholds its
// answers, audits by chance, what a customer takes back, and two validator processes of which one keeps the
// jobs and the other holds the links. Without a chain, but for the deep tier.
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import type { Job } from "../../src/api/types.ts";
import { read } from "../../src/chain/contracts/contracts.ts";
import { takeResult } from "../../src/cli/jobs/take-result.ts";
import { partRange } from "../../src/market/jobs/job-rules.ts";
import { toyOpener, toyRun } from "../../src/provider/jobs/toy-run.test-kit.ts";
import { readRunFolder } from "../../src/store/runs/run-folder.ts";
import { runOutcome } from "../../src/validator/jobs/check-files.ts";
import { checkRun } from "../../src/validator/jobs/check-run.ts";
import { diffRuns } from "../../src/validator/jobs/diff-runs.ts";
import { openRun } from "../../src/validator/jobs/open-run.ts";
import { mlpSample } from "../../src/work/builder/samples.test-kit.ts";
import { atEnd } from "../at-end.test-kit.ts";
import { isDeep } from "../fuzz.test-kit.ts";
import { eventually, signerOf, startToyValidator, type ToyValidator } from "../validator/toy-agent.test-kit.ts";
import {
	CUSTOMER,
	jobOver,
	kindsOf,
	LOST_MS,
	openStage,
	prepare,
	QUICK,
	type Stage,
	submit,
} from "./job-stage.test-kit.ts";
import { prove } from "./prove-host.test-kit.ts";
import { startToyWorker, type ToyWorker } from "./toy-worker.test-kit.ts";

const salt = (n: number): string => n.toString(16).padStart(64, "0");
const OPTIMISTIC = { name: "optimistic", count: 0 } as const;
const REDUNDANT = { name: "redundant", count: 2 } as const;
/** Nothing lapses that the test does not want to. */
const PATIENT = { jobAcceptMs: 600_000, jobLeastWorkMs: 1_200_000, jobWindowMs: 3_600_000 };
const refuses = (code: string, act: Promise<unknown>) =>
	assert.rejects(act, (error: Error & { code?: string }) => {
		assert.equal(error.code, code, String(error));
		return true;
	});

/** A result of several parts is run again from its start, and compared with a run of one's own. */
async function checkAtHome(stage: Stage, job: Job): Promise<void> {
	const { path } = stage.data;
	const io = { cwd: path, env: { ...process.env, ASSAY_HOME: path } };
	const { folder } = await takeResult(stage.customer, job, io, `whole-${job.id.slice(0, 8)}.run`);
	const run = await openRun(readRunFolder(folder));
	assert.deepEqual([run.isFetched, run.claim.first, run.segments, run.states.length, run.kept], [true, 4, 6, 7, [6]]);
	const own = join(path, `own-${job.id.slice(0, 8)}.run`);
	await toyRun(own, { sample: mlpSample(), segments: 5 });
	const mine = await openRun(readRunFolder(own));
	// The inputs come from the job, which the command builds again; here from the run beside it.
	const open = toyOpener(mine.storePath);
	const { checked, wrong, windows } = await checkRun({ run, open, device: 0, segments: 1, draw: () => 0 });
	assert.deepEqual([checked, wrong, windows], [6, null, [{ from: 0, to: 6 }]]);
	const { wrong: wrongEnd } = await runOutcome(run, { open, device: 0 });
	assert.equal(wrongEnd, null);
	const market = { run, open };
	assert.equal((await diffRuns({ a: market, b: { run: mine, open }, device: 0 })).segment, null);
	// An earlier part's state, of which the last part's claim says nothing, is run again like any other.
	const states = run.states.map((state, i) => (i === 2 ? new Uint8Array(32) : state));
	const false2 = await checkRun({ run: { ...run, states }, open, device: 0, segments: 1, draw: () => 0 });
	assert.equal(false2.wrong?.segment, 1);
	const differ = await diffRuns({ a: { run: mine, open }, b: { run: { ...run, states }, open }, device: 0 });
	assert.deepEqual([differ.segment, differ.accused.map(({ side, file }) => [side, file])], [1, [["b", null]]]);
	assert.match(differ.accused[0]!.why, /a fetched result has no roots/);
	// A result goes to no folder of another run, and a run to no result's.
	await refuses("RUN_OTHER", takeResult(stage.customer, job, io, own));
	await refuses("RUN_OTHER", toyRun(folder, { sample: mlpSample(), segments: 5 }));
	await rm(join(folder, "earlier-states.bin"));
	await refuses("RUN_INCOMPLETE", openRun(readRunFolder(folder)));
	assert.equal((await takeResult(stage.customer, job, io, folder)).folder, folder, "fetched again into its own");
}

for (const hasChain of isDeep ? [false, true] : [false])
	describe(hasChain ? "several parts, on the embedded chain" : "several parts", () => {
		let stage: Stage;
		const workers: ToyWorker[] = [];
		/**
		 * The job whose last part is to be left half-way, once: another goes on from the second one's end, which
		 * was checked.
		 */
		let doomed: string | null = null;
		let dead: string | null = null;
		/** Whether whoever runs that part beside it has said what came out. */
		let isAnswered = false;
		/** The first job of three parts. */
		let wholeId = "";
		let skippedMs = 0;
		const nowMs = () => Date.now() + skippedMs;
		/** Holds whoever runs a segment of this job, or only its auditors, until they are let go. */
		let held: { readonly id: string; readonly isAudit: boolean; readonly go: Promise<unknown> } | null = null;
		before(async () => {
			stage = await openStage({
				hasChain,
				params: { ...PATIENT, jobPartMs: 60_000, jobLongPartMs: 60_000, jobAuditPpm: 1_000_000 },
				nowMs,
			});
			for (const n of [1, 2, 3, 4]) {
				const worker: ToyWorker = await stage.worker(n, {
					// Two segments of six take a minute and more at this speed, by what was proven.
					int8: 105_000,
					async at(place, { id, part, audit }) {
						if (place === "segment" && id === held?.id && held.isAudit === (audit !== null)) await held.go;
						if (place === "answered" && id === doomed && part === 2) isAnswered = true;
						if (place !== "segment" || id !== doomed || part !== 2 || audit !== null || dead !== null) return;
						dead = worker.id;
						throw new Error("died");
					},
				});
				workers.push(worker);
			}
		});
		after(() => stage.close());

		test("each begins with the end of the one before, whoever made it; a death in between changes nothing", async () => {
			const body = await prepare(stage, { method: REDUNDANT, salt: salt(1) });
			const { id } = body.offer;
			assert.equal(body.offer.terms.parts, 3);
			const part = async (n: number) => (await stage.customer.getJob({ params: { id } })).record.parts[n]!;
			// Nobody is asked to run the second part again while what it begins with is kept from auditors.
			const { promise: go, resolve: letGo } = Promise.withResolvers<void>();
			held = { id, isAudit: true, go };
			const first = await stage.customer.submitJob({ body: body as never });
			await eventually(async () => (await part(1)).state === "claimed");
			letGo();
			const whole = await jobOver(stage.customer, first.id);
			const { state, parts } = await stage.customer.getJobResult({ params: { id: first.id } });
			const next = await prepare(stage, { method: REDUNDANT, salt: salt(2) });
			doomed = next.offer.id;
			const second = await stage.customer.submitJob({ body: next as never });
			// What is signed before the skip is too old behind it: nobody may be at work.
			const partsNow = async () => (await stage.customer.getJob({ params: { id: second.id } })).record.parts;
			await eventually(async () => {
				const parts = await partsNow();
				return dead !== null && isAnswered && parts.slice(0, 2).every(({ isChecked }) => isChecked);
			});
			skippedMs += LOST_MS;
			await eventually(async () => (await partsNow())[2]!.excluded.length > 0);
			const job = await jobOver(stage.customer, second.id);
			for (const { record } of [whole, job])
				assert.deepEqual(
					record.parts.map((part) => [part.state, part.isChecked]),
					Array(3).fill(["paid", true]),
				);
			const killed = job.record.parts[2]!;
			assert.deepEqual(killed.excluded, [dead]);
			assert.notEqual(killed.provider, dead);
			assert.deepEqual(
				job.record.parts.map(({ attempt }) => attempt),
				[1, 1, 2],
				"what was checked is not run again",
			);
			const again = await stage.customer.getJobResult({ params: { id: second.id } });
			assert.deepEqual(again.state, state);
			assert.deepEqual(
				again.parts.map(({ states }) => states),
				parts.map(({ states }) => states),
			);
			await checkAtHome(stage, job);
			wholeId = job.id;
			const given = job.record.parts.map(({ part }) => partRange(job.offer.terms, part));
			assert.deepEqual(
				given.map(({ first: from, count }) => [from, count]),
				[
					[0, 2],
					[2, 2],
					[4, 2],
				],
			);
			if (hasChain)
				for (const part of [0, 1, 2])
					assert.equal(
						(await read(stage.chain!.contracts, "jobEscrow", "partOf", BigInt(`0x${second.id}`), part)).state,
						4,
					);
		});

		// On the chain it is the customer's transaction: tests/jobs/job-cli.test.ts.
		if (!hasChain)
			test("what nobody has is taken back; what somebody works at goes on and is paid", async () => {
				const { promise, resolve: letGo } = Promise.withResolvers<void>();
				const body = await prepare(stage, { method: OPTIMISTIC, salt: salt(3) });
				const { id } = body.offer;
				held = { id, isAudit: false, go: promise };
				await stage.customer.submitJob({ body: body as never });
				await eventually(async () => {
					const { record } = await stage.customer.getJob({ params: { id } });
					assert.ok(["open", "assigned", "running"].includes(record.parts[0]!.state), "it was held");
					return record.parts[0]!.state === "running";
				});
				const cut = await stage.customer.cancelJob({ params: { id } });
				assert.deepEqual(
					cut.record.parts.map((part) => part.state),
					["running", "refunded", "refunded"],
				);
				assert.equal((await stage.customer.cancelJob({ params: { id } })).isOver, false, "said twice");
				letGo();
				const job = await jobOver(stage.customer, id);
				assert.deepEqual(
					job.record.parts.map((part) => part.state),
					["paid", "refunded", "refunded"],
				);
				// What was paid can be fetched, and is what a run had after so many segments; less than that is
				// refused.
				const io = { cwd: stage.data.path, env: { ...process.env, ASSAY_HOME: stage.data.path } };
				const taken = await takeResult(stage.customer, job, io, "part.run");
				const first = await openRun(readRunFolder(taken.folder));
				assert.deepEqual([first.segments, first.claim.first, first.isFetched], [2, 0, true]);
				const whole = await openRun(readRunFolder(join(stage.data.path, `own-${wholeId.slice(0, 8)}.run`)));
				const sides = { a: { run: whole, open: toyOpener(whole.storePath) }, b: { run: first, open: toyOpener("") } };
				assert.equal((await diffRuns({ ...sides, device: 0 })).segment, null, "as far as it goes");
				assert.deepEqual([taken.parts, taken.ofParts, taken.claim], [1, 3, job.record.parts[0]!.claim]);
				const paid = { ...job.record, parts: job.record.parts.map((part) => ({ ...part, state: "paid" as const })) };
				await refuses("JOB_RESULT_WRONG", takeResult(stage.customer, { ...job, record: paid }, io, "part.run"));
			});

		test("optimistic: what chance chooses is run again whole, and checked", async () => {
			const { id } = await submit(stage, { method: OPTIMISTIC, salt: salt(4) });
			const job = await jobOver(stage.customer, id);
			for (const { audits, isChecked, state, provider } of job.record.parts) {
				assert.deepEqual(
					audits.map(({ first, count, agrees }) => [first, count, agrees]),
					[[0, 2, true]],
				);
				assert.notEqual(audits[0]!.auditor, provider);
				assert.deepEqual([isChecked, state], [true, "paid"]);
			}
		});

		if (!hasChain)
			test("before anybody has it all of a job is taken back, and afterwards there is nothing to cancel", async () => {
				const body = await prepare(stage, { method: REDUNDANT, salt: salt(5) });
				for (const worker of workers) await worker.close();
				// Hosts are remembered for a second: nobody must be left among those that would be drawn from.
				await eventually(async () => (await stage.validator.client.listJobHosts({ query: {} })).rows.length === 0);
				const { id } = await stage.customer.submitJob({ body: body as never });
				const stranger = createApiClient({ baseUrl: stage.validator.url, signer: signerOf(77), nowMs });
				await refuses("JOB_UNKNOWN", stranger.cancelJob({ params: { id } }));
				const { isOver, record } = await stage.customer.cancelJob({ params: { id } });
				assert.deepEqual([isOver, record.parts.every(({ state }) => state === "refunded")], [true, true]);
				const kinds = await kindsOf(stage.customer, id);
				assert.deepEqual(kinds.filter((kind) => kind === "refunded").length, 3);
			});
	});

test("whoever withholds what it claimed loses the part, and another finishes it", async () => {
	const silent = new Set<string>();
	const stage = await openStage({
		hasChain: false,
		params: { ...PATIENT, jobBeatMs: 600_000, jobSilenceMs: 500 },
	});
	try {
		for (const n of [1, 2, 3]) {
			const worker: ToyWorker = await stage.worker(n, {
				isSilent: () => silent.has(worker.id),
				at(place) {
					// The first that claims; its answers to questions come never.
					if (place === "claimed" && silent.size === 0) silent.add(worker.id);
				},
			});
		}
		const { id } = await submit(stage, { method: { name: "sampled", count: 1 }, salt: salt(6), segments: 7 });
		const kinds = await kindsOf(stage.customer, id);
		assert.ok(kinds.includes("convicted"), kinds.join(" "));
		const [part] = (await jobOver(stage.customer, id)).record.parts;
		assert.deepEqual([part!.state, part!.isChecked, part!.excluded], ["paid", true, [...silent]]);
		assert.ok(!silent.has(part!.provider!));
		const rows = await stage.validator.store.jobs.partsOf([...silent]);
		assert.deepEqual(
			rows.map(({ outcome }) => outcome),
			["convicted"],
		);
	} finally {
		await stage.close();
	}
});

test("two processes, one database, one door for blobs: hosts of both are drawn and asked", async (t) => {
	const params = { ...PATIENT, jobBeatMs: 600_000 };
	const stage = await openStage({ hasChain: false, params });
	atEnd(t, () => stage.close());
	const other: ToyValidator = await startToyValidator({
		...{ dataDir: stage.data.path, blobs: stage.validator.url, probes: false, params: { ...QUICK, ...params } },
		jobs: { isLoopbackApart: true },
	});
	atEnd(t, () => other.stop());
	const workers: ToyWorker[] = [];
	for (const [n, { url, store }] of [stage.validator, other, other].entries()) {
		const worker = await startToyWorker({ url, signer: signerOf(110 + n) });
		atEnd(t, () => worker.close());
		workers.push(worker);
		await eventually(async () => (await store.providers.get(worker.id))?.connectedTo === store.process);
		await prove(store, worker.id);
	}
	// Windows in the middle: auditors of one process begin at states that a claimant of the other is asked for.
	const customer = createApiClient({ baseUrl: other.url, signer: CUSTOMER });
	const { id } = await submit({ chain: null, customer }, { method: { name: "sampled", count: 2 }, salt: salt(7) });
	const { state, isChecked, provider, audits } = (await jobOver(customer, id)).record.parts[0]!;
	assert.deepEqual([state, isChecked], ["paid", true]);
	const asked = new Set([provider!, ...audits.map(({ auditor }) => auditor!)]);
	assert.deepEqual([...asked].sort(), workers.map(({ id }) => id).sort());
});

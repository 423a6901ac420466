// A record that is behind its chain, as after a backup was restored or behind a slow node: it is taken back
// from whatever it thought, its provider is paid, and what was wrongly said of that one is forgotten.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Job } from "../../src/api/types.ts";
import { read } from "../../src/chain/contracts/contracts.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import type { JobPart } from "../../src/protocol/network/job.ts";
import type { JobOutcome } from "../../src/store/jobs/job-rows.ts";
import type { RunningValidator } from "../../src/validator/create-validator.ts";
import { eventually, startToyValidator } from "../validator/toy-agent.test-kit.ts";
import { jobOver, LOST_MS, openStage, prepare, QUICK, type Stage, submit } from "./job-stage.test-kit.ts";
import type { ToyWorker } from "./toy-worker.test-kit.ts";

/** One claim in a hundred is run again; the window is one that a test may skip. */
const TIMES = { jobAuditPpm: 10_000, jobWindowMs: 60_000 };
let stage: Stage;
let skippedMs = 0;
/** Whoever is offered the next part declines it, with its assignment in hand, and takes it on chain. */
let isDeclineWanted = false;
let decliner = "";
let declined = "";
/** A job that was paid. */
let first = "";
before(async () => {
	stage = await openStage({ hasChain: true, params: TIMES, nowMs: () => Date.now() + skippedMs });
	for (const n of [1, 2, 3]) {
		const worker: ToyWorker = await stage.worker(n, {
			async at(place, { id, part, attempt, audit }) {
				// However soon the validator sees what it did on chain.
				if (place === "accepted" && id === declined && worker.id === decliner) throw new Error("it does not live");
				if (place !== "offered" || audit !== null || !isDeclineWanted) return;
				isDeclineWanted = false;
				[decliner, declined] = [worker.id, id];
				await worker.client.declinePart({ params: { id, part }, body: { attempt, why: "it will not" } });
			},
		});
	}
});
after(() => stage.close());

const salt = (n: number): string => n.toString(16).padStart(64, "0");
/** As it would stand in an older backup, or after somebody drew wrong conclusions. */
async function rewind(id: string, part: Partial<JobPart>, outcome: JobOutcome["outcome"] | null): Promise<JobPart> {
	const { jobs } = stage.validator.store;
	for (;;) {
		const job = (await jobs.get(id))!;
		const before = job.record.parts[0]!;
		const wrong: JobPart = { ...before, claim: null, isChecked: false, audits: [], ...part };
		const { provider, attempt } = before;
		const outcomes = outcome === null ? [] : [{ part: 0, attempt, provider: provider!, outcome, valueMicros: 1 }];
		const change = { id, version: job.version, record: { ...job.record, parts: [wrong] }, atMs: Date.now(), outcomes };
		if ((await jobs.change(change)) !== null) return before;
	}
}
const reputed = async (provider: string) =>
	(await stage.validator.store.jobs.partsOf([provider])).map(({ outcome }) => outcome);
const onChain = async (id: string) =>
	(await read(stage.chain!.contracts, "jobEscrow", "partOf", BigInt(`0x${id}`), 0)).state;
/** `assay db check` as its owner types it. */
async function dbCheck({ url, adminTokenFile, chain }: RunningValidator) {
	let said = "";
	const stream = { isTTY: false, write: (text: string) => (said += text) } as unknown as NodeJS.WriteStream;
	const env = { ASSAY_TOKEN: readFileSync(adminTokenFile, "utf8").trim(), NO_COLOR: "1" };
	const io = { out: stream, err: stream, env, cwd: stage.data.path, interrupted: new AbortController().signal };
	const where = ["--api", url, "--rpc", chain!.url, "--contracts", `${url}/chain/contracts.json`, "--json"];
	const code = await runCommand(["db", "check", ...where], io);
	return { code, differences: JSON.parse(said).differences };
}
const partOf = (job: Job) => job.record.parts[0]!;

test("open here, settled there: paid, and no loss is kept", async () => {
	const { id } = await submit(stage, { method: { name: "redundant", count: 2 }, salt: salt(1) });
	first = id;
	const { provider } = partOf(await jobOver(stage.customer, id));
	await rewind(id, { state: "open", provider: null, excluded: [provider!] }, "lost");
	const job = await jobOver(stage.customer, id);
	assert.deepEqual([partOf(job).state, partOf(job).provider], ["paid", provider]);
	assert.ok(!(await reputed(provider!)).includes("lost"), "it is forgotten");
	assert.ok((await stage.validator.store.jobs.events(id)).some(({ kind }) => kind === "recovered"));
	assert.ok((await stage.customer.getJobResult({ params: { id } })).state.length > 0, "and its claim is found again");
});

test("running, then convicted here while the claim stands there: taken back, settled after its window, unbarred", async () => {
	const { id } = await submit(stage, { method: { name: "optimistic", count: 0 }, salt: salt(2) });
	const stood = await eventually(async () => {
		const part = partOf(await stage.customer.getJob({ params: { id } }));
		return part.state === "claimed" && part;
	});
	const { provider } = await rewind(id, { state: "open", provider: null, excluded: [stood.provider!] }, "convicted");
	await eventually(async () => partOf(await stage.customer.getJob({ params: { id } })).state === "claimed");
	assert.ok(!(await reputed(provider!)).includes("convicted"), "nobody is barred by it");
	const { attempt, untilMs, claim } = partOf(await stage.customer.getJob({ params: { id } }));
	assert.deepEqual([attempt, claim], [stood.attempt, stood.claim]);
	skippedMs += untilMs - (Date.now() + skippedMs) + 2000;
	const job = await jobOver(stage.customer, id);
	assert.deepEqual([partOf(job).state, partOf(job).provider, await onChain(id)], ["paid", provider, 4]);
});

test("claimed here by a host that the chain never had, and no event: it waits, and that host is not convicted", async () => {
	const { id } = await submit(stage, { method: { name: "optimistic", count: 0 }, salt: salt(3) });
	const stood = await eventually(async () => {
		const part = partOf(await stage.customer.getJob({ params: { id } }));
		return part.state === "claimed" && part;
	});
	const { rows } = await stage.customer.listProviders();
	const other = rows.find(({ id: provider }) => provider !== stood.provider)!.id;
	await rewind(id, { state: "claimed", provider: other, claim: stood.claim }, null);
	const state = async () => partOf(await stage.customer.getJob({ params: { id } })).state;
	const isBehind = async () => typeof (await stage.customer.getChain()).chain?.behindSinceMs === "number";
	await eventually(async () => (await isBehind()) || (await state()) !== "claimed");
	assert.equal(await state(), "claimed");
	assert.ok(!(await reputed(other)).includes("convicted"));
	// Put right, it is settled like any other.
	await rewind(id, { ...stood }, null);
	skippedMs += stood.untilMs - (Date.now() + skippedMs) + 2000;
	assert.equal(partOf(await jobOver(stage.customer, id)).state, "paid");
});

test("declined, and taken on chain all the same: it is lost, not declined, and nobody waits longer than for others", async () => {
	isDeclineWanted = true;
	const { id } = await submit(stage, { method: { name: "optimistic", count: 0 }, salt: salt(5) });
	const now = async () => partOf(await stage.customer.getJob({ params: { id } }));
	await eventually(async () => {
		const { state, provider } = await now();
		return state === "running" && provider === decliner;
	});
	assert.equal(await onChain(id), 2, "assigned");
	const said = async () => (await stage.validator.store.jobs.partsOf([decliner])).filter(({ job }) => job === id);
	assert.deepEqual(await said(), [], "what it said is forgotten");
	// It does not live, and loses the part like any other that has a bond locked.
	skippedMs += LOST_MS;
	await eventually(async () => (await said()).length > 0);
	assert.deepEqual(
		(await said()).map(({ outcome }) => outcome),
		["lost"],
	);
	assert.ok((await now()).excluded.includes(decliner));
});

test("refunded here and over, paid there: the next start holds it against the chain", async () => {
	const id = first;
	const { provider } = partOf(await jobOver(stage.customer, id));
	assert.deepEqual(await dbCheck(stage.validator), { code: 0, differences: [] });
	await rewind(id, { state: "refunded", provider: null, excluded: [provider!] }, "convicted");
	// Paid for, and not handed in: as after a restore of a backup from before it was.
	await prepare(stage, { method: { name: "redundant", count: 2 }, salt: salt(4) });
	const wrong = { job: id, part: 0, record: "refunded", chain: "settled" };
	const { code, differences } = await dbCheck(stage.validator);
	const unknown = differences.find(({ record }: { record: unknown }) => record === null);
	assert.deepEqual([code, differences, unknown.chain], [1, [wrong, unknown], "funded"]);
	await stage.validator.stop();
	const again = await startToyValidator(
		{
			...{ dataDir: stage.data.path, probes: false, params: { ...QUICK, ...TIMES }, jobs: { isLoopbackApart: true } },
			...{ chain: { epochSeconds: 3600 }, rollCalls: { isOn: false } },
		},
		{ nowMs: () => Date.now() + skippedMs },
	);
	try {
		const part = await eventually(async () => {
			const [found] = (await again.store.jobs.get(id))!.record.parts;
			return found!.state === "paid" && found!;
		});
		assert.equal(part.provider, provider);
		// No weights were posted in its first epoch, which is over: money in its escrow keeps its contracts.
		assert.equal(again.chain!.scoreboard, stage.chain!.contracts.addresses.scoreboard);
		const said = await again.store.jobs.partsOf([provider!]);
		assert.ok(!said.some(({ outcome }) => outcome === "convicted"));
		assert.deepEqual(await dbCheck(again), { code: 1, differences: [unknown] });
	} finally {
		await again.stop();
	}
});

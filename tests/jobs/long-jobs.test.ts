// Long jobs on the embedded chain: whoever dies with a part is replaced long before its time is over, and no
// other part begins anew; whoever hands one back is, at once; and a job that is cancelled begins nothing more.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PartOffer } from "../../src/api/types.ts";
import { read, readEvents } from "../../src/chain/contracts/contracts.ts";
import { cancelJobCall, jobIdOf, readJobPart, releasePartCall } from "../../src/chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../src/chain/contracts/job-terms-text.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { jobOver, LOST_MS, openStage, PAYER, prepare, type Stage, workerAccount } from "./job-stage.test-kit.ts";
import type { ToyWorker } from "./toy-worker.test-kit.ts";

const METHOD = { name: "optimistic", count: 0 } as const;
/** Three parts of two segments each, which may take twenty minutes. */
const PARAMS = { jobAcceptMs: 600_000, jobLeastWorkMs: 1_200_000, jobPartMs: 60_000, jobLongPartMs: 60_000 };
const INT8 = 105_000;

let stage: Stage;
let skippedMs = 0;
/** What a worker does with a part before its first segment is over. */
let act: ((worker: ToyWorker, n: number, offer: PartOffer) => Promise<void>) | null = null;
before(async () => {
	const params = { ...PARAMS, jobStartMs: 86_400_000, jobWindowMs: 2000 };
	stage = await openStage({ hasChain: true, params, nowMs: () => Date.now() + skippedMs });
	for (const n of [1, 2, 3, 4]) {
		const worker: ToyWorker = await stage.worker(n, {
			int8: INT8,
			async at(place, offer) {
				if (place === "segment" && offer.audit === null) await act?.(worker, n, offer);
			},
		});
	}
});
after(() => stage.close());

const salt = (n: number): string => n.toString(16).padStart(64, "0");
const partsOf = async (id: string) => (await stage.customer.getJob({ params: { id } })).record.parts;
const outcomesOf = async (id: string, providers: readonly string[]) =>
	(await stage.validator.store.jobs.partsOf([...providers]))
		.filter((row) => row.job === id && row.outcome !== "paid" && row.outcome !== "checked")
		.map(({ part, outcome }) => [part, outcome]);
const statesOf = async (id: string): Promise<readonly string[]> => {
	const found = [0, 1, 2].map((part) => readJobPart(stage.chain!.contracts, BigInt(`0x${id}`), part));
	return (await Promise.all(found)).map(({ state, attempt }) => `${state} ${attempt}`);
};
const locked = async (n: number): Promise<bigint> =>
	(await read(stage.chain!.contracts, "jobEscrow", "depositOf", workerAccount(n).address)).locked;

test("two hosts die with a part for good: others go on at the checkpoint before it, long before the time limit", async () => {
	const body = await prepare(stage, { method: METHOD, salt: salt(1) });
	const { id, terms } = body.offer;
	assert.equal(terms.parts, 3);
	const dead = new Map<number, { readonly id: string; readonly n: number }>();
	act = async (worker, n, { id: job, part }) => {
		if (job !== id || part === 0 || dead.has(part)) return;
		dead.set(part, { id: worker.id, n });
		throw new Error("died");
	};
	await stage.customer.submitJob({ body: body as never });
	const firstMs = skippedMs;
	for (const part of [1, 2]) {
		await eventually(async () => dead.has(part) && (await partsOf(id))[part]!.state === "running");
		// Longer than anybody may be silent, and half of what its time limit leaves.
		skippedMs += LOST_MS;
		await eventually(async () => (await partsOf(id))[part]!.attempt === 2);
		await eventually(async () => ["claimed 2", "settled 2"].includes((await statesOf(id))[part]!));
		assert.equal(await locked(dead.get(part)!.n), 0n, "its bond is free, and nothing of it is taken");
	}
	assert.ok(skippedMs - firstMs < 2 * terms.workMs, "neither part waited for its time limit");
	const job = await jobOver(stage.customer, id);
	assert.deepEqual(await statesOf(id), ["settled 1", "settled 2", "settled 2"], "what was claimed is not run again");
	assert.deepEqual(
		job.record.parts.map(({ excluded }) => excluded),
		[[], [dead.get(1)!.id], [dead.get(2)!.id]],
	);
	const lost = await outcomesOf(
		id,
		[...dead.values()].map((one) => one.id),
	);
	assert.deepEqual(lost.toSorted(), [
		[1, "lost"],
		[2, "lost"],
	]);
	const reopened = await readEvents(stage.chain!.contracts, "jobEscrow", "Reopened", { job: BigInt(`0x${id}`) });
	assert.equal(reopened.length, 2);
	// The same end as a run that nobody disturbed.
	act = null;
	const plain = await stage.customer.submitJob({
		body: (await prepare(stage, { method: METHOD, salt: salt(2) })) as never,
	});
	await jobOver(stage.customer, plain.id);
	const [a, b] = await Promise.all([id, plain.id].map((one) => stage.customer.getJobResult({ params: { id: one } })));
	assert.deepEqual([a!.state, a!.results], [b!.state, b!.results]);
});

test("a part that is handed back goes to another at once, whoever of the two tells the chain", async () => {
	const body = await prepare(stage, { method: METHOD, salt: salt(3) });
	const { id, escrow } = body.offer;
	const { contracts } = stage.chain!;
	const terms = jobTermsFromText(escrow!.terms);
	const back = new Map<number, string>();
	act = async (worker, n, { id: job, part, attempt, assignment }) => {
		if (job !== id || back.has(part)) return;
		back.set(part, worker.id);
		// The first tells both, the second the validator alone, the third the chain alone.
		const which = { part, attempt: assignment!.attempt };
		if (part !== 1) await sendCall(contracts.client, workerAccount(n), releasePartCall(contracts, terms, which, []));
		if (part !== 2)
			await worker.client
				.declinePart({ params: { id, part }, body: { attempt, why: "the rest takes too long" } })
				.catch(() => {});
		throw new Error("handed back");
	};
	await stage.customer.submitJob({ body: body as never });
	const job = await jobOver(stage.customer, id);
	assert.deepEqual(await statesOf(id), ["settled 2", "settled 2", "settled 2"]);
	assert.deepEqual(
		job.record.parts.map(({ excluded }) => excluded),
		[0, 1, 2].map((part) => [back.get(part)!]),
	);
	const said = await outcomesOf(id, [...new Set(back.values())]);
	assert.deepEqual(said.toSorted(), [
		[0, "returned"],
		[1, "returned"],
		[2, "returned"],
	]);
	act = null;
});

test("cancelled while a part runs: nothing more is drawn, what it claims is paid, and the rest comes back at once", async () => {
	const body = await prepare(stage, { method: METHOD, salt: salt(4) });
	const { id, escrow } = body.offer;
	const { contracts } = stage.chain!;
	const terms = jobTermsFromText(escrow!.terms);
	const { promise: go, resolve: letGo } = Promise.withResolvers<void>();
	act = async (_, __, { id: job }) => {
		if (job === id) await go;
	};
	await stage.customer.submitJob({ body: body as never });
	await eventually(async () => (await partsOf(id))[0]!.state === "running");
	const owed = () => read(contracts, "jobEscrow", "owedTo", PAYER.address);
	const before = await owed();
	await sendCall(contracts.client, PAYER, cancelJobCall(contracts, terms));
	assert.equal((await owed()) - before, 2n * (terms.price + terms.fee + terms.audit), "before the part is done");
	const cut = await stage.customer.cancelJob({ params: { id } });
	assert.deepEqual(
		cut.record.parts.map(({ state }) => state),
		["running", "refunded", "refunded"],
	);
	letGo();
	const job = await jobOver(stage.customer, id);
	assert.deepEqual(
		job.record.parts.map(({ state, attempt }) => `${state} ${attempt}`),
		["paid 1", "refunded 0", "refunded 0"],
	);
	assert.equal((await read(contracts, "jobEscrow", "jobOf", jobIdOf(terms))).touched, 1, "nobody was drawn");
	act = null;
});

test("a part that is lost after the job was cancelled comes back, too, without its customer", async () => {
	const body = await prepare(stage, { method: METHOD, salt: salt(5) });
	const { id, escrow } = body.offer;
	const { contracts } = stage.chain!;
	const terms = jobTermsFromText(escrow!.terms);
	let isDead = false;
	act = async (_, __, { id: job, part }) => {
		if (job !== id || part === 0) return;
		isDead = true;
		throw new Error("died");
	};
	await stage.customer.submitJob({ body: body as never });
	await eventually(async () => isDead && (await partsOf(id))[1]!.state === "running");
	await sendCall(contracts.client, PAYER, cancelJobCall(contracts, terms));
	await stage.customer.cancelJob({ params: { id } });
	skippedMs += LOST_MS;
	const job = await jobOver(stage.customer, id);
	assert.deepEqual(
		job.record.parts.map(({ state, attempt }) => `${state} ${attempt}`),
		["paid 1", "refunded 1", "refunded 0"],
	);
	assert.equal((await statesOf(id))[1], "refunded 1");
	assert.ok(BigInt(Math.floor(Date.now() / 1000)) + BigInt(skippedMs / 1000) < terms.startBy, "long before startBy");
});

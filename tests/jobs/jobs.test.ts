// Jobs from the quote to the payment, whole: a validator with its real database and blobs, toy workers over
// real links, and the embedded chain. The same without a chain, where a record is kept of what is owed.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { JobResult } from "../../src/api/types.ts";
import { read } from "../../src/chain/contracts/contracts.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { jobOver, kindsOf, LOST_MS, openStage, prepare, type Stage, submit, WORK_MS } from "./job-stage.test-kit.ts";
import type { ToyWorker } from "./toy-worker.test-kit.ts";

const salt = (n: number): string => n.toString(16).padStart(64, "0");

for (const hasChain of [false, true])
	describe(hasChain ? "on the embedded chain" : "without a chain", () => {
		let stage: Stage;
		const workers: ToyWorker[] = [];
		/** The job whose first provider is to die, at its second segment. */
		let doomed: string | null = null;
		let dead: string | null = null;
		/** Whether whoever runs it beside that one has said what came out. */
		let isAnswered = false;
		let whole: JobResult["state"] = [];
		let skippedMs = 0;
		before(async () => {
			stage = await openStage({ hasChain, params: { jobAuditPpm: 1_000_000 }, nowMs: () => Date.now() + skippedMs });
			// One may fall silent, and by chance one more than the method's two runs it.
			for (const n of [1, 2, 3, 4]) {
				const worker: ToyWorker = await stage.worker(n, {
					at(place, offer) {
						if (place === "answered" && offer.id === doomed) isAnswered = true;
						if (place !== "segment" || offer.id !== doomed || offer.audit !== null || dead !== null) return;
						dead = worker.id;
						throw new Error("died");
					},
				});
				workers.push(worker);
			}
		});
		after(() => stage.close());

		const paidOnChain = async (id: string, part: number) =>
			(await read(stage.chain!.contracts, "jobEscrow", "partOf", BigInt(`0x${id}`), part)).state === 4;

		test("redundant: run twice, compared, checked, paid; the result is there", async () => {
			const { id } = await submit(stage, { method: { name: "redundant", count: 2 }, salt: salt(1) });
			const kinds = await kindsOf(stage.customer, id);
			const wanted = "submitted listed drawn offered running audit answered claimed compared checked paid over".split(
				" ",
			);
			for (const kind of wanted) assert.ok(kinds.includes(kind), `${kind} in ${kinds.join(" ")}`);
			const job = await jobOver(stage.customer, id);
			const [part] = job.record.parts;
			assert.equal(part!.state, "paid");
			assert.notEqual(part!.audits[0]!.auditor, part!.provider);
			whole = (await stage.customer.getJobResult({ params: { id } })).state;
			assert.equal(whole.length, 2);
			if (hasChain) assert.ok(await paidOnChain(id, 0));
			const draws = await stage.validator.client.getJobDraws({ params: { id } });
			assert.notEqual(draws.secret, null, "told once it is over");
		});

		// One more network path of the same would cost seconds and find nothing else.
		if (hasChain)
			test("sampled: windows are drawn after the claim, auditors begin at its states", async () => {
				const { id } = await submit(stage, { method: { name: "sampled", count: 1 }, salt: salt(2), segments: 7 });
				const job = await jobOver(stage.customer, id);
				const [part] = job.record.parts;
				assert.equal(part!.state, "paid");
				assert.ok(part!.isChecked);
				assert.deepEqual(
					part!.audits.map(({ agrees }) => agrees),
					[true, true, true],
				);
				assert.deepEqual([part!.audits[0]!.first, part!.audits.at(-1)!.first], [0, 6]);
				assert.ok(part!.audits.every(({ auditor }) => auditor !== null && auditor !== part!.provider));
			});

		test("whoever falls silent loses the part, and another finishes it with the same result", async () => {
			const body = await prepare(stage, { method: { name: "redundant", count: 2 }, salt: salt(3) });
			const { id } = body.offer;
			doomed = id;
			await stage.customer.submitJob({ body: body as never });
			// What is signed before the skip is too old behind it: nobody may be at work.
			await eventually(async () => dead !== null && isAnswered);
			skippedMs += LOST_MS;
			const excluded = async () => (await stage.customer.getJob({ params: { id } })).record.parts[0]!.excluded;
			await eventually(async () => (await excluded()).length > 0);
			if (hasChain) skippedMs += WORK_MS;
			const job = await jobOver(stage.customer, id);
			const [part] = job.record.parts;
			assert.equal(part!.state, "paid");
			assert.deepEqual(part!.excluded, [dead]);
			assert.notEqual(part!.provider, dead);
			const { state } = await stage.customer.getJobResult({ params: { id } });
			assert.deepEqual(state, whole);
			const rows = await stage.validator.store.jobs.partsOf([dead!]);
			assert.deepEqual(
				rows.filter(({ outcome }) => outcome === "lost").map(({ job: lost }) => lost),
				[id],
			);
		});
	});

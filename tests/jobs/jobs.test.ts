// Jobs from the quote to the payment, whole: a validator with its real database and blobs, toy workers over real links, and the embedded chain. The same
// without a chain, where a record is kept of what is owed.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { JobResult } from "../../src/api/types.ts";
import { read } from "../../src/chain/contracts/contracts.ts";
import { jobOver, kindsOf, openStage, type Stage, submit } from "./job-stage.test-kit.ts";
import type { ToyWorker } from "./toy-worker.test-kit.ts";

const salt = (n: number): string => n.toString(16).padStart(64, "0");

for (const hasChain of [false, true])
	describe(hasChain ? "on the embedded chain" : "without a chain", () => {
		let stage: Stage;
		const workers: ToyWorker[] = [];
		/** The one that is to die, at its second segment. */
		let doomed: string | null = null;
		let dead: string | null = null;
		let whole: JobResult["state"] = [];
		before(async () => {
			stage = await openStage({ hasChain, params: { jobAuditPpm: 1_000_000 } });
			// One may fall silent, and by chance one more than the method's two runs it.
			for (const n of [1, 2, 3, 4])
				workers.push(
					await stage.worker(n, {
						at(place, offer) {
							if (place !== "segment" || offer.id !== doomed || offer.audit !== null || dead !== null) return;
							dead = offer.id;
							throw new Error("died");
						},
					}),
				);
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
			const other = await submit(stage, { method: { name: "redundant", count: 2 }, salt: salt(3) });
			doomed = other.id;
			const job = await jobOver(stage.customer, other.id);
			const [part] = job.record.parts;
			assert.equal(part!.state, "paid");
			assert.equal(dead, other.id);
			assert.equal(part!.excluded.length, 1);
			assert.ok(!part!.excluded.includes(part!.provider!));
			const { state } = await stage.customer.getJobResult({ params: { id: other.id } });
			assert.deepEqual(state, whole);
			const [lost] = await stage.validator.store.jobs
				.partsOf([part!.excluded[0]!])
				.then((rows) => rows.filter((row) => row.outcome === "lost"));
			assert.equal(lost?.job, other.id);
		});
	});

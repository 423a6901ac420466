// Jobs from the quote to the payment, whole: a validator with its real database and blobs, toy workers over real links, and the embedded chain. The same
// without a chain, where a record is kept of what is owed.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { read } from "../../src/chain/contracts/contracts.ts";
import { jobOver, kindsOf, openStage, type Stage, submit } from "./job-stage.test-kit.ts";
import type { ToyWorker } from "./toy-worker.test-kit.ts";

for (const hasChain of [false, true])
	describe(hasChain ? "on the embedded chain" : "without a chain", () => {
		let stage: Stage;
		const workers: ToyWorker[] = [];
		before(async () => {
			stage = await openStage({ hasChain });
			for (const n of [1, 2, 3]) workers.push(await stage.worker(n));
		});
		after(() => stage.close());

		test("a redundant job is drawn, run twice, compared, checked and paid", async () => {
			const { id } = await submit(stage, { method: { name: "redundant", count: 2 } });
			const kinds = await kindsOf(stage.customer, id);
			assert.deepEqual(
				workers.flatMap(({ errors }) => errors),
				[],
			);
			const wanted = [
				"submitted",
				"listed",
				"drawn",
				"offered",
				"running",
				"audit",
				"claimed",
				"answered",
				"compared",
				"checked",
				"paid",
				"over",
			];
			for (const kind of wanted) assert.ok(kinds.includes(kind), `${kind} in ${kinds.join(" ")}`);
			const job = await jobOver(stage.customer, id);
			assert.equal(job.record.parts[0]!.state, "paid");
			const result = await stage.customer.getJobResult({ params: { id } });
			assert.equal(result.state.length, 2);
			if (hasChain) {
				const part = job.record.parts[0]!;
				const { contracts } = stage.chain!;
				const found = await read(contracts, "jobEscrow", "partOf", BigInt(`0x${id}`), part.part);
				assert.equal(found.state, 4);
			}
		});
	});

// A part whose host died is the customer's again by one command: the escrow is told that its time is over,
// and gives it back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readJobPart } from "../../src/chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../src/chain/contracts/job-terms-text.ts";
import { takeBack } from "../../src/cli/jobs/take-back.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { jobOver, LOST_MS, openStage, PAYER, submit } from "./job-stage.test-kit.ts";

test("a part that was late and is open again is taken back, although somebody had it once", async () => {
	let skippedMs = 0;
	const params = { jobStartMs: 2_592_000_000 };
	const stage = await openStage({ hasChain: true, nowMs: () => Date.now() + skippedMs, params });
	try {
		let isDead = false;
		const worker = await stage.worker(1, {
			at(place) {
				if (place !== "accepted") return;
				isDead = true;
				throw new Error("died");
			},
		});
		const { id, offer } = await submit(stage, { method: { name: "optimistic", count: 0 } });
		await eventually(async () => isDead);
		await worker.close();
		const part = async () => (await stage.customer.getJob({ params: { id } })).record.parts[0]!;
		skippedMs += LOST_MS;
		await eventually(async () => (await part()).state === "open");
		skippedMs += offer.terms.workMs;
		const { contracts } = stage.chain!;
		const terms = jobTermsFromText(offer.escrow!.terms);
		const payer = {
			actor: { contracts, account: PAYER },
			alone: (act: () => unknown) => act(),
			collect: async () => 0n,
		};
		const left = await takeBack(payer as never, terms, { err: { write: () => true } } as never);
		assert.deepEqual(left, [], "nothing stays with the escrow");
		assert.equal((await readJobPart(contracts, BigInt(`0x${id}`), 0)).state, "refunded");
		await stage.customer.cancelJob({ params: { id } });
		assert.equal((await jobOver(stage.customer, id)).record.parts[0]!.state, "refunded");
	} finally {
		await stage.close();
	}
});

// A part whose host died is the customer's again, by one command or by one button of the dashboard: the
// escrow is told that its time is over, and gives it back.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { read } from "../../src/chain/contracts/contracts.ts";
import { readJobPart } from "../../src/chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../src/chain/contracts/job-terms-text.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { takeBack } from "../../src/cli/jobs/take-back.ts";
import { collectData, expireData } from "../../src/protocol/chain/job-escrow-calls.ts";
import type { JobOffer } from "../../src/protocol/network/job-offer.ts";
import { cancelJob, openWallet } from "../../web/jobs/work/wallet.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { jobOver, LOST_MS, openStage, PAYER, type Stage, submit } from "./job-stage.test-kit.ts";

/** A browser's wallet of the payer: what it was asked to confirm. */
function browserWallet(stage: Stage): { readonly confirmed: string[]; readonly close: () => void } {
	const { client } = stage.chain!.contracts;
	const confirmed: string[] = [];
	const request = async ({ method, params = [] }: { method: string; params?: readonly unknown[] }) => {
		if (method === "eth_requestAccounts") return [PAYER.address];
		if (method !== "eth_sendTransaction") return client.rpc(method as never, params as never);
		const { to, data } = params[0] as { to: `0x${string}`; data: `0x${string}` };
		confirmed.push(data.slice(0, 10));
		return (await sendCall(client, PAYER, { to, data })).transactionHash;
	};
	Object.assign(globalThis, { ethereum: { request } });
	return { confirmed, close: () => void Reflect.deleteProperty(globalThis, "ethereum") };
}

describe("a part that was late and is open again is taken back, although somebody had it once", () => {
	let skippedMs = 0;
	let stage: Stage;
	before(async () => {
		const params = { jobStartMs: 2_592_000_000 };
		stage = await openStage({ hasChain: true, nowMs: () => Date.now() + skippedMs, params });
	});
	after(() => stage.close());

	/** Until its time is over. */
	async function lateJob(n: number): Promise<{ readonly id: string; readonly offer: JobOffer }> {
		let isDead = false;
		const worker = await stage.worker(n, {
			at(place) {
				if (place !== "accepted") return;
				isDead = true;
				throw new Error("died");
			},
		});
		const { id, offer } = await submit(stage, {
			method: { name: "optimistic", count: 0 },
			salt: String(n).padStart(64, "0"),
		});
		await eventually(async () => isDead);
		await worker.close();
		skippedMs += LOST_MS;
		const part = async () => (await stage.customer.getJob({ params: { id } })).record.parts[0]!;
		await eventually(async () => (await part()).state === "open");
		skippedMs += offer.terms.workMs;
		return { id, offer };
	}

	async function isRefunded(id: string): Promise<void> {
		assert.equal((await readJobPart(stage.chain!.contracts, BigInt(`0x${id}`), 0)).state, "refunded");
		await stage.customer.cancelJob({ params: { id } });
		assert.equal((await jobOver(stage.customer, id)).record.parts[0]!.state, "refunded");
	}

	test("by the command line", async () => {
		const { id, offer } = await lateJob(1);
		const { contracts } = stage.chain!;
		const payer = {
			actor: { contracts, account: PAYER },
			alone: (act: () => unknown) => act(),
			collect: async () => 0n,
		};
		const terms = jobTermsFromText(offer.escrow!.terms);
		const left = await takeBack(payer as never, terms, { err: { write: () => true } } as never);
		assert.deepEqual(left, [], "nothing stays with the escrow");
		await isRefunded(id);
	});

	test("by the dashboard, which asks to confirm only what the escrow takes", async () => {
		const { id, offer } = await lateJob(2);
		const { contracts } = stage.chain!;
		const { chain } = await stage.customer.getChain();
		const { confirmed, close } = browserWallet(stage);
		try {
			const wallet = await openWallet(chain!, stage.customer);
			await cancelJob(wallet, offer.escrow!, [0]);
			await isRefunded(id);
			// The validator may have opened the part before.
			const count = confirmed.length;
			const expired = expireData(offer.escrow!.terms, 0).slice(0, 10);
			const collected = collectData(PAYER.address).slice(0, 10);
			assert.deepEqual([...new Set(confirmed.slice(0, -1))], [expired]);
			assert.ok(count <= 3 && confirmed.at(-1) === collected, confirmed.join(" "));
			assert.equal(await read(contracts, "jobEscrow", "owedTo", PAYER.address), 0n);
			await assert.rejects(cancelJob(wallet, offer.escrow!, [0]), { code: "CHAIN_REFUSED" });
			assert.equal(confirmed.length, count, "nothing is left to confirm");
		} finally {
			close();
		}
	});
});

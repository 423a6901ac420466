// What auditors of a checked part are paid: no more than the escrow has left for them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { auditMicros } from "../../../market/jobs/economics.ts";
import { DEFAULT_PARAMS } from "../../../market/params.ts";
import { createNodeSigner } from "../../../platform/node-ed25519.ts";
import { checkedPay } from "./audit-pay.ts";
import { PER_MICRO } from "./job-chain.ts";

const id = (n: number): string => n.toString(16).padStart(64, "0");

/** In micro-units and their fractions, of a part whose auditors ran these windows. */
async function paidFor(
	terms: { segments: number; priceMicros: number; auditMicros: number },
	counts: readonly number[],
	spentMicros = 0,
): Promise<[string, number][]> {
	const accounts = Object.fromEntries(counts.map((_, n) => [id(n + 1), `0x0${n + 1}`]));
	const body = { atMs: 1, block: id(0), afterBlock: null, drawn: [], accounts, hosts: {} };
	const context = {
		...{ store: { jobs: { draw: async () => ({ listHash: id(0), body }) } }, config: { params: DEFAULT_PARAMS } },
		signer: createNodeSigner(new Uint8Array(32).fill(7)),
	};
	const audits = counts.map((count, n) => ({ auditor: id(n + 1), first: 0, count, agrees: true }));
	const offer = { terms: { ...terms, parts: 1, method: { name: "sampled", count: 1 } }, salt: id(3) };
	const job = { id: id(9), spec: {}, offer };
	const part = { part: 0, attempt: 2, audits };
	const spent = BigInt(spentMicros) * PER_MICRO;
	const pays = await checkedPay(context as never, job as never, part as never, spent);
	return pays.map(({ auditor, pay }) => [auditor, Number(pay) / Number(PER_MICRO)]);
}

test("what a claim that fell has cost its auditors stays spent: the next ones get what is left", async () => {
	// Two halves of a part that costs 100, at a fifth more: 60 each.
	const terms = { segments: 4, priceMicros: 100, auditMicros: 120 };
	assert.deepEqual(await paidFor(terms, [2, 2]), [
		["0x01", 60],
		["0x02", 60],
	]);
	assert.deepEqual(await paidFor(terms, [2, 2], 50), [
		["0x01", 60],
		["0x02", 10],
	]);
	assert.deepEqual(await paidFor(terms, [2, 2], 120), []);
});

test("the last auditor of small windows is paid a segment as much as the first", async () => {
	const counts = Array.from({ length: 9 }, () => 1);
	for (const priceMicros of [1, 10, 997]) {
		const budget = auditMicros(priceMicros, counts.length, 61, DEFAULT_PARAMS);
		const paid = await paidFor({ segments: 61, priceMicros, auditMicros: budget }, counts);
		assert.equal(paid.length, counts.length, `all of them, at ${priceMicros}`);
		const each = (1.2 * priceMicros) / 61;
		for (const [auditor, pay] of paid) assert.ok(Math.abs(pay - each) < 1e-9, `${auditor}: ${pay} of ${each}`);
		assert.ok(paid.reduce((sum, [, pay]) => sum + pay, 0) <= budget);
	}
});

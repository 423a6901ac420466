// What auditors of a checked part are paid: no more than the escrow has left for them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_PARAMS } from "../../../market/params.ts";
import { createNodeSigner } from "../../../platform/node-ed25519.ts";
import { checkedPay } from "./audit-pay.ts";
import { PER_MICRO } from "./job-chain.ts";

const id = (n: number): string => n.toString(16).padStart(64, "0");

test("what a claim that fell has cost its auditors stays spent: the next ones get what is left", async () => {
	const accounts = { [id(1)]: "0x01", [id(2)]: "0x02" };
	const body = { atMs: 1, block: id(0), afterBlock: null, drawn: [], accounts, hosts: {} };
	const context = {
		...{ store: { jobs: { draw: async () => ({ listHash: id(0), body }) } }, config: { params: DEFAULT_PARAMS } },
		signer: createNodeSigner(new Uint8Array(32).fill(7)),
	};
	// Two halves of a part that costs 100, at a fifth more: 60 each.
	const terms = { segments: 4, parts: 1, priceMicros: 100, auditMicros: 120 };
	const audits = [1, 2].map((n) => ({ auditor: id(n), first: 2 * (n - 1), count: 2, agrees: true }));
	const job = {
		id: id(9),
		spec: {},
		offer: { terms: { ...terms, method: { name: "sampled", count: 1 } }, salt: id(3) },
	};
	const paid = async (spentMicros: number) =>
		(
			await checkedPay(
				context as never,
				job as never,
				{ part: 0, attempt: 2, audits } as never,
				BigInt(spentMicros) * PER_MICRO,
			)
		).map(({ auditor, pay }) => [auditor, Number(pay / PER_MICRO)]);
	assert.deepEqual(await paid(0), [
		["0x01", 60],
		["0x02", 60],
	]);
	assert.deepEqual(await paid(50), [
		["0x01", 60],
		["0x02", 10],
	]);
	assert.deepEqual(await paid(120), []);
});

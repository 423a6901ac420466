// Who is asked for receipts, what is kept of them over a restart, and what a missing one is worth in a
// report. Real files; the Registry's book is a list.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Explanation } from "../../market/scores/explanation.ts";
import { given, recompute } from "../../market/scores/recompute.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { parseReceiptFile, type ReceiptFile } from "../../protocol/chain/probe-receipt.ts";
import { ProbeReceipts } from "./probe-receipts.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-receipts-"));
after(() => rmSync(folder, { recursive: true }));
const domain = { chainId: 7, slashing: `0x${"5a".repeat(20)}` } as const;
const ACCOUNT: Hex = `0x${"a1".repeat(20)}`;
const ELSEWHERE = "0e".repeat(32);
const [PROVIDER, PROBE, EVIDENCE] = ["01".repeat(32), "02".repeat(16), "03".repeat(32)];

function receiptsOf(refresh: () => Promise<void> = async () => {}) {
	const accounts = new Map<string, Hex>();
	const clock = { nowMs: 0, alarms: [] as (() => void)[], waitsMs: [] as number[] };
	const receipts = new ProbeReceipts({
		dataDir: folder,
		folder: join(folder, "chain"),
		domain,
		book: { refresh, accountOf: (key) => accounts.get(key) ?? null, signerOf: (account) => account },
		hasEvidence: async (sha256) => sha256 !== ELSEWHERE,
		after(ms, run) {
			clock.waitsMs.push(ms);
			clock.alarms.push(run);
			return () => {};
		},
		nowMs: () => clock.nowMs,
	});
	return { receipts, accounts, clock };
}

const file: ReceiptFile = {
	format: "assay-receipts",
	version: 2,
	evidence: EVIDENCE,
	probeId: PROBE,
	...domain,
	provider: ACCOUNT,
	receipts: [
		{
			...{ challenge: 0, precision: 0, m: 128, n: 512, k: 128, rounds: 2 },
			tree: `0x${"04".repeat(32)}`,
			signature: `0x${"06".repeat(65)}`,
		},
	],
	missing: [],
};
const explanation = (evidence: string | null): Explanation => ({
	...{ version: 1, providerId: PROVIDER, mode: "holistic", evidence, scorePpm: 5, why: "" },
	root: given("score", "ppm", 5),
});

test("only who has an account is asked; a slow or dead node holds up no probe", async () => {
	let looks = 0;
	const quick = receiptsOf(async () => {
		looks += 1;
	});
	assert.equal(await quick.receipts.collect(PROVIDER, PROBE), null);
	quick.accounts.set(PROVIDER, ACCOUNT);
	const collector = await quick.receipts.collect(PROVIDER, PROBE);
	assert.deepEqual(collector?.wanted, { chainId: 7, slashing: "5a".repeat(20) });
	assert.equal(collector.file(EVIDENCE).provider, ACCOUNT);
	// Known: seldom looked up again. Unknown: as often as makes sense.
	assert.equal(looks, 1);
	await quick.receipts.collect("09".repeat(32), PROBE);
	assert.equal(looks, 1);
	quick.clock.nowMs = 1000;
	await Promise.all(["09", "0a", "0b"].map((one) => quick.receipts.collect(one.repeat(32), PROBE)));
	assert.equal(looks, 2);
	quick.clock.nowMs = 61_000;
	await quick.receipts.collect(PROVIDER, PROBE);
	assert.equal(looks, 3);

	const dead = receiptsOf(() => Promise.reject(new Error("no node")));
	dead.accounts.set(PROVIDER, ACCOUNT);
	assert.notEqual(await dead.receipts.collect(PROVIDER, PROBE), null);
	await dead.receipts.collect(PROVIDER, PROBE);
	assert.deepEqual(dead.clock.waitsMs, [30_000, 2000]);
	// Waited for once, and hardly before it answers again.
	let answer = () => {};
	const slow = receiptsOf(() => new Promise((resolve) => (answer = resolve)));
	slow.accounts.set(PROVIDER, ACCOUNT);
	for (const _ of ["first", "second"]) {
		const waiting = slow.receipts.collect(PROVIDER, PROBE);
		for (const alarm of slow.clock.alarms) alarm();
		assert.notEqual(await waiting, null);
	}
	answer();
	await slow.receipts.collect(PROVIDER, PROBE);
	slow.clock.nowMs = 61_000;
	const later = slow.receipts.collect(PROVIDER, PROBE);
	answer();
	await later;
	assert.deepEqual(slow.clock.waitsMs, [30_000, 2000, 2000, 30_000]);
});

test("receipts and notes outlive the process; a note is made only where there are receipts", async () => {
	const { receipts } = receiptsOf();
	assert.equal(await receipts.get(EVIDENCE), null);
	const note = { evidence: EVIDENCE, probeId: PROBE, providerId: PROVIDER };
	await receipts.note(note);
	assert.deepEqual(await receipts.notes(), []);
	await receipts.put(file);
	await receipts.put(file);
	await receipts.note(note);
	await receipts.note(note);
	const next = receiptsOf().receipts;
	assert.deepEqual(await next.get(EVIDENCE), file);
	assert.deepEqual(await next.notes(), [note]);
	await next.dropNote(EVIDENCE);
	await next.dropNote(EVIDENCE);
	assert.deepEqual(await receipts.notes(), []);
	assert.equal(readdirSync(join(folder, "receipts", "03")).length, 1);
});

test("evidence with a receipt missing is reported as 0, and the 0 explains itself", async () => {
	const { receipts, accounts } = receiptsOf();
	const unsigned = "0c".repeat(32);
	await receipts.put({ ...file, evidence: unsigned, receipts: [], missing: [{ challenge: 0, why: "silent" }] });
	const reported = await receipts.reported(explanation(unsigned));
	assert.deepEqual([reported.scorePpm, reported.evidence, recompute(reported)], [0, unsigned, 0]);
	assert.match(reported.why, /no receipt for a challenge: silent/);
	const unasked = "0d".repeat(32);
	for (const whole of [EVIDENCE, unasked, null]) {
		const same = explanation(whole);
		assert.equal(await receipts.reported(same), same);
	}
	// With an account now and none when it was probed: worth nothing until the next probe. What another machine
	// probed is that one's to say.
	accounts.set(PROVIDER, ACCOUNT);
	assert.match((await receipts.reported(explanation(unasked))).why, /younger than the proof/);
	for (const whole of [EVIDENCE, ELSEWHERE]) assert.equal((await receipts.reported(explanation(whole))).scorePpm, 5);
});

test("a spoilt file is told to who asks for it, and held against nobody", async () => {
	const { receipts, accounts } = receiptsOf();
	accounts.set(PROVIDER, ACCOUNT);
	const path = join(folder, "receipts", "03", `${EVIDENCE.slice(2)}.json`);
	for (const text of ["", "{}", JSON.stringify({ ...file, more: 1 }), JSON.stringify({ ...file, provider: "0xA1" })]) {
		assert.throws(() => parseReceiptFile(text), { code: "RECEIPTS_BAD" });
		writeFileSync(path, text);
		await assert.rejects(receipts.get(EVIDENCE), { code: "RECEIPTS_BAD" });
		assert.equal((await receipts.reported(explanation(EVIDENCE))).scorePpm, 5);
		await receipts.note({ evidence: EVIDENCE, probeId: PROBE, providerId: PROVIDER });
	}
	assert.deepEqual(await receipts.notes(), []);
});

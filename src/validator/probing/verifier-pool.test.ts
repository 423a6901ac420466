// The pool gives the verdicts that verifyEvidence gives, survives a thread that dies, and never loses a file.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { bindOfJob } from "../../protocol/attest/binding.ts";
import { encodeJobRounds } from "../../protocol/attest/job-rounds.ts";
import { packRound } from "../../protocol/attest/pack-round.ts";
import { gpuPlan, mintDevice } from "../../verify/attestation/mint/mint-nvidia.test-kit.ts";
import { verifyEvidence } from "../../verify/hardware/verify.ts";
import { judgeJobRounds } from "./judge-job-rounds.ts";
import { VerifierPool } from "./verifier-pool.ts";

const real = new Uint8Array(readFileSync(new URL("../../../vectors/h200.assay", import.meta.url)));
const broken = real.map((byte, i) => (i === real.length - 1 ? byte ^ 1 : byte));
const clockUs = () => performance.now() * 1000;

test("threads judge as this thread does, and tell how long it took", async () => {
	const seconds: number[] = [];
	const pool = new VerifierPool({ threads: 1, clockUs, onVerified: (s) => seconds.push(s) });
	try {
		const right = new Map<number, string>();
		const unexpected = () => assert.fail("nothing of a file that cannot be read is right");
		const [good, bad, other] = await Promise.all([
			pool.verify(real, {}, (checked) => {
				for (const { challenge, done, of } of checked) right.set(challenge, `${done} of ${of}`);
			}),
			pool.verify(broken, {}, unexpected),
			pool.verify(real, { probeId: "00".repeat(16) }),
		]);
		assert.deepEqual(good, verifyEvidence(real));
		assert.equal(good.status, "valid");
		assert.deepEqual([right.size, right.get(0), right.get(15)], [21, "128 of 128", "64 of 64"]);
		assert.equal(bad.status === "invalid" && bad.code, "ATTACHMENT_HASH");
		assert.equal(other.status === "invalid" && other.code, "REPLAYED");
		assert.equal(seconds.length, 3);
		assert.equal(pool.pending, 0);
	} finally {
		await pool.close();
	}
});

test("a claim's rounds are judged in a thread as they are here, whatever they are", async () => {
	const of = {
		...{ job: "ab".repeat(32), part: 1, attempt: 2, provider: "cd".repeat(32), escrow: null, start: "ef".repeat(32) },
		claim: "01".repeat(32),
	};
	const nonce = bindOfJob(of, null);
	const gpus = [{ device: 0, ...mintDevice({ ...gpuPlan(), nonce }) }];
	const attachments: Uint8Array[] = [];
	const began = {
		after: 0,
		sentAtUs: 1,
		receivedAtUs: 2,
		end: "complete",
		says: [],
		gpus,
		switches: [],
		cpu: null,
	} as const;
	const rounds = [packRound(began, [], attachments)];
	const atMs = Date.parse("2025-06-20T12:00:00Z");
	const file = encodeJobRounds({ atMs: 0, rounds, attachments });
	const pool = new VerifierPool({ threads: 1, clockUs });
	try {
		for (const [given, code] of [
			[file, undefined],
			[file.slice(0, -1), "ATTEST_FORM"],
			[new Uint8Array(), "ATTEST_FORM"],
		] as const) {
			const question = { given, of, atMs, items: [], guests: null };
			const found = await pool.judgeJobRounds(question);
			assert.deepEqual(found, judgeJobRounds(question));
			assert.equal(found.judged.fault?.code, code);
			assert.equal(found.file === null, code !== undefined, "what is kept has the validator's time");
		}
		const late = await pool.judgeJobRounds({ given: file, of: { ...of, attempt: 3 }, atMs, items: [], guests: null });
		assert.equal(late.judged.fault?.code, "NONCE_WRONG");
	} finally {
		await pool.close();
	}
});

test("a file that kills its thread is refused after a second try; the next one is judged by a new thread", async () => {
	const program = `
		const { parentPort } = require("node:worker_threads");
		parentPort.on("message", ({ id, evidence }) => {
			if (evidence.length === 1) process.exit(3);
			parentPort.postMessage({ id, verdict: { status: "invalid", code: "FILE_TRUNCATED", where: "", detail: "" } });
		});`;
	const file = new URL(
		`data:text/javascript,${encodeURIComponent(`import { createRequire } from "node:module"; const require = createRequire("/"); ${program}`)}`,
	);
	const pool = new VerifierPool({ threads: 1, clockUs, file });
	try {
		const killer = pool.verify(new Uint8Array(1), {});
		const next = pool.verify(new Uint8Array(2), {});
		await assert.rejects(killer, { code: "VERIFIER_DIED" });
		assert.equal((await next).status, "invalid");
	} finally {
		await pool.close();
	}
	await assert.rejects(pool.verify(real, {}), { code: "VERIFIER_DIED" });
});

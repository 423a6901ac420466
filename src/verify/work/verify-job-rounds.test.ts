// Rounds of signed reports that come with a claim, minted: which of two ends may be whose. With a real engine
// and a guest's quote: tests/attestation/attested-probe.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { bindOfJob } from "../../protocol/attest/binding.ts";
import { encodeJobRounds } from "../../protocol/attest/job-rounds.ts";
import { packRound } from "../../protocol/attest/pack-round.ts";
import { type GpuPlan, gpuPlan, mintDevice, versionedPlan } from "../attestation/mint/mint-nvidia.test-kit.ts";
import { rememberSignatures } from "../attestation/x509/signature.ts";
import { verifyJobRounds } from "./verify-job-rounds.ts";

const verify = rememberSignatures(nodeSignatures);
const AT_MS = Date.parse("2025-06-20T12:00:00Z");
const ASSIGNED = {
	...{ job: "ab".repeat(32), part: 1, attempt: 2, provider: "cd".repeat(32), escrow: null, start: "ef".repeat(32) },
};
const CLAIM = "01".repeat(32);
type Round = Parameters<typeof packRound>[0];

/** `claim` null: at the beginning. */
const round = (claim: string | null, ...cards: readonly number[]): Round => roundBy(gpuPlan(), claim, ...cards);

function roundBy(plan: GpuPlan, claim: string | null, ...cards: readonly number[]): Round {
	const nonce = bindOfJob(ASSIGNED, claim);
	const gpus = cards.map((card) => ({
		device: card,
		...mintDevice({ ...plan, card: `card ${card}`, pdi: `${card}`.repeat(16), nonce }),
	}));
	return { after: 0, sentAtUs: 1, receivedAtUs: 2, end: "complete", says: [], gpus, switches: [], cpu: null };
}
const fileOf = (...rounds: readonly Round[]): Uint8Array => {
	const attachments: Uint8Array[] = [];
	const packed = rounds.map((one, after) => packRound({ ...one, after }, [], attachments));
	return encodeJobRounds({ atMs: AT_MS, rounds: packed, attachments });
};
const judge = (file: Uint8Array) => verifyJobRounds(file, { ...ASSIGNED, claim: CLAIM }, { verify, guests: null });
const told = (file: Uint8Array) => {
	const { fault, shown, rounds, devices, isSimulated } = judge(file);
	return fault === null ? [shown, rounds, devices.length, isSimulated] : `${fault.code} ${fault.where}`;
};
const [BEGIN, END] = [round(null, 1, 2), round(CLAIM, 1, 2)];
const EMPTY = round(CLAIM);

test("both ends, of the same cards: what they show, under roots of our own", () => {
	assert.deepEqual(told(fileOf(BEGIN, END)), ["genuine", 2, 2, true]);
	assert.equal(judge(fileOf(BEGIN, END)).level, "none");
});

test("each end is bound to its own moment", () => {
	for (const [begin, end, where] of [
		[BEGIN, BEGIN, "rounds[1]"],
		[END, END, "rounds[0]"],
		[BEGIN, round("02".repeat(32), 1, 2), "rounds[1]"],
	] as const)
		assert.match(String(told(fileOf(begin, end))), new RegExp(`^NONCE_WRONG ${where.replace("[", "\\[")}\\.`));
});

test("other cards at the end than at the beginning are named", () => {
	assert.equal(told(fileOf(BEGIN, round(CLAIM, 1))), "DEVICE_OTHER rounds[1]");
	assert.equal(told(fileOf(BEGIN, round(CLAIM, 1, 3))), "DEVICE_OTHER rounds[1]");
	assert.equal(told(fileOf(BEGIN, round(CLAIM, 1, 2, 3))), "DEVICE_OTHER rounds[1]");
});

test("cards that say nothing that can be read, at one end or both, show nothing; neither is a fault", () => {
	const dark = (claim: string | null) =>
		roundBy({ ...gpuPlan(), editReport: (bytes) => bytes.with(0, 0x12) }, claim, 1, 2);
	const format3 = (claim: string | null) => roundBy(versionedPlan(3), claim, 1, 2);
	assert.deepEqual(told(fileOf(roundBy(versionedPlan(), null, 1, 2), END)), ["genuine", 2, 2, true], "a driver of now");
	for (const [begin, end, isChanged] of [
		[BEGIN, format3(CLAIM), true],
		[format3(null), END, true],
		[BEGIN, dark(CLAIM), true],
		[dark(null), dark(CLAIM), false],
		[format3(null), format3(CLAIM), false],
	] as const) {
		const { fault, shown, level, reasons } = judge(fileOf(begin, end));
		assert.deepEqual([fault, shown, level, reasons[0]?.code], [null, "none", "none", "ATTEST_VERSION"]);
		assert.equal(/^at one end of the work, and not at the other: /.test(reasons[0]!.detail), isChanged);
	}
	assert.equal(told(fileOf(BEGIN, roundBy(versionedPlan(3), CLAIM, 1, 3))), "DEVICE_OTHER rounds[1]");
	assert.equal(told(fileOf(BEGIN, roundBy(versionedPlan(3), CLAIM, 1))), "DEVICE_OTHER rounds[1]");
});

test("one end alone shows nothing, nor does one without reports; neither is a fault", () => {
	assert.deepEqual(told(fileOf(BEGIN)).slice(0, 1), ["none"]);
	assert.equal(judge(fileOf(BEGIN)).fault, null);
	for (const file of [fileOf(BEGIN, EMPTY), fileOf({ ...EMPTY }, END), fileOf(EMPTY, EMPTY)]) {
		const { fault, shown, level } = judge(file);
		assert.deepEqual([fault, shown, level], [null, "none", "none"]);
	}
	// No rounds at all: a host without any of it.
	assert.deepEqual([judge(fileOf()).fault, judge(fileOf()).shown], [null, "none"]);
});

test("what is no such file, and what is false, show nothing of anybody", () => {
	const nothing = { level: "none", shown: "none", isSimulated: false, rounds: 0, devices: [], guest: null };
	for (const [file, code, where] of [
		[fileOf(BEGIN, END).slice(0, -1), "ATTEST_FORM", "file"],
		[new Uint8Array(3), "ATTEST_FORM", "file"],
		[fileOf(BEGIN, round(CLAIM, 3)), "DEVICE_OTHER", "rounds[1]"],
	] as const) {
		const { fault, policy, ...shown } = judge(file);
		assert.deepEqual([fault?.code, fault?.where], [code, where]);
		assert.deepEqual(shown, { ...nothing, reasons: [], says: [] });
		// What could not be read was judged by no rules.
		assert.equal(policy === null, code === "ATTEST_FORM");
	}
});

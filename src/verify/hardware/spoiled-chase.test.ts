// What can be wrong in what was opened of a chase, record by record; and words of a host on stages and keys
// that are not its own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { INTERVAL_HOPS } from "../../protocol/hash/chase.ts";
import { claimHash, stageHash } from "../../protocol/probe/countersign.ts";
import type { EvidenceBody } from "../../protocol/probe/evidence.ts";
import type { AnsweredChallenge } from "../../protocol/probe/evidence-codec.ts";
import {
	answerStages,
	CLAIM,
	countersigned,
	NONCES,
	PROBE_ID,
	PROVIDER,
	SECRET,
	STAGES,
	STRANGER,
	sign,
	VERIFIER,
} from "./honest-evidence.test-kit.ts";
import { expectCode, writable } from "./spoiled-evidence.test-kit.ts";
import { verifyEvidence } from "./verify.ts";

const CHASE = STAGES.flat().length - 1;
const LABELS = `challenges[${CHASE}].opens[0]`;
const HOPS = `challenges[${CHASE}].opens[1]`;
const records = (answered: AnsweredChallenge[], open: 0 | 1) => writable(answered[CHASE]!.opens[open]!.records);

test("labels: every one is there, of the right length, on a path of the right length to the root", () => {
	for (const i of [0, 3]) {
		const where = `${LABELS}.record[${i}]`;
		expectCode("PATH_LENGTH", where, (a) => records(a, 0)[i].path.pop());
		expectCode("ROOT_MISMATCH", where, (a) => (records(a, 0)[i].path[0] = new Uint8Array(32)));
		for (const size of [31, 33])
			expectCode("LEAF_LENGTH", where, (a) => (records(a, 0)[i].leaf = new Uint8Array(size)));
	}
	expectCode("OPENINGS_MISSING", `${LABELS}.record[3]`, (a) => records(a, 0).pop());
	expectCode("OPENINGS_SURPLUS", `${LABELS}.record[4]`, (a) => records(a, 0).push(records(a, 0)[0]));
});

test("hops: the first, the last and one too many of each interval", () => {
	for (const interval of [0, 1]) {
		const at = (hop: number) => `${HOPS}.interval[${interval}].record[${hop}]`;
		const record = (a: AnsweredChallenge[], hop: number) => records(a, 1)[INTERVAL_HOPS * interval + hop];
		for (const hop of [0, INTERVAL_HOPS - 1]) {
			for (const size of [1023, 1025])
				expectCode("LEAF_LENGTH", at(hop), (a) => (record(a, hop).leaf = new Uint8Array(size)));
			expectCode("PATH_LENGTH", at(hop), (a) => record(a, hop).path.pop());
			expectCode("ROOT_MISMATCH", at(hop), (a) => (record(a, hop).path[0] = new Uint8Array(32)));
		}
		// Another leaf: all later hops would lead elsewhere.
		expectCode("OPENING_PLACE", at(1), (a) => (record(a, 0).leaf = new Uint8Array(1024)));
	}
	expectCode("OPENINGS_MISSING", `${HOPS}.interval[1].record[63]`, (a) => records(a, 1).pop());
	expectCode("OPENINGS_SURPLUS", HOPS, (a) => records(a, 1).push(records(a, 1)[0]));
});

const ANSWERED = answerStages(STAGES, null, SECRET, () => {}, NONCES);
const codeOf = (answered: readonly AnsweredChallenge[], changes: Partial<EvidenceBody>) => {
	const verdict = verifyEvidence(sign(answered, changes));
	return verdict.status === "valid" ? "valid" : `${verdict.code} ${verdict.where}`;
};

test("a host's word is its own: no other key behind the link, and none on a stage that nobody answered", () => {
	const word = countersigned(ANSWERED);
	assert.equal(codeOf(ANSWERED, word), "valid");
	for (const link of [
		{ ...word.link, hostKey: `ed25519:${STRANGER.key}` },
		{ ...word.link, hostKey: PROVIDER.key },
		{ ...word.link, hostKey: null },
	])
		assert.equal(codeOf(ANSWERED, { ...word, link }), "COUNTERSIGN_WRONG countersign.key");
	// Signed by the host, over nothing.
	const stage = word.countersign!.stages.length;
	const nonce = NONCES.nonceOf(stage);
	const of = { probeId: PROBE_ID, verifier: VERIFIER.key, claim: claimHash(CLAIM), stage };
	const empty = {
		nonce: bytesToHex(nonce),
		signature: bytesToHex(PROVIDER.sign(stageHash(of, nonce, []))),
		spansUs: [],
	};
	const countersign = { ...word.countersign!, stages: [...word.countersign!.stages, empty] };
	assert.equal(codeOf(ANSWERED, { ...word, countersign }), `COUNTERSIGN_WRONG countersign.stages[${stage}].signature`);
});

test("what did not end well in a stage is not under the host's word, and hurts nothing that is", () => {
	// The CPU's part of the first stage broke off after a root; nothing of it could be opened.
	const refused = ANSWERED.map((one, i) => (i === 1 ? { ...one, end: "refused" as const, opens: [] } : one));
	const word = countersigned(refused);
	assert.equal(word.countersign!.stages[0]!.spansUs.length, 1);
	assert.equal(codeOf(refused, word), "valid", "a CPU's refusal is its own loss");
	const all = countersigned(ANSWERED);
	assert.equal(codeOf(refused, all), "COUNTERSIGN_WRONG countersign.stages[0].spansUs");
});

// Attacks on a finished file, by its holder and by whoever can sign: replay, edited times, foreign
// signatures, a commitment that came after its openings were asked for. Every field of the file has its own
// row in the tamper list of verify/hardware.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Evidence, EvidenceBody, GemmSpec } from "../src/protocol/probe/evidence.ts";
import { decodeEvidence, encodeEvidence, writeFile } from "../src/protocol/probe/evidence-codec.ts";
import { decodeRoots, encodeRoots } from "../src/protocol/probe/records.ts";
import type { Signer } from "../src/protocol/probe/signer.ts";
import type { Verdict } from "../src/protocol/probe/verdict.ts";
import { deriveFigures } from "../src/verify/hardware/derive-figures.ts";
import { verifyEvidence } from "../src/verify/hardware/verify.ts";
import { FOREIGN_SIGNER, probeToy, SIGNER } from "./toy/probe-toy.ts";

const GEMM: GemmSpec = {
	kind: "gemm",
	device: 0,
	precision: "int8",
	m: 128,
	n: 512,
	k: 128,
	rounds: 3,
	keep: 3,
	samples: 16,
};

let file: Uint8Array;
let evidence: Evidence;
let body: EvidenceBody;
const own = { signers: [SIGNER.key] };

before(async () => {
	const result = await probeToy({ stages: [[GEMM]] });
	assert.ok(result.evidence);
	file = result.evidence;
	const decoded = decodeEvidence(file);
	assert.ok(decoded.ok);
	evidence = decoded.evidence;
	body = evidence.envelope.body;
});

function codeOf(verdict: Verdict): string {
	return verdict.status === "valid" ? "valid" : verdict.code;
}

/** The same content with its challenge changed, figures derived anew, signed by `signer`. */
function resigned(signer: Signer, change: (b: EvidenceBody) => EvidenceBody, roots?: Uint8Array): Uint8Array {
	const attachments = evidence.attachments.map((bytes, i) => (i === 0 && roots ? roots : bytes));
	const changed = change(body);
	return encodeEvidence({ ...changed, figures: deriveFigures(changed, attachments) }, attachments, signer);
}

function movedRoots(move: (atUs: number, i: number) => number): Uint8Array {
	const roots = decodeRoots(evidence.attachments[0]!);
	assert.ok(roots.ok);
	return encodeRoots(roots.records.map((record, i) => ({ ...record, atUs: move(record.atUs, i) })));
}

test("the file as it is: valid for its own probe", () => {
	assert.equal(codeOf(verifyEvidence(file, { ...own, probeId: body.probe.id })), "valid");
	assert.equal(
		codeOf(
			verifyEvidence(
				resigned(SIGNER, (b) => b),
				own,
			),
		),
		"valid",
	);
});

test("replayed: the evidence of another probe, or of one already seen", () => {
	assert.equal(codeOf(verifyEvidence(file, { ...own, probeId: "0".repeat(32) })), "REPLAYED");
	assert.equal(codeOf(verifyEvidence(file, { ...own, seenProbeIds: new Set([body.probe.id]) })), "REPLAYED");
	assert.equal(codeOf(verifyEvidence(file, { ...own, seenProbeIds: new Set(["0".repeat(32)]) })), "valid");
});

test("replayed: old answers under a fresh secret, even by a signer that we believe", () => {
	const fresh = resigned(SIGNER, (b) => ({ ...b, secret: "ab".repeat(32) }));
	assert.equal(codeOf(verifyEvidence(fresh, own)), "OPENING_PLACE");
	const beacon = resigned(SIGNER, (b) => ({ ...b, beacon: { kind: "block", value: "later" } }));
	assert.equal(codeOf(verifyEvidence(beacon, own)), "ELEMENT_WRONG");
});

test("an edited timestamp breaks a hash or the signature", () => {
	const { envelope, attachments } = evidence;
	const roots = movedRoots((atUs) => atUs + 1);
	assert.equal(codeOf(verifyEvidence(writeFile(envelope, [roots, ...attachments.slice(1)]))), "ATTACHMENT_HASH");
	const challenges = body.challenges.map((challenge) => ({ ...challenge, sentAtUs: challenge.sentAtUs + 1 }));
	const edited = writeFile({ ...envelope, body: { ...body, challenges } }, attachments);
	assert.equal(codeOf(verifyEvidence(edited)), "SIGNATURE_WRONG");
	const later = { ...body, probe: { ...body.probe, startedAtMs: body.probe.startedAtMs + 1 } };
	assert.equal(codeOf(verifyEvidence(writeFile({ ...envelope, body: later }, attachments))), "SIGNATURE_WRONG");
});

test("a faster time with the old figures does not fit, even when signed", () => {
	const challenges = body.challenges.map((challenge) => ({ ...challenge, sentAtUs: challenge.sentAtUs + 1 }));
	const signed = encodeEvidence({ ...body, challenges }, evidence.attachments, SIGNER);
	assert.equal(codeOf(verifyEvidence(signed, own)), "FIGURES_MISMATCH");
});

test("a foreign signature: a right one by a stranger, and a stranger's name on ours", () => {
	const foreign = resigned(FOREIGN_SIGNER, (b) => b);
	assert.equal(codeOf(verifyEvidence(foreign, own)), "SIGNER_UNKNOWN");
	assert.equal(codeOf(verifyEvidence(foreign, { signers: [] })), "SIGNER_UNKNOWN");
	const { envelope, attachments } = evidence;
	const renamed = { ...envelope, signature: { ...envelope.signature, key: FOREIGN_SIGNER.key } };
	assert.equal(codeOf(verifyEvidence(writeFile(renamed, attachments))), "SIGNATURE_WRONG");
	const pretended = encodeEvidence(body, attachments, { key: SIGNER.key, sign: FOREIGN_SIGNER.sign });
	assert.equal(codeOf(verifyEvidence(pretended, own)), "SIGNATURE_WRONG");
});

test("a commitment that came after the openings were known", () => {
	const openedAtUs = body.challenges[0]!.opens[0]!.sentAtUs;
	const late = movedRoots((atUs, i) => (i === GEMM.rounds - 1 ? openedAtUs + 1 : atUs));
	assert.equal(
		codeOf(
			verifyEvidence(
				resigned(SIGNER, (b) => b, late),
				own,
			),
		),
		"COMMITMENT_AFTER_OPENING",
	);
	const inTime = movedRoots((atUs, i) => (i === GEMM.rounds - 1 ? openedAtUs : atUs));
	assert.equal(
		codeOf(
			verifyEvidence(
				resigned(SIGNER, (b) => b, inTime),
				own,
			),
		),
		"valid",
	);
});

test("roots stamped out of order", () => {
	const backwards = movedRoots((atUs, i) => (i === 1 ? 0 : atUs));
	assert.equal(
		codeOf(
			verifyEvidence(
				resigned(SIGNER, (b) => b, backwards),
				own,
			),
		),
		"TIME_ORDER",
	);
});

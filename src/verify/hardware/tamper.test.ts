// Walks the tamper list: no field of an evidence file is missing from it, and every change is caught by the
// code it names.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bytesToHex, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import type { Envelope } from "../../protocol/probe/evidence.ts";
import { type AnsweredChallenge, signedHash, writeFile } from "../../protocol/probe/evidence-codec.ts";
import { deriveFigures } from "./derive-figures.ts";
import {
	answerStages,
	assemble,
	CLAIM,
	partsOf,
	STAGES,
	STRANGER,
	sign,
	VERIFIER,
} from "./honest-evidence.test-kit.ts";
import { fieldsOf, RECORD_TAMPER_LIST, TAMPER_LIST } from "./tamper-list.test-kit.ts";
import { type Expectations, verifyEvidence } from "./verify.ts";

const BEACON = { kind: "block", value: "00" };
const ANSWERED = answerStages(STAGES, BEACON);
/** With the fields that are there only where they have something to say. */
const WHOLE_CLAIM = { ...CLAIM, unsupported: [{ pciId: "1002:74a1", name: "", count: 8 }], hidden: ["/proc"] as const };
const FILE = sign(ANSWERED, { beacon: BEACON, claim: WHOLE_CLAIM });
const { envelope: ENVELOPE, attachments: ATTACHMENTS } = partsOf(FILE);
const { probe } = ENVELOPE.body;
const EXPECT: Expectations = {
	signers: [VERIFIER.key],
	probeId: probe.id,
	notBeforeMs: probe.startedAtMs,
	notAfterMs: probe.startedAtMs + probe.finishedAtUs / 1000,
	target: probe.target,
};

function outcome(file: Uint8Array, expect = EXPECT): string {
	const verdict = verifyEvidence(file, expect);
	return verdict.status === "valid" ? "valid" : verdict.code;
}

function copyOf(): Envelope {
	return structuredClone(ENVELOPE);
}

function signedAnew(envelope: Envelope, signer = VERIFIER): Envelope {
	const value = bytesToHex(signer.sign(signedHash(envelope.attachments, envelope.body)));
	return { ...envelope, signature: { key: signer.key, value } };
}

test("the untouched file is valid", () => {
	assert.equal(outcome(FILE), "valid");
	assert.deepEqual([...writeFile(copyOf(), ATTACHMENTS)], [...FILE]);
});

test("the list names every field of the envelope, and no other", () => {
	const fields = fieldsOf(ENVELOPE);
	const listed = new Set(TAMPER_LIST.map(({ field }) => field));
	assert.deepEqual(
		[...fields].filter((field) => !listed.has(field)),
		[],
		"fields that the list lacks",
	);
	assert.deepEqual(
		[...listed].filter((field) => !fields.has(field)),
		[],
		"entries of no field",
	);
	for (const { field, code, free } of TAMPER_LIST) assert.equal(code === undefined, free !== undefined, field);
});

test("every change without a new signature is caught by the signature or the form", () => {
	for (const { field, change, form, code } of TAMPER_LIST) {
		const envelope = copyOf();
		change(envelope);
		const expected = form ?? (field === "signature.key" ? code : "SIGNATURE_WRONG");
		assert.equal(outcome(writeFile(envelope, ATTACHMENTS)), expected, field);
	}
});

test("every change signed by a stranger is caught", () => {
	for (const { field, change, form } of TAMPER_LIST) {
		if (field.startsWith("signature.")) continue;
		const envelope = copyOf();
		change(envelope);
		assert.equal(outcome(writeFile(signedAnew(envelope, STRANGER), ATTACHMENTS)), form ?? "SIGNER_UNKNOWN", field);
	}
});

test("every change signed anew by the verifier's own key is caught by its code, or is free for a stated reason", () => {
	const wrong: string[] = [];
	for (const { field, change, code, refigure } of TAMPER_LIST) {
		let envelope = copyOf();
		change(envelope);
		if (refigure) {
			const { body } = envelope;
			envelope = { ...envelope, body: { ...body, figures: deriveFigures(body, ATTACHMENTS) } };
		}
		if (!field.startsWith("signature.")) envelope = signedAnew(envelope);
		const found = outcome(writeFile(envelope, ATTACHMENTS));
		if (found !== (code ?? "valid")) wrong.push(`${field}: ${found}, not ${code ?? "valid"}`);
	}
	assert.deepEqual(wrong, []);
});

test("every field of the binary records, packed and signed anew", () => {
	const named = new Set(RECORD_TAMPER_LIST.map(({ field }) => field));
	const all = ["root.index", "root.atUs", "root.root", "opening.round", "opening.index", "opening.leaf bytes"];
	assert.deepEqual([...named].sort(), [...all, "opening.path nodes", "opening.leaf", "opening.path"].sort());
	for (const { field, change, code } of RECORD_TAMPER_LIST) {
		const copy = structuredClone(ANSWERED) as AnsweredChallenge[];
		change(copy);
		assert.equal(outcome(sign(copy, { beacon: BEACON })), code ?? "valid", `${field} → ${code ?? "free"}`);
	}
});

test("the container's own bytes", () => {
	for (let i = 0; i < 8; i++) {
		const file = FILE.slice();
		file[i]! ^= 1;
		assert.equal(outcome(file), "FILE_NOT_EVIDENCE");
	}
	for (const [by, code] of [
		[1, "ENVELOPE_SPELLING"],
		[-1, "ENVELOPE_SPELLING"],
	] as const) {
		const file = FILE.slice();
		file[8]! += by;
		assert.equal(outcome(file), code);
	}
	const long = FILE.slice();
	long[11] = 1;
	assert.equal(outcome(long), "FILE_TOO_LARGE");
	const longer = FILE.slice();
	longer[10] = 16;
	assert.equal(outcome(longer), "FILE_TRUNCATED");
});

test("a prover that commits to wrong bytes is caught in the bytes, whatever the paths say", () => {
	// Wrong from the start: committed, hashed and opened consistently. Only recomputing can tell.
	for (const [challenge, code] of [
		[0, "ELEMENT_WRONG"],
		[1, "ELEMENT_WRONG"],
		[2, "DIGEST_WRONG"],
		[3, "LANE_WRONG"],
		[4, "LANE_WRONG"],
		[6, "ELEMENT_WRONG"],
		[7, "DIGEST_WRONG"],
		[8, "DIGEST_WRONG"],
		[11, "DIGEST_WRONG"],
	] as const) {
		const wrong = answerStages(STAGES, BEACON, undefined, (index, bytes) => {
			if (index === challenge) for (let i = 0; i < bytes.length; i++) bytes[i]! ^= 1;
		});
		assert.equal(outcome(sign(wrong, { beacon: BEACON })), code, `challenge ${challenge}`);
	}
});

test("a whole answer to other seeds (stale, or of another probe) is caught", () => {
	const stale = answerStages(STAGES, BEACON, new Uint8Array(32).fill(99));
	assert.equal(outcome(sign(stale, { beacon: BEACON })), "OPENING_PLACE");
	assert.equal(outcome(sign(stale, { beacon: BEACON, secret: "63".repeat(32) })), "valid");
});

test("figures left out, invented or in another order", () => {
	const { figures } = ENVELOPE.body;
	for (const list of [
		[],
		figures.slice(1),
		figures.slice(0, -1),
		[...figures, figures.at(-1)!],
		[...figures].reverse(),
	])
		assert.equal(outcome(sign(ANSWERED, { beacon: BEACON, figures: list })), "FIGURES_MISMATCH");
});

test("attachments swapped, shared or unused", () => {
	const { body, attachments } = assemble(ANSWERED, { beacon: BEACON });
	const file = (list: Uint8Array[], change: (b: typeof body) => unknown = (b) => b) => {
		const changed = structuredClone(body);
		change(changed);
		const entries = list.map((bytes) => ({ bytes: bytes.length, sha256: sha256Hex(bytes) }));
		return writeFile(signedAnew({ attachments: entries, body: changed, signature: ENVELOPE.signature }), list);
	};
	assert.equal(outcome(file([...attachments])), "valid");
	assert.equal(outcome(file([...attachments, utf8ToBytes("smuggled")])), "ATTACHMENT_ORDER");
	assert.equal(outcome(file([...attachments, new Uint8Array(0)])), "ATTACHMENT_ORDER");
	assert.equal(outcome(file(attachments.slice(0, -1))), "ATTACHMENT_ORDER");
	assert.equal(
		outcome(file([...attachments.slice(0, 1), new Uint8Array(1), ...attachments.slice(2)])),
		"RECORD_MALFORMED",
	);
	assert.equal(outcome(file([new Uint8Array(43), ...attachments.slice(1)])), "RECORD_MALFORMED");
});

test("no code of the verdict kinds is left untried by the tests of verifiers", async () => {
	const { globSync, readFileSync } = await import("node:fs");
	const cwd = fileURLToPath(new URL("../../..", import.meta.url));
	const texts = globSync("{src/verify,tests/attestation,tests/work,tests/zk}/**/*.{test,test-kit}.ts", { cwd })
		.map((name) => readFileSync(`${cwd}/${name}`, "utf8"))
		.join("\n");
	// In quotes, or behind the status as a verdict and the command line say it.
	const said = String.raw`\b(invalid |inconclusive |INVALID \{2\}|INCONCLUSIVE \{2\})`;
	const exempt = ["INTERNAL", "ABORTED"]; // never reached; given by the probe
	for (const [code, { kind }] of Object.entries(codes))
		if (kind !== "error" && !exempt.includes(code))
			assert.ok(new RegExp(`(["\x60]|${said})${code}\\b`).test(texts), `${code} is not tried`);
});

function sha256Hex(bytes: Uint8Array): string {
	return bytesToHex(sha256Of(bytes));
}

// The container: what is written is read again; cut, stretched or noisy files are values with a code, never
// exceptions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { concatBytes, u32, utf8ToBytes } from "../bytes/bytes.ts";
import { encodeCanonicalJson } from "../bytes/canonical-json.ts";
import { MAX_FILE_BYTES } from "./container.ts";
import type { EvidenceBody } from "./evidence.ts";
import { decodeEvidence, encodeEvidence, packChallenges } from "./evidence-codec.ts";
import { decodeOpenings, decodeRoots, encodeOpenings, encodeRoots } from "./records.ts";
import { createSigner, isSignature } from "./signer.ts";

const signer = createSigner(new Uint8Array(32).fill(1));

const roots = [
	{ index: 0, atUs: 5, root: new Uint8Array(32).fill(1) },
	{ index: 0xffffffff, atUs: Number.MAX_SAFE_INTEGER, root: new Uint8Array(32).fill(2) },
];
const openings = [
	{ round: 1, index: 2, leaf: new Uint8Array(1024).fill(3), path: [new Uint8Array(32).fill(4), new Uint8Array(32)] },
	{ round: 0xffffffff, index: 0, leaf: new Uint8Array(0), path: [] },
];

const { challenges, attachments } = packChallenges([
	{
		spec: { kind: "stream", device: 0, of: 0, newest: 0, passes: 1, samples: 1 },
		...{ stage: 0, attempt: 7, sentAtUs: 1, roots, end: "complete" },
		opens: [
			{ what: "digests", sentAtUs: 9, receivedAtUs: 10, records: openings, end: "complete" },
			{ what: "leaves", sentAtUs: 11, receivedAtUs: 12, records: [], end: "silent" },
		],
	},
]);

const BODY: EvidenceBody = {
	format: "assay-evidence",
	version: 4,
	probe: { id: "0".repeat(32), startedAtMs: 1, finishedAtUs: 2, target: "local", verifier: "é" },
	beacon: null,
	secret: "0".repeat(64),
	claim: {
		engine: { version: "", arch: "", cuda: false },
		host: { os: "", cpu: "", cores: 0, ramBytes: 0, ramFreeBytes: 0 },
		driver: null,
		why: "",
		devices: [],
	},
	link: { kind: "local", engineSha256: null, hostKey: null, handshakeUs: null, rttUs: [] },
	challenges,
	readings: [],
	dropped: [],
	countersign: null,
	attestations: [],
	figures: [],
};

const FILE = encodeEvidence(BODY, attachments, signer);

function codeOf(file: Uint8Array): string {
	const decoded = decodeEvidence(file);
	return decoded.ok ? "ok" : decoded.code;
}

/** A file around any JSON text. */
function around(json: string, ...rest: Uint8Array[]): Uint8Array {
	const text = utf8ToBytes(json);
	return concatBytes(utf8ToBytes("ASSAYEV1"), u32(text.length), text, ...rest);
}

test("what is written is read again, and the attachments are numbered in order", () => {
	const decoded = decodeEvidence(FILE);
	assert.ok(decoded.ok);
	assert.deepEqual(decoded.evidence.envelope.body, BODY);
	assert.deepEqual(
		decoded.evidence.attachments.map((bytes) => [...bytes]),
		attachments.map((bytes) => [...bytes]),
	);
	assert.deepEqual([challenges[0]!.roots, ...challenges[0]!.opens.map(({ attachment }) => attachment)], [0, 1, 2]);
});

test("roots and openings survive the round trip; cut or surplus bytes do not", () => {
	assert.deepEqual(decodeRoots(encodeRoots(roots)), { ok: true, records: roots });
	assert.deepEqual(decodeOpenings(encodeOpenings(openings)), { ok: true, records: openings });
	for (const [bytes, decode] of [
		[encodeRoots(roots), decodeRoots],
		[encodeOpenings(openings), decodeOpenings],
	] as const) {
		const whole = decode(bytes);
		assert.ok(whole.ok);
		for (let length = 0; length < bytes.length; length++) {
			const cut = decode(bytes.subarray(0, length));
			// A cut between two records gives fewer records; any other is refused.
			if (cut.ok) assert.ok(cut.records.length < whole.records.length);
		}
		assert.equal(decode(concatBytes(bytes, Uint8Array.of(0))).ok, false);
	}
	const tooLate = encodeRoots(roots);
	tooLate[11] = 255;
	assert.deepEqual(decodeRoots(tooLate), { ok: false, record: 0, detail: "a time beyond all clocks" });
});

test("every truncation and every surplus byte is refused", () => {
	for (let length = 0; length < FILE.length; length++)
		assert.notEqual(codeOf(FILE.subarray(0, length)), "ok", `${length}`);
	assert.equal(codeOf(FILE.subarray(0, 11)), "FILE_TRUNCATED");
	assert.equal(codeOf(FILE.subarray(0, 200)), "FILE_TRUNCATED");
	assert.equal(codeOf(FILE.subarray(0, FILE.length - 1)), "FILE_TRUNCATED");
	assert.equal(codeOf(concatBytes(FILE, Uint8Array.of(0))), "FILE_SURPLUS");
});

test("form: magic, size, spelling, shape, hashes", () => {
	assert.equal(codeOf(new Uint8Array(0)), "FILE_TRUNCATED");
	assert.equal(codeOf(utf8ToBytes("ASSAYEV2")), "FILE_NOT_EVIDENCE");
	assert.equal(codeOf(new Uint8Array(MAX_FILE_BYTES + 1)), "FILE_TOO_LARGE");
	assert.equal(codeOf(concatBytes(utf8ToBytes("ASSAYEV1"), u32(0xffffffff))), "FILE_TOO_LARGE");
	assert.equal(codeOf(around("{} ")), "ENVELOPE_SPELLING");
	assert.equal(codeOf(around("\ufeff{}")), "ENVELOPE_SPELLING");
	assert.equal(codeOf(concatBytes(utf8ToBytes("ASSAYEV1"), u32(2), Uint8Array.of(0xc3, 0x28))), "ENVELOPE_SPELLING");
	assert.equal(codeOf(around("{}")), "ENVELOPE_SHAPE");
	assert.equal(codeOf(around("[]")), "ENVELOPE_SHAPE");
	const last = FILE.slice();
	last[last.length - 1]! ^= 1;
	assert.equal(codeOf(last), "ATTACHMENT_HASH");
	const decoded = decodeEvidence(FILE);
	assert.ok(decoded.ok);
	const { envelope } = decoded.evidence;
	const surplus = { ...envelope, body: { ...BODY, extra: 1 } };
	assert.equal(codeOf(around(encodeCanonicalJson(surplus), ...attachments)), "ENVELOPE_SHAPE");
	const upper = { ...envelope, signature: { ...envelope.signature, key: envelope.signature.key.toUpperCase() } };
	assert.equal(codeOf(around(encodeCanonicalJson(upper), ...attachments)), "ENVELOPE_SHAPE");
	const hostile = { ...envelope, body: { ...BODY, probe: { ...BODY.probe, target: "\u001b[2J" } } };
	assert.equal(codeOf(around(encodeCanonicalJson(hostile), ...attachments)), "ENVELOPE_SHAPE");
});

test("version 4 alone is read, and with all of its fields", () => {
	const decoded = decodeEvidence(FILE);
	assert.ok(decoded.ok);
	const { envelope } = decoded.evidence;
	const file = (body: object) => around(encodeCanonicalJson({ ...envelope, body } as never), ...attachments);
	const told = (body: object) => {
		const read = decodeEvidence(file(body));
		return read.ok ? "ok" : `${read.code} ${read.where}`;
	};
	for (const version of [0, 1, 2, 3, 5, "4", null])
		assert.equal(told({ ...BODY, version }), "FILE_VERSION body.version");
	// As version 3 was: it has no attestations, and is told what it is all the same.
	const { attestations: _, ...third } = BODY;
	assert.equal(told({ ...third, version: 3 }), "FILE_VERSION body.version");
	for (const field of ["attestations", "dropped", "countersign", "readings"] as const) {
		const { [field]: _without, ...body } = BODY;
		assert.equal(told(body), `ENVELOPE_SHAPE body.${field}`);
	}
	const { attempt: _attempt, ...challenge } = BODY.challenges[0]!;
	assert.equal(told({ ...BODY, challenges: [challenge] }), "ENVELOPE_SHAPE body.challenges[0].attempt");
	const { newest: _newest, ...spec } = challenge.spec as { newest: number };
	const challenges = [{ ...challenge, attempt: 7, spec }];
	assert.equal(told({ ...BODY, challenges }), "ENVELOPE_SHAPE body.challenges[0].spec.newest");
});

test("signatures: right, of something else, with another key, malleated, misspelled", () => {
	const hash = new Uint8Array(32).fill(7);
	const value = Buffer.from(signer.sign(hash)).toString("hex");
	assert.equal(isSignature(signer.key, value, hash), true);
	assert.equal(isSignature(signer.key, value, new Uint8Array(32)), false);
	assert.equal(isSignature(createSigner(hash).key, value, hash), false);
	assert.equal(isSignature(signer.key, value.toUpperCase(), hash), false);
	assert.equal(isSignature(signer.key, value.slice(2), hash), false);
	assert.equal(isSignature("f".repeat(64), value, hash), false);
	// s + L is the same signature modulo the group's order: strict verification refuses the second spelling.
	const order = 2n ** 252n + 27742317777372353535851937790883648493n;
	const s = BigInt(`0x${value.slice(64).match(/../g)!.reverse().join("")}`) + order;
	const malleated = s.toString(16).padStart(64, "0").match(/../g)!.reverse().join("");
	assert.equal(isSignature(signer.key, value.slice(0, 64) + malleated, hash), false);
	// A key of small order would accept one signature for many messages.
	const smallOrder = `01${"00".repeat(31)}`;
	assert.equal(isSignature(smallOrder, smallOrder + "00".repeat(32), hash), false);
});

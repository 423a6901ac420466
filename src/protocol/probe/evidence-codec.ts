// The evidence file, docs/hardware-proof.md §8: magic ‖ u32 length ‖ envelope (canonical JSON) ‖ attachments, nothing after them.
// Every byte is signed, hashed by something signed, or fixed. decodeEvidence checks form and hashes; whether the signature is
// right and the content true is for verify/hardware. Decoding never throws.
import { bytesToHex, bytesToUtf8, concatBytes, readU32, u32, utf8ToBytes } from "../bytes/bytes.ts";
import { decodeCanonicalJson, encodeCanonicalJson } from "../bytes/canonical-json.ts";
import { sha256Of, tagged } from "../hash/tagged-hash.ts";
import {
	type AttachmentEntry,
	type ChallengeRecord,
	type ChallengeSpec,
	type End,
	type Envelope,
	type Evidence,
	type EvidenceBody,
	envelopeShape,
	type OpenedWhat,
} from "./evidence.ts";
import { encodeOpenings, encodeRoots, type OpeningRecord, type RootRecord } from "./records.ts";
import type { Signer } from "./signer.ts";

const MAGIC = utf8ToBytes("ASSAYEV1");
const HEAD_BYTES = MAGIC.length + 4;
/** The largest file that is read: bounds a verifier's memory. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MAX_ENVELOPE_BYTES = 2 * 1024 * 1024;

/** One challenge as the probe holds it in memory. */
export interface AnsweredChallenge {
	readonly spec: ChallengeSpec;
	readonly stage: number;
	readonly attempt: number;
	readonly sentAtUs: number;
	readonly roots: readonly RootRecord[];
	readonly end: End;
	readonly opens: readonly {
		readonly what: OpenedWhat;
		readonly sentAtUs: number;
		readonly receivedAtUs: number;
		readonly records: readonly OpeningRecord[];
		readonly end: End;
	}[];
}

/** Numbers the attachments in the one order that a file may have: for each challenge its roots, then its opens. */
export function packChallenges(answered: readonly AnsweredChallenge[]): {
	challenges: ChallengeRecord[];
	attachments: Uint8Array[];
} {
	const attachments: Uint8Array[] = [];
	const challenges = answered.map(({ spec, stage, attempt, sentAtUs, roots, end, opens }): ChallengeRecord => {
		const rootsAt = attachments.push(encodeRoots(roots)) - 1;
		return {
			spec,
			stage,
			attempt,
			sentAtUs,
			roots: rootsAt,
			end,
			opens: opens.map((open) => ({
				what: open.what,
				sentAtUs: open.sentAtUs,
				receivedAtUs: open.receivedAtUs,
				attachment: attachments.push(encodeOpenings(open.records)) - 1,
				end: open.end,
			})),
		};
	});
	return { challenges, attachments };
}

/** What the verifier signs. */
export function signedHash(attachments: readonly AttachmentEntry[], body: EvidenceBody): Uint8Array {
	return tagged("assay/evidence/1", utf8ToBytes(encodeCanonicalJson({ attachments, body })));
}

/** The whole file, signed. Throws on values that canonical JSON cannot say: they would be our own mistake. */
export function encodeEvidence(body: EvidenceBody, attachments: readonly Uint8Array[], signer: Signer): Uint8Array {
	const entries = attachments.map((bytes) => ({ bytes: bytes.length, sha256: bytesToHex(sha256Of(bytes)) }));
	const signature = { key: signer.key, value: bytesToHex(signer.sign(signedHash(entries, body))) };
	return writeFile({ attachments: entries, body, signature }, attachments);
}

/** The container alone, around an envelope that is already signed. */
export function writeFile(envelope: Envelope, attachments: readonly Uint8Array[]): Uint8Array {
	const json = utf8ToBytes(encodeCanonicalJson(envelope));
	return concatBytes(MAGIC, u32(json.length), json, ...attachments);
}

export type DecodeResult =
	| { readonly ok: true; readonly evidence: Evidence }
	| { readonly ok: false; readonly code: DecodeCode; readonly where: string; readonly detail: string };

type DecodeCode =
	| "FILE_TOO_LARGE"
	| "FILE_NOT_EVIDENCE"
	| "FILE_TRUNCATED"
	| "FILE_SURPLUS"
	| "ENVELOPE_SPELLING"
	| "ENVELOPE_SHAPE"
	| "ATTACHMENT_HASH";

export function decodeEvidence(file: Uint8Array): DecodeResult {
	const wrong = (code: DecodeCode, where: string, detail: string): DecodeResult => ({ ok: false, code, where, detail });
	if (file.length > MAX_FILE_BYTES)
		return wrong("FILE_TOO_LARGE", "file", `${file.length} bytes; at most ${MAX_FILE_BYTES}`);
	for (let i = 0; i < MAGIC.length && i < file.length; i++)
		if (file[i] !== MAGIC[i]) return wrong("FILE_NOT_EVIDENCE", `file[${i}]`, "does not begin with ASSAYEV1");
	if (file.length < HEAD_BYTES) return wrong("FILE_TRUNCATED", `file[${file.length}]`, "ends inside its head");
	const length = readU32(file, MAGIC.length);
	if (length > MAX_ENVELOPE_BYTES)
		return wrong("FILE_TOO_LARGE", "envelope", `${length} bytes; at most ${MAX_ENVELOPE_BYTES}`);
	if (HEAD_BYTES + length > file.length)
		return wrong("FILE_TRUNCATED", `file[${file.length}]`, "ends inside its envelope");
	const text = bytesToUtf8(file.subarray(HEAD_BYTES, HEAD_BYTES + length));
	if (text === null) return wrong("ENVELOPE_SPELLING", "envelope", "not UTF-8");
	const json = decodeCanonicalJson(text);
	if (!json.ok) return wrong("ENVELOPE_SPELLING", `envelope[${json.at}]`, json.detail);
	const fault = envelopeShape(json.value, "");
	if (fault !== null) return wrong("ENVELOPE_SHAPE", fault.where, fault.detail);
	const envelope = json.value as unknown as Envelope;
	const attachments: Uint8Array[] = [];
	let at = HEAD_BYTES + length;
	for (const [i, entry] of envelope.attachments.entries()) {
		if (entry.bytes > file.length - at) return wrong("FILE_TRUNCATED", `attachments[${i}]`, "the file ends inside it");
		attachments.push(file.subarray(at, at + entry.bytes));
		at += entry.bytes;
	}
	if (at !== file.length)
		return wrong("FILE_SURPLUS", `file[${at}]`, `${file.length - at} bytes after the last attachment`);
	for (const [i, entry] of envelope.attachments.entries())
		if (bytesToHex(sha256Of(attachments[i]!)) !== entry.sha256)
			return wrong("ATTACHMENT_HASH", `attachments[${i}]`, "its bytes are not those that were signed");
	return { ok: true, evidence: { envelope, attachments } };
}

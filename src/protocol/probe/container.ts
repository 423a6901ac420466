// The container of every file that proves something, docs/hardware-proof.md §8: magic ‖ u32 length ‖ envelope
// (canonical JSON) ‖ attachments, nothing after them. Form and hashes alone; what an envelope says is its own
// shape's affair. Decoding never throws.
import { bytesToHex, bytesToUtf8, concatBytes, readU32, u32, utf8ToBytes } from "../bytes/bytes.ts";
import { decodeCanonicalJson, encodeCanonicalJson } from "../bytes/canonical-json.ts";
import { hex, int, object, type Shape, type Typed } from "../bytes/shape.ts";
import { sha256Of } from "../hash/tagged-hash.ts";

const MAGIC = utf8ToBytes("ASSAYEV1");
const HEAD_BYTES = MAGIC.length + 4;
/** The largest file that is read: bounds a verifier's memory. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MAX_ENVELOPE_BYTES = 2 * 1024 * 1024;

const attachment = object({ bytes: int(), sha256: hex(32) });
export interface AttachmentEntry extends Typed<typeof attachment> {}
export const attachmentShape = attachment as Shape<AttachmentEntry>;

/** Whether a file says that it is one at all. One that does not claims nothing, so nothing of it is false. */
export const isContainer = (file: Uint8Array): boolean => MAGIC.every((byte, i) => file[i] === byte);

export interface Container<E> {
	readonly envelope: E;
	readonly attachments: readonly Uint8Array[];
}

export type DecodeResult<C> =
	| { readonly ok: true; readonly evidence: C }
	| { readonly ok: false; readonly code: DecodeCode; readonly where: string; readonly detail: string };

type DecodeCode =
	| "FILE_TOO_LARGE"
	| "FILE_NOT_EVIDENCE"
	| "FILE_TRUNCATED"
	| "FILE_SURPLUS"
	| "ENVELOPE_SPELLING"
	| "ENVELOPE_SHAPE"
	| "FILE_VERSION"
	| "ATTACHMENT_HASH";

export const entriesOf = (attachments: readonly Uint8Array[]): AttachmentEntry[] =>
	attachments.map((bytes) => ({ bytes: bytes.length, sha256: bytesToHex(sha256Of(bytes)) }));

/** Throws on values that canonical JSON cannot say: they would be our own mistake. */
export function encodeContainer(envelope: object, attachments: readonly Uint8Array[]): Uint8Array {
	const json = utf8ToBytes(encodeCanonicalJson(envelope));
	return concatBytes(MAGIC, u32(json.length), json, ...attachments);
}

type Wrong = Extract<DecodeResult<never>, { ok: false }>;
const wrong = (code: DecodeCode, where: string, detail: string): Wrong => ({ ok: false, code, where, detail });

/** The envelope, and where attachments begin; what they hold is not looked at. */
export function decodeEnvelope<E>(
	file: Uint8Array,
	shape: Shape<E>,
): Wrong | { readonly ok: true; readonly envelope: E; readonly end: number } {
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
	const fault = shape(json.value, "");
	if (fault !== null)
		return wrong(fault.where === "body.version" ? "FILE_VERSION" : "ENVELOPE_SHAPE", fault.where, fault.detail);
	return { ok: true, envelope: json.value as unknown as E, end: HEAD_BYTES + length };
}

export function decodeContainer<E extends { readonly attachments: readonly AttachmentEntry[] }>(
	file: Uint8Array,
	shape: Shape<E>,
): DecodeResult<Container<E>> {
	const decoded = decodeEnvelope(file, shape);
	if (!decoded.ok) return decoded;
	const { envelope } = decoded;
	const attachments: Uint8Array[] = [];
	let at = decoded.end;
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

// Which of the known kinds of attestation files is this? By its first bytes and names of fields; whether it
// is true is judged elsewhere.
import { bytesToHex, bytesToUtf8, readU16, readU32 } from "../../protocol/bytes/bytes.ts";
import { anyHexToBytes, base64ToBytes } from "./bytes.ts";

export type FileKind =
	| "device report"
	| "device list"
	| "quote"
	| "SNP report"
	| "Azure evidence"
	| "dstack evidence"
	| "certificates"
	| "manifest"
	| "OCSP answer"
	| "revocation list"
	| "Intel collateral"
	| "event log"
	| "collateral bundle"
	| "unknown";

/** Names of fields that tell kinds of JSON apart. */
const JSON_KINDS: readonly (readonly [RegExp, FileKind])[] = [
	[/"hcl_report"\s*:/, "Azure evidence"],
	[/"tcb_info_signature"\s*:/, "Intel collateral"],
	[/"event_log"\s*:/, "dstack evidence"],
	[/"evidence"\s*:/, "device list"],
];

const MOST_TEXT = 2 * 1024 * 1024;

/** Whose quoting enclave it is: at the same place in quotes of every version. */
export const INTEL_QE = "939a7233f79c4ca9940a0db3957f0607";

export function kindOfFile(bytes: Uint8Array): FileKind {
	if (bytes.length < 16) return "unknown";
	if (bytesToUtf8(bytes.subarray(0, 8)) === "ASSAYEV1") return "collateral bundle";
	if (bytes[0] !== undefined && bytes[0] >> 4 === 1 && bytes[1] === 0xe0) return "device report";
	if (bytes[0] === 0x30) return derKind(bytes);
	// Versions to come begin as those of today do.
	if (bytes.length === 1184 && readU32(bytes, 0) <= 255) return "SNP report";
	const isQuote = readU16(bytes, 0) >= 3 && readU16(bytes, 0) <= 5 && readU16(bytes, 2) === 2;
	if (isQuote && (readU32(bytes, 4) === 0 || readU32(bytes, 4) === 0x81)) return "quote";
	if (readU16(bytes, 0) <= 255 && bytesToHex(bytes.subarray(12, 28)) === INTEL_QE) return "quote";
	if (bytesToUtf8(bytes.subarray(32, 47)) === "Spec ID Event03") return "event log";
	const text = bytes.length <= MOST_TEXT ? bytesToUtf8(bytes)?.trimStart() : undefined;
	if (text === undefined) return "unknown";
	if (text.startsWith("<")) return "manifest";
	if (text.startsWith("-----BEGIN CERTIFICATE-----")) return "certificates";
	if (!/^[[{]/.test(text)) return "unknown";
	return JSON_KINDS.find(([pattern]) => pattern.test(text))?.[1] ?? "unknown";
}

/** Quotes and reports are often handed on as text, in hex or base64: the bytes. Any other file as it is. */
export function openText(bytes: Uint8Array): Uint8Array {
	const text = bytes.length <= MOST_TEXT ? bytesToUtf8(bytes)?.trim() : undefined;
	if (text === undefined || !/^[0-9A-Za-z+/=_\s-]+$/.test(text)) return bytes;
	const packed = text.replace(/\s+/g, "").replace(/^0x/i, "");
	const opened = anyHexToBytes(packed) ?? base64ToBytes(packed);
	return opened !== null && kindOfFile(opened) !== "unknown" ? opened : bytes;
}

/**
 * SEQUENCE {ENUMERATED…}: an answer. SEQUENCE {SEQUENCE {[0] version…}}: a certificate; {SEQUENCE {INTEGER
 * 1…}}: a list.
 */
function derKind(bytes: Uint8Array): FileKind {
	const inner = afterHeader(bytes, 0);
	if (bytes[inner] === 0x0a) return "OCSP answer";
	const first = bytes[inner] === 0x30 ? bytes[afterHeader(bytes, inner)] : undefined;
	return first === 0xa0 ? "certificates" : first === 0x02 ? "revocation list" : "unknown";
}

const afterHeader = (bytes: Uint8Array, at: number): number => {
	const length = bytes[at + 1] ?? 0;
	return at + 2 + (length > 0x80 ? length & 0x7f : 0);
};

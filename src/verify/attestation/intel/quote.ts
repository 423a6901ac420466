// SGX and TDX quotes of versions 3, 4 and 5: form only. Zero padding may follow a quote, nothing else.
import { bytesToHex, bytesToUtf8, readU16, readU32 } from "../../../protocol/bytes/bytes.ts";
import { pemToDers } from "../bytes.ts";
import { cannotTell, refuse } from "../verdict.ts";

export interface SgxReport {
	readonly miscSelect: Uint8Array;
	readonly attributes: Uint8Array;
	readonly mrEnclave: Uint8Array;
	readonly mrSigner: Uint8Array;
	readonly productId: number;
	readonly svn: number;
	readonly reportData: Uint8Array;
}

export interface TdReport {
	readonly teeTcbSvn: Uint8Array;
	readonly mrSignerSeam: Uint8Array;
	readonly seamAttributes: Uint8Array;
	readonly attributes: Uint8Array;
	readonly mrTd: Uint8Array;
	readonly rtmr: readonly Uint8Array[];
	readonly reportData: Uint8Array;
	/** TD 1.5 only. */
	readonly mrServiceTd: Uint8Array | null;
}

export interface Quote {
	readonly version: number;
	/** 1 SGX, 2 TD 1.0, 3 TD 1.5 */
	readonly body: 1 | 2 | 3;
	readonly report: { readonly tee: "sgx"; readonly sgx: SgxReport } | { readonly tee: "tdx"; readonly td: TdReport };
	readonly qeVendor: string;
	readonly signed: Uint8Array;
	readonly signature: Uint8Array;
	/** x ‖ y of the attestation key. */
	readonly key: Uint8Array;
	readonly qeReportBytes: Uint8Array;
	readonly qeReport: SgxReport;
	readonly qeSignature: Uint8Array;
	readonly qeAuth: Uint8Array;
	/** PCK certificate first. */
	readonly certificates: readonly Uint8Array[];
}

const HEADER = 48;
const MOST_BYTES = 64 * 1024;
const BODY_SIZES: Readonly<Record<number, number>> = { 1: 384, 2: 584, 3: 648 };
const wrong = (detail: string): never => refuse("ATTEST_FORM", "quote", detail);
const unknown = (detail: string): never => cannotTell("quote", detail);

/** Takes parts from the front; refuses to read past the end. */
class Parts {
	readonly #bytes: Uint8Array;
	#at = 0;
	constructor(bytes: Uint8Array) {
		this.#bytes = bytes;
	}
	take(length: number): Uint8Array {
		if (this.#at + length > this.#bytes.length) wrong("the quote ends before its last part");
		this.#at += length;
		return this.#bytes.subarray(this.#at - length, this.#at);
	}
	u16 = (): number => readU16(this.take(2), 0);
	u32 = (): number => readU32(this.take(4), 0);
	rest = (): Uint8Array => this.#bytes.subarray(this.#at);
	get at(): number {
		return this.#at;
	}
}

const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);

export function readQuote(bytes: Uint8Array): Quote {
	if (bytes.length > MOST_BYTES) return wrong("longer than any quote");
	const parts = new Parts(bytes);
	const header = parts.take(HEADER);
	const [version, keyType, tee] = [readU16(header, 0), readU16(header, 2), readU32(header, 4)];
	if (version < 3 || version > 5) return unknown(`a quote of version ${version}, and 3 to 5 are known here`);
	if (keyType !== 2) return unknown(`an attestation key of kind ${keyType}, and only P-256 is known here`);
	if (tee !== 0 && tee !== 0x81) return unknown("a quote of neither SGX nor TDX");
	if (tee !== 0 && version === 3) return wrong("TDX in a quote of version 3");
	const body = version === 5 ? parts.u16() : tee === 0 ? 1 : 2;
	const size = BODY_SIZES[body];
	if (size === undefined) return unknown(`a body of kind ${body}, and 1 to 3 are known here`);
	if ((body === 1) !== (tee === 0)) return wrong("a body that does not fit the header");
	if (version === 5 && parts.u32() !== size) return wrong("the body does not have its type's size");
	const report = parts.take(size);
	const signed = bytes.subarray(0, parts.at);
	const auth = new Parts(parts.take(parts.u32()));
	if (!isZero(parts.rest())) return wrong("something other than zeros follows the quote");
	return {
		version,
		body: body as 1 | 2 | 3,
		report: body === 1 ? { tee: "sgx", sgx: readSgxReport(report) } : { tee: "tdx", td: readTdReport(report) },
		qeVendor: bytesToHex(header.subarray(12, 28)),
		signed,
		...readAuth(auth, version),
	};
}

function readAuth(auth: Parts, version: number) {
	const [signature, key] = [auth.take(64), auth.take(64)];
	let inner = auth;
	if (version >= 4) {
		const outer = auth.u16();
		if (outer !== 6) return unknown(`certification data of type ${outer}, and only a QE report (6) is known here`);
		inner = new Parts(auth.take(auth.u32()));
		if (!isZero(auth.rest())) return wrong("something other than zeros follows the certification data");
	}
	const [qeReportBytes, qeSignature] = [inner.take(384), inner.take(64)];
	const qeAuth = inner.take(inner.u16());
	const type = inner.u16();
	if (type !== 5) return unknown(`certification data of type ${type}, and only certificates (5) are known here`);
	const pem = bytesToUtf8(inner.take(inner.u32())) ?? wrong("certificates that are not PEM");
	if (!isZero(inner.rest())) return wrong("something other than zeros follows the certificates");
	const certificates = pemToDers(pem, "quote.certificates");
	return { signature, key, qeReportBytes, qeReport: readSgxReport(qeReportBytes), qeSignature, qeAuth, certificates };
}

function readSgxReport(bytes: Uint8Array): SgxReport {
	return {
		miscSelect: bytes.subarray(16, 20),
		attributes: bytes.subarray(48, 64),
		mrEnclave: bytes.subarray(64, 96),
		mrSigner: bytes.subarray(128, 160),
		productId: readU16(bytes, 256),
		svn: readU16(bytes, 258),
		reportData: bytes.subarray(320, 384),
	};
}

function readTdReport(bytes: Uint8Array): TdReport {
	return {
		teeTcbSvn: bytes.subarray(0, 16),
		mrSignerSeam: bytes.subarray(64, 112),
		seamAttributes: bytes.subarray(112, 120),
		attributes: bytes.subarray(120, 128),
		mrTd: bytes.subarray(136, 184),
		rtmr: [0, 1, 2, 3].map((i) => bytes.subarray(328 + 48 * i, 376 + 48 * i)),
		reportData: bytes.subarray(520, 584),
		mrServiceTd: bytes.length === 648 ? bytes.subarray(600, 648) : null,
	};
}

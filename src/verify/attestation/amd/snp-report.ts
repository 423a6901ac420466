// AMD's SEV-SNP attestation report, 1184 bytes: form only. Turin puts one more security version into its TCB,
// in another order.
import { readU32 } from "../../../protocol/bytes/bytes.ts";
import type { AmdProduct } from "../settings.ts";
import { cannotTell, refuse } from "../verdict.ts";

/** Security versions by the names that certificates use; fmc on Turin only. */
type SnpTcb = Readonly<Partial<Record<"fmc" | "bl" | "tee" | "snp" | "ucode", number>>>;

export interface SnpReport {
	readonly version: number;
	readonly policy: bigint;
	readonly vmpl: number;
	readonly platformInfo: bigint;
	readonly signer: "VCEK" | "VLEK";
	readonly reportData: Uint8Array;
	readonly measurement: Uint8Array;
	readonly tcb: SnpTcb;
	readonly chipId: Uint8Array;
	readonly signed: Uint8Array;
	/** r ‖ s, big-endian. */
	readonly signature: Uint8Array;
}

const SNP_BYTES = 1184;
const SIGNED_BYTES = 0x2a0;
const HALF = 72;
const UNSIGNED = 7;
const wrong = (detail: string): never => refuse("ATTEST_FORM", "report", detail);
const unknown = (detail: string): never => cannotTell("report", detail);

const u64 = (bytes: Uint8Array, at: number): bigint =>
	(BigInt(readU32(bytes, at + 4)) << 32n) | BigInt(readU32(bytes, at));

export const readSnpReport = (bytes: Uint8Array, product: AmdProduct): SnpReport => ({
	...readSnpSigned(bytes),
	tcb: tcbOf(bytes.subarray(0x180, 0x188), product),
});

/** What is needed to check the signature, before anything else of it is believed. */
export const readSnpSigned = (bytes: Uint8Array): Omit<SnpReport, "tcb"> => ({
	...readSnpFields(bytes),
	signature: signatureOf(bytes.subarray(SIGNED_BYTES)),
});

/** What every chip's report has at the same place. */
export function readSnpFields(bytes: Uint8Array): Omit<SnpReport, "tcb" | "signature"> {
	if (bytes.length !== SNP_BYTES) return wrong(`${bytes.length} bytes where a report has 1184`);
	const version = readU32(bytes, 0);
	if (version < 2 || version > 5) return unknown(`a report of version ${version}, and 2 to 5 are known here`);
	if (readU32(bytes, 0x34) !== 1) return unknown("a report that is not signed by ECDSA on P-384");
	const key = (readU32(bytes, 0x48) >> 2) & 7;
	if (key === UNSIGNED) return wrong("a report that nobody signed");
	if (key > 1) return unknown("a report signed by neither VCEK nor VLEK");
	return {
		version,
		policy: u64(bytes, 0x08),
		vmpl: readU32(bytes, 0x30),
		platformInfo: u64(bytes, 0x40),
		signer: key === 0 ? "VCEK" : "VLEK",
		reportData: bytes.subarray(0x50, 0x90),
		measurement: bytes.subarray(0x90, 0xc0),
		chipId: bytes.subarray(0x1a0, 0x1e0),
		signed: bytes.subarray(0, SIGNED_BYTES),
	};
}

function tcbOf(bytes: Uint8Array, product: AmdProduct): SnpTcb {
	const [b0, b1, b2, b3, b4, b5, b6, b7] = bytes;
	if (product === "Turin") {
		if (b4 !== 0 || b5 !== 0 || b6 !== 0) return unknown("security versions of parts that are not known here");
		return { fmc: b0!, bl: b1!, tee: b2!, snp: b3!, ucode: b7! };
	}
	if (b2 !== 0 || b3 !== 0 || b4 !== 0 || b5 !== 0)
		return unknown("security versions of parts that are not known here");
	return { bl: b0!, tee: b1!, snp: b6!, ucode: b7! };
}

/** Two little-endian numbers of 72 bytes, of which 48 are used. */
function signatureOf(bytes: Uint8Array): Uint8Array {
	if (bytes.subarray(2 * HALF).some((byte) => byte !== 0)) return wrong("something follows the signature");
	const signature = new Uint8Array(96);
	for (const half of [0, 1]) {
		const little = Uint8Array.from(bytes.subarray(half * HALF, (half + 1) * HALF));
		if (little.subarray(48).some((byte) => byte !== 0)) return wrong("a half of the signature is out of range");
		signature.set(little.subarray(0, 48).reverse(), half * 48);
	}
	return signature;
}

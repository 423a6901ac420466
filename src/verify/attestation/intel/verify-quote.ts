// Judges an SGX or TDX quote: chain, signatures, quoting enclave, binding, collateral, guest, TCB level, in
// this order.
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, equalBytes } from "../../../protocol/bytes/bytes.ts";
import { INTEL_QE } from "../file-kind.ts";
import { checkGuestAllowed, checkReportData } from "../guest.ts";
import { type AttestationSettings, tellSimulated, VENDOR_ROOTS } from "../settings.ts";
import { type AttestationVerdict, type Hearing, hear, refuse } from "../verdict.ts";
import { type Certificate, readCertificate } from "../x509/certificate.ts";
import { checkDeviceChain } from "../x509/chain.ts";
import { type IntelCollateral, readIntelCollateral } from "./collateral.ts";
import { type PlatformTcb, platformTcb } from "./pck.ts";
import { type Quote, readQuote } from "./quote.ts";
import { moduleState, platformState, qeState, worse } from "./tcb.ts";

export interface QuoteQuestion {
	/** signed: to the vendor's root. tcb: also TCB, identity of the quoting enclave, revocation. */
	readonly ask: "signed" | "tcb";
	/** 64 bytes; null: not asked. */
	readonly reportData: Uint8Array | null;
	/** Null: there is none. */
	readonly collateral: Uint8Array | null;
}

export interface SignedQuote {
	readonly quote: Quote;
	readonly chain: readonly Certificate[];
	readonly platform: PlatformTcb;
}

const P256_PREFIX = Uint8Array.of(4);

export function verifyQuote(
	bytes: Uint8Array,
	question: QuoteQuestion,
	settings: AttestationSettings,
): AttestationVerdict {
	return hear((hearing) => {
		const signed = checkSignedQuote(hearing, bytes, settings);
		const { quote } = signed;
		const { report } = quote;
		const reportData = report.tee === "tdx" ? report.td.reportData : report.sgx.reportData;
		checkReportData(question.reportData, reportData, "quote");
		judgeGuestAndTcb(hearing, signed, question, settings);
		return question.ask === "tcb" ? "measured" : "genuine";
	});
}

/** Collateral first, then the guest, then the TCB level. */
export function judgeGuestAndTcb(
	hearing: Hearing,
	{ quote, chain, platform }: SignedQuote,
	{ ask, collateral: file }: Omit<QuoteQuestion, "reportData">,
	settings: AttestationSettings,
): void {
	let collateral: IntelCollateral | null = null;
	if (file !== null) {
		collateral = readIntelCollateral(hearing, file, chain, settings);
		checkOfThisPlatform(collateral, quote, platform);
	} else if (ask === "tcb")
		hearing.doubtful("COLLATERAL_MISSING", "collateral", "nothing is known of the platform's TCB");
	else hearing.find("REVOCATION_UNASKED", "no lists of revoked certificates are at hand");
	checkGuest(hearing, quote, settings);
	if (collateral?.isCurrent) judgeTcb(hearing, collateral, quote, platform, settings);
}

/** A quote that Intel's chain signed, and what it says. */
export function checkSignedQuote(hearing: Hearing, bytes: Uint8Array, settings: AttestationSettings): SignedQuote {
	const quote = readQuote(bytes);
	const chain = quote.certificates.map((der, i) => readCertificate(der, `quote.certificates[${i}]`));
	if (chain.length !== 3) refuse("ATTEST_CHAIN", "quote.certificates", `${chain.length} certificates where 3 are due`);
	checkDeviceChain(chain, settings.roots.intel, settings.verify, settings.atMs, "quote.certificates");
	tellSimulated(hearing, settings.roots.intel, VENDOR_ROOTS.intel);
	const pck = chain[0]!;
	const platform = platformTcb(pck);
	const { verify } = settings;
	if (!verify("p256", pck.key, quote.qeReportBytes, quote.qeSignature))
		refuse("ATTEST_SIGNATURE", "quote.qe", "the PCK certificate's key did not sign the quoting enclave's report");
	const point = concatBytes(P256_PREFIX, quote.key);
	if (!verify("p256", { kind: "p256", point }, quote.signed, quote.signature))
		refuse("ATTEST_SIGNATURE", "quote", "the attestation key did not sign this quote");
	checkQe(quote);
	Object.assign(hearing.facts, factsOf(quote, platform));
	return { quote, chain, platform };
}

/** The quoting enclave vouches for the attestation key: its report data is the key's hash, then zeros. */
function checkQe(quote: Quote): void {
	if (quote.qeVendor !== INTEL_QE) refuse("QE_WRONG", "quote", "the quoting enclave is not Intel's");
	const due = concatBytes(sha256(concatBytes(quote.key, quote.qeAuth)), new Uint8Array(32));
	if (!equalBytes(due, quote.qeReport.reportData))
		refuse("QE_WRONG", "quote.qe", "the quoting enclave vouches for another attestation key");
	if ((quote.qeReport.attributes[0]! & 2) !== 0) refuse("QE_WRONG", "quote.qe", "a quoting enclave in debug mode");
}

function factsOf({ version, body, report }: Quote, { fmspc }: PlatformTcb): Record<string, unknown> {
	const common = { version, tee: report.tee, body, fmspc };
	if (report.tee === "sgx") {
		const { reportData, mrEnclave, mrSigner, svn } = report.sgx;
		const hex = {
			reportData: bytesToHex(reportData),
			mrEnclave: bytesToHex(mrEnclave),
			mrSigner: bytesToHex(mrSigner),
		};
		return { ...common, ...hex, svn };
	}
	const { reportData, mrTd, rtmr, attributes } = report.td;
	return {
		...common,
		reportData: bytesToHex(reportData),
		mrTd: bytesToHex(mrTd),
		rtmr: rtmr.map(bytesToHex),
		tdAttributes: bytesToHex(attributes),
	};
}

function checkOfThisPlatform({ tcbInfo, qeIdentity }: IntelCollateral, { report }: Quote, platform: PlatformTcb): void {
	const [tcbId, qeId] = report.tee === "tdx" ? ["TDX", "TD_QE"] : ["SGX", "QE"];
	if (tcbInfo.text("id") !== tcbId) refuse("COLLATERAL_OTHER", "collateral.tcb_info", `it is not for ${tcbId}`);
	if (tcbInfo.hex("fmspc", 6) !== platform.fmspc || tcbInfo.hex("pceId", 2) !== platform.pceId)
		refuse("COLLATERAL_OTHER", "collateral.tcb_info", "it is of another FMSPC");
	if (qeIdentity.text("id") !== qeId) refuse("COLLATERAL_OTHER", "collateral.qe_identity", `it is not for ${qeId}`);
}

const SGX_DEBUG = 0x02;
/**
 * Bits of a TD's attributes that mean nothing yet: all but debug, the four below and PERFMON. What they will
 * allow is not known.
 */
const RESERVED = Uint8Array.of(0, 0xff, 0xff, 0x0f, 0xff, 0xff, 0xff, 0x7f);
/** Bits of the fourth byte of a TD's attributes. */
const SEPT_VE_DISABLE = 0x10;
const MIGRATABLE = 0x20;

function checkGuest(hearing: Hearing, { report }: Quote, { policy }: AttestationSettings): void {
	if (report.tee === "sgx") {
		if ((report.sgx.attributes[0]! & SGX_DEBUG) !== 0) refuse("GUEST_DEBUG", "quote", "a debug enclave");
		checkGuestAllowed({ tee: "sgx", measurement: bytesToHex(report.sgx.mrEnclave), registers: [] }, policy, "quote");
		return;
	}
	const { attributes, mrServiceTd, mrTd, rtmr } = report.td;
	if (attributes[0] !== 0) refuse("GUEST_DEBUG", "quote", "the host can debug this guest");
	if ((attributes[3]! & SEPT_VE_DISABLE) === 0) refuse("GUEST_POLICY", "quote", "SEPT_VE_DISABLE is not set");
	if ((attributes[3]! & MIGRATABLE) !== 0) refuse("GUEST_POLICY", "quote", "the guest can be migrated");
	if (mrServiceTd?.some((byte) => byte !== 0)) refuse("GUEST_POLICY", "quote", "a service TD is bound to the guest");
	if (attributes.some((byte, i) => (byte & RESERVED[i]!) !== 0))
		hearing.doubtful("ATTEST_VERSION", "quote", "the guest has attributes that are not known here");
	checkGuestAllowed({ tee: "tdx", measurement: bytesToHex(mrTd), registers: rtmr.map(bytesToHex) }, policy, "quote");
}

function judgeTcb(
	hearing: Hearing,
	{ tcbInfo, qeIdentity }: IntelCollateral,
	{ report, qeReport }: Quote,
	platform: PlatformTcb,
	{ policy }: AttestationSettings,
): void {
	const td = report.tee === "tdx" ? report.td : null;
	const qe = qeState(qeIdentity, qeReport);
	const own = platformState(tcbInfo, platform, td);
	const { status, advisories } = worse(worse(own, td === null ? null : moduleState(hearing, tcbInfo, td)), qe);
	const evaluation = tcbInfo.small("tcbEvaluationDataNumber");
	Object.assign(hearing.facts, { tcb: status, advisories, evaluation });
	const isKnown = Object.hasOwn(policy.tcb, status);
	if (!isKnown)
		hearing.doubtful(
			"ATTEST_VERSION",
			"collateral.tcb_info",
			`Intel calls the platform's TCB ${status}, which is not known here`,
		);
	const answer = isKnown ? policy.tcb[status] : "accept";
	if (answer === "refuse") refuse("TCB_REFUSED", "collateral.tcb_info", `the platform's TCB is ${status}`);
	if (answer !== "tell") return;
	const told = `the platform's TCB is ${status}: ${advisories.join(", ")}`;
	if (status.includes("Hardening")) hearing.find("TCB_HARDENING", told);
	if (status.includes("Configuration")) hearing.find("TCB_CONFIGURATION", told);
}

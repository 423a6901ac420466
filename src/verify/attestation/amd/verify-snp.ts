// Judges an SNP report with its VCEK or VLEK and the chain of its product: chain, signature, TCB and chip id,
// binding, guest.
import { bytesToHex, equalBytes } from "../../../protocol/bytes/bytes.ts";
import { certificatesIn } from "../bytes.ts";
import { checkGuestAllowed, checkReportData } from "../guest.ts";
import { type AmdProduct, type AttestationSettings, tellSimulated, VENDOR_ROOTS } from "../settings.ts";
import { type AttestationVerdict, cannotTell, type Hearing, hear, refuse } from "../verdict.ts";
import { type Certificate, fingerprintOf, readCertificate, readName } from "../x509/certificate.ts";
import { checkDeviceChain } from "../x509/chain.ts";
import { checkCrl, readCrl } from "../x509/crl.ts";
import { derOf, smallInteger, TAG } from "../x509/der.ts";
import { readSnpReport, readSnpSigned, type SnpReport } from "./snp-report.ts";

export interface SnpEvidence {
	readonly report: Uint8Array;
	/** VCEK or VLEK, PEM or DER. */
	readonly leaf: Uint8Array;
	/** ASK (or ASVK) and ARK, PEM; null: not at hand. */
	readonly chain: Uint8Array | null;
	/** AMD's list of revoked certificates; null: not at hand. */
	readonly crl: Uint8Array | null;
}

export interface SnpQuestion {
	/** Null: whichever product's root the chain ends in. */
	readonly product: AmdProduct | null;
	/** 64 bytes; null: not asked. */
	readonly reportData: Uint8Array | null;
}

export function verifySnp(
	evidence: SnpEvidence,
	question: SnpQuestion,
	settings: AttestationSettings,
): AttestationVerdict {
	return hear((hearing) => {
		const report = checkSignedSnp(hearing, evidence, question.product, settings);
		if (report === null) return "none";
		checkReportData(question.reportData, report.reportData, "report");
		checkSnpGuest(hearing, report, settings);
		return "genuine";
	});
}

/** Null: there is no chain to judge it by, and the hearing is in doubt. */
export function checkSignedSnp(
	hearing: Hearing,
	evidence: SnpEvidence,
	asked: AmdProduct | null,
	settings: AttestationSettings,
): SnpReport | null {
	const { roots, verify, atMs } = settings;
	const leaf = readCertificate(onlyOne(certificatesIn(evidence.leaf, "leaf")), "leaf");
	if (evidence.chain === null) {
		hearing.doubtful("COLLATERAL_MISSING", "chain", "the certificates of AMD's product line are not at hand");
		return null;
	}
	const authorities = certificatesIn(evidence.chain, "chain").map((der, i) => readCertificate(der, `chain[${i}]`));
	if (authorities.length !== 2) refuse("ATTEST_CHAIN", "chain", `${authorities.length} certificates where 2 are due`);
	const chain = [leaf, ...authorities];
	const product = asked ?? productOf(chain.at(-1)!, settings);
	checkDeviceChain(chain, roots.amd[product], verify, atMs, "chain");
	tellSimulated(hearing, roots.amd[product], VENDOR_ROOTS.amd[product]);
	const { signed, signature } = readSnpSigned(evidence.report);
	if (!verify("p384", leaf.key, signed, signature))
		refuse("ATTEST_SIGNATURE", "report", "the leaf did not sign this report");
	const report = readSnpReport(evidence.report, product);
	checkLeafFits(leaf, report, product);
	Object.assign(hearing.facts, factsOf(report, product));
	if (evidence.crl === null) hearing.find("REVOCATION_UNASKED", "AMD's list of revoked certificates is not at hand");
	else checkCrl(hearing, readCrl(evidence.crl, "crl"), chain[2]!, [chain[1]!], settings, "crl");
	return report;
}

const onlyOne = (ders: readonly Uint8Array[]): Uint8Array =>
	ders.length === 1 ? ders[0]! : refuse("ATTEST_FORM", "leaf", `${ders.length} certificates where one is due`);

function productOf(root: Certificate, { roots }: AttestationSettings): AmdProduct {
	const print = fingerprintOf(root);
	const products = Object.keys(roots.amd) as AmdProduct[];
	const found = products.find((product) => roots.amd[product].includes(print));
	// AMD makes a root for each product, so one to come is not among those that are pinned.
	const name = /^ARK-(\w{1,32})$/.exec(readName(root.subject, "chain").CN ?? "")?.[1];
	if (name !== undefined && !products.some((product) => product === name))
		return cannotTell("chain", `the product ${name} is not known here`);
	return found ?? refuse("ATTEST_CHAIN", "chain", "the last certificate is not a pinned root of any product");
}

const AMD = "1.3.6.1.4.1.3704.1";
/** Numbers of the security versions in the certificate's extensions. */
const SVN_ARCS: Readonly<Record<string, number>> = { bl: 1, tee: 2, snp: 3, ucode: 8, fmc: 9 };

/** The certificate is made for one TCB and, a VCEK, one chip: both must be the report's. */
function checkLeafFits(leaf: Certificate, report: SnpReport, product: AmdProduct): void {
	const wrong = (detail: string): never => refuse("TCB_WRONG", "leaf", detail);
	const name = readName(leaf.subject, "leaf").CN;
	if (name !== `SEV-${report.signer}`) wrong(`the report wants a ${report.signer}, the leaf is ${name}`);
	for (const [part, svn] of Object.entries(report.tcb)) {
		const extension = leaf.extensions.get(`${AMD}.3.${SVN_ARCS[part]}`);
		if (extension === undefined || smallInteger(derOf(extension.value, "leaf", TAG.integer)) !== svn)
			wrong(`the leaf is of another security version of ${part}`);
	}
	if (report.signer === "VLEK") return;
	const hardware = leaf.extensions.get(`${AMD}.4`)?.value;
	const used = product === "Turin" ? 8 : 64;
	if (hardware === undefined || !equalBytes(chipIdOf(hardware, used), report.chipId.subarray(0, used)))
		wrong("the leaf is of another chip");
	if (report.chipId.subarray(used).some((byte) => byte !== 0)) wrong("the chip id is longer than its product's");
}

/** Bare bytes; some certificates wrap them in an octet string. */
const chipIdOf = (value: Uint8Array, used: number): Uint8Array =>
	value.length === used + 2 && value[0] === TAG.octetString && value[1] === used ? value.subarray(2) : value;

const ALIAS_CHECK = 1n << 5n;

function factsOf(report: SnpReport, product: AmdProduct): Record<string, unknown> {
	const { version, signer, policy, vmpl, reportData, measurement, chipId, tcb, platformInfo } = report;
	return {
		version,
		product,
		signer,
		policy: policy.toString(16),
		vmpl,
		reportData: bytesToHex(reportData),
		measurement: bytesToHex(measurement),
		chipId: bytesToHex(chipId),
		tcb,
		platformInfo: platformInfo.toString(16),
		aliasCheck: version < 3 ? null : (platformInfo & ALIAS_CHECK) !== 0n,
	};
}

const MIGRATION_AGENT = 1n << 18n;
const DEBUG = 1n << 19n;

export function checkSnpGuest(hearing: Hearing, report: SnpReport, { policy }: AttestationSettings): void {
	if ((report.policy & DEBUG) !== 0n) refuse("GUEST_DEBUG", "report", "the host can debug this guest");
	if ((report.policy & MIGRATION_AGENT) !== 0n) refuse("GUEST_POLICY", "report", "the guest can be migrated");
	if (report.vmpl > policy.highestVmpl) refuse("GUEST_POLICY", "report", `the report comes from VMPL ${report.vmpl}`);
	checkGuestAllowed({ tee: "snp", measurement: bytesToHex(report.measurement), registers: [] }, policy, "report");
	if (report.version < 3 || (report.platformInfo & ALIAS_CHECK) === 0n)
		hearing.find("ALIAS_CHECK_MISSING", "the platform did not check its memory for aliases");
}

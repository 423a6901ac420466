// Judges the report of one GPU or one NVSwitch: chain, signature, firmware id, nonce; where asked,
// measurements and revocation.
import { bytesToHex, equalBytes } from "../../../protocol/bytes/bytes.ts";
import { certificatesIn } from "../bytes.ts";
import { type AttestationSettings, readOnce, tellSimulated, VENDOR_ROOTS } from "../settings.ts";
import { type AttestationVerdict, type Hearing, hear, type Level, refuse } from "../verdict.ts";
import { type Certificate, readCertificate } from "../x509/certificate.ts";
import { checkDeviceChain } from "../x509/chain.ts";
import { answerAbout, checkOcsp, readOcsp } from "../x509/ocsp.ts";
import { type DeviceKind, firmwareIdForm, gpuFields, identityOf, switchFields } from "./device-facts.ts";
import { type Manifest, readManifest } from "./manifest.ts";
import { checkManifestsFit, checkMeasurements, type Part } from "./measurements.ts";
import { readSpdmReport, type SpdmReport } from "./spdm-report.ts";

export interface DeviceEvidence {
	readonly kind: DeviceKind;
	readonly report: Uint8Array;
	/** PEM, leaf first, root last. */
	readonly chain: Uint8Array;
}

export interface DeviceQuestion {
	readonly ask: "genuine" | "measured";
	/** 32 bytes; null: not asked. */
	readonly nonce: Uint8Array | null;
	/** The chip that the host claims, e.g. GH100; null: not asked. */
	readonly chip: string | null;
	readonly manifests: readonly Uint8Array[];
	readonly ocsp: readonly Uint8Array[];
}

export interface GenuineDevice {
	readonly kind: DeviceKind;
	readonly report: SpdmReport;
	readonly chain: readonly Certificate[];
	readonly spkiSha256: string;
	readonly pdi: string;
	readonly links: readonly string[] | null;
	readonly parts: readonly Part[];
	readonly isNvdec0Off: boolean;
	readonly chip: string;
	readonly driver: string | null;
	/** What the report says, for people and for tests. */
	readonly facts: Readonly<Record<string, unknown>>;
}

const CHAIN_LENGTH = 5;
const MOST_COLLATERAL = 16;

/** Chain, signature and firmware id: a device of the vendor signed this. */
export function checkGenuine(
	hearing: Hearing,
	evidence: DeviceEvidence,
	settings: AttestationSettings,
	where: string,
): GenuineDevice {
	const device = readOnce(settings, "device", evidence, () => genuineDevice(hearing, evidence, settings, where));
	tellSimulated(hearing, settings.roots.nvidiaDevice, VENDOR_ROOTS.nvidiaDevice);
	return device;
}

/** Of a device, leaf first; read, not checked. */
export const chainOf = (bytes: Uint8Array, settings: Pick<AttestationSettings, "memory">, where: string) =>
	readOnce(settings, "chain", bytes, (): readonly Certificate[] =>
		certificatesIn(bytes, where).map((der, i) => readCertificate(der, `${where}[${i}]`)),
	);

function genuineDevice(
	hearing: Hearing,
	evidence: DeviceEvidence,
	settings: AttestationSettings,
	where: string,
): GenuineDevice {
	const { kind } = evidence;
	const at = { report: `${where}report`, chain: `${where}chain` };
	const report = readSpdmReport(evidence.report, at.report);
	const chain = chainOf(evidence.chain, settings, at.chain);
	if (chain.length !== CHAIN_LENGTH) refuse("ATTEST_CHAIN", at.chain, `${chain.length} certificates where 5 are due`);
	checkDeviceChain(chain, settings.roots.nvidiaDevice, settings.verify, settings.atMs, at.chain);
	tellSimulated(hearing, settings.roots.nvidiaDevice, VENDOR_ROOTS.nvidiaDevice);
	const [leaf, identityCertificate] = [chain[0]!, chain[1]!];
	if (!settings.verify("p384", leaf.key, report.signed, report.signature))
		refuse("ATTEST_SIGNATURE", at.report, "the leaf did not sign this report");
	const identity = identityOf(identityCertificate, kind, at.chain);
	const nonce = bytesToHex(report.nonce);
	const fwid = firmwareIdForm(leaf, report, at.report);
	const common = { kind, report, chain, ...identity };
	if (kind === "switch") {
		const { bios, links } = switchFields(report, identity.pdi, at.report);
		const parts: Part[] = [{ name: "bios", version: bios, product: "LS10" }];
		const facts = { nonce, ...identity, fwid, bios };
		return { ...common, links, parts, isNvdec0Off: false, chip: "LS10", driver: null, facts };
	}
	const { links, ...fields } = gpuFields(report, identityCertificate, at.report);
	const { driver, vbios, chip, nvdec0 } = fields;
	const parts: Part[] = [
		{ name: "driver", version: driver, product: chip },
		{ name: "vbios", version: vbios, product: chip },
	];
	return {
		...common,
		links,
		parts,
		isNvdec0Off: nvdec0 === "off",
		chip,
		driver,
		facts: { nonce, ...identity, fwid, ...fields },
	};
}

export function verifyDevice(
	evidence: DeviceEvidence,
	question: DeviceQuestion,
	settings: AttestationSettings,
): AttestationVerdict {
	return hear((hearing) => {
		const device = checkGenuine(hearing, evidence, settings, "");
		Object.assign(hearing.facts, device.facts);
		if (question.chip !== null && question.chip !== device.chip)
			refuse("DEVICE_OTHER", "report", `the report is of ${device.chip}, not of ${question.chip}`);
		if (question.nonce !== null && !equalBytes(question.nonce, device.report.nonce))
			refuse("NONCE_WRONG", "report", "the report answers another question");
		return checkMeasured(hearing, device, question, settings);
	});
}

function checkMeasured(
	hearing: Hearing,
	device: GenuineDevice,
	question: DeviceQuestion,
	settings: AttestationSettings,
): Level {
	const { manifests: files, ocsp, ask } = question;
	if (files.length > MOST_COLLATERAL || ocsp.length > MOST_COLLATERAL)
		refuse("COLLATERAL_WRONG", "collateral", "more collateral than one device can use");
	const manifests =
		ask === "measured" ? files.map((file, i) => readManifest(hearing, file, settings, `rims[${i}]`)) : [];
	checkManifestsFit(device.parts, manifests, "rims");
	checkRevocation(hearing, device, manifests, ocsp, settings);
	if (ask === "measured")
		checkMeasurements(hearing, device.report, device.parts, manifests, device.isNvdec0Off, "report");
	if (device.kind === "gpu") {
		hearing.find("RELAYABLE", "no CPU quote names this report: it may come from a card elsewhere");
		hearing.find("CC_MODE_UNPROVEN", "no report says whether confidential computing is on");
	}
	const { oldestDriver } = settings.policy;
	if (oldestDriver !== null && device.driver !== null && isOlder(device.driver, oldestDriver))
		hearing.find("FIRMWARE_OLD", `driver ${device.driver} is older than ${oldestDriver}`);
	return ask;
}

/** Certificates 1 to 3 of the device (the leaf is not served), and 0 to 2 of each manifest. */
function checkRevocation(
	hearing: Hearing,
	device: GenuineDevice,
	manifests: readonly Manifest[],
	files: readonly Uint8Array[],
	settings: AttestationSettings,
): void {
	const pairs = [device.chain.slice(1), ...manifests.map(({ chain }) => chain)].flatMap((chain) =>
		chain.slice(0, -1).map((certificate, i) => ({ certificate, issuer: chain[i + 1]! })),
	);
	const asked = new Set<Certificate>();
	for (const [i, file] of files.entries()) {
		const where = `ocsp[${i}]`;
		const answer = readOnce(settings, "answer", file, () => readOcsp(file, where));
		const about = pairs.filter(({ certificate, issuer }) => answerAbout(answer, certificate, issuer) !== null);
		if (about.length === 0) refuse("COLLATERAL_WRONG", where, "the answer is about no certificate of this evidence");
		for (const { certificate, issuer } of about) {
			checkOcsp(hearing, answer, certificate, issuer, settings, where);
			asked.add(certificate);
		}
	}
	if (files.length > 0) hearing.facts.ocsp = files.length;
	if (!device.chain.slice(1, 4).every((certificate) => asked.has(certificate)))
		hearing.find("REVOCATION_UNASKED", "not every certificate of the device has an OCSP answer");
}

/** Versions as numbers separated by dots. */
function isOlder(version: string, than: string): boolean {
	const [a, b] = [version, than].map((text) => text.split(".").map(Number));
	for (let i = 0; i < Math.max(a!.length, b!.length); i++)
		if ((a![i] ?? 0) !== (b![i] ?? 0)) return (a![i] ?? 0) < (b![i] ?? 0);
	return false;
}

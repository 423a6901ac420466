// Judges the report of one GPU or one NVSwitch: chain, signature, firmware id, nonce; where asked,
// measurements and revocation.
import { bytesToHex, equalBytes } from "../../../protocol/bytes/bytes.ts";
import { certificatesIn } from "../bytes.ts";
import { type AttestationSettings, readOnce, tellSimulated, VENDOR_ROOTS } from "../settings.ts";
import { type AttestationVerdict, cannotTell, type Hearing, hear, type Level, readSigned, refuse } from "../verdict.ts";
import { type Certificate, readCertificate } from "../x509/certificate.ts";
import { checkDeviceChain } from "../x509/chain.ts";
import { answerAbout, checkOcsp, readOcsp } from "../x509/ocsp.ts";
import { chipOf, type DeviceKind, firmwareIdForm, gpuFields, identityOf, switchFields } from "./device-facts.ts";
import { type Manifest, readManifest } from "./manifest.ts";
import { checkManifestsFit, checkMeasurements, type Part } from "./measurements.ts";
import { openFrame, readFrame, type SpdmFrame, type SpdmReport } from "./spdm-report.ts";

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
	readonly nonce: Uint8Array;
	/** Null: what it signed cannot be read. Then it shows no level. */
	readonly report: SpdmReport | null;
	/** Why not. */
	readonly unread: string | null;
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
	const chain = chainOf(evidence.chain, settings, at.chain);
	checkDeviceChain(chain, settings.roots.nvidiaDevice, settings.verify, settings.atMs, at.chain);
	tellSimulated(hearing, settings.roots.nvidiaDevice, VENDOR_ROOTS.nvidiaDevice);
	if (chain.length !== CHAIN_LENGTH)
		cannotTell(at.chain, `${chain.length} certificates, and only chains of 5 are known here`);
	const frame = readFrame(evidence.report, at.report);
	const [leaf, identityCertificate] = [chain[0]!, chain[1]!];
	if (!settings.verify("p384", leaf.key, frame.signed, frame.signature))
		refuse("ATTEST_SIGNATURE", at.report, "the leaf did not sign this report");
	const identity = identityOf(identityCertificate, kind, at.chain);
	const common = { kind, nonce: frame.nonce, chain, ...identity };
	const signed = { nonce: bytesToHex(frame.nonce), ...identity };
	const { value, unread } = readSigned(() => readContents(frame, kind, identity, chain, at.report));
	if (value !== null) return { ...common, ...value, unread, facts: { ...signed, ...value.facts } };
	const chip = chipOf(identityCertificate, at.chain) ?? "";
	const nothing = { report: null, links: null, parts: [], isNvdec0Off: false, driver: null };
	return { ...common, ...nothing, chip, unread, facts: { ...signed, chip, unread } };
}

type Contents = Pick<GenuineDevice, "links" | "parts" | "isNvdec0Off" | "chip" | "driver" | "facts"> & {
	readonly report: SpdmReport;
};

/** What a good signature covers. */
function readContents(
	frame: SpdmFrame,
	kind: DeviceKind,
	{ pdi }: { readonly pdi: string },
	[leaf, identity]: readonly Certificate[],
	where: string,
): Contents {
	const report = openFrame(frame, where);
	const said = { fwid: firmwareIdForm(leaf!, report, where), ...(report.format && { format: report.format }) };
	if (kind === "switch") {
		const { bios, links } = switchFields(report, pdi, where);
		const parts: Part[] = [{ name: "bios", version: bios, product: "LS10" }];
		return { report, links, parts, isNvdec0Off: false, chip: "LS10", driver: null, facts: { ...said, bios } };
	}
	const { links, ...fields } = gpuFields(report, identity!, where);
	const { driver, vbios, chip, nvdec0 } = fields;
	const parts: Part[] = [
		{ name: "driver", version: driver, product: chip },
		{ name: "vbios", version: vbios, product: chip },
	];
	return { report, links, parts, isNvdec0Off: nvdec0 === "off", chip, driver, facts: { ...said, ...fields } };
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
		if (question.nonce !== null && !equalBytes(question.nonce, device.nonce))
			refuse("NONCE_WRONG", "report", "the report answers another question");
		if (device.unread !== null) hearing.doubtful("ATTEST_VERSION", "report", device.unread);
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
	if (device.report !== null) checkManifestsFit(device.parts, manifests, "rims");
	checkRevocation(hearing, device, manifests, ocsp, settings);
	if (ask === "measured" && device.report !== null)
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

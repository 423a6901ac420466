// What a report's opaque fields and the certificates beside it say: chip, versions, firmware id, fabric.
import { bytesToHex, bytesToUtf8, equalBytes } from "../../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../../protocol/hash/tagged-hash.ts";
import { cannotTell, refuse, wrong } from "../verdict.ts";
import { type Certificate, readName } from "../x509/certificate.ts";
import { type Der, DerReader, derOf, inside, itemsOf, oidOf, TAG } from "../x509/der.ts";
import type { SpdmReport } from "./spdm-report.ts";

export type DeviceKind = "gpu" | "switch";

/** Only GPUs name a driver. */
export const kindOfDevice = ({ opaque }: SpdmReport): DeviceKind => (opaque.has(3) ? "gpu" : "switch");

/** Printable ASCII up to the zeros that fill the field. */
function textField(report: SpdmReport, type: number, where: string): string | null {
	const bytes = report.opaque.get(type);
	if (bytes === undefined) return null;
	const text = (bytesToUtf8(bytes) ?? "\u0001").replace(/\0+$/, "");
	return /^[\x20-\x7e]*$/.test(text) ? text : wrong(where, `opaque field ${type} is no text`);
}

/**
 * Eight bytes of a GPU's VBIOS version: the fifth group follows the first four, which are stored backwards.
 */
function vbiosVersion(bytes: Uint8Array, where: string): string {
	if (bytes.length !== 8) return wrong(where, "a VBIOS version that is not 8 bytes");
	const two = (i: number) => bytes[i]!.toString(16).padStart(2, "0").toUpperCase();
	return [3, 2, 1, 0, 4].map(two).join(".");
}

function nvdec0Of(report: SpdmReport, where: string): "on" | "off" | null {
	const field = report.opaque.get(11);
	if (field === undefined) return null;
	if (field.length === 1 && field[0] === 0xaa) return "on";
	return field.length === 1 && field[0] === 0x55 ? "off" : wrong(where, "the state of NVDEC0 is neither on nor off");
}

const MODES = ["single", "multi", "ppcie"];

function modeOf(report: SpdmReport, where: string): string | null {
	const field = report.opaque.get(36);
	if (field === undefined) return null;
	const mode = field.subarray(1).some((byte) => byte !== 0) ? undefined : MODES[field[0] ?? -1];
	return mode ?? wrong(where, "a mode that is not known");
}

export interface GpuFields {
	readonly driver: string;
	readonly vbios: string;
	readonly vbiosRim: string;
	readonly chip: string;
	readonly nvdec0: "on" | "off" | null;
	readonly mode: string | null;
	/** PDIs of the switches it is linked to; null when the report does not say. */
	readonly links: readonly string[] | null;
}

export function gpuFields(report: SpdmReport, identity: Certificate, where: string): GpuFields {
	const driver = textField(report, 3, where);
	const vbiosBytes = report.opaque.get(6);
	if (driver === null || vbiosBytes === undefined) return wrong(where, "the report names no driver or no VBIOS");
	const vbios = vbiosVersion(vbiosBytes, where);
	const [project, sku, chipSku] = [17, 18, 15].map((type) => textField(report, type, where) ?? "");
	return {
		driver,
		vbios,
		vbiosRim: `NV_GPU_VBIOS_${project}_${sku}_${chipSku}_${vbios.replaceAll(".", "")}`.toUpperCase(),
		chip: textField(report, 35, where) ?? chipOf(identity, where) ?? wrong(where, "the report names no chip"),
		nvdec0: nvdec0Of(report, where),
		mode: modeOf(report, where),
		links: pdis(report.opaque.get(22), true, where),
	};
}

/** As the certificate names it. */
export const chipOf = (identity: Certificate, where: string): string | null =>
	readName(identity.subject, where).CN?.split(" ")[0] ?? null;

export interface SwitchFields {
	readonly bios: string;
	/** PDIs of its GPUs; null when the report does not say. */
	readonly links: readonly string[] | null;
}

const MOST_GPUS = 8;

export function switchFields(report: SpdmReport, pdi: string, where: string): SwitchFields {
	const bios = textField(report, 6, where) ?? wrong(where, "the report names no BIOS");
	const own = report.opaque.get(22);
	if (own !== undefined && bytesToHex(own) !== pdi)
		return refuse("DEVICE_OTHER", where, "the report names another switch than its certificate");
	return { bios, links: pdis(report.opaque.get(26)?.subarray(0, 8 * MOST_GPUS), false, where) };
}

/** Eight bytes each, once each; those that are all ones or all zeros are empty places. */
function pdis(field: Uint8Array | undefined, isReversed: boolean, where: string): string[] | null {
	if (field === undefined) return null;
	if (field.length % 8 !== 0) return wrong(where, "a list of device ids is cut");
	const all = Array.from({ length: field.length / 8 }, (_, i) => Uint8Array.from(field.subarray(8 * i, 8 * i + 8)));
	const used = all.filter((id) => id.some((byte) => byte !== 0xff) && id.some((byte) => byte !== 0));
	return [...new Set(used.map((id) => bytesToHex(isReversed ? id.reverse() : id)))].sort();
}

export interface DeviceIdentity {
	readonly spkiSha256: string;
	readonly pdi: string;
}

/** How the serial number of certificate 1 begins. */
const KINDS: ReadonlyMap<string, DeviceKind> = new Map([
	["41", "gpu"],
	["50", "switch"],
]);

/** Certificate 1 is the card's for life. */
export function identityOf(certificate: Certificate, kind: DeviceKind, where: string): DeviceIdentity {
	const { serialNumber } = readName(certificate.subject, where);
	const serial = serialNumber?.toLowerCase() ?? "";
	const found = /^[0-9a-f]{18}$/.test(serial) ? KINDS.get(serial.slice(0, 2)) : undefined;
	if (found === undefined) return cannotTell(where, "certificate 1 is that of a kind of device that is not known here");
	if (found !== kind) return refuse("DEVICE_OTHER", where, `certificate 1 is not that of a ${kind}`);
	return { spkiSha256: bytesToHex(sha256Of(certificate.spki)), pdi: serial.slice(2) };
}

/** Of a device whose report says nothing that can be read. */
export const kindOfIdentity = (certificate: Certificate, where: string): DeviceKind =>
	KINDS.get(readName(certificate.subject, where).serialNumber?.slice(0, 2) ?? "") ?? "gpu";

const HOPPER = "2.23.133.5.4.1";
const BLACKWELL = "2.23.133.5.4.1.1";

/**
 * The firmware id of the leaf must be the report's, where the report has one. Says by which form they were
 * compared.
 */
export function firmwareIdForm(leaf: Certificate, report: SpdmReport, where: string): string {
	const reported = report.opaque.get(20);
	const hopper = leaf.extensions.get(HOPPER)?.value;
	const blackwell = leaf.extensions.get(BLACKWELL)?.value;
	const form = blackwell !== undefined ? "tcbinfo" : hopper !== undefined ? "hopper" : "none";
	if (reported === undefined) return `none(${form},false)`;
	const certified =
		blackwell !== undefined ? tcbInfoId(blackwell, where) : hopper !== undefined ? hopperId(hopper, where) : null;
	if (certified === null) return cannotTell(where, "the leaf has no firmware id of a form that is known here");
	if (!equalBytes(certified, reported))
		return refuse("FIRMWARE_ID_WRONG", where, "the leaf's firmware id is not the report's");
	return form;
}

const SHA384 = "2.16.840.1.101.3.4.2.2";

/** SEQUENCE {hash algorithm, digest} */
function fwid(der: Der): Uint8Array {
	const reader = inside(der);
	const oid = oidOf(reader.next(TAG.oid));
	const { value } = reader.next(TAG.octetString);
	reader.end();
	return oid === SHA384 && value.length === 48 ? value : wrong(der.where, "a firmware id that is no SHA-384");
}

/** SEQUENCE {version, key, firmware id} */
function hopperId(extension: Uint8Array, where: string): Uint8Array {
	const reader = inside(derOf(extension, where, TAG.sequence));
	reader.next(TAG.integer);
	reader.next(TAG.sequence);
	const id = fwid(reader.next(TAG.sequence));
	reader.end();
	return id;
}

/** TCG's DiceTcbInfo: the first of the list [6]. */
function tcbInfoId(extension: Uint8Array, where: string): Uint8Array {
	const fields = itemsOf(derOf(extension, where, TAG.sequence), undefined, 16).filter(({ tag }) => tag === 0xa6);
	const list = fields.length === 1 ? fields[0]! : wrong(where, "no firmware ids in the leaf");
	return fwid(new DerReader(list.value, where).next(TAG.sequence));
}

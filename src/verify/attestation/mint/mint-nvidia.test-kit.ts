// GPUs, switches, manifests and OCSP answers under roots of our own. A plan says what is minted; a test
// changes one thing in it.
import { sha1 } from "@noble/hashes/legacy.js";
import { sha384 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes, writeU16 } from "../../../protocol/bytes/bytes.ts";
import { canonicalXml } from "../nvidia/c14n.ts";
import type { DeviceEvidence } from "../nvidia/verify-device.ts";
import { parseXml } from "../nvidia/xml.ts";
import {
	base64,
	bits,
	derSignature,
	integer,
	keyOf,
	type Minted,
	type MintKey,
	mintCertificate,
	moment,
	octets,
	oid,
	pem,
	seq,
	signBy,
	spkiOf,
	tlv,
} from "./der-writer.test-kit.ts";

export const NONCE = hexToBytes("11".repeat(32))!;
const hash = (words: string): Uint8Array => sha384(utf8ToBytes(words));
export const FIRMWARE = hash("firmware");

export const deviceRoot = mintCertificate({ CN: "NVIDIA Device Identity CA", key: keyOf("device root"), isCa: true });
const issuedBy = ({ name, key }: Minted) => ({ name, key });

export interface GpuPlan {
	kind: "gpu" | "switch";
	/** Of the card. */
	card: string;
	pdi: string;
	nonce: Uint8Array;
	certified: Uint8Array | null;
	isBlackwell: boolean;
	opaque: Map<number, Uint8Array>;
	/** The 12 bytes before fields that say their kind; null: the first layout. */
	header: Uint8Array | null;
	/** Kinds of fields, 0x82 where none is named. */
	kinds: Map<number, number>;
	blocks: Uint8Array[];
	leaf: { isCa?: boolean; until?: string; extensions?: { oid: string; value: Uint8Array; isCritical?: boolean }[] };
	identity: { isCa?: boolean; keyUsage?: number; pathLength?: number; until?: string; serialNumber?: string };
	provisioner: { isCa?: boolean; pathLength?: number };
	root: Minted;
	signer: MintKey | null;
	/** Last touches of the finished parts. */
	editReport: (bytes: Uint8Array) => Uint8Array;
	editChain: (certificates: Minted[]) => Minted[];
}

export const BLOCKS = 64;
export const blockOf = (i: number): Uint8Array => hash(`block ${i}`);

export function gpuPlan(): GpuPlan {
	return {
		kind: "gpu",
		card: "card 0",
		pdi: "0102030405060708",
		nonce: NONCE,
		certified: FIRMWARE,
		isBlackwell: false,
		opaque: new Map([
			[3, utf8ToBytes("570.10.01\0")],
			[6, hexToBytes("00740096 01000000".replace(" ", ""))!],
			[15, utf8ToBytes("882\0\0\0")],
			[17, utf8ToBytes("G520\0")],
			[18, utf8ToBytes("0200\0")],
			[11, Uint8Array.of(0x55)],
			[20, FIRMWARE],
			[36, Uint8Array.of(0, 0)],
		]),
		header: null,
		kinds: new Map(),
		blocks: Array.from({ length: BLOCKS }, (_, i) => blockOf(i)),
		leaf: {},
		identity: {},
		provisioner: {},
		root: deviceRoot,
		signer: null,
		editReport: (bytes) => bytes,
		editChain: (certificates) => certificates,
	};
}

/** As drivers of CUDA 13.5 write it, in format 2.0.0 or another; FSP's security version number is 5. */
export function versionedPlan(major = 2, minor = 0, profile = 0, padding = 0): GpuPlan {
	const plan = gpuPlan();
	plan.header = concatBytes(utf8ToBytes("NVDAOD"), u16(profile), Uint8Array.of(major, minor, 0, padding));
	plan.opaque.set(37, u16(5)).set(38, Uint8Array.of(0xaa));
	plan.kinds.set(37, 0x87);
	return plan;
}

export function switchPlan(): GpuPlan {
	const pdi = "a1a2a3a4a5a6a7a8";
	const opaque = new Map([
		[6, utf8ToBytes("96.10.55.00.01")],
		[22, hexToBytes(pdi)!],
	]);
	return { ...gpuPlan(), kind: "switch", card: "switch 0", pdi, opaque, blocks: gpuPlan().blocks.slice(0, 31) };
}

function firmwareExtension(plan: GpuPlan) {
	if (plan.certified === null) return [];
	const fwid = seq(oid("2.16.840.1.101.3.4.2.2"), octets(plan.certified));
	return plan.isBlackwell
		? [{ oid: "2.23.133.5.4.1.1", value: seq(tlv(0x80, utf8ToBytes("NVIDIA")), tlv(0xa6, fwid)) }]
		: [{ oid: "2.23.133.5.4.1", value: seq(integer(1), spkiOf(keyOf("any")), fwid) }];
}

export function chainOf(plan: GpuPlan): Minted[] {
	const chip = plan.kind === "gpu" ? "GH100" : "LS_10";
	const { root } = plan;
	const vendor = mintCertificate({
		CN: "Mint Identity",
		key: keyOf("identity"),
		isCa: true,
		issuer: issuedBy(root),
		serial: 11,
	});
	const provisioner = mintCertificate({
		CN: "Mint Provisioner",
		key: keyOf("provisioner"),
		isCa: true,
		issuer: issuedBy(vendor),
		serial: 12,
		...plan.provisioner,
	});
	const identity = mintCertificate({
		CN: `${chip} A01 GSP BROM`,
		serialNumber: `${plan.kind === "gpu" ? "41" : "50"}${plan.pdi}`.toUpperCase(),
		key: keyOf(plan.card),
		isCa: true,
		issuer: issuedBy(provisioner),
		serial: 13,
		...plan.identity,
	});
	const leaf = mintCertificate({
		CN: `${chip} A01 GSP FMC LF`,
		key: keyOf(`${plan.card} leaf`),
		issuer: issuedBy(identity),
		...plan.leaf,
		extensions: [...firmwareExtension(plan), ...(plan.leaf.extensions ?? [])],
	});
	return [leaf, identity, provisioner, vendor, root];
}

export const u16 = (value: number): Uint8Array => {
	const bytes = new Uint8Array(2);
	writeU16(bytes, 0, value);
	return bytes;
};

/** The report up to its signature. */
export function reportBody(plan: GpuPlan): Uint8Array {
	const blocks = plan.blocks.map((value, i) =>
		concatBytes(Uint8Array.of(i + 1, 1), u16(value.length + 3), Uint8Array.of(1), u16(value.length), value),
	);
	const record = concatBytes(...blocks);
	const fields = [...plan.opaque].map(([type, value]) => {
		const kind = plan.header === null ? new Uint8Array(0) : u16(plan.kinds.get(type) ?? 0x82);
		return concatBytes(u16(type), kind, u16(value.length), value);
	});
	const opaque = concatBytes(plan.header ?? new Uint8Array(0), ...fields);
	return concatBytes(
		Uint8Array.of(0x11, 0xe0, 0x01, 0xff),
		plan.nonce,
		Uint8Array.of(0),
		Uint8Array.of(
			0x11,
			0x60,
			0,
			0,
			blocks.length,
			record.length & 255,
			(record.length >> 8) & 255,
			record.length >> 16,
		),
		record,
		new Uint8Array(32).fill(0x5a),
		u16(opaque.length),
		opaque,
	);
}

export function mintDevice(plan: GpuPlan): DeviceEvidence {
	const body = reportBody(plan);
	const report = plan.editReport(concatBytes(body, signBy(plan.signer ?? keyOf(`${plan.card} leaf`), body)));
	return { kind: plan.kind, report, chain: utf8ToBytes(pem(...plan.editChain(chainOf(plan)))) };
}

export const manifestRoot = mintCertificate({ CN: "Mint CoRIM Root", key: keyOf("rim root"), isCa: true });

export interface ManifestPlan {
	version: string;
	product: string;
	/** Index from 0 → value in hex. */
	active: Map<number, string[]>;
	/** Opaque field → floor of its security version number. */
	floors: Map<number, string>;
	/** Further entries as they are. */
	entries: string;
	until: string;
	root: Minted;
	signer: MintKey | null;
	meta: string;
	editXml: (xml: string) => string;
	/** Before it is signed. */
	editUnsigned: (xml: string) => string;
	editInfo: (info: string) => string;
}

export const driverIndices = [8, 9, 10, 35];
export const vbiosIndices = [0, 1, 2, 3];

export function manifestPlan(part: "driver" | "vbios" | "bios"): ManifestPlan {
	const indices = part === "driver" ? driverIndices : vbiosIndices;
	return {
		version: part === "driver" ? "570.10.01" : part === "vbios" ? "96.00.74.00.01" : "96.10.55.00.01",
		product: part === "bios" ? "LS10" : "GH100",
		active: new Map(indices.map((i) => [i, [bytesToHex(blockOf(i))]])),
		floors: new Map(),
		entries: "",
		until: "20270101000000Z",
		root: manifestRoot,
		signer: null,
		meta: "",
		editXml: (xml) => xml,
		editUnsigned: (xml) => xml,
		editInfo: (info) => info,
	};
}

export function manifestChain(plan: ManifestPlan): Minted[] {
	const authority = mintCertificate({
		CN: "Mint Reference Value CA",
		key: keyOf("rim ca"),
		isCa: true,
		issuer: issuedBy(plan.root),
		serial: 21,
	});
	const leaf = mintCertificate({
		CN: "Mint RIM Signer",
		key: keyOf("rim leaf"),
		issuer: issuedBy(authority),
		serial: 22,
		until: plan.until,
	});
	return [leaf, authority, plan.root];
}

const SWID = "http://standards.iso.org/iso/19770/-2/2015/schema.xsd";
const DSIG = "http://www.w3.org/2000/09/xmldsig#";
const OPAQUE = "https://docs.nvidia.com/attestation/specs/latest/opaque-data.html";

export function mintManifest(plan: ManifestPlan): Uint8Array {
	const resources = [...plan.active].map(
		([index, values]) =>
			`<ns0:Resource type="Measurement" index="${index}" active="True" alternatives="${values.length}" ${values.map((value, i) => `h:Hash${i}="${value}"`).join(" ")} size="48"/>`,
	);
	for (const [type, floor] of plan.floors)
		resources.push(
			`<ns0:Resource type="Measurement" index="${4096 + type}" active="True" alternatives="1" size="2" name="F" f:minSvn="${floor}"/>`,
		);
	const unsigned = plan.editUnsigned(
		`<SoftwareIdentity xmlns="${SWID}" xmlns:ns0="${SWID}" xmlns:h="http://www.w3.org/2001/04/xmlenc#sha384" xmlns:f="${OPAQUE}" name="mint">\n` +
			`<ns0:Meta colloquialVersion="${plan.version}" product="${plan.product}"${plan.meta}/>\n` +
			`<ns0:Payload>${resources.join("\n")}${plan.entries}</ns0:Payload>\n<!--S--></SoftwareIdentity>`,
	);
	const digest = base64(sha384(utf8ToBytes(canonicalXml(parseXml(unsigned.replace("<!--S-->", ""), "mint")))));
	const info = plan.editInfo(
		`<ds:SignedInfo><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2006/12/xml-c14n11"/><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384"/>` +
			`<ds:Reference URI=""><ds:Transforms><ds:Transform Algorithm="${DSIG}enveloped-signature"/><ds:Transform Algorithm="http://www.w3.org/2006/12/xml-c14n11"/></ds:Transforms>` +
			`<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#sha384"/><ds:DigestValue>${digest}</ds:DigestValue></ds:Reference></ds:SignedInfo>`,
	);
	const whole = (value: string) =>
		unsigned.replace(
			"<!--S-->",
			`<ds:Signature xmlns:ds="${DSIG}">${info}<ds:SignatureValue>${value}</ds:SignatureValue><ds:KeyInfo><ds:X509Data>${manifestChain(
				plan,
			)
				.map(({ der }) => `<ds:X509Certificate>${base64(der)}</ds:X509Certificate>`)
				.join("")}</ds:X509Data></ds:KeyInfo></ds:Signature>`,
		);
	const root = parseXml(whole(""), "mint");
	const signature = root.children.find((one) => typeof one !== "string" && one.local === "Signature");
	const signedInfo = (signature as typeof root).children[0] as typeof root;
	const value = signBy(plan.signer ?? keyOf("rim leaf"), utf8ToBytes(canonicalXml(signedInfo)));
	return utf8ToBytes(plan.editXml(whole(base64(value))));
}

export interface OcspPlan {
	certificate: Minted;
	issuer: Minted;
	state: "good" | "revoked" | "unknown";
	from: string;
	until: string;
	/** Who answers: a delegate of the issuer, unless told otherwise. */
	delegate: { issuer?: Minted; purposes?: string | null; from?: string; until?: string } | null;
	/** Leaves the delegate's certificate out. */
	isBare: boolean;
	/** When the answer was made, if not at once. */
	producedAt: string | null;
	signer: MintKey | null;
	nonce: Uint8Array | null;
	status: number;
}

export const ocspPlan = (certificate: Minted, issuer: Minted): OcspPlan => ({
	certificate,
	issuer,
	state: "good",
	from: "20250620000000Z",
	until: "20250621000000Z",
	delegate: {},
	isBare: false,
	producedAt: null,
	signer: null,
	nonce: null,
	status: 0,
});

const STATES = { good: tlv(0x80), revoked: tlv(0xa1, moment("20250601000000Z")), unknown: tlv(0x82) };

export function mintOcsp(plan: OcspPlan): Uint8Array {
	const { issuer } = plan;
	const key = keyOf("responder");
	const delegate =
		plan.delegate === null
			? null
			: mintCertificate({
					CN: "Mint Responder",
					key,
					issuer: issuedBy(plan.delegate.issuer ?? issuer),
					from: plan.delegate.from ?? "20200101000000Z",
					until: plan.delegate.until ?? "20990101000000Z",
					extensions:
						plan.delegate.purposes === null
							? []
							: [{ oid: "2.5.29.37", value: seq(oid(plan.delegate.purposes ?? "1.3.6.1.5.5.7.3.9")) }],
				});
	const responder = delegate === null ? issuer.key : key;
	const id = seq(
		seq(oid("2.16.840.1.101.3.4.2.2")),
		octets(sha384(issuer.name)),
		octets(sha384(issuer.key.point)),
		integer(plan.certificate.serial),
	);
	const nonce =
		plan.nonce === null ? [] : [tlv(0xa1, seq(seq(oid("1.3.6.1.5.5.7.48.1.2"), octets(octets(plan.nonce)))))];
	const single = seq(id, STATES[plan.state], moment(plan.from), tlv(0xa0, moment(plan.until)));
	const madeAt = moment(plan.producedAt ?? plan.from);
	const data = seq(tlv(0xa2, octets(sha1(responder.point))), madeAt, seq(single), ...nonce);
	const signer = plan.signer ?? responder;
	const held = delegate === null || plan.isBare ? [] : [tlv(0xa0, seq(delegate.der))];
	const basic = seq(data, seq(oid("1.2.840.10045.4.3.3")), bits(derSignature(signer, data)), ...held);
	const answer = seq(oid("1.3.6.1.5.5.7.48.1.1"), octets(basic));
	return seq(tlv(0x0a, Uint8Array.of(plan.status)), tlv(0xa0, answer));
}

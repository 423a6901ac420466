// NVIDIA's reference manifests (RIM): a SWID tag with the measurements of one driver or VBIOS, signed by
// XML-DSig as an enveloped signature. Exactly one way of signing is known, so that what was hashed is what is
// read. Entries of another kind than is known here make nothing false: `unread` names the first.
import { sha384 } from "@noble/hashes/sha2.js";
import { bytesToUtf8, equalBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { base64ToBytes } from "../bytes.ts";
import { type AttestationSettings, readOnce, tellSimulated, VENDOR_ROOTS } from "../settings.ts";
import { cannotTell, type Hearing, refusingAs, wrongManifest as wrong } from "../verdict.ts";
import { type Certificate, readCertificate } from "../x509/certificate.ts";
import { checkLinks, outsideValidity } from "../x509/chain.ts";
import { canonicalXml } from "./c14n.ts";
import { attributeOf, elementsOf, parseXml, textOfElement, type XmlElement } from "./xml.ts";

export interface Manifest {
	readonly version: string;
	readonly product: string;
	/** Active measurements: index from 0 → the values that are allowed, in hex. */
	readonly active: ReadonlyMap<number, readonly string[]>;
	/** Opaque fields that are security version numbers: type → the lowest that is allowed. */
	readonly floors: ReadonlyMap<number, bigint>;
	/** The first entry that is not known here; null: all are. */
	readonly unread: string | null;
	/** Leaf first. */
	readonly chain: readonly Certificate[];
	/** The end of the certificate that signed it. */
	readonly notAfterMs: number;
	/** Whether its certificates hold at the moment of the judgement. */
	readonly isCurrent: boolean;
}

const SWID = "http://standards.iso.org/iso/19770/-2/2015/schema.xsd";
const DSIG = "http://www.w3.org/2000/09/xmldsig#";
const SHA384 = "http://www.w3.org/2001/04/xmlenc#sha384";
/** Of numbers, which a report has among its opaque data. */
const OPAQUE = "https://docs.nvidia.com/attestation/specs/latest/opaque-data.html";
const C14N = "http://www.w3.org/2006/12/xml-c14n11";
const MOST_INDEX = 254;
/** Entry 4096 + n is about opaque field n. */
export const OPAQUE_INDEX = 4096;
const MAX_OPAQUE_INDEX = OPAQUE_INDEX + 0xffff;
const MOST_ALTERNATIVES = 64;

/**
 * Reads a manifest and checks its signature and chain. Whether it holds at the moment is told, not judged.
 */
export function readManifest(
	hearing: Hearing,
	bytes: Uint8Array,
	settings: AttestationSettings,
	where: string,
): Manifest {
	const manifest = readOnce(settings, "manifest", bytes, () => checkedManifest(hearing, bytes, settings, where));
	tellSimulated(hearing, settings.roots.nvidiaManifest, VENDOR_ROOTS.nvidiaManifest);
	return manifest;
}

function checkedManifest(hearing: Hearing, bytes: Uint8Array, settings: AttestationSettings, where: string): Manifest {
	const text = bytesToUtf8(bytes) ?? wrong(where, "not UTF-8");
	const root = parseXml(text, where);
	if (root.local !== "SoftwareIdentity" || root.uri === "") return wrong(where, "no SWID tag");
	if (root.uri !== SWID) return cannotTell(where, `a manifest by the schema ${root.uri}, which is not known here`);
	const signature = signatureOf(root, where);
	const [meta, payload] = ["Meta", "Payload"].map((local) => onlyChild(root, local, SWID, where));
	const chain = chainOf(signature, where);
	const { roots, verify, atMs } = settings;
	checkLinks(chain, roots.nvidiaManifest, verify, "RIM_WRONG", `${where}.chain`);
	checkSignature(root, signature, chain[0]!, settings, where);
	tellSimulated(hearing, roots.nvidiaManifest, VENDOR_ROOTS.nvidiaManifest);
	return {
		version: attributeOf(meta!, "colloquialVersion") ?? wrong(where, "the manifest names no version"),
		product: attributeOf(meta!, "product") ?? wrong(where, "the manifest names no product"),
		...entriesOf(payload!, where),
		chain,
		notAfterMs: chain[0]!.notAfterMs,
		isCurrent: outsideValidity(chain, atMs) < 0,
	};
}

function onlyChild(parent: XmlElement, local: string, uri: string, where: string): XmlElement {
	const found = elementsOf(parent).filter((child) => child.local === local && child.uri === uri);
	return found.length === 1 ? found[0]! : wrong(where, `${found.length} elements ${local} where one is due`);
}

/** The one signature of the document: a child of the root. */
function signatureOf(root: XmlElement, where: string): XmlElement {
	const found: XmlElement[] = [];
	const pending = [root];
	for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
		if (next.local === "Signature") found.push(next);
		pending.push(...elementsOf(next));
	}
	const [only] = found;
	if (found.length !== 1 || only?.uri !== DSIG || !root.children.includes(only))
		return wrong(where, `${found.length} signatures, or none at its place`);
	return only;
}

/** Exactly these children, in this order. */
function childrenOf(parent: XmlElement, names: readonly string[], where: string): XmlElement[] {
	const found = elementsOf(parent);
	if (found.length !== names.length || found.some((child, i) => child.local !== names[i] || child.uri !== DSIG))
		return wrong(where, `${parent.local} does not hold ${names.join(", ")} alone`);
	return found;
}

const algorithmOf = (element: XmlElement): string | null => attributeOf(element, "Algorithm");

function chainOf(signature: XmlElement, where: string): Certificate[] {
	const keyInfo = onlyChild(signature, "KeyInfo", DSIG, where);
	const data = onlyChild(keyInfo, "X509Data", DSIG, where);
	const certificates = elementsOf(data).filter(({ local, uri }) => local === "X509Certificate" && uri === DSIG);
	if (certificates.length < 2 || certificates.length > 8) return wrong(where, `${certificates.length} certificates`);
	return certificates.map((one, i) => {
		const at = `${where}.chain[${i}]`;
		const der = base64ToBytes(textOfElement(one)) ?? wrong(at, "a certificate is not base64");
		return refusingAs("RIM_WRONG", at, () => readCertificate(der, at));
	});
}

function checkSignature(
	root: XmlElement,
	signature: XmlElement,
	leaf: Certificate,
	settings: AttestationSettings,
	where: string,
): void {
	const [info, value] = childrenOf(signature, ["SignedInfo", "SignatureValue", "KeyInfo"], where);
	const [method, scheme, reference] = childrenOf(
		info!,
		["CanonicalizationMethod", "SignatureMethod", "Reference"],
		where,
	);
	const [transforms, digest, digestValue] = childrenOf(
		reference!,
		["Transforms", "DigestMethod", "DigestValue"],
		where,
	);
	const steps = childrenOf(transforms!, ["Transform", "Transform"], where).map(algorithmOf);
	const isKnown =
		algorithmOf(method!) === C14N &&
		algorithmOf(scheme!) === "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384" &&
		steps[0] === `${DSIG}enveloped-signature` &&
		steps[1] === C14N &&
		algorithmOf(digest!) === "http://www.w3.org/2001/04/xmldsig-more#sha384" &&
		[method!, scheme!, digest!].every((one) => one.children.length === 0);
	if (!isKnown) cannotTell(where, "the manifest is signed in a way that is not known here");
	if (attributeOf(reference!, "URI") !== "") wrong(where, "the signature is of something else than the manifest");
	const expected = base64ToBytes(textOfElement(digestValue!));
	const actual = sha384(utf8ToBytes(canonicalXml(root, signature)));
	if (expected === null || !equalBytes(expected, actual)) wrong(where, "the manifest is not the one that was signed");
	const bytes = base64ToBytes(textOfElement(value!));
	const message = utf8ToBytes(canonicalXml(info!));
	if (bytes === null || !settings.verify("p384", leaf.key, message, bytes))
		wrong(where, "the signature is not that of its certificate");
}

type Entries = Pick<Manifest, "active" | "floors" | "unread">;

/** Its vendor signed them. */
function entriesOf(payload: XmlElement, where: string): Entries {
	const active = new Map<number, readonly string[]>();
	const floors = new Map<number, bigint>();
	const seen = new Set<number>();
	let unread: string | null = null;
	for (const entry of elementsOf(payload)) {
		const index = indexOf(entry);
		if (index === null) {
			unread ??= `an entry ${entry.local} of a kind that is not known here`;
			continue;
		}
		if (seen.has(index)) return wrong(where, `index ${index} twice`);
		seen.add(index);
		const state = attributeOf(entry, "active");
		if (state !== "True" && state !== "False") return wrong(where, `measurement ${index} is neither active nor not`);
		const isNumber = index >= OPAQUE_INDEX;
		const floor = isNumber ? floorOf(entry) : null;
		const values = isNumber ? null : hashesOf(entry, index, where);
		if (state === "False") continue;
		if (floor !== null) floors.set(index - OPAQUE_INDEX, floor);
		else if (values !== null) active.set(index, values);
		else unread ??= `entry ${index} has neither a SHA-384 nor a floor`;
	}
	const isEmpty = active.size === 0 && floors.size === 0 && unread === null;
	return isEmpty ? wrong(where, "no active measurement") : { active, floors, unread };
}

/** Null: not a measurement, or of a place that is not known here. */
function indexOf(entry: XmlElement): number | null {
	if (entry.local !== "Resource" || entry.uri !== SWID || attributeOf(entry, "type") !== "Measurement") return null;
	const index = Number(/^\d{1,5}$/.exec(attributeOf(entry, "index") ?? "")?.[0] ?? -1);
	const isKnown = (index >= 0 && index <= MOST_INDEX) || (index >= OPAQUE_INDEX && index <= MAX_OPAQUE_INDEX);
	return isKnown ? index : null;
}

/** Null: it is compared in a way that is not known here. */
function floorOf(entry: XmlElement): bigint | null {
	const floor = /^\d{1,20}$/.exec(attributeOf(entry, "minSvn", OPAQUE) ?? "");
	return floor === null ? null : BigInt(floor[0]);
}

/** In hex; null: by another hash. */
function hashesOf(entry: XmlElement, index: number, where: string): readonly string[] | null {
	const hashes = entry.attributes.filter(({ uri }) => uri === SHA384);
	if (attributeOf(entry, "size") !== "48" || hashes.length === 0) return null;
	const count = Number(/^\d{1,2}$/.exec(attributeOf(entry, "alternatives") ?? "")?.[0] ?? 0);
	if (count < 1 || count > MOST_ALTERNATIVES || hashes.length !== count)
		return wrong(where, `measurement ${index} does not have the values it announces`);
	const values = Array.from({ length: count }, (_, i) => attributeOf(entry, `Hash${i}`, SHA384) ?? "");
	if (values.some((one) => !/^[0-9a-fA-F]{96}$/.test(one))) return wrong(where, `measurement ${index} is no SHA-384`);
	return values.map((one) => one.toLowerCase());
}

// NVIDIA's reference manifests (RIM): a SWID tag with the measurements of one driver or VBIOS, signed by
// XML-DSig as an enveloped signature. Exactly one way of signing is known, so that what was hashed is what is
// read.
import { sha384 } from "@noble/hashes/sha2.js";
import { bytesToUtf8, equalBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { base64ToBytes } from "../bytes.ts";
import { type AttestationSettings, readOnce, tellSimulated, VENDOR_ROOTS } from "../settings.ts";
import { type Hearing, refuse, refusingAs } from "../verdict.ts";
import { type Certificate, readCertificate } from "../x509/certificate.ts";
import { checkLinks, outsideValidity } from "../x509/chain.ts";
import { canonicalXml } from "./c14n.ts";
import { attributeOf, elementsOf, parseXml, textOfElement, type XmlElement } from "./xml.ts";

export interface Manifest {
	readonly version: string;
	readonly product: string;
	/** Active measurements: index from 0 → the values that are allowed, in hex. */
	readonly active: ReadonlyMap<number, readonly string[]>;
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
const C14N = "http://www.w3.org/2006/12/xml-c14n11";
const MOST_INDEX = 254;
const MOST_ALTERNATIVES = 64;

const wrong = (where: string, detail: string): never => refuse("RIM_WRONG", where, detail);

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
	if (root.local !== "SoftwareIdentity" || root.uri !== SWID) return wrong(where, "no SWID tag");
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
		active: measurementsOf(payload!, where),
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
		attributeOf(reference!, "URI") === "" &&
		steps[0] === `${DSIG}enveloped-signature` &&
		steps[1] === C14N &&
		algorithmOf(digest!) === "http://www.w3.org/2001/04/xmldsig-more#sha384" &&
		[method!, scheme!, digest!].every((one) => one.children.length === 0);
	if (!isKnown) wrong(where, "signed in a way that is not known");
	const expected = base64ToBytes(textOfElement(digestValue!));
	const actual = sha384(utf8ToBytes(canonicalXml(root, signature)));
	if (expected === null || !equalBytes(expected, actual)) wrong(where, "the manifest is not the one that was signed");
	const bytes = base64ToBytes(textOfElement(value!));
	const message = utf8ToBytes(canonicalXml(info!));
	if (bytes === null || !settings.verify("p384", leaf.key, message, bytes))
		wrong(where, "the signature is not that of its certificate");
}

function measurementsOf(payload: XmlElement, where: string): Map<number, readonly string[]> {
	const active = new Map<number, readonly string[]>();
	const seen = new Set<number>();
	for (const resource of elementsOf(payload)) {
		if (resource.local !== "Resource" || resource.uri !== SWID) return wrong(where, "something other than a Resource");
		if (attributeOf(resource, "type") !== "Measurement") return wrong(where, "a Resource that is no measurement");
		const index = Number(/^\d{1,3}$/.exec(attributeOf(resource, "index") ?? "")?.[0] ?? -1);
		if (index < 0 || index > MOST_INDEX || seen.has(index)) return wrong(where, "an index twice, or none");
		seen.add(index);
		const state = attributeOf(resource, "active");
		if (state !== "True" && state !== "False") return wrong(where, `measurement ${index} is neither active nor not`);
		const count = Number(/^\d{1,2}$/.exec(attributeOf(resource, "alternatives") ?? "")?.[0] ?? 0);
		const hashes = resource.attributes.filter(({ uri }) => uri === SHA384);
		if (count < 1 || count > MOST_ALTERNATIVES || hashes.length !== count || attributeOf(resource, "size") !== "48")
			return wrong(where, `measurement ${index} does not have the values it announces`);
		const values = Array.from({ length: count }, (_, i) => attributeOf(resource, `Hash${i}`, SHA384) ?? "");
		if (values.some((one) => !/^[0-9a-fA-F]{96}$/.test(one))) return wrong(where, `measurement ${index} is no SHA-384`);
		if (state === "True")
			active.set(
				index,
				values.map((one) => one.toLowerCase()),
			);
	}
	return active.size > 0 ? active : wrong(where, "no active measurement");
}

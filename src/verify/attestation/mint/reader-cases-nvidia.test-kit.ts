// Readers of NVIDIA's reports, of XML and of manifests: one wrong thing each. Manifests are signed after the
// change.
import { concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { firmwareIdForm, gpuFields, identityOf, switchFields } from "../nvidia/device-facts.ts";
import { readManifest } from "../nvidia/manifest.ts";
import { readSpdmReport, type SpdmReport } from "../nvidia/spdm-report.ts";
import { verifyDevice } from "../nvidia/verify-device.ts";
import { verifyOcsp } from "../nvidia/verify-manifest.ts";
import { verifyDeviceSet } from "../nvidia/verify-set.ts";
import { parseXml } from "../nvidia/xml.ts";
import { readCertificate } from "../x509/certificate.ts";
import { mintCertificate, octets, oid, pem, seq, tlv } from "./der-writer.test-kit.ts";
import {
	chainOf,
	deviceRoot,
	gpuPlan,
	type ManifestPlan,
	manifestPlan,
	mintDevice,
	mintManifest,
	mintOcsp,
	ocspPlan,
	switchPlan,
} from "./mint-nvidia.test-kit.ts";
import { type MintedCase, minted } from "./minted-case.test-kit.ts";
import { type Read, readers } from "./reader-case.test-kit.ts";

const REQUEST = 37;

/** A report of one block and two opaque fields, by its parts. Nobody asks who signed it. */
const report = (change: Partial<Record<"head" | "response" | "record" | "opaque" | "tail", number[]>>) => () => {
	const block = [1, 1, 5, 0, 1, 2, 0, 7, 7];
	const parts = {
		head: [0x11, 0xe0, 1, 0xff],
		response: [0x11, 0x60, 0, 0, 1],
		record: block,
		opaque: [3, 0, 1, 0, 65],
	};
	const { head, response, record, opaque, tail } = { ...parts, tail: [], ...change };
	const lengths = [record.length & 255, record.length >> 8, 0];
	const data = [...head, ...new Array(32).fill(9), ...(head.length > 4 ? [] : [0])];
	const rest = [...response, ...lengths, ...record, ...new Array(32).fill(8), opaque.length, 0, ...opaque];
	return readSpdmReport(Uint8Array.from([...data, ...rest, ...new Array(96).fill(1), ...tail]), "report");
};

const whole = mintDevice(gpuPlan()).report;
const changed = (at: number, value: number) => () => readSpdmReport(whole.with(at, value), "report");

const reportCases = readers("report", "ATTEST_FORM", {
	"of 70 KiB": () => {
		const fields = new Uint8Array(60_000);
		fields.set([9, 0, 0x5c, 0xea]);
		return readSpdmReport(wide(fields), "report");
	},
	"of a hundred bytes": () => readSpdmReport(whole.subarray(0, 100), "report"),
	"the request's signature": changed(2, 0),
	"the request's blocks": changed(3, 1),
	"the request's slot": changed(36, 1),
	"the response's first byte": changed(REQUEST, 0x12),
	"the response's kind": changed(REQUEST + 1, 0x61),
	"a record beyond the end": changed(REQUEST + 7, 0xff),
	"something at the end": report({ tail: [0] }),
	"a block that is cut": report({ record: [1, 1, 5] }),
	"a block of another kind": report({ record: [1, 2, 5, 0, 1, 2, 0, 7, 7] }),
	"a block of two lengths": report({ record: [1, 1, 6, 0, 1, 2, 0, 7, 7] }),
	"a block beyond the record": report({ record: [1, 1, 8, 0, 1, 5, 0, 7, 7] }),
	"a block without index": report({ record: [0, 1, 5, 0, 1, 2, 0, 7, 7] }),
	"a block twice": report({ response: [0x11, 0x60, 0, 0, 1], record: [1, 1, 3, 0, 1, 0, 0, 1, 1, 3, 0, 1, 0, 0] }),
	"a block too few": report({ response: [0x11, 0x60, 0, 0, 2] }),
	"an opaque field that is cut": report({ opaque: [3, 0, 1] }),
	"an opaque field beyond the data": report({ opaque: [3, 0, 9, 0, 65] }),
	"an opaque field twice": report({ opaque: [3, 0, 0, 0, 3, 0, 0, 0] }),
});

const [N, V, D, A, O] = [0x4e, 0x56, 0x44, 0x41, 0x4f];
const MAGIC = [N, V, D, A, O, D];

const versionedCases = [
	...readers("report", "ATTEST_VERSION", {
		"of SPDM 1.2": changed(0, 0x12),
		"of another kind": changed(1, 0xe1),
		"opaque data of version 3": report({ opaque: [34, 0, 1, 0, 3] }),
		"a version of nine bytes": report({ opaque: [34, 0, 9, 0, ...new Array(9).fill(0)] }),
		"opaque data in format 3": report({ opaque: [...MAGIC, 0, 0, 3, 0, 0, 0] }),
		"opaque data in another profile": report({ opaque: [...MAGIC, 1, 0, 2, 0, 0, 0] }),
		"a header with padding": report({ opaque: [...MAGIC, 0, 0, 2, 0, 0, 1] }),
	}),
	...readers("report", "ATTEST_FORM", {
		"a header that is cut": report({ opaque: [...MAGIC, 0, 0, 2, 0, 0] }),
		"a versioned field that is cut": report({ opaque: [...MAGIC, 0, 0, 2, 0, 0, 0, 3, 0, 0x86, 0, 1] }),
		"a versioned field beyond the data": report({ opaque: [...MAGIC, 0, 0, 2, 0, 0, 0, 3, 0, 0x86, 0, 2, 0, 65] }),
	}),
];

/** Longer than any report, right in all else. */
function wide(fields: Uint8Array): Uint8Array {
	const record = new Uint8Array(10_007);
	record.set([1, 1, 0x13, 0x27, 1, 0x10, 0x27]);
	const head = concatBytes(Uint8Array.of(0x11, 0xe0, 1, 0xff), new Uint8Array(33));
	const response = Uint8Array.of(0x11, 0x60, 0, 0, 1, 0x17, 0x27, 0);
	const size = Uint8Array.of(fields.length & 255, fields.length >> 8);
	return concatBytes(head, response, record, new Uint8Array(32), size, fields, new Uint8Array(96));
}

const identity = (CN: string, serialNumber = "410102030405060708") =>
	readCertificate(mintCertificate({ CN, serialNumber, key: deviceRoot.key }).der, "chain");
const opaque = (change: Record<number, Uint8Array | null>): SpdmReport => {
	const read = readSpdmReport(mintDevice(gpuPlan()).report, "report");
	const fields = new Map(read.opaque);
	for (const [type, value] of Object.entries(change))
		if (value === null) fields.delete(Number(type));
		else fields.set(Number(type), value);
	return { ...read, opaque: fields };
};
const gpu =
	(change: Record<number, Uint8Array | null>, CN = "GH100 GSP BROM") =>
	() =>
		gpuFields(opaque(change), identity(CN), "report");

const SHA384 = oid("2.16.840.1.101.3.4.2.2");
const hash = new Uint8Array(48);
/** A leaf with Blackwell's extension; the report has the same id. */
const leaf = (extension: Uint8Array) => () => {
	const extensions = [{ oid: "2.23.133.5.4.1.1", value: extension }];
	const one = readCertificate(mintCertificate({ CN: "leaf", key: deviceRoot.key, extensions }).der, "chain");
	return firmwareIdForm(one, opaque({ 20: hash }), "report");
};
const ids = (...parts: Uint8Array[]) => tlv(0xa6, seq(...parts));

const factCases = readers("facts", "ATTEST_FORM", {
	"a VBIOS of nine bytes": gpu({ 6: new Uint8Array(9) }),
	"NVDEC0 of two bytes": gpu({ 11: Uint8Array.of(0x55, 0) }),
	"a text that is none": gpu({ 3: Uint8Array.of(0x1b) }),
	"a mode of two": gpu({ 36: Uint8Array.of(1, 1) }),
	"links that are cut": gpu({ 22: new Uint8Array(9) }),
	"no chip": () => {
		const nameless = { ...identity("x"), subject: seq() };
		return gpuFields(opaque({ 35: null }), nameless, "report");
	},
	"a switch without BIOS": () => switchFields(opaque({ 6: null }), "", "report"),
	"a firmware id by another hash": leaf(seq(ids(oid("2.16.840.1.101.3.4.2.1"), octets(hash)))),
	"a firmware id of 32 bytes": leaf(seq(ids(SHA384, octets(new Uint8Array(32))))),
	"two lists of firmware ids": leaf(seq(ids(SHA384, octets(hash)), ids(SHA384, octets(hash)))),
});

const otherCases = [
	...readers("facts", "DEVICE_OTHER", {
		"a serial number of a switch": () => identityOf(identity("x", "500102030405060708"), "gpu", "chain"),
	}),
	...readers("facts", "ATTEST_VERSION", {
		"a serial number of ten bytes": () => identityOf(identity("x", "41010203040506070809"), "gpu", "chain"),
		"a serial number of another kind": () => identityOf(identity("x", "400102030405060708"), "gpu", "chain"),
	}),
	minted("facts: a round of 33", "ATTEST_FORM", undefined, (settings) => {
		const plans = Array.from({ length: 33 }, () => mintDevice(gpuPlan()));
		return verifyDeviceSet(() => plans, null, settings);
	}),
	minted("facts: a round of none", "ATTEST_FORM", undefined, (settings) => verifyDeviceSet(() => [], null, settings)),
	...(["manifests", "ocsp"] as const).map((kind) =>
		minted(`facts: 17 ${kind}`, "COLLATERAL_WRONG", undefined, (settings) => {
			const question = { ask: "genuine", nonce: null, chip: null, manifests: [], ocsp: [] } as const;
			const chain = chainOf(gpuPlan());
			const one = kind === "ocsp" ? mintOcsp(ocspPlan(chain[1]!, chain[2]!)) : new Uint8Array(0);
			return verifyDevice(mintDevice(gpuPlan()), { ...question, [kind]: new Array(17).fill(one) }, settings);
		}),
	),
	...[4, 9].map((index) =>
		minted(`facts: an answer about certificate ${index}`, "ATTEST_CHAIN", undefined, (settings) =>
			verifyOcsp(new Uint8Array(0), utf8ToBytes(pem(...chainOf(gpuPlan()))), index, settings),
		),
	),
	...["one more", "other", "no"].map((words) =>
		minted(`facts: a switch with ${words} GPUs`, "TOPOLOGY_WRONG", undefined, (settings) => {
			const [card, hub] = [gpuPlan(), switchPlan()];
			const pdi = new Uint8Array(8).fill(5);
			const own = Uint8Array.from({ length: 8 }, (_, i) => i + 1);
			hub.opaque.set(26, words === "no" ? new Uint8Array(8) : words === "other" ? pdi : concatBytes(own, pdi));
			return verifyDeviceSet(() => [mintDevice(card), mintDevice(hub)], null, settings);
		}),
	),
];

const xml = (text: string) => () => parseXml(text, "rim");
const many = (count: number, one: (i: number) => string) => Array.from({ length: count }, (_, i) => one(i)).join("");

const xmlCases = readers("xml", "RIM_WRONG", {
	"of a million characters": xml(`<a>${"x".repeat(1_000_000)}</a>`),
	"an element that does not end": xml("<a>x"),
	"the end of CDATA": xml("<a>]]></a>"),
	"an end before any": xml("</a>"),
	"another end": xml("<a></b>"),
	"an end that is cut": xml("<a></a x"),
	"no tag": xml("a"),
	"no name": xml("<1/>"),
	"21,000 elements": xml(`<a>${"<b/>".repeat(21_000)}</a>`),
	"33 levels": xml("<a>".repeat(33) + "</a>".repeat(33)),
	"a tag that is cut": xml("<a b='1'"),
	"something behind it": xml("<a/>b"),
	"the prefix xml": xml('<a xmlns:xml="urn:x"/>'),
	"the prefix xmlns": xml('<a xmlns:xmlns="urn:x"/>'),
	"a prefix of nothing": xml('<a xmlns:b=""/>'),
	"a reserved namespace": xml('<a xmlns:b="http://www.w3.org/XML/1998/namespace"/>'),
	"40 namespaces": xml(`<a ${many(40, (i) => ` xmlns:n${i}="urn:${i}"`)}/>`),
	"an undeclared prefix": xml("<b:a/>"),
	"an attribute by two prefixes": xml('<a xmlns:b="urn:x" xmlns:c="urn:x" b:d="1" c:d="2"/>'),
	"no space before an attribute": xml('<a b="1"c="2"/>'),
	"an attribute twice": xml('<a b="1" b="2"/>'),
	"300 attributes": xml(`<a ${many(300, (i) => ` b${i}="1"`)}/>`),
	"an attribute without a value": xml('<a b"1"/>'),
	"a value without quotes": xml("<a b=1/>"),
	"a tag in a value": xml('<a b="<"/>'),
	"a control character": xml("<a>\u0001</a>"),
	"an & alone": xml("<a>& </a>"),
	"an entity of nobody": xml("<a>&b;</a>"),
	"a character beyond all": xml("<a>&#x110000;</a>"),
	"a lone surrogate": xml("<a>&#xd800;</a>"),
	"a character that XML does not have": xml("<a>&#1;</a>"),
});

const manifest =
	(change: (plan: ManifestPlan) => unknown): Read =>
	(settings, hearing) => {
		const plan = manifestPlan("driver");
		change(plan);
		readManifest(hearing, mintManifest(plan), settings, "rim");
	};

/** Changed before it is signed; after it, where that cannot be. */
const unsigned = (from: string | RegExp, to: string) =>
	manifest((plan) => {
		plan.editUnsigned = (text) => text.replace(from, to);
	});
const info = (from: string | RegExp, to: string) =>
	manifest((plan) => {
		plan.editInfo = (text) => text.replace(from, to);
	});
const signed = (from: string | RegExp, to: string) =>
	manifest((plan) => {
		plan.editXml = (text) => text.replace(from, to);
	});
const DSIG = "http://www.w3.org/2000/09/xmldsig#";
const C14N = "http://www.w3.org/2006/12/xml-c14n11";

const manifestCases = readers("signed", "RIM_WRONG", {
	"not UTF-8": (settings, hearing) => readManifest(hearing, Uint8Array.of(0xff), settings, "rim"),
	"another root": unsigned(/SoftwareIdentity/g, "Other"),
	"no namespace": unsigned(/^<SoftwareIdentity xmlns="[^"]*"/, "<SoftwareIdentity"),
	"no version": unsigned("colloquialVersion", "version"),
	"no product": unsigned("product=", "products="),
	"two payloads": unsigned("<ns0:Payload>", "<ns0:Payload/><ns0:Payload>"),
	"a signature of another namespace": signed(/ds:Signature xmlns:ds="[^"]*"/, `ds:Signature xmlns:ds="urn:x"`),
	"a part of another name": info(/DigestMethod/, "DigestMethods"),
	"another reference": info('URI=""', 'URI="#x"'),
	"a digest that is not base64": info(/<ds:DigestValue>./, "<ds:DigestValue>*"),
	"a digest of something else": info(/<ds:DigestValue>../, "<ds:DigestValue>AA"),
	"a signature that is not base64": signed(/<ds:SignatureValue>./, "<ds:SignatureValue>*"),
	"a signature of something else": signed(/<ds:SignatureValue>../, "<ds:SignatureValue>AA"),
	"one certificate": signed(/(<ds:X509Certificate>[^<]*<\/ds:X509Certificate>){3}/, "$1"),
	"nine certificates": signed(/(<ds:X509Certificate>[^<]*<\/ds:X509Certificate>){3}/, "$1".repeat(9)),
	"an index twice": unsigned('index="9"', 'index="8"'),
	"neither active nor not": unsigned('active="True"', 'active="Maybe"'),
	"no alternatives": unsigned('alternatives="1"', 'alternatives="0"'),
	"70 alternatives": manifest((plan) => plan.active.set(8, new Array(70).fill("00".repeat(48)))),
	"values that were not announced": unsigned('alternatives="1"', 'alternatives="2"'),
	"a value that is no hash": manifest((plan) => plan.active.set(8, ["xx"])),
	"nothing active": manifest((plan) => plan.active.clear()),
});

const newerManifests = readers("signed", "ATTEST_VERSION", {
	"another namespace": unsigned(/^<SoftwareIdentity xmlns="[^"]*"/, '<SoftwareIdentity xmlns="urn:x"'),
	"another canonical form": info(
		`CanonicalizationMethod Algorithm="${C14N}"`,
		'CanonicalizationMethod Algorithm="urn:x"',
	),
	"another scheme": info("ecdsa-sha384", "ecdsa-sha512"),
	"another first transform": info(`${DSIG}enveloped-signature`, "urn:x"),
	"another second transform": info(`<ds:Transform Algorithm="${C14N}"/>`, '<ds:Transform Algorithm="urn:x"/>'),
	"another digest": info("xmldsig-more#sha384", "xmldsig-more#sha256"),
	"a scheme with parameters": info('ecdsa-sha384"/>', 'ecdsa-sha384">x</ds:SignatureMethod>'),
});

/** A card by a manifest of its driver with this change, which its vendor signed. */
const measuredBy = (name: string, change: (plan: ManifestPlan) => unknown): MintedCase =>
	minted(`entries: ${name}`, "ATTEST_VERSION", undefined, (settings) => {
		const driver = manifestPlan("driver");
		change(driver);
		const manifests = [driver, manifestPlan("vbios")].map(mintManifest);
		const question = { ask: "measured", nonce: null, chip: null, manifests, ocsp: [] } as const;
		return verifyDevice(mintDevice(gpuPlan()), question, settings);
	});
const entry = (from: string, to: string) => (plan: ManifestPlan) => {
	plan.editUnsigned = (text) => text.replace(from, to);
};

const entryCases = [
	measuredBy("of another name", entry("<ns0:Resource type", "<ns0:Other type")),
	measuredBy("of another namespace", entry("<ns0:Resource type", '<ns1:Resource xmlns:ns1="urn:x" type')),
	measuredBy("of another type", entry('type="Measurement"', 'type="Other"')),
	measuredBy("of no index", entry('index="8"', 'index="x"')),
	measuredBy("of index 255", entry('index="8"', 'index="255"')),
	measuredBy("of index 69632", entry('index="8"', 'index="69632"')),
	measuredBy("of another size", entry('size="48"', 'size="64"')),
	measuredBy("of another hash", entry("h:Hash0", "Hash0")),
	measuredBy("a floor that is no number", (plan) => plan.floors.set(37, "5x")),
];

export const nvidiaReaders = (): MintedCase[] => [
	...versionedCases,
	...newerManifests,
	...entryCases,
	...reportCases,
	...factCases,
	...otherCases,
	...xmlCases,
	...manifestCases,
];

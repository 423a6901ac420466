// Readers of DER, certificates, lists of revoked ones, OCSP answers, PEM and JSON: one wrong thing each.
import { concatBytes, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { certificatesIn, pemToDers } from "../bytes.ts";
import { checkReportData } from "../guest.ts";
import { JsonFields, parseJson, parseJsonText } from "../json.ts";
import { readCertificate } from "../x509/certificate.ts";
import { checkLinks } from "../x509/chain.ts";
import { checkCrl, readCrl } from "../x509/crl.ts";
import {
	bitsOf,
	booleanOf,
	type Der,
	derOf,
	integerBytes,
	itemsOf,
	oidOf,
	serialHex,
	smallInteger,
	textOf,
	timeOf,
} from "../x509/der.ts";
import { checkOcsp, readOcsp } from "../x509/ocsp.ts";
import {
	algorithmOf,
	bits,
	derSignature,
	integer,
	keyOf,
	type Minted,
	mintCertificate,
	mintCrl,
	moment,
	name,
	octets,
	oid,
	rootHash,
	seq,
	spkiOf,
	tlv,
} from "./der-writer.test-kit.ts";
import { chainOf, gpuPlan, mintOcsp, type OcspPlan, ocspPlan } from "./mint-nvidia.test-kit.ts";
import type { MintedCase } from "./minted-case.test-kit.ts";
import { type Read, readers } from "./reader-case.test-kit.ts";

const bytes = (hex: string): Uint8Array => hexToBytes(hex.replaceAll(" ", ""))!;
const der = (hex: string): Der => derOf(bytes(hex), "der");

const derCases = readers("der", "ATTEST_FORM", {
	nothing: () => der(""),
	"another tag": () => derOf(bytes("0400"), "der", 0x30),
	"a long tag": () => der("1f00"),
	"no tag": () => der("0000"),
	"no definite length": () => der("3080"),
	"a length of four bytes": () => der("308400000001 05"),
	"a length that is cut": () => der("308201"),
	"a long form of a short length": () => der("308101 05"),
	"a length with a zero": () => der(`30820080${"05".repeat(128)}`),
	"longer than what holds it": () => der("3005"),
	"something behind it": () => der("30000500"),
	"too many elements": () => itemsOf(der("3006050005000500"), undefined, 2),
	"an identifier of another tag": () => oidOf(der("04022a03")),
	"an empty identifier": () => oidOf(der("0600")),
	"a long identifier": () => oidOf(der(`0621${"01".repeat(33)}`)),
	"an identifier that begins with nothing": () => oidOf(der("06032a8001")),
	"a large arc": () => oidOf(der(`0608 2a${"ff".repeat(6)}7f`)),
	"an identifier that does not end": () => oidOf(der("06022a81")),
	"an integer of another tag": () => integerBytes(der("040101")),
	"an integer of no bytes": () => integerBytes(der("0200")),
	"an integer with a zero": () => integerBytes(der("02020001")),
	"an integer of five bytes": () => smallInteger(der("02050100000000")),
	"a negative integer": () => smallInteger(der("0201ff")),
	"a serial number of 22 bytes": () => serialHex(der(`0216${"01".repeat(22)}`)),
	"a negative serial number": () => serialHex(der("0201ff")),
	"a boolean of another tag": () => booleanOf(der("0401ff")),
	"a boolean of two bytes": () => booleanOf(der("0102ffff")),
	"a boolean of another truth": () => booleanOf(der("010101")),
	"bits of another tag": () => bitsOf(der("04020001")),
	"bits of no whole bytes": () => bitsOf(der("03020102")),
	"text of another tag": () => textOf(der("040141")),
	"a long text": () => textOf(der(`0c820401${"41".repeat(1025)}`)),
	"a text that is not UTF-8": () => textOf(der("0c01ff")),
	"no time": () => timeOf(der("180141")),
	"month 13": () => timeOf(derOf(moment("20251301000000Z"), "der")),
});

const key = keyOf("reader");

interface CertificateParts {
	version: Uint8Array;
	inner: Uint8Array;
	spki: Uint8Array;
	extensions: Uint8Array[];
	outer: Uint8Array;
	bits: Uint8Array;
	whole: (body: Uint8Array, algorithm: Uint8Array, signature: Uint8Array) => Uint8Array;
}

/** Reads a certificate with one part changed; nobody asks who signed it. */
const certificate = (change: (parts: CertificateParts) => unknown) => () => {
	const parts: CertificateParts = {
		version: tlv(0xa0, integer(2)),
		inner: algorithmOf(key),
		spki: spkiOf(key),
		extensions: [],
		outer: algorithmOf(key),
		bits: bits(derSignature(key, new Uint8Array(1))),
		whole: seq,
	};
	change(parts);
	const own = name({ CN: "reader", serialNumber: undefined });
	const validity = seq(moment("20200101000000Z"), moment("20990101000000Z"));
	const extensions = tlv(0xa3, seq(...parts.extensions));
	const body = seq(parts.version, integer(7), parts.inner, own, validity, own, parts.spki, extensions);
	return readCertificate(parts.whole(body, parts.outer, parts.bits), "certificate");
};

const certificateChanged = (change: Partial<CertificateParts>) => certificate((parts) => Object.assign(parts, change));
const algorithm = (value: Uint8Array) => certificateChanged({ inner: value, outer: value });
const usage = (hex: string) =>
	certificateChanged({ extensions: [seq(oid("2.5.29.15"), octets(tlv(0x03, bytes(hex))))] });
const rsa = (parameters: Uint8Array, modulus: Uint8Array) =>
	certificateChanged({
		spki: seq(seq(oid("1.2.840.113549.1.1.1"), parameters), bits(seq(tlv(0x02, modulus), integer(65537)))),
	});
const point = (curve: string, value: Uint8Array) =>
	certificateChanged({ spki: seq(seq(oid("1.2.840.10045.2.1"), oid(curve)), bits(value)) });
const half = (hex: string) => certificateChanged({ bits: bits(seq(tlv(0x02, bytes(hex)), integer(1))) });
const NULL = Uint8Array.of(5, 0);
const P384 = "1.3.132.0.34";

const certificateCases = readers("certificate", "ATTEST_FORM", {
	"of 17 KiB": certificateChanged({ extensions: [seq(oid("1.2.3"), octets(new Uint8Array(17_000)))] }),
	"a body that is none": certificateChanged({ whole: (body, ...more) => seq(octets(body), ...more) }),
	"a body alone": certificateChanged({ whole: (body) => seq(body) }),
	"no signature": certificateChanged({ whole: (body, one) => seq(body, one) }),
	"a fourth part": certificateChanged({ whole: (...parts) => seq(...parts, NULL) }),
	"version 2": certificateChanged({ version: tlv(0xa0, integer(1)) }),
	"two algorithms": certificateChanged({ inner: algorithmOf(keyOf("reader", "p256")) }),
	"RSA with parameters": rsa(Uint8Array.of(5, 1, 0), bytes("7f".repeat(256))),
	"a negative modulus": rsa(NULL, bytes("81".repeat(256))),
	"a modulus of 514 bytes": rsa(NULL, bytes("7f".repeat(514))),
	"a short point": point(P384, key.point.subarray(0, 49)),
	"a compressed point": point(P384, concatBytes(Uint8Array.of(2), key.point.subarray(1))),
	"key usage without bytes": usage(""),
	"key usage without bits": usage("00"),
	"key usage of three bytes": usage("00808080"),
	"key usage with eight spare bits": usage("0800"),
	"key usage with a spare bit set": usage("0781"),
	"a negative half": half("80"),
	"a half of 49 bytes": half("7f".repeat(49)),
});

const newerCertificates = readers("certificate", "ATTEST_VERSION", {
	"a curve to come": point("1.3.132.0.35", key.point),
	"a key of another kind": certificateChanged({ spki: seq(seq(oid("1.3.101.112")), bits(new Uint8Array(32))) }),
	"PSS with other parameters": algorithm(seq(oid("1.2.840.113549.1.1.10"), seq())),
	"an algorithm to come": algorithm(seq(oid("1.2.840.10045.4.3.4"))),
	"an algorithm with parameters": algorithm(seq(oid("1.2.840.113549.1.1.11"), NULL)),
});

const HEAD = "-----BEGIN CERTIFICATE-----\n";
const TAIL = "\n-----END CERTIFICATE-----\n";
const some = `${HEAD}AAAA${TAIL}`;

const textCases = readers("text", "ATTEST_FORM", {
	"PEM of 200 KiB": () => pemToDers(some + " ".repeat(200_000), "pem"),
	"PEM with words": () => pemToDers(`${some}words`, "pem"),
	"PEM without certificates": () => pemToDers("", "pem"),
	"PEM of 17": () => pemToDers(some.repeat(17), "pem"),
	"PEM that is not base64": () => pemToDers(`${HEAD}A${TAIL}`, "pem"),
	"neither PEM nor DER": () => certificatesIn(Uint8Array.of(0xff), "pem"),
	"JSON that is not UTF-8": () => parseJson(Uint8Array.of(0xff), "ATTEST_FORM", "json"),
	"JSON of 2 MiB": () => parseJsonText(`"${"x".repeat(2 * 1024 * 1024)}"`, "ATTEST_FORM", "json"),
	"deep JSON": () => parseJsonText("[".repeat(1000) + "]".repeat(1000), "ATTEST_FORM", "json"),
});

const fields = (value: unknown) => new JsonFields(value, "ATTEST_FORM", "json");

const fieldCases = readers("field", "ATTEST_FORM", {
	"null for an object": () => fields(null),
	"a list for an object": () => fields([]),
	"text for a number": () => fields({ a: "1" }).small("a"),
	"a broken number": () => fields({ a: 1.5 }).small("a"),
	"a negative number": () => fields({ a: -1 }).small("a"),
	"a number of 17 bits": () => fields({ a: 65_536 }).small("a"),
	"text for a count": () => fields({ a: "1" }).count("a"),
	"a broken count": () => fields({ a: 1.5 }).count("a"),
	"a negative count": () => fields({ a: -1 }).count("a"),
	"a count of 33 bits": () => fields({ a: 2 ** 32 }).count("a"),
	"a number for text": () => fields({ a: 1 }).text("a"),
	"a number for a flag": () => fields({ a: 1 }).flag("a"),
	"hex of another length": () => fields({ a: "00" }).hex("a", 2),
	"hex with other letters": () => fields({ a: "0g" }).hex("a", 1),
	"text for a list": () => fields({ a: "1" }).list("a", 2),
	"a long list": () => fields({ a: [1, 2, 3] }).list("a", 2),
	"numbers for texts": () => fields({ a: [1] }).texts("a", 2),
});

const issuer = (keyUsage: number): Minted => mintCertificate({ CN: "lists", key, isCa: true, keyUsage });

/** A list by its parts; signed where that is asked. */
const list = (version: number, inner: Uint8Array) => () => {
	const times = [moment("20250601000000Z"), moment("20250701000000Z")];
	const body = seq(integer(version), inner, issuer(6).name, ...times);
	return readCrl(seq(body, algorithmOf(key), bits(derSignature(key, body))), "crl");
};

const listCases = readers("list", "COLLATERAL_WRONG", {
	"of 2 MiB": () =>
		readCrl(mintCrl({ issuer: issuer(6), extensions: seq(oid("1.2.3"), octets(new Uint8Array(2_000_000))) }), "crl"),
	"of version 1": list(0, algorithmOf(key)),
	"with two algorithms": list(1, algorithmOf(keyOf("reader", "p256"))),
	"of an issuer that may not": (settings, hearing) => {
		const by = issuer(4);
		checkCrl(hearing, readCrl(mintCrl({ issuer: by }), "crl"), readCertificate(by.der, "issuer"), [], settings, "crl");
	},
});

const NONCE = seq(oid("1.3.6.1.5.5.7.48.1.2"), octets(octets(new Uint8Array(8))));
const [, cardCertificate, cardIssuer] = chainOf(gpuPlan());

interface OcspParts {
	kind: string;
	version: Uint8Array[];
	hash: string;
	state: Uint8Array;
	nonces: Uint8Array[];
}

/** Reads an answer by its parts; nobody asks who signed it. */
const answer = (change: Partial<OcspParts>) => () => {
	const parts = { kind: "1.3.6.1.5.5.7.48.1.1", version: [], hash: "1.3.14.3.2.26", state: tlv(0x80), nonces: [] };
	const { kind, version, hash, state, nonces }: OcspParts = { ...parts, ...change };
	const at = moment("20250620000000Z");
	const id = seq(seq(oid(hash)), octets(new Uint8Array(20)), octets(new Uint8Array(20)), integer(1));
	const more = nonces.length === 0 ? [] : [tlv(0xa1, seq(...nonces))];
	const data = seq(...version, tlv(0xa2, octets(new Uint8Array(20))), at, seq(seq(id, state, at)), ...more);
	const basic = seq(data, algorithmOf(key), bits(derSignature(key, data)));
	return readOcsp(seq(tlv(0x0a, Uint8Array.of(0)), tlv(0xa0, seq(oid(kind), octets(basic)))), "ocsp");
};

/** Checks a minted answer about a card's certificate. */
const checked =
	(change: (plan: OcspPlan) => unknown): Read =>
	(settings, hearing) => {
		const plan = ocspPlan(cardCertificate!, cardIssuer!);
		change(plan);
		const [one, by] = [cardCertificate!, cardIssuer!].map((minted) => readCertificate(minted.der, "chain"));
		checkOcsp(hearing, readOcsp(mintOcsp(plan), "ocsp"), one!, by!, settings, "ocsp");
	};

const answerCases = readers("answer", "COLLATERAL_WRONG", {
	"of 70 KiB": answer({ nonces: [seq(oid("1.2.3"), octets(new Uint8Array(70_000)))] }),
	"of another kind": answer({ kind: "1.3.6.1.5.5.7.48.1.2" }),
	"with two nonces": answer({ nonces: [NONCE, NONCE] }),
	"in no state": answer({ state: tlv(0x83) }),
	"good with a reason": answer({ state: tlv(0x80, NULL) }),
	"about another certificate": checked((plan) => {
		plan.certificate = cardIssuer!;
	}),
	"by a responder that is not there": checked((plan) => {
		plan.isBare = true;
	}),
	"by a delegate of the key alone": checked((plan) => {
		plan.delegate = { issuer: { ...cardIssuer!, name: name({ CN: "other", serialNumber: undefined }) } };
	}),
	"by a delegate of the name alone": checked((plan) => {
		plan.delegate = { issuer: { ...cardIssuer!, key: keyOf("usurper") } };
	}),
	"by a delegate of no purpose": checked((plan) => {
		plan.delegate = { purposes: null };
	}),
});

const newerAnswers = readers("answer", "ATTEST_VERSION", {
	"of another version": answer({ version: [tlv(0xa0, integer(1))] }),
	"by a hash to come": answer({ hash: "2.16.840.1.101.3.4.2.3" }),
});

const staleCases = readers("answer", "COLLATERAL_STALE", {
	"made before what it tells": checked((plan) => {
		plan.producedAt = "20250619000000Z";
	}),
	"of a responder of next month": checked((plan) => {
		plan.delegate = { from: "20250720000000Z" };
	}),
});

const chainCases = readers("chain", "ATTEST_CHAIN", {
	"of none": (settings) => checkLinks([], settings.roots.intel, settings.verify, "ATTEST_CHAIN", "chain"),
	"whose issuer bears another name": (settings) => {
		const root = mintCertificate({ CN: "root", key, isCa: true });
		const leaf = mintCertificate({ CN: "leaf", key, issuer: { ...root, name: name({ CN: "x", serialNumber: "1" }) } });
		const chain = [leaf, root].map((one) => readCertificate(one.der, "chain"));
		checkLinks(chain, [rootHash(root)], settings.verify, "ATTEST_CHAIN", "chain");
	},
});

const dataCases = readers("report data", "NONCE_WRONG", {
	"of 40 bytes": () => checkReportData(new Uint8Array(40), new Uint8Array(64), "report"),
});

export const x509Readers = (): MintedCase[] => [
	...derCases,
	...certificateCases,
	...textCases,
	...fieldCases,
	...listCases,
	...answerCases,
	...staleCases,
	...newerCertificates,
	...newerAnswers,
	...chainCases,
	...dataCases,
];

// X.509 certificates of version 3, as the vendors' authorities write them. Reading says nothing about trust:
// chain.ts does.
import { bytesToHex, concatBytes, equalBytes } from "../../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../../protocol/hash/tagged-hash.ts";
import { cannotTell, wrong } from "../verdict.ts";
import {
	bitsOf,
	booleanOf,
	type Der,
	DerReader,
	derOf,
	inside,
	integerBytes,
	itemsOf,
	oidOf,
	serialHex,
	smallInteger,
	TAG,
	textOf,
	timeOf,
} from "./der.ts";
import type { PublicKey, SignatureScheme, VerifySignature } from "./signature.ts";

interface Extension {
	readonly isCritical: boolean;
	readonly value: Uint8Array;
}

/** Something signed: the bytes, by which scheme, the signature as the scheme wants it. */
export interface Signed {
	readonly message: Uint8Array;
	readonly scheme: SignatureScheme;
	readonly signature: Uint8Array;
}

export interface Certificate extends Signed {
	readonly der: Uint8Array;
	readonly serial: string;
	readonly issuer: Uint8Array;
	readonly subject: Uint8Array;
	readonly notBeforeMs: number;
	readonly notAfterMs: number;
	readonly spki: Uint8Array;
	/** The bits of the key alone, as OCSP hashes them. */
	readonly keyBits: Uint8Array;
	readonly key: PublicKey;
	readonly extensions: ReadonlyMap<string, Extension>;
	readonly isCa: boolean;
	/** How many authorities may stand below it; null: any number. */
	readonly pathLength: number | null;
	/** The bits of key usage, the first one highest; null without the extension. */
	readonly keyUsage: number | null;
}

export const KEY_USAGE = { digitalSignature: 0x80, certSign: 0x04, crlSign: 0x02 } as const;

const BASIC_CONSTRAINTS = "2.5.29.19";
const KEY_USAGE_OID = "2.5.29.15";
const MOST_BYTES = 16 * 1024;

export function readCertificate(der: Uint8Array, where: string): Certificate {
	if (der.length > MOST_BYTES) return wrong(where, "a certificate of more than 16 KiB");
	const [body, algorithm, bits, ...more] = itemsOf(derOf(der, where, TAG.sequence), undefined, 4);
	if (body?.tag !== TAG.sequence || algorithm === undefined || bits === undefined || more.length > 0)
		return wrong(where, "not the three parts of a certificate");
	const tbs = inside(body);
	const version = tbs.next(0xa0);
	if (smallInteger(derOf(version.value, where, TAG.integer)) !== 2) return wrong(where, "not version 3");
	const serial = serialHex(tbs.next(TAG.integer));
	if (!equalBytes(tbs.next(TAG.sequence).whole, algorithm.whole)) return wrong(where, "two signature algorithms");
	const issuer = tbs.next(TAG.sequence).whole;
	const validity = inside(tbs.next(TAG.sequence));
	const [notBeforeMs, notAfterMs] = [timeOf(validity.next()), timeOf(validity.next())];
	validity.end();
	const subject = tbs.next(TAG.sequence).whole;
	const spki = tbs.next(TAG.sequence);
	const { key, keyBits } = publicKeyOf(spki);
	const extensions = extensionsOf(tbs.optional(0xa3), where);
	tbs.end();
	return {
		der,
		serial,
		issuer,
		subject,
		notBeforeMs,
		notAfterMs,
		spki: spki.whole,
		keyBits,
		key,
		extensions,
		...constraintsOf(extensions, where),
		...signedOf(body.whole, algorithm, bits),
	};
}

function publicKeyOf(spki: Der): { key: PublicKey; keyBits: Uint8Array } {
	const { where } = spki;
	const reader = inside(spki);
	const algorithm = inside(reader.next(TAG.sequence));
	const keyBits = bitsOf(reader.next(TAG.bitString));
	reader.end();
	const oid = oidOf(algorithm.next(TAG.oid));
	if (oid === "1.2.840.113549.1.1.1") {
		if (bytesToHex(algorithm.next(0x05).whole) !== "0500") return wrong(where, "an RSA key with parameters");
		algorithm.end();
		const parts = inside(derOf(keyBits, where, TAG.sequence));
		const n = integerBytes(parts.next(TAG.integer));
		const exponent = smallInteger(parts.next(TAG.integer));
		parts.end();
		if (n[0]! >= 0x80 || n.length > 513) return wrong(where, "an RSA modulus that is negative or too long");
		return { key: { kind: "rsa", modulus: n[0] === 0 ? n.subarray(1) : n, exponent }, keyBits };
	}
	const curve = oid === "1.2.840.10045.2.1" ? oidOf(algorithm.next(TAG.oid)) : "";
	const kind = curve === "1.2.840.10045.3.1.7" ? "p256" : curve === "1.3.132.0.34" ? "p384" : null;
	if (kind === null) return cannotTell(where, `a public key of a kind that is not known here (${curve || oid})`);
	algorithm.end();
	if (keyBits.length !== (kind === "p256" ? 65 : 97) || keyBits[0] !== 4) return wrong(where, "no uncompressed point");
	return { key: { kind, point: keyBits }, keyBits };
}

function extensionsOf(field: Der | null, where: string): Map<string, Extension> {
	const found = new Map<string, Extension>();
	if (field === null) return found;
	for (const item of itemsOf(derOf(field.value, where, TAG.sequence), TAG.sequence, 64)) {
		const reader = inside(item);
		const oid = oidOf(reader.next(TAG.oid));
		const critical = reader.optional(TAG.boolean);
		const { value } = reader.next(TAG.octetString);
		reader.end();
		if (found.has(oid)) return wrong(where, `extension ${oid} twice`);
		found.set(oid, { isCritical: critical !== null && booleanOf(critical), value });
	}
	return found;
}

function constraintsOf(extensions: ReadonlyMap<string, Extension>, where: string) {
	let isCa = false;
	let pathLength: number | null = null;
	const basic = extensions.get(BASIC_CONSTRAINTS);
	if (basic !== undefined) {
		const reader = inside(derOf(basic.value, where, TAG.sequence));
		const ca = reader.optional(TAG.boolean);
		const length = reader.optional(TAG.integer);
		reader.end();
		isCa = ca !== null && booleanOf(ca);
		pathLength = length === null ? null : smallInteger(length);
	}
	const usage = extensions.get(KEY_USAGE_OID);
	if (usage === undefined) return { isCa, pathLength, keyUsage: null };
	const { value } = derOf(usage.value, where, TAG.bitString);
	const [unused, first] = [value[0], value[1]];
	if (unused === undefined || first === undefined || value.length > 3 || unused > 7)
		return wrong(where, "no key usage");
	if ((value.at(-1)! & ((1 << unused) - 1)) !== 0) return wrong(where, "key usage with spare bits");
	return { isCa, pathLength, keyUsage: first };
}

const PSS = "1.2.840.113549.1.1.10";
/**
 * RSASSA-PSS-params of SHA-384, MGF1 with SHA-384, a salt of 48; AMD spells the trailer field out, some
 * libraries do not.
 */
const PSS_PARAMS = [
	"3034a00f300d06096086480165030402020500a11c301a06092a864886f70d010108300d06096086480165030402020500a203020130",
	"3039a00f300d06096086480165030402020500a11c301a06092a864886f70d010108300d06096086480165030402020500a203020130a303020101",
];

/** From the three parts of everything that X.509 signs. */
export function signedOf(message: Uint8Array, algorithm: Der, bits: Der): Signed {
	const { where } = algorithm;
	const reader = new DerReader(derOf(algorithm.whole, where, TAG.sequence).value, where);
	const oid = oidOf(reader.next(TAG.oid));
	const signature = bitsOf(bits);
	if (oid === PSS) {
		const params = bytesToHex(reader.next(TAG.sequence).whole);
		reader.end();
		if (!PSS_PARAMS.includes(params))
			return cannotTell(where, "parameters of RSA-PSS other than SHA-384 with 48 bytes of salt");
		return { message, scheme: "rsa-pss", signature };
	}
	const scheme = oid === "1.2.840.10045.4.3.2" ? "p256" : oid === "1.2.840.10045.4.3.3" ? "p384" : null;
	if (scheme === null) return cannotTell(where, `signature algorithm ${oid} is not known here`);
	reader.end();
	return { message, scheme, signature: fixedSignature(signature, scheme, where) };
}

/** SEQUENCE {r, s} as r ‖ s. */
function fixedSignature(der: Uint8Array, scheme: "p256" | "p384", where: string): Uint8Array {
	const size = scheme === "p256" ? 32 : 48;
	const reader = inside(derOf(der, where, TAG.sequence));
	const halves = [reader.next(TAG.integer), reader.next(TAG.integer)].map((half) => {
		const bytes = integerBytes(half);
		const short = bytes[0] === 0 ? bytes.subarray(1) : bytes;
		if (bytes[0]! >= 0x80 || short.length > size) return wrong(where, "a half of a signature is out of range");
		return concatBytes(new Uint8Array(size - short.length), short);
	});
	reader.end();
	return concatBytes(...halves);
}

/** Whether `key` signed it, by the scheme that it names. */
export const isSignedBy = (signed: Signed, key: PublicKey, verify: VerifySignature): boolean =>
	verify(signed.scheme, key, signed.message, signed.signature);

const NAMES: Readonly<Record<string, string>> = { "2.5.4.3": "CN", "2.5.4.5": "serialNumber" };

/** Common name and serial number of a name; null where it has none or several. */
export function readName(
	name: Uint8Array,
	where: string,
): { readonly CN: string | null; readonly serialNumber: string | null } {
	const found: Record<string, string[]> = { CN: [], serialNumber: [] };
	for (const set of itemsOf(derOf(name, where, TAG.sequence), TAG.set, 32))
		for (const pair of itemsOf(set, TAG.sequence, 8)) {
			const reader = inside(pair);
			const kind = NAMES[oidOf(reader.next(TAG.oid))];
			const value = reader.next();
			reader.end();
			if (kind !== undefined) found[kind]!.push(textOf(value));
		}
	const only = (list: readonly string[]) => (list.length === 1 ? list[0]! : null);
	return { CN: only(found.CN!), serialNumber: only(found.serialNumber!) };
}

export const fingerprintOf = ({ der }: Certificate): string => bytesToHex(sha256Of(der));

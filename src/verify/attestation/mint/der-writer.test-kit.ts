// DER and certificates of our own making, for tests: keys come from words, so every run mints the same bytes.
import { p256, p384 } from "@noble/curves/nist.js";
import { sha256, sha512 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";

export function tlv(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
	const value = concatBytes(...parts);
	const n = value.length;
	const length =
		n < 0x80
			? [n]
			: n < 0x100
				? [0x81, n]
				: n < 0x10000
					? [0x82, n >> 8, n & 255]
					: [0x83, n >> 16, (n >> 8) & 255, n & 255];
	return concatBytes(Uint8Array.of(tag, ...length), value);
}

export const seq = (...parts: readonly Uint8Array[]): Uint8Array => tlv(0x30, ...parts);
export const octets = (value: Uint8Array): Uint8Array => tlv(0x04, value);
export const bits = (value: Uint8Array): Uint8Array => tlv(0x03, Uint8Array.of(0), value);
const set = (...parts: readonly Uint8Array[]): Uint8Array => tlv(0x31, ...parts);
const bool = (value: boolean): Uint8Array => tlv(0x01, Uint8Array.of(value ? 0xff : 0));

export function integer(value: number | Uint8Array): Uint8Array {
	const bytes =
		typeof value === "number"
			? hexToBytes(
					value
						.toString(16)
						.padStart(2 + 2 * Math.floor(value.toString(16).length / 2), "0")
						.replace(/^00(?=..)/, ""),
				)!
			: value;
	const from = Math.max(
		0,
		Math.min(
			bytes.findIndex((byte) => byte !== 0),
			bytes.length - 1,
		),
	);
	const short = bytes.subarray(from);
	return tlv(0x02, short[0]! >= 0x80 ? concatBytes(Uint8Array.of(0), short) : short);
}

export function oid(dotted: string): Uint8Array {
	const [first, second, ...rest] = dotted.split(".").map(Number);
	const arcs = [first! * 40 + second!, ...rest].flatMap((arc) => {
		const out = [arc & 0x7f];
		for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) out.unshift((left & 0x7f) | 0x80);
		return out;
	});
	return tlv(0x06, Uint8Array.from(arcs));
}

/** "20250101000000Z" */
export const moment = (text: string): Uint8Array => tlv(0x18, utf8ToBytes(text));

export const name = (parts: Readonly<Record<"CN" | "serialNumber", string | undefined>>): Uint8Array =>
	seq(
		...(parts.serialNumber === undefined ? [] : [set(seq(oid("2.5.4.5"), tlv(0x13, utf8ToBytes(parts.serialNumber))))]),
		...(parts.CN === undefined ? [] : [set(seq(oid("2.5.4.3"), tlv(0x0c, utf8ToBytes(parts.CN))))]),
	);

export interface MintKey {
	readonly kind: "p256" | "p384";
	readonly secret: Uint8Array;
	readonly point: Uint8Array;
}

const keys = new Map<string, MintKey>();

/** The key that belongs to these words. */
export function keyOf(words: string, kind: "p256" | "p384" = "p384"): MintKey {
	const id = `${kind} ${words}`;
	let key = keys.get(id);
	if (key === undefined) {
		const curve = kind === "p256" ? p256 : p384;
		const secret = sha512(utf8ToBytes(id)).subarray(0, kind === "p256" ? 32 : 48);
		secret[0] = 0;
		key = { kind, secret, point: curve.getPublicKey(secret, false) };
		keys.set(id, key);
	}
	return key;
}

const signed = new Map<string, Uint8Array>();

/** r ‖ s. */
export function signBy(key: MintKey, message: Uint8Array): Uint8Array {
	const id = bytesToHex(sha256(concatBytes(key.point, message)));
	let signature = signed.get(id);
	if (signature === undefined) {
		signature = (key.kind === "p256" ? p256 : p384).sign(message, key.secret, { lowS: false, prehash: true });
		signed.set(id, signature);
	}
	return signature;
}

const ALGORITHMS = { p256: "1.2.840.10045.4.3.2", p384: "1.2.840.10045.4.3.3" } as const;
export const algorithmOf = (key: MintKey): Uint8Array => seq(oid(ALGORITHMS[key.kind]));

/** The signature as X.509 has it. */
export function derSignature(key: MintKey, message: Uint8Array): Uint8Array {
	const raw = signBy(key, message);
	return seq(integer(raw.subarray(0, raw.length / 2)), integer(raw.subarray(raw.length / 2)));
}

/** {body, algorithm, signature}: certificates, lists and answers alike. */
export const signedParts = (body: Uint8Array, key: MintKey): Uint8Array[] => [
	body,
	algorithmOf(key),
	bits(derSignature(key, body)),
];

export const spkiOf = ({ kind, point }: MintKey): Uint8Array =>
	seq(seq(oid("1.2.840.10045.2.1"), oid(kind === "p256" ? "1.2.840.10045.3.1.7" : "1.3.132.0.34")), bits(point));

export interface CertificatePlan {
	CN: string;
	serialNumber?: string;
	serial?: number;
	key: MintKey;
	/** Its issuer; none: itself. */
	issuer?: { readonly name: Uint8Array; readonly key: MintKey };
	isCa?: boolean;
	pathLength?: number;
	keyUsage?: number;
	from?: string;
	until?: string;
	extensions?: readonly { readonly oid: string; readonly value: Uint8Array; readonly isCritical?: boolean }[];
}

export interface Minted {
	readonly der: Uint8Array;
	readonly name: Uint8Array;
	readonly key: MintKey;
	readonly serial: number;
}

export function mintCertificate(plan: CertificatePlan): Minted {
	const own = name({ CN: plan.CN, serialNumber: plan.serialNumber });
	const issuer = plan.issuer ?? { name: own, key: plan.key };
	const isCa = plan.isCa ?? false;
	const serial = plan.serial ?? 7;
	const usage = plan.keyUsage ?? (isCa ? 0x06 : 0x80);
	const extensions = [
		{
			oid: "2.5.29.19",
			isCritical: true,
			value: seq(...(isCa ? [bool(true)] : []), ...(plan.pathLength === undefined ? [] : [integer(plan.pathLength)])),
		},
		{ oid: "2.5.29.15", isCritical: true, value: tlv(0x03, Uint8Array.of(usage & 1 ? 0 : 1, usage)) },
		...(plan.extensions ?? []),
	].map((one) => seq(oid(one.oid), ...(one.isCritical ? [bool(true)] : []), octets(one.value)));
	const body = seq(
		tlv(0xa0, integer(2)),
		integer(serial),
		algorithmOf(issuer.key),
		issuer.name,
		seq(moment(plan.from ?? "20200101000000Z"), moment(plan.until ?? "20991231235959Z")),
		own,
		spkiOf(plan.key),
		tlv(0xa3, seq(...extensions)),
	);
	return { der: seq(...signedParts(body, issuer.key)), name: own, key: plan.key, serial };
}

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

export function base64(bytes: Uint8Array): string {
	let text = "";
	for (let i = 0; i < bytes.length; i += 3) {
		const [a, b = 0, c = 0] = bytes.subarray(i, i + 3);
		const word = (a! << 16) | (b << 8) | c;
		const four = [18, 12, 6, 0].map((shift) => BASE64[(word >> shift) & 63]!).join("");
		text += i + 1 >= bytes.length ? `${four.slice(0, 2)}==` : i + 2 >= bytes.length ? `${four.slice(0, 3)}=` : four;
	}
	return text;
}

export const pem = (...certificates: readonly Minted[]): string =>
	certificates.map(({ der }) => `-----BEGIN CERTIFICATE-----\n${base64(der)}\n-----END CERTIFICATE-----\n`).join("");

export const rootHash = ({ der }: Minted): string => bytesToHex(sha256(der));

export interface CrlPlan {
	issuer: Minted;
	revoked?: readonly number[];
	from?: string;
	until?: string;
	signer?: MintKey;
	extensions?: Uint8Array;
}

export function mintCrl(plan: CrlPlan): Uint8Array {
	const key = plan.signer ?? plan.issuer.key;
	const listed = (plan.revoked ?? []).map((serial) => seq(integer(serial), moment("20250101000000Z")));
	const body = seq(
		integer(1),
		algorithmOf(key),
		plan.issuer.name,
		moment(plan.from ?? "20250601000000Z"),
		moment(plan.until ?? "20250701000000Z"),
		...(listed.length === 0 ? [] : [seq(...listed)]),
		...(plan.extensions === undefined ? [] : [tlv(0xa0, seq(plan.extensions))]),
	);
	return seq(...signedParts(body, key));
}

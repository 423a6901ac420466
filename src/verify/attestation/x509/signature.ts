// Signatures under certificates, reports and quotes: which schemes there are, and a function that checks them
// with noble and BigInt alone. Node's own library does the same faster (platform/node-signatures.ts); both
// must say the same of every input.
import { p256, p384 } from "@noble/curves/nist.js";
import { sha256, sha384 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, equalBytes } from "../../../protocol/bytes/bytes.ts";

export type PublicKey =
	/** The uncompressed point, 0x04 first. */
	| { readonly kind: "p256" | "p384"; readonly point: Uint8Array }
	/** Modulus without leading zeros. */
	| { readonly kind: "rsa"; readonly modulus: Uint8Array; readonly exponent: number };

/**
 * The hash belongs to the scheme: P-256 and PKCS #1 with SHA-256, P-384 and PSS (salt of 48 bytes) with
 * SHA-384.
 */
export type SignatureScheme = "p256" | "p384" | "rsa-pss" | "rsa-pkcs1";

/** `signature` is r ‖ s of fixed length for curves. s may be high: vendors do not normalise it. */
export type VerifySignature = (
	scheme: SignatureScheme,
	key: PublicKey,
	message: Uint8Array,
	signature: Uint8Array,
) => boolean;

/** Bits of an RSA key that are worth checking: 2048 to 4096. */
const isUsableRsa = ({ modulus, exponent }: Extract<PublicKey, { kind: "rsa" }>): boolean =>
	exponent === 65537 &&
	modulus.length >= 256 &&
	modulus.length <= 512 &&
	modulus[0]! >= 0x80 &&
	modulus.at(-1)! % 2 === 1;

export const nobleSignatures: VerifySignature = (scheme, key, message, signature) => {
	try {
		if (scheme === "p256" || scheme === "p384") {
			if (key.kind !== scheme || signature.length !== (scheme === "p256" ? 64 : 96)) return false;
			const curve = scheme === "p256" ? p256 : p384;
			return curve.verify(signature, message, key.point, { lowS: false, prehash: true });
		}
		if (key.kind !== "rsa" || !isUsableRsa(key)) return false;
		const encoded = rsaPublic(key.modulus, key.exponent, signature);
		if (encoded === null) return false;
		return scheme === "rsa-pss" ? isPss(encoded, message) : isPkcs1(encoded, message);
	} catch {
		return false;
	}
};

const toBigInt = (bytes: Uint8Array): bigint => BigInt(`0x${bytesToHex(bytes) || "0"}`);

/** signature^e mod n in as many bytes as n has; null when the signature is not below n. */
function rsaPublic(modulus: Uint8Array, exponent: number, signature: Uint8Array): Uint8Array | null {
	if (signature.length !== modulus.length) return null;
	const n = toBigInt(modulus);
	const base = toBigInt(signature);
	if (base >= n) return null;
	let power = 1n;
	for (const bit of exponent.toString(2)) {
		power = (power * power) % n;
		if (bit === "1") power = (power * base) % n;
	}
	const hex = power.toString(16).padStart(2 * modulus.length, "0");
	return Uint8Array.from({ length: modulus.length }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
}

const HASH = 48;

/**
 * RFC 8017 §9.1.2 with SHA-384, MGF1 with the same, a salt of 48 bytes; the modulus has a whole number of
 * bytes.
 */
function isPss(encoded: Uint8Array, message: Uint8Array): boolean {
	if (encoded.at(-1) !== 0xbc) return false;
	const masked = encoded.slice(0, -HASH - 1);
	const hash = encoded.subarray(encoded.length - HASH - 1, -1);
	if (masked[0]! >= 0x80) return false;
	for (let i = 0, counter = 0; i < masked.length; i += HASH, counter++) {
		const mask = sha384(concatBytes(hash, new Uint8Array([0, 0, 0, counter])));
		for (let j = 0; j < HASH && i + j < masked.length; j++) masked[i + j]! ^= mask[j]!;
	}
	masked[0]! &= 0x7f;
	const zeros = masked.length - HASH - 1;
	if (masked.subarray(0, zeros).some((byte) => byte !== 0) || masked[zeros] !== 1) return false;
	const salt = masked.subarray(zeros + 1);
	return equalBytes(sha384(concatBytes(new Uint8Array(8), sha384(message), salt)), hash);
}

/** DigestInfo of SHA-256, before the hash. */
const SHA256_INFO = Uint8Array.from([
	0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20,
]);

function isPkcs1(encoded: Uint8Array, message: Uint8Array): boolean {
	const tail = concatBytes(SHA256_INFO, sha256(message));
	const padding = new Uint8Array(encoded.length - tail.length - 3).fill(0xff);
	return equalBytes(encoded, concatBytes(new Uint8Array([0, 1]), padding, new Uint8Array([0]), tail));
}

/** One name for everything that is checked of a signature. */
export function signatureName(
	scheme: SignatureScheme,
	key: PublicKey,
	message: Uint8Array,
	signature: Uint8Array,
): string {
	const keyBytes = key.kind === "rsa" ? key.modulus : key.point;
	const lengths = new Uint8Array(Uint32Array.of(keyBytes.length, signature.length).buffer);
	return bytesToHex(sha256(concatBytes(lengths, keyBytes, signature, message))) + scheme;
}

/**
 * Remembers signatures that were good, so that certificates that many reports share are checked once. What is
 * remembered is a hash of everything that was checked; the oldest goes first.
 */
export function rememberSignatures(verify: VerifySignature, most = 4096): VerifySignature {
	const good = new Set<string>();
	return (scheme, key, message, signature) => {
		const name = signatureName(scheme, key, message, signature);
		if (good.has(name)) return true;
		if (!verify(scheme, key, message, signature)) return false;
		if (good.size >= most) good.delete(good.values().next().value!);
		good.add(name);
		return true;
	};
}

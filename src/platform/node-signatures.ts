// Signatures of certificates, reports and quotes by Node's own library: 2.7 ms a P-384 against 13 of the
// portable one. Says the same as verify/attestation/x509/signature.ts of every input; a test compares them.
import { constants, createPublicKey, type KeyObject, verify } from "node:crypto";

type Key =
	| { readonly kind: "p256" | "p384"; readonly point: Uint8Array }
	| { readonly kind: "rsa"; readonly modulus: Uint8Array; readonly exponent: number };

const url64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url");

function keyObject(key: Key): KeyObject {
	if (key.kind === "rsa") {
		const e = url64(Uint8Array.of(key.exponent >> 16, key.exponent >> 8, key.exponent));
		return createPublicKey({ key: { kty: "RSA", n: url64(key.modulus), e }, format: "jwk" });
	}
	const size = (key.point.length - 1) / 2;
	const [x, y] = [key.point.subarray(1, 1 + size), key.point.subarray(1 + size)].map(url64);
	return createPublicKey({
		key: { kty: "EC", crv: key.kind === "p256" ? "P-256" : "P-384", x: x!, y: y! },
		format: "jwk",
	});
}

/** Keys, schemes and signatures as in verify/attestation. */
export function nodeSignatures(
	scheme: "p256" | "p384" | "rsa-pss" | "rsa-pkcs1",
	key: Key,
	message: Uint8Array,
	signature: Uint8Array,
): boolean {
	try {
		if (scheme === "p256" || scheme === "p384") {
			if (key.kind !== scheme || signature.length !== (scheme === "p256" ? 64 : 96)) return false;
			const hash = scheme === "p256" ? "sha256" : "sha384";
			return verify(hash, message, { key: keyObject(key), dsaEncoding: "ieee-p1363" }, signature);
		}
		if (key.kind !== "rsa" || key.exponent !== 65537 || signature.length !== key.modulus.length) return false;
		if (key.modulus.length < 256 || key.modulus.length > 512 || key.modulus[0]! < 0x80 || key.modulus.at(-1)! % 2 === 0)
			return false;
		if (scheme === "rsa-pkcs1")
			return verify("sha256", message, { key: keyObject(key), padding: constants.RSA_PKCS1_PADDING }, signature);
		const padding = constants.RSA_PKCS1_PSS_PADDING;
		return verify("sha384", message, { key: keyObject(key), padding, saltLength: 48 }, signature);
	} catch {
		return false;
	}
}

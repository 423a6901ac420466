// The verifier's signature: Ed25519 over a 32-byte hash, strict verification (RFC 8032, no cofactored
// leniency), so that every implementation agrees on every signature. Keys are arguments; where they are kept
// is not known here.
import { ed25519 } from "@noble/curves/ed25519.js";
import { bytesToHex, hexToBytes } from "../bytes/bytes.ts";

export interface Signer {
	/** Public key, lower-case hex. */
	readonly key: string;
	sign(hash: Uint8Array): Uint8Array;
}

/** `secretKey` is the 32-byte Ed25519 seed. */
export function createSigner(secretKey: Uint8Array): Signer {
	return { key: bytesToHex(ed25519.getPublicKey(secretKey)), sign: (hash) => ed25519.sign(hash, secretKey) };
}

/**
 * False for anything that is not 32 and 64 bytes of lower-case hex, a point of the curve and a right
 * signature.
 */
export function isSignature(key: string, value: string, hash: Uint8Array): boolean {
	const keyBytes = hexToBytes(key, 32);
	const valueBytes = hexToBytes(value, 64);
	if (keyBytes === null || valueBytes === null) return false;
	try {
		return ed25519.verify(valueBytes, hash, keyBytes, { zip215: false });
	} catch {
		return false; // the library throws on some encodings that are no points
	}
}

/**
 * A key of small order, under which one signature fits many messages and which is therefore everybody's; or
 * no key at all.
 */
export function isWeakKey(key: string): boolean {
	const bytes = hexToBytes(key, 32);
	if (bytes === null) return true;
	try {
		return ed25519.Point.fromBytes(bytes).isSmallOrder();
	} catch {
		return true;
	}
}

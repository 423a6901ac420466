// EIP-712: what an account signs for one of our contracts, and whether a signature is its own, as the
// contracts check it: by recovering the signer. Pure, so that a browser can do it too. Signing is in
// src/chain/contracts/.
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { concatBytes, utf8ToBytes } from "../bytes/bytes.ts";
import { keccak } from "../hash/keccak-tree.ts";
import { fromHex, type Hex, packed, toHex } from "./hex.ts";

/** Half the order of secp256k1: the contract takes the smaller of the two signatures that say the same. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
const hashed = (text: string): Uint8Array => keccak(utf8ToBytes(text));
const word = (value: bigint | number | string): Uint8Array => packed(BigInt(value), 32);

/** Of a statement whose fields are each one word, for one contract on one chain. */
export function typedDigest(
	chainId: number | bigint,
	contract: Hex,
	type: string,
	fields: readonly (bigint | number | Hex)[],
): Uint8Array {
	const domain = keccak(
		hashed("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
		hashed("assay"),
		hashed("1"),
		word(chainId),
		word(contract),
	);
	return keccak(Uint8Array.of(0x19, 1), domain, keccak(hashed(type), ...fields.map(word)));
}

/**
 * Whose signature it is, in lower case. Stricter than recovering: somebody could sign in a form that every
 * library reads and the contract refuses, and would be bound by nothing. Null for such a form.
 */
export function signerOf(digest: Uint8Array, signature: Hex): Hex | null {
	if (!/^0x[0-9a-f]{128}(1b|1c)$/.test(signature) || BigInt(`0x${signature.slice(66, 130)}`) > HALF_ORDER) return null;
	const bytes = fromHex(signature, 65);
	try {
		const found = concatBytes(Uint8Array.of(bytes[64]! - 27), bytes.subarray(0, 64));
		const key = secp256k1.Signature.fromBytes(found, "recovered").recoverPublicKey(digest).toBytes(false);
		return toHex(keccak(key.subarray(1)).subarray(12));
	} catch {
		return null; // no point of the curve
	}
}

export const isSignedBy = (signer: Hex, digest: Uint8Array, signature: Hex): boolean =>
	signerOf(digest, signature) === signer.toLowerCase();

/** EIP-2098: r, and s with the parity in its highest bit. Of a signature that `isSignedBy` takes. */
export function compactSignature(signature: Hex): readonly [r: Hex, vs: Hex] {
	const bytes = fromHex(signature, 65);
	const vs = bytes.slice(32, 64);
	if (bytes[64] === 28) vs[0]! |= 0x80;
	return [toHex(bytes.subarray(0, 32)), toHex(vs)];
}

/** The reverse: 65 bytes again. */
export function expandSignature([r, vs]: readonly [r: Hex, vs: Hex] | readonly Hex[]): Hex {
	const s = fromHex(vs!.toLowerCase(), 32);
	const v = s[0]! & 0x80 ? 28 : 27;
	s[0]! &= 0x7f;
	return toHex(concatBytes(fromHex(r!.toLowerCase(), 32), s, Uint8Array.of(v)));
}

// A validator's EIP-712 signature under its report, checked as contracts/src/slashing/Slashing.sol checks it: by recovering the
// signer. Pure, so that a browser can do it too. Signing is src/chain/contracts/slashing.ts.
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { concatBytes, utf8ToBytes } from "../bytes/bytes.ts";
import { keccak } from "../hash/keccak-tree.ts";
import { fromHex, type Hex, packed, toHex } from "./hex.ts";
import type { ReceiptDomain } from "./probe-receipt.ts";

export interface SignedReport {
	readonly validator: Hex;
	readonly epoch: bigint;
	readonly root: Hex;
}

/** Half the order of secp256k1: the contract takes the smaller of the two signatures that say the same. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
const hashed = (text: string): Uint8Array => keccak(utf8ToBytes(text));
const word = (value: bigint | number | string): Uint8Array => packed(BigInt(value), 32);

/** Whether the contract will take this signature as the validator's. */
export function isReportSigned(
	{ chainId, slashing }: ReceiptDomain,
	{ validator, epoch, root }: SignedReport,
	signature: Hex,
): boolean {
	const domain = keccak(
		hashed("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
		hashed("assay"),
		hashed("1"),
		word(chainId),
		word(slashing),
	);
	const type = hashed("ScoreReport(address validator,uint64 epoch,bytes32 root)");
	const report = keccak(type, word(validator), word(epoch), word(root));
	return isSignedBy(validator, keccak(Uint8Array.of(0x19, 1), domain, report), signature);
}

/**
 * Stricter than recovering: somebody could sign in a form that every library reads and the contract refuses, and would be
 * bound by nothing.
 */
export function isSignedBy(signer: Hex, digest: Uint8Array, signature: Hex): boolean {
	if (!/^0x[0-9a-f]{128}(1b|1c)$/.test(signature) || BigInt(`0x${signature.slice(66, 130)}`) > HALF_ORDER) return false;
	const bytes = fromHex(signature, 65);
	try {
		const found = concatBytes(Uint8Array.of(bytes[64]! - 27), bytes.subarray(0, 64));
		const key = secp256k1.Signature.fromBytes(found, "recovered").recoverPublicKey(digest).toBytes(false);
		return toHex(keccak(key.subarray(1)).subarray(12)) === signer.toLowerCase();
	} catch {
		return false; // no point of the curve
	}
}

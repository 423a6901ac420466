// What an Ed25519 key signs to vouch for an account of a chain: `keyProof` of the Registry's events, which
// the chain itself cannot check. docs/chain.md. It names chain, registry and account, so that it fits no
// other and nobody else can register under the key. Of several proofs of one key the one with the highest
// number counts: an account that its owner has left cannot take the rewards back with an old one.
import { bytesToHex, concatBytes, hexToBytes } from "../bytes/bytes.ts";
import { tagged } from "../hash/tagged-hash.ts";
import { isSignature, isWeakKey, type Signer } from "../probe/signer.ts";

export interface ChainKeyClaim {
	readonly chainId: number;
	/** 0x and 40 hex digits each, in any case. */
	readonly registry: string;
	readonly account: string;
	/** By us: the time in ms. */
	readonly number: number;
}

const u64 = (value: number) => hexToBytes(value.toString(16).padStart(16, "0"), 8);

function claimHash({ chainId, registry, account, number }: ChainKeyClaim): Uint8Array {
	const [chain, count] = [u64(chainId), u64(number)];
	const at = hexToBytes(registry.slice(2).toLowerCase(), 20);
	const who = hexToBytes(account.slice(2).toLowerCase(), 20);
	if (chain === null || count === null || at === null || who === null)
		throw new RangeError("not a chain's number, two addresses and a number");
	return tagged("assay/chain-key/2", concatBytes(chain, at, who, count));
}

/** With 0x. */
export const signChainKey = (signer: Signer, claim: ChainKeyClaim): `0x${string}` =>
	`0x${bytesToHex(signer.sign(claimHash(claim)))}`;

export function isChainKeyProof(key: string, proof: string, claim: ChainKeyClaim): boolean {
	// The chain takes any number; nobody of ours signs one that is not exact.
	return (
		Number.isSafeInteger(claim.number) &&
		!isWeakKey(key) &&
		isSignature(key, proof.slice(2).toLowerCase(), claimHash(claim))
	);
}

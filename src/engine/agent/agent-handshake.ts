// Who is at the other end of an agent link: the signed handshake, and the keys that everything after it is
// sealed with. Page: docs/agent-link.md.
//
// The pattern is signed Diffie-Hellman as in ISO/IEC 9798-3 (the base of SIGMA and TLS 1.3): each side signs
// both ephemeral X25519 keys, both identities and its own role. In Noise's notation it is IX with signatures
// in place of the static keys' DH (-> e, s  <- e, ee, s, sig  -> sig), so identities are not hidden, and each
// session's keys are fresh (forward secrecy). The page calls the ephemeral keys nonces.
//
// Attacks: a signature shown back to its maker (the role is inside), a handshake relayed by a validator that
// dials another one as if it were the provider (both keys are inside, and the relay knows neither half of the
// agreement, so it can carry the sealed bytes or cut them, nothing else), an old handshake played again (both
// nonces are fresh, so is the agreement), a point of small order (refused by the library).
import { createPrivateKey, createPublicKey, diffieHellman, hkdfSync } from "node:crypto";
import { isNodeSignature } from "../../platform/node-ed25519.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { tagged } from "../../protocol/hash/tagged-hash.ts";
import type { Signer } from "../../protocol/probe/signer.ts";

export type AgentSide = "provider" | "validator";

/** All four as 64 hex digits. */
export interface AgentParties {
	readonly providerNonce: string;
	readonly validatorNonce: string;
	readonly providerKey: string;
	readonly validatorKey: string;
}

function hashOf(word: string, p: AgentParties): Uint8Array {
	const parts = [p.providerNonce, p.validatorNonce, p.providerKey, p.validatorKey].map((hex) => hexToBytes(hex, 32)!);
	return tagged("assay/agent/1", utf8ToBytes(word), ...parts);
}

export function signProof(side: AgentSide, parties: AgentParties, signer: Signer): string {
	return bytesToHex(signer.sign(hashOf(side, parties)));
}

export function isProof(side: AgentSide, parties: AgentParties, signature: string): boolean {
	const key = side === "provider" ? parties.providerKey : parties.validatorKey;
	return isNodeSignature(key, signature, hashOf(side, parties));
}

/** DER in front of the 32 bytes of an X25519 key (RFC 8410). */
const PRIVATE_PREFIX = hexToBytes("302e020100300506032b656e04220420")!;
const PUBLIC_PREFIX = hexToBytes("302a300506032b656e032100")!;

export interface NoncePair {
	/** The public half, 64 hex digits: what the page calls the nonce. */
	readonly nonce: string;
	/** The shared secret. Throws AssayError AGENT_PROOF_WRONG when the far side's nonce is no key. */
	agree(farNonce: string): Uint8Array;
}

/** `secret` is 32 fresh random bytes, used for one handshake. */
export function createNonce(secret: Uint8Array): NoncePair {
	const privateKey = createPrivateKey({
		key: Buffer.from(concatBytes(PRIVATE_PREFIX, secret)),
		format: "der",
		type: "pkcs8",
	});
	const spki = createPublicKey(privateKey).export({ format: "der", type: "spki" });
	return {
		nonce: bytesToHex(spki.subarray(-32)),
		agree(farNonce) {
			try {
				const key = Buffer.from(concatBytes(PUBLIC_PREFIX, hexToBytes(farNonce, 32)!));
				return diffieHellman({ privateKey, publicKey: createPublicKey({ key, format: "der", type: "spki" }) });
			} catch (cause) {
				throw new AssayError("AGENT_PROOF_WRONG", "the far side's nonce is no key to agree with", {
					hint: "Something that is not ours answers there.",
					cause,
				});
			}
		},
	};
}

/** The sealing key of what `from` sends. */
export function sealingKey(from: AgentSide, shared: Uint8Array, parties: AgentParties): Uint8Array {
	return new Uint8Array(hkdfSync("sha256", shared, hashOf("keys", parties), utf8ToBytes(`assay/agent/1 ${from}`), 32));
}

// Signed requests, docs/network.md §3: who asks, for what, when, once. Pure, and the same for the server and
// the client in a browser. The audience (the validator's key) is signed too: else one validator could replay
// at another what it was asked itself.
import { bytesToHex, utf8ToBytes } from "../protocol/bytes/bytes.ts";
import { pieceRootOf } from "../protocol/hash/blob-tree.ts";
import { sha256Of, tagged } from "../protocol/hash/tagged-hash.ts";
import type { Signer } from "../protocol/probe/signer.ts";

export const SIGNATURE_HEADERS = {
	key: "assay-key",
	time: "assay-time",
	nonce: "assay-nonce",
	signature: "assay-signature",
} as const;

/** How far the signer's clock may be off, either way. */
export const SIGNATURE_WINDOW_MS = 60_000;

export interface SignedParts {
	readonly audience: string;
	/** Upper case. */
	readonly method: string;
	/** Path and query, exactly as sent. */
	readonly path: string;
	readonly body: Uint8Array;
	/** Of a body of bytes: its name as a blob, ROOT-LENGTH (docs/jobs.md §12), in the place of its SHA-256. */
	readonly blobName?: string;
	readonly timeMs: number;
	/** 32 lower-case hex digits, never used before with this key. */
	readonly nonce: string;
}

/**
 * None of the lines can hold a line feed: methods, paths and hex by their nature, the audience by refusal.
 */
export function requestHash(parts: SignedParts): Uint8Array {
	const bodyHash = parts.blobName ?? bytesToHex(sha256Of(parts.body));
	const lines = [parts.audience.replaceAll("\n", " "), parts.method, parts.path, bodyHash, parts.timeMs, parts.nonce];
	return tagged("assay/request/1", utf8ToBytes(lines.join("\n")));
}

/** By the portable hash; whoever has the root from a quicker one spells it the same. */
export const blobNameOf = (body: Uint8Array): string => `${bytesToHex(pieceRootOf(body))}-${body.length}`;

export function signRequest(parts: SignedParts, signer: Signer): Record<string, string> {
	return {
		[SIGNATURE_HEADERS.key]: signer.key,
		[SIGNATURE_HEADERS.time]: String(parts.timeMs),
		[SIGNATURE_HEADERS.nonce]: parts.nonce,
		[SIGNATURE_HEADERS.signature]: bytesToHex(signer.sign(requestHash(parts))),
	};
}

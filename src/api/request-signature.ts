// Signed requests, docs/network.md §3: who asks, for what, when, once. Pure, and the same for the server and
// the client in a browser. The audience (the validator's key) is signed too: else one validator could replay
// at another what it was asked itself. The body's name goes before the body, in a header: so the server can
// check the signature before it takes a byte of the body.
import { bytesToHex, utf8ToBytes } from "../protocol/bytes/bytes.ts";
import { pieceRootOf } from "../protocol/hash/blob-tree.ts";
import { sha256Of, tagged } from "../protocol/hash/tagged-hash.ts";
import type { Signer } from "../protocol/probe/signer.ts";

export const SIGNATURE_HEADERS = {
	key: "assay-key",
	time: "assay-time",
	nonce: "assay-nonce",
	body: "assay-body",
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
	/** What `bodyNameOf` says of JSON, or of no body; of a body of bytes what `blobNameOf` says. */
	readonly bodyName: string;
	readonly timeMs: number;
	/** 32 lower-case hex digits, never used before with this key. */
	readonly nonce: string;
}

/**
 * None of the lines can hold a line feed: methods, paths and hex by their nature, the audience by refusal.
 */
export function requestHash({ audience, method, path, bodyName, timeMs, nonce }: SignedParts): Uint8Array {
	const lines = [audience.replaceAll("\n", " "), method, path, bodyName, timeMs, nonce];
	return tagged("assay/request/1", utf8ToBytes(lines.join("\n")));
}

/** SHA-256 in hex, also of no body at all. */
export const bodyNameOf = (body: Uint8Array): string => bytesToHex(sha256Of(body));

/** ROOT-LENGTH (docs/jobs.md §12). By the portable hash; a quicker one's root is spelled the same. */
export const blobNameOf = (body: Uint8Array): string => `${bytesToHex(pieceRootOf(body))}-${body.length}`;

export function signRequest(parts: SignedParts, signer: Signer): Record<string, string> {
	return {
		[SIGNATURE_HEADERS.key]: signer.key,
		[SIGNATURE_HEADERS.time]: String(parts.timeMs),
		[SIGNATURE_HEADERS.nonce]: parts.nonce,
		[SIGNATURE_HEADERS.body]: parts.bodyName,
		[SIGNATURE_HEADERS.signature]: bytesToHex(signer.sign(requestHash(parts))),
	};
}

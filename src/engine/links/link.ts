// A link: one duplex byte stream to one engine, wherever it runs, and what is known about the way there. It
// carries bytes and ends the far program; it knows nothing of frames (create-engine-client.ts) and judges
// nothing.
import type { Readable, Writable } from "node:stream";
import type { LinkKind } from "../../protocol/probe/evidence.ts";

export interface LinkEnd {
	readonly code: number | null;
	readonly signal: string | null;
	/** The end of the engine's (or ssh's) stderr, as harmless text. Hostile when the host is. */
	readonly stderrTail: string;
}

export interface Link {
	readonly kind: LinkKind;
	/** Towards the engine. */
	readonly input: Writable;
	readonly output: Readable;
	/** Hex; of the program as it was hashed where it runs. A courtesy check: nothing relies on it. */
	readonly engineSha256: string | null;
	/** `SHA256:…` of the host key that the connection was made with. */
	readonly hostKey: string | null;
	/** TCP handshake to the host; null where it cannot be measured (local, behind a jump host). */
	readonly handshakeUs: number | null;
	/**
	 * Receipts of finished gemm challenges, by the host's account on a chain: `challenge` and 130 hex digits,
	 * unchecked. Null: no answer. Only where the far side is an agent that was told for which contract; never
	 * rejects.
	 */
	readonly signReceipts?: (
		challenges: readonly number[],
	) => Promise<readonly { readonly challenge: number; readonly signature: string }[] | null>;
	/** Settles once, when the engine (or the connection to it) is gone; never rejects. */
	readonly closed: Promise<LinkEnd>;
	/** Ends the engine and waits until it is gone. May be called more than once. */
	close(): Promise<void>;
}

// A link: one duplex byte stream to one engine, wherever it runs, and what is known about the way there. It
// carries bytes and ends the far program; it knows nothing of frames (create-engine-client.ts) and judges
// nothing.
import type { Readable, Writable } from "node:stream";
import type { Countersign, LinkKind } from "../../protocol/probe/evidence.ts";

export interface LinkEnd {
	readonly code: number | null;
	readonly signal: string | null;
	/** The end of the engine's (or ssh's) stderr, as harmless text. Hostile when the host is. */
	readonly stderrTail: string;
}

/** A host that gives its own word on what its engine answers. */
export interface Countersigner {
	/** Ed25519, 64 hex digits; proven when the link was made. */
	readonly key: string;
	/** To the nonces of all stages. */
	readonly commitment: string;
	/**
	 * After the last root of a stage: the word on these runs, and receipts of these gemm challenges by the
	 * host's account on a chain. Unchecked. Null: no answer. Never rejects.
	 */
	sign(request: {
		readonly stage: number;
		/** First seeds, 64 hex digits each. */
		readonly runs: readonly string[];
		readonly challenges: readonly number[];
	}): Promise<{
		readonly word: Countersign["stages"][number] | null;
		readonly receipts: readonly { readonly challenge: number; readonly signature: string }[];
	} | null>;
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
	/** Only where the far side is an agent. */
	readonly countersigner?: Countersigner;
	/** Settles once, when the engine (or the connection to it) is gone; never rejects. */
	readonly closed: Promise<LinkEnd>;
	/** Ends the engine and waits until it is gone. May be called more than once. */
	close(): Promise<void>;
	/** Whether we closed it: then its end says nothing of the host. Absent: never known. */
	readonly isClosing?: () => boolean;
}

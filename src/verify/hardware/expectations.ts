// What whoever asks for a verdict already knows: whose signature, which probe, when, of what. All optional;
// all arguments, because a pure function has no clock and remembers nothing.
import type { GuestRule } from "../attestation/guest-rules.ts";

export interface Expectations {
	/** Public keys, lower-case hex. Absent: any signer. Empty: none. */
	readonly signers?: readonly string[];
	readonly probeId?: string;
	/** Ids of probes whose evidence was accepted before. */
	readonly seenProbeIds?: ReadonlySet<string>;
	/** Bounds of the probe's start and end, milliseconds since 1970. */
	readonly notBeforeMs?: number;
	readonly notAfterMs?: number;
	readonly target?: string;
	/**
	 * Confidential guests that are trusted to name their own devices. Absent: none, and no host is *hosted*.
	 */
	readonly guests?: readonly GuestRule[];
}

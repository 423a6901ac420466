// What reports and quotes of a probe or job answer, docs/attestation.md: a nonce that follows from the work that was done, and a hash that names
// all reports of a round. Both ends compute it: who asks, and who judges.
import { concatBytes, utf8ToBytes } from "../bytes/bytes.ts";
import { encodeCanonicalJson } from "../bytes/canonical-json.ts";
import { sha256Of, tagged } from "../hash/tagged-hash.ts";

/** Whose work it is. A job's `commitment` is its claim hash. */
export interface BoundTo {
	readonly kind: "probe" | "job";
	readonly id: string;
	/** Their keys; null where the host has none. */
	readonly provider: string | null;
	readonly validator: string;
	/** Null outside of a network. */
	readonly chain: string | null;
	readonly contract: string | null;
	/** Hex. */
	readonly commitment: string;
}

/** Of a probe: the last roots of all challenges so far, in their order. They follow from the verifier's secret. */
export const rootsCommitment = (lastRoots: readonly Uint8Array[]): Uint8Array =>
	tagged("assay/attest-roots/1", ...lastRoots);

/** The nonce of every device of a round. */
export const bindOf = (to: BoundTo): Uint8Array =>
	tagged("assay/attest-bind/1", utf8ToBytes(encodeCanonicalJson({ ...to })));

/** Names these reports, in this order. */
export const setOf = (devices: readonly { readonly report: Uint8Array; readonly chain: Uint8Array }[]): Uint8Array =>
	tagged("assay/attest-set/1", ...devices.flatMap(({ report, chain }) => [sha256Of(report), sha256Of(chain)]));

/** What a quote's report data must be, 64 bytes. */
export const reportDataOf = (bind: Uint8Array, set: Uint8Array): Uint8Array => concatBytes(bind, set);

/** The name of a card for life, from the public key of certificate 1. */
export const deviceKeyOf = (spki: Uint8Array): Uint8Array => tagged("assay/device-key/1", spki);

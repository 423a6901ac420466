// What reports and quotes of a probe or job answer, docs/attestation.md: a nonce that follows from the work
// that was done, and a hash that names all reports of a round. Both ends compute it: who asks, and who
// judges.
import { bytesToHex, concatBytes, utf8ToBytes } from "../bytes/bytes.ts";
import { encodeCanonicalJson } from "../bytes/canonical-json.ts";
import { sha256Of, tagged } from "../hash/tagged-hash.ts";

/** Whose work it is. */
export interface BoundTo {
	readonly kind: "probe" | "job";
	readonly id: string;
	/** Their keys; null where the host has none. */
	readonly provider: string | null;
	/** Null of a job: its id is that of what the validator offered. */
	readonly validator: string | null;
	/** Null outside of a network. */
	readonly chain: string | null;
	readonly contract: string | null;
	/** Hex. */
	readonly commitment: string;
}

/**
 * Of a probe: the last roots of all challenges so far, in their order. They follow from the verifier's
 * secret.
 */
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

/**
 * What Azure's virtual TPM signs in their place, for it takes 50 bytes at most: the question shows in the
 * first 16, and SHA-256 binds all.
 */
export const tpmDataOf = (reportData: Uint8Array): Uint8Array =>
	concatBytes(reportData.subarray(0, 16), sha256Of(reportData));

/** The name of a card for life, from the public key of certificate 1. */
export const deviceKeyOf = (spki: Uint8Array): Uint8Array => tagged("assay/device-key/1", spki);

/** One attempt at a part of a job. All in hex where not said otherwise. */
export interface JobBound {
	readonly job: string;
	readonly part: number;
	readonly attempt: number;
	readonly provider: string;
	/** Where its escrow is; null: nowhere. */
	readonly escrow: { readonly chainId: string | number; readonly contract: string } | null;
	/** S that the part begins with. */
	readonly start: string;
	/** The hash of the claim. */
	readonly claim: string;
}

/**
 * The nonce of a job's round. At its beginning there is no claim yet: it answers what was assigned, and where
 * that begins. At its end it answers the claim, and so all of the work.
 */
export function bindOfJob(of: Omit<JobBound, "claim">, claim: string | null): Uint8Array {
	const { job, part, attempt, provider, escrow, start } = of;
	return bindOf({
		...{ kind: "job", id: `${job}.${part}.${attempt}`, provider, validator: null },
		chain: escrow && String(escrow.chainId),
		contract: escrow === null ? null : escrow.contract.toLowerCase(),
		commitment: claim ?? bytesToHex(tagged("assay/attest-begin/1", utf8ToBytes(start))),
	});
}

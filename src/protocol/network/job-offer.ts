// What a validator offers a customer for a job, docs/jobs.md §13: signed, and kept by nobody. Whoever brings
// it back in time has what it says. Hashes only; money and rules are market's.
import { bytesToHex, hexToBytes, utf8ToBytes } from "../bytes/bytes.ts";
import { encodeCanonicalJson } from "../bytes/canonical-json.ts";
import { tagged } from "../hash/tagged-hash.ts";
import type { JobTerms } from "./job.ts";
import type { JobSpec } from "./job-spec.ts";

/**
 * JobEscrow's terms, docs/chain.md §11, as JSON says them: bytes as 0x…, numbers of more than 53 bits as
 * decimal text.
 */
export interface EscrowTermsText {
	readonly customer: string;
	readonly salt: string;
	readonly program: string;
	readonly inputs: string;
	readonly spec: string;
	readonly seed: string;
	readonly start: string;
	readonly segments: string;
	readonly parts: number;
	readonly price: string;
	readonly fee: string;
	readonly audit: string;
	readonly bond: string;
	readonly startBy: string;
	readonly workSeconds: number;
	readonly windowSeconds: number;
	readonly checkedSeconds: number;
	readonly method: number;
	readonly quorum: number;
	readonly validators: readonly string[];
}

export interface JobOffer {
	readonly id: string;
	readonly terms: JobTerms;
	/** Null: nothing is paid on a chain. */
	readonly escrow: { readonly chainId: number; readonly contract: string; readonly terms: EscrowTermsText } | null;
	/** The customer's own: two jobs of the same terms need two. */
	readonly salt: string;
	/** Segments from one kept state to the next. */
	readonly perWindow: number;
	/** Of the secret in this job's draws; told when the job is over. */
	readonly secretCommitment: string;
	readonly untilMs: number;
	/** The validator's Ed25519, of `jobOfferHash`. */
	readonly signature: string;
}

const canonical = (value: unknown): Uint8Array => utf8ToBytes(encodeCanonicalJson(value));

/** What the validator signs. */
export function jobOfferHash(offer: Omit<JobOffer, "signature">): Uint8Array {
	const { id, terms, escrow, salt, perWindow, secretCommitment, untilMs } = offer;
	return tagged("assay/job-offer/1", canonical({ id, terms, escrow, salt, perWindow, secretCommitment, untilMs }));
}

/**
 * What the escrow's terms hold of the spec: the draws' commitment with it, so that whoever funds the job
 * binds both.
 */
export function jobSpecHash(spec: JobSpec, secretCommitment: string): Uint8Array {
	return tagged("assay/job-spec/1", hexToBytes(secretCommitment, 32)!, canonical(spec));
}

/** The name of a job that no chain knows; and what its secret is made of, with or without a chain. */
export function jobTermsHash(terms: JobTerms, spec: JobSpec, salt: string): Uint8Array {
	return tagged("assay/job-terms/1", hexToBytes(salt, 32)!, canonical({ spec, terms }));
}

/** What an assignment names of a draw: everything but its secret. */
export function drawHash(draw: object): string {
	return bytesToHex(tagged("assay/job-drawn/1", canonical(draw)));
}

// Offers of jobs: made, signed and read back. Nothing of them is kept: whoever floods quotes fills no table.
// A job's secret, which its draws take, follows from the validator's key and the terms, so that every process
// of a validator and every restart knows it, and nobody else does before it is told.
import { type JobTerms as EscrowTerms, jobIdOf } from "../../../chain/contracts/job-escrow.ts";
import { jobTermsFromText, jobTermsToText } from "../../../chain/contracts/job-terms-text.ts";
import { secretCommitment } from "../../../market/jobs/draw.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { sha256Of, tagged } from "../../../protocol/hash/tagged-hash.ts";
import { type JobTerms, METHOD_NUMBERS } from "../../../protocol/network/job.ts";
import { type JobOffer, jobOfferHash, jobSpecHash, jobTermsHash } from "../../../protocol/network/job-offer.ts";
import type { JobSpec } from "../../../protocol/network/job-spec.ts";
import { isSignature, type Signer } from "../../../protocol/probe/signer.ts";
import type { JobWork } from "../../../work/program/job-work.ts";
import { type JobChain, PER_MICRO } from "./job-chain.ts";

/** What a customer has to fund and submit. */
const OFFER_MS = 10 * 60_000;

export interface Wish {
	readonly spec: JobSpec;
	readonly terms: JobTerms;
	/** Null: without a chain. */
	readonly account: string | null;
	readonly salt: string;
	readonly perWindow: number;
}

/**
 * Ed25519 signatures are the same each time: of a message that is never told, one is a secret that only the
 * key's holder can make.
 */
function secretOf(signer: Signer, { spec, terms, salt }: Pick<Wish, "spec" | "terms" | "salt">): string {
	const message = tagged("assay/job-secret/1", utf8ToBytes("of"), jobTermsHash(terms, spec, salt));
	return bytesToHex(sha256Of(signer.sign(message)));
}

/** The secret of a job's draws: told when it is over. */
export function secretOfJob(
	signer: Signer,
	{ spec, offer }: { readonly spec: JobSpec; readonly offer: JobOffer },
): string {
	return secretOf(signer, { spec, terms: offer.terms, salt: offer.salt });
}

function escrowTerms(wish: Wish, work: Pick<JobWork, "start">, commitment: string, chain: JobChain): EscrowTerms {
	const { spec, terms, account, salt } = wish;
	const hex = (value: string): Hex => `0x${value}`;
	const amount = (micros: number) => BigInt(micros) * PER_MICRO;
	return {
		...{ customer: account as Hex, salt: hex(salt), program: hex(terms.program), inputs: hex(terms.inputs) },
		spec: hex(bytesToHex(jobSpecHash(spec, commitment))),
		...{ seed: hex(spec.seed), start: hex(work.start), segments: BigInt(terms.segments), parts: terms.parts },
		...{ price: amount(terms.priceMicros), fee: amount(terms.feeMicros), audit: amount(terms.auditMicros) },
		...{ bond: amount(terms.bondMicros), startBy: BigInt(terms.startByMs / 1000) },
		...{ workSeconds: terms.workMs / 1000, windowSeconds: terms.windowMs / 1000 },
		checkedSeconds: terms.checkedMs / 1000,
		...{ method: METHOD_NUMBERS[terms.method.name], quorum: 1, validators: [chain.account] },
	};
}

export function makeOffer(
	wish: Wish,
	work: Pick<JobWork, "start">,
	by: { readonly signer: Signer; readonly chain: JobChain | null; readonly nowMs: number },
): JobOffer {
	const { terms, salt, perWindow, spec } = wish;
	const commitment = secretCommitment(secretOf(by.signer, wish));
	const own = by.chain === null ? null : escrowTerms(wish, work, commitment, by.chain);
	const id = own === null ? bytesToHex(jobTermsHash(terms, spec, salt)) : jobIdOf(own).toString(16).padStart(64, "0");
	const offer = {
		...{ id, terms, salt, perWindow, secretCommitment: commitment },
		escrow:
			own === null || by.chain === null
				? null
				: { chainId: by.chain.chainId, contract: by.chain.escrow, terms: jobTermsToText(own) },
		untilMs: Math.min(by.nowMs + OFFER_MS, terms.startByMs),
	};
	return { ...offer, signature: bytesToHex(by.signer.sign(jobOfferHash(offer))) };
}

/** Of this validator, for this caller and this spec, and in time. Throws JOB_OFFER, JOB_OFFER_EXPIRED. */
export function mustBeOurs(
	offer: JobOffer,
	{
		spec,
		customer,
		signer,
		nowMs,
	}: { readonly spec: JobSpec; readonly customer: string; readonly signer: Signer; readonly nowMs: number },
): void {
	const other = (why: string) => new AssayError("JOB_OFFER", `the offer cannot be used: ${why}`);
	if (!isSignature(signer.key, offer.signature, jobOfferHash(offer))) throw other("this validator did not sign it");
	if (offer.terms.customer !== customer) throw other("it was made for somebody else");
	// The secret, and so its commitment, is one of spec, terms and salt.
	if (secretCommitment(secretOfJob(signer, { spec, offer })) !== offer.secretCommitment)
		throw other("it was made for another spec");
	if (nowMs > offer.untilMs) throw new AssayError("JOB_OFFER_EXPIRED", "the offer has run out");
}

export const escrowTermsOf = (offer: JobOffer): EscrowTerms | null =>
	offer.escrow === null ? null : jobTermsFromText(offer.escrow.terms);

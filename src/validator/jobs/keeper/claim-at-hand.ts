// A claim with everything that its verification needs, from the job's rows and blobs; and when its blobs
// become readable.

import { claimOfTerms } from "../../../market/jobs/claim-of-terms.ts";
import { partRange } from "../../../market/jobs/job-rules.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { JobPart } from "../../../protocol/network/job.ts";
import { auditHolder, jobHolder } from "../blobs/blob-holders.ts";
import type { ClaimAtHand } from "../evidence/claim-at-hand.ts";
import { type DrawSource, drawnAccount } from "./draw-part.ts";
import type { Job, JobContext } from "./job-context.ts";
import { escrowTermsOf } from "./job-offers.ts";
import { type BeginSource, beginOf } from "./part-offer.ts";
import { type ClaimBody, keepClaim, readStates } from "./take-claim.ts";

/** What a claim is put together from. */
export type ClaimSource = BeginSource & DrawSource & Pick<JobContext, "blobs">;

async function claimBody(store: JobContext["store"], { claim }: JobPart): Promise<ClaimBody> {
	const row = claim === null ? null : await store.jobs.claim(claim);
	if (row === null) throw new AssayError("JOB_STATE", "there is no claim of this part");
	return row.body as unknown as ClaimBody;
}

export async function claimAtHand(context: ClaimSource, job: Job, number: number): Promise<ClaimAtHand> {
	const part = job.record.parts[number]!;
	const body = await claimBody(context.store, part);
	const { count } = partRange(job.offer.terms, number);
	const { begin } = await beginOf(context, job, number);
	return {
		...{ job: job.id, spec: job.spec, part: number, attempt: part.attempt, provider: part.provider!, begin },
		account: await drawnAccount(context, job, part),
		escrow: escrowTermsOf(job.offer),
		claim: claimOfTerms(job.offer, number, body),
		end: { state: body.state, results: body.results, holder: auditHolder(job.id) },
		states: await readStates(context.blobs, auditHolder(job.id), body.states, count + 1),
	};
}

/**
 * Whether auditors may read what a part begins with. A provider goes on with its next part before its last
 * one is checked; as long as that one's claim is kept from auditors, the next part is not run again either.
 */
export async function isBeginOpen(
	context: BeginSource & Pick<JobContext, "blobs">,
	job: Job,
	number: number,
): Promise<boolean> {
	const before = job.record.parts[number - 1];
	if (before === undefined || before.state !== "claimed" || before.isChecked) return true;
	// Should that one fall, this one falls with it.
	if (before.isDisputed) return false;
	const { begin } = await beginOf(context, job, number);
	const open = new Set((await context.blobs.held(jobHolder(job.id))).map(({ root, size }) => `${root}/${size}`));
	return [...begin!.state, ...begin!.results].every(({ root, size }) => open.has(`${root}/${size}`));
}

/**
 * Everybody who has to do with the job may read what was claimed: nobody has to compute it blind any more.
 * Safe to repeat. Of a claim that the chain alone has there is nothing to be read. `isLast` false: another
 * part is built on it, so the list of its states is all that the job's result takes of it.
 */
export async function releaseClaim(
	{ store, blobs }: Pick<JobContext, "store" | "blobs">,
	job: Job,
	number: number,
	{ isLast = true } = {},
): Promise<void> {
	const part = job.record.parts[number]!;
	if (part.claim === null) return;
	const body = await claimBody(store, part);
	await keepClaim(blobs, auditHolder(job.id), jobHolder(job.id), isLast ? body : { ...body, state: [], results: [] });
}

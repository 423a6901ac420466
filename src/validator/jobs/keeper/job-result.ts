// What a job gave: the claims of its parts, and the tensors that the last of them ends with. The customer has
// it as soon as nobody must compute it blind. Of a job that was given back from some part on, it is what the
// parts before that one gave.
import type { JobResult } from "../../../api/types.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { methodOf } from "../../../verify/methods/methods.ts";
import { releaseClaim } from "./claim-at-hand.ts";
import { knownDraw } from "./draw-part.ts";
import type { Job, JobContext } from "./job-context.ts";
import type { ClaimBody } from "./take-claim.ts";

/** Checked, paid, or known not to be run again by anybody. */
async function isShown(context: JobContext, job: Job, number: number): Promise<boolean> {
	const part = job.record.parts[number]!;
	if (part.state === "paid" || (part.state === "claimed" && part.isChecked)) return true;
	if (part.state !== "claimed" || !methodOf(job.offer.terms.method).isOpen || part.audits.length > 0) return false;
	// A little later than the draw: whether it is run again is decided from it.
	const draw = await knownDraw(context, job, { part: number, attempt: part.attempt, role: 2 });
	return draw !== null && context.env.nowMs() > draw.atMs + DECIDED_MS;
}

const DECIDED_MS = 30_000;

/** Throws JOB_STATE before it is there, JOB_RESULT_EXPIRED after it was removed. */
export async function jobResult(context: JobContext, job: Job): Promise<JobResult> {
	const { store, works } = context;
	const parts: { part: number; claim: string; states: ClaimBody["states"] }[] = [];
	let last: ClaimBody | null = null;
	const { length } = job.record.parts.filter(({ state }) => state !== "refunded");
	for (const { part, claim, state } of job.record.parts) {
		if (state === "refunded" && last !== null) break;
		if (claim === null || !(await isShown(context, job, part))) {
			const what = state === "refunded" ? "was given back, and none before it was done" : "is not there yet";
			throw new AssayError("JOB_STATE", `part ${part + 1} ${what}`, { hint: "Look at the job's state." });
		}
		last = (await store.jobs.claim(claim))!.body as unknown as ClaimBody;
		// Of parts in the middle the job holds the states' list alone, once they are paid.
		await releaseClaim(context, job, part, { isLast: part === length - 1 }).catch((error: unknown) => {
			if (!(error instanceof AssayError) || error.code !== "BLOB_UNKNOWN") throw error;
			throw new AssayError("JOB_RESULT_EXPIRED", "the result was kept for its time, and removed");
		});
		parts.push({ part, claim, states: last.states });
	}
	const { state, results } = await works.ofJob(job);
	const named = (tensors: typeof state, blobs: ClaimBody["state"]) =>
		tensors.map(({ tensor, size }, i) => ({ tensor, size, root: blobs[i]!.root }));
	return { parts, state: named(state, last!.state), results: named(results, last!.results) };
}

// A claimed part of a zk job, docs/zk.md §12: nobody is drawn and nothing is run again. Whoever likes proves
// its segments; the record follows how far they are, and that the claim is proven when the chain says so. A
// claim that is not proven by the end of a second window falls.
import * as transitions from "../../../market/jobs/transitions.ts";
import type { JobPart } from "../../../protocol/network/job.ts";
import { releaseClaim } from "../keeper/claim-at-hand.ts";
import { changeJob, type Job, type JobContext } from "../keeper/job-context.ts";
import { escrowTermsOf } from "../keeper/job-offers.ts";
import { provenNews } from "./proven-news.ts";

/** True: something was done, look again. */
export async function followProofs(context: JobContext, job: Job, part: JobPart): Promise<boolean> {
	const { jobChain, env } = context;
	if (part.state !== "claimed" || jobChain === null) return false;
	// Provers need what it was given, and its customer the end: to see that trees of it are true.
	await releaseClaim(context, job, part.part);
	const id = BigInt(`0x${job.id}`);
	const news = await provenNews(jobChain.zk, job, part);
	if (news !== null) {
		await changeJob(context, job, news);
		return true;
	}
	const found = await jobChain.part(id, part.part);
	if (found.state !== "claimed" || !(await jobChain.zk.isProven(id, part.part, found.attempt))) return false;
	await changeJob(context, job, transitions.checked(job.record, part.part, env.nowMs()));
	return true;
}

/**
 * Its second window is over: paid if it is proven after all, else open again. The record follows the chain.
 */
export async function endOfProofs({ jobChain }: JobContext, job: Job, part: JobPart): Promise<boolean> {
	const terms = escrowTermsOf(job.offer);
	if (terms === null || jobChain === null) return false;
	const id = BigInt(`0x${job.id}`);
	const found = await jobChain.part(id, part.part);
	if (found.state !== "claimed") return false;
	const attempt = { job: id, part: part.part, attempt: found.attempt };
	if (await jobChain.zk.isProven(id, part.part, found.attempt)) {
		const before = part.part === 0 ? null : await jobChain.part(id, part.part - 1);
		if (before?.state === "claimed") return false;
		await jobChain.settle(terms, attempt);
		return true;
	}
	if ((await jobChain.nowS()) <= found.untilS + terms.windowSeconds) return false;
	await jobChain.expire(terms, attempt, "claimed");
	return true;
}

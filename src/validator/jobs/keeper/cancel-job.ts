// A customer takes back what nobody has. With a chain the customer does it there, with the account that
// funded the job; the record follows.
import * as transitions from "../../../market/jobs/transitions.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { JobPart } from "../../../protocol/network/job.ts";
import { followChain } from "./follow-chain.ts";
import type { JobChain } from "./job-chain.ts";
import { changeUntilDone, type Job, type JobContext, loadJob } from "./job-context.ts";

const TOO_LATE = "The part at work is finished and paid. If its host is lost, cancel again.";

const tooLate = (why: string, hint: string) =>
	new AssayError("JOB_STATE", `nothing can be cancelled: ${why}`, { hint });

export async function cancelJob(context: JobContext, id: string): Promise<Job> {
	const { jobChain, env } = context;
	const before = (await loadJob(context, id))!;
	if (before.offer.escrow !== null && jobChain !== null) {
		const follow = async () => followChain(context, jobChain, (await loadJob(context, id))!, { maySend: true });
		while ((await follow()) === "changed");
		const job = (await loadJob(context, id))!;
		const open = job.record.parts.filter(({ state }) => state === "open");
		// What is given back there, and not deep enough yet, the record has open until it is.
		if (open.length > 0 && (await areGivenBack(jobChain, job, open))) return job;
		if (open.length > 0)
			throw tooLate(
				"the escrow still holds its funds",
				"Send `cancel` with the account that funded it, then ask again.",
			);
		if (!job.record.parts.some(({ state }) => state === "refunded"))
			throw tooLate("every part is assigned or done", TOO_LATE);
		return job;
	}
	let isAny = false;
	const job = await changeUntilDone(context, id, async ({ record }) => {
		const open = record.parts.find(({ state }) => state === "open");
		if (open === undefined) return null;
		isAny = true;
		return transitions.refunded(record, open.part, env.nowMs(), "customer");
	});
	return isAny ? cancelJob(context, job.id) : orTooLate(job);
}

async function areGivenBack(chain: JobChain, { id }: Job, parts: readonly JobPart[]): Promise<boolean> {
	const job = BigInt(`0x${id}`);
	const { isFunded, end } = await chain.job(job);
	if (!isFunded) return false;
	for (const { part } of parts) if (part < end && (await chain.part(job, part)).state !== "refunded") return false;
	return true;
}

function orTooLate(job: Job): Job {
	if (job.record.parts.some(({ state }) => state === "refunded")) return job;
	throw tooLate("every part is assigned or done", TOO_LATE);
}

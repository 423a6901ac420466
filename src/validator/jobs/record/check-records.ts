// Records that are over are looked at no more. So at each start those of which something was given back are
// held against the escrow once: what was taken for refunded by a mistake, or stands in the backup that this
// database was restored from, follows its chain like any other.
import { followChain } from "../keeper/follow-chain.ts";
import type { JobChain } from "../keeper/job-chain.ts";
import { type JobContext, loadJob } from "../keeper/job-context.ts";

/** The newest; each costs a question and one for each part. */
const MAX_JOBS = 1000;

export async function checkRecords(context: JobContext, chain: JobChain): Promise<void> {
	const { store, log, stopping } = context;
	for (const id of await store.jobs.givenBack({ limit: MAX_JOBS })) {
		if (stopping.aborted) return;
		try {
			for (let isNew = true; isNew && !stopping.aborted; ) {
				const job = await loadJob(context, id);
				if (job === null || job.offer.escrow === null) break;
				isNew = (await followChain(context, chain, job, { maySend: true, isWhole: true })) === "changed";
				if (isNew) log.warn({ job: id }, "jobs: its record was wrong, and follows the chain again");
			}
		} catch (error) {
			log.warn({ job: id, err: error }, "jobs: a record could not be held against the chain");
		}
	}
}

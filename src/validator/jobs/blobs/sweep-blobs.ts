// Which blobs go, docs/jobs.md §12: uploads that nobody went on with, what callers hold without a sign of
// interest, what jobs held that are long over. What a job holds that is not over stays, whatever else
// happens. Done by the process that has the folder.
import type { BlobStore } from "../../../store/blobs/blob-store.ts";
import type { ValidatorContext } from "../../validator-context.ts";
import { auditHolder, jobHolder } from "./blob-holders.ts";

/** A job's, or an answer of its auditors. */
const OF_JOB = /^[a-z]+-([0-9a-f]{64})$/;
/** Jobs a round. */
const MOST_JOBS = 1000;

export async function sweepBlobs(
	{ store, env, config }: Pick<ValidatorContext, "store" | "env" | "config">,
	blobs: BlobStore,
): Promise<void> {
	const { jobKeepMs, jobUploadMs } = config.params;
	const nowMs = env.nowMs();
	const idleBeforeMs = Math.max(0, nowMs - jobUploadMs);
	await blobs.sweep(idleBeforeMs);
	const over = await store.jobs.uncleared({ beforeMs: Math.max(0, nowMs - jobKeepMs), limit: MOST_JOBS });
	for (const id of over) {
		for (const holder of [jobHolder(id), auditHolder(id)]) await blobs.releaseAll(holder);
		await store.jobs.cleared(id);
	}
	for (const holder of await blobs.idleHolders(idleBeforeMs)) {
		const job = OF_JOB.exec(holder)?.[1];
		// A process that was killed while a job was handed in left blobs of a job that is none.
		if (job === undefined || (await store.jobs.summary(job)) === null) await blobs.releaseUnused(holder, idleBeforeMs);
	}
	await store.jobs.pruneEvents({ beforeMs: Math.max(0, nowMs - config.keepHistoryMs) });
}

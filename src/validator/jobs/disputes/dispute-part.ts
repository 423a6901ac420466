// A claim that was found false, or whose claimant says nothing: everybody may read it, and the validator
// brings it before the chain itself. Its word alone holds nobody's money: a dispute that no game follows
// lapses, and then the claim has its window. docs/jobs.md §14.
import * as transitions from "../../../market/jobs/transitions.ts";
import type { JobAudit, JobPart } from "../../../protocol/network/job.ts";
import { auditHolder } from "../blobs/blob-holders.ts";
import type { AuditAtHand } from "../evidence/auditor-of.ts";
import { claimAtHand, releaseClaim } from "../keeper/claim-at-hand.ts";
import type { JobChain } from "../keeper/job-chain.ts";
import { changeJob, type Job, type JobContext } from "../keeper/job-context.ts";
import { readStates } from "../keeper/take-claim.ts";
import type { Played } from "./play-dispute.ts";

/**
 * Whether the search can be led from there whatever the claimant says: the validator's own run must begin
 * where the part does, and a drawn auditor was given its first state.
 */
export const isPlayable = ({ agrees, answer, auditor, first }: JobAudit): boolean =>
	agrees === false && answer !== null && (auditor !== null || first === 0);

async function auditAtHand({ blobs }: Pick<JobContext, "blobs">, job: Job, part: JobPart): Promise<AuditAtHand | null> {
	const at = part.audits.findIndex(isPlayable);
	if (at < 0) return null;
	const { auditor, first, count, answer, inside } = part.audits[at]!;
	const name = { root: answer!, size: 32 * (count + 1) };
	return { at, auditor, first, count, inside, states: await readStates(blobs, auditHolder(job.id), name, count + 1) };
}

/** Files that were made of it before: they are proven whatever anybody answers now. */
async function knownFrauds({ store }: Pick<JobContext, "store">, job: Job, part: JobPart): Promise<string[]> {
	const { rows } = await store.jobs.frauds({ job: job.id });
	return rows.filter((row) => row.part === part.part && row.attempt === part.attempt).map(({ hash }) => hash);
}

async function play(context: JobContext, job: Job, part: JobPart, frauds: readonly string[]): Promise<Played> {
	const { store, evidence, log } = context;
	const claim = await claimAtHand(context, job, part.part);
	for (const hash of frauds) {
		const { file } = (await store.jobs.fraud(hash))!;
		if ((await evidence.prove({ claim, file })) !== null) return { kind: "convicted", why: `by ${hash}` };
	}
	const audit = await auditAtHand(context, job, part);
	if (audit === null) return { kind: "unable", why: "no audit of it is at hand" };
	const onAsked = (kind: string) => log.warn({ job: job.id, part: part.part, kind }, "jobs: asked on chain");
	return context.playDispute(claim, audit, onAsked);
}

/** True: the record changed. */
export async function disputePart(context: JobContext, chain: JobChain, job: Job, number: number): Promise<boolean> {
	const { env, config, disputes } = context;
	const part = job.record.parts[number]!;
	await releaseClaim(context, job, number);
	const name = `${job.id}/${number}/${part.attempt}/dispute`;
	const frauds = await knownFrauds(context, job, part);
	const right = disputes.rightOf(name);
	const id = BigInt(`0x${job.id}`);
	const isHeld = async () => chain.isHeld(id, number, await chain.part(id, number));
	// What came to nothing in all that time is not run again all day; what is on the chain is gone on with.
	if (right === null && (part.isDisputed || frauds.length > 0 || (await isHeld())))
		disputes.play(name, () => play(context, job, part, frauds));
	if (!part.isDisputed) return false;
	const isInTime = env.nowMs() <= part.disputedAtMs! + config.params.jobDisputeMs;
	if (right === null && (isInTime || (await isHeld()))) return false;
	const why = right ?? "nobody asked about it on chain";
	return (await changeJob(context, job, transitions.undisputed(job.record, number, why, frauds.length > 0))) !== null;
}

// Brings a job's record up to what the escrow on chain says, and the escrow to what the record says. The
// chain is read anew at every look: whoever was killed between a transaction and its row finds it there.
import { claimCommitment } from "../../../chain/contracts/job-escrow.ts";
import { type EscrowPart, escrowNews, mustExpire } from "../../../market/jobs/follow-escrow.ts";
import { isOver } from "../../../market/jobs/job-rules.ts";
import type { Transition } from "../../../market/jobs/transitions.ts";
import * as transitions from "../../../market/jobs/transitions.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { JobPart, JobRecord } from "../../../protocol/network/job.ts";
import type { JobClaimRow } from "../../../store/jobs/job-rows.ts";
import { methodOf } from "../../../verify/methods/methods.ts";
import { provenNews } from "../proofs/proven-news.ts";
import { payForConviction } from "./audit-pay.ts";
import { releaseClaim } from "./claim-at-hand.ts";
import { drawnAccount } from "./draw-part.ts";
import { type ChainJob, type JobChain, restOf } from "./job-chain.ts";
import { changeJob, type Job, type JobContext } from "./job-context.ts";
import { escrowTermsOf } from "./job-offers.ts";
import type { ClaimBody } from "./take-claim.ts";

/** Claims of this attempt that were stored, newest first. */
export async function storedClaims({ store }: JobContext, job: string, part: JobPart): Promise<readonly JobClaimRow[]> {
	const { rows } = await store.jobs.claims({ job, limit: 500 });
	return rows.filter((row) => row.part === part.part && row.attempt === part.attempt);
}

async function newsOf(
	context: JobContext,
	chain: JobChain,
	job: Job,
	part: JobPart,
	{ isCancelled, found }: { readonly isCancelled: boolean; readonly found: EscrowPart },
): Promise<Transition | null> {
	const { record, offer } = job;
	const nowMs = context.env.nowMs();
	const at = part.part;
	const account = await drawnAccount(context, job, part);
	const isProven = methodOf(offer.terms.method).driver === "proofs";
	const news = escrowNews(part, offer.terms, found, { account, isCancelled });
	switch (news?.kind) {
		case undefined:
			return null;
		case "accepted":
			return transitions.accepted(record, at, news.atMs);
		case "claimed": {
			const kept = await chain.commitment(BigInt(`0x${job.id}`), at, found.attempt);
			const rows = await storedClaims(context, job.id, part);
			const row = rows.find(({ hash, body }) => claimCommitment(hash, (body as unknown as ClaimBody).last) === kept);
			// What is not one that we stored has no signature of ours: another validator's business.
			return row === undefined ? null : transitions.claimed(record, at, row.hash, news.atMs);
		}
		case "checked":
			return transitions.checked(record, at, Math.min(news.atMs, part.untilMs));
		case "settled":
			// Whoever settled it may have been quicker than our last look at its proofs.
			return (
				(isProven ? await provenNews(chain.zk, job, part) : null) ??
				transitions.settled(record, at, Math.max(nowMs, part.untilMs + 1))
			);
		case "fell": {
			const isUnproven =
				isProven && account !== null && (await chain.conviction(BigInt(`0x${job.id}`), at, account)) === null;
			return isUnproven ? transitions.unproven(record, at) : transitions.convicted(record, at);
		}
		case "refunded":
			return transitions.refunded(record, at, nowMs, "customer");
	}
}

/** Whether fees and rests wait, and the record is about to be over: nobody looks at it afterwards. */
const hasRest = ({ offer }: Job, record: JobRecord, whole: ChainJob): boolean =>
	isOver(record) && restOf(escrowTermsOf(offer)!, whole) > 0n;

/**
 * True: the record changed; look again. `maySend`: false where another process may be the one that sends;
 * what needs it waits for that one.
 */
export async function followChain(
	context: JobContext,
	chain: JobChain,
	job: Job,
	{ maySend }: { readonly maySend: boolean },
): Promise<boolean> {
	const id = BigInt(`0x${job.id}`);
	const whole = await chain.job(id);
	for (const part of job.record.parts) {
		if (part.state === "paid" || part.state === "refunded") continue;
		const isUntouched = part.part >= whole.touched;
		if (isUntouched && part.part < whole.end && part.state === "open") continue;
		const found = await chain.part(id, part.part);
		const news = await newsOf(context, chain, job, part, { isCancelled: part.part >= whole.end, found });
		if (news === null) continue;
		const isFallen = part.state === "claimed" && news.record.parts[part.part]!.state === "open";
		const isLast = hasRest(job, news.record, whole);
		if (!maySend && (isFallen || isLast)) return false;
		const account = isFallen ? await drawnAccount(context, job, part) : null;
		if (account !== null) await payForConviction(context, chain, job, part, account);
		if (isLast) await chain.share(escrowTermsOf(job.offer)!);
		// Whoever had it checked on chain: nobody is kept from copying any more, and everybody may look for what
		// is false in it until it is paid.
		if (!part.isChecked && news.record.parts[part.part]!.isChecked) await releaseClaim(context, job, part.part);
		await changeJob(context, job, news);
		return true;
	}
	return false;
}

/**
 * Whether the escrow would let somebody be assigned the open part now; it is told first that whoever had it
 * has it no more.
 */
export async function isFreeOnChain(chain: JobChain, { id, offer }: Job, part: JobPart): Promise<boolean> {
	const job = BigInt(`0x${id}`);
	const found = await chain.part(job, part.part);
	if (found.state === "untouched" || found.state === "open") return true;
	if (mustExpire(part, found, await chain.nowS()) === null) return false;
	await expired(() =>
		chain.expire(escrowTermsOf(offer)!, { job, part: part.part, attempt: found.attempt }, found.state),
	);
	return false;
}

/** The customer's again, once nobody may be assigned. The record follows the chain at the next look. */
export async function refundOnChain(chain: JobChain, { id, offer }: Job, part: JobPart): Promise<void> {
	const [job, terms] = [BigInt(`0x${id}`), escrowTermsOf(offer)!];
	if ((await chain.nowS()) <= Number(terms.startBy)) return;
	const found = await chain.part(job, part.part);
	if (found.state === "untouched") await expired(() => chain.cancel(terms));
	else if (found.state === "open")
		await expired(() => chain.expire(terms, { job, part: part.part, attempt: found.attempt }, "open"));
	else await isFreeOnChain(chain, { id, offer } as Job, part);
}

/** The contract may still say no, by a second or because a claim stands: the next look tries again. */
async function expired(send: () => Promise<unknown>): Promise<void> {
	await send().catch((error: unknown) => {
		if (!(error instanceof AssayError) || error.code !== "CHAIN_REFUSED") throw error;
	});
}

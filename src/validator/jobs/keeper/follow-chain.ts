// Brings a job's record up to what the escrow on chain says, and the escrow to what the record says. The
// chain is read anew at every look: whoever was killed between a transaction and its row finds it there.
import { claimCommitment } from "../../../chain/contracts/job-escrow.ts";
import { endMs, mustTell } from "../../../market/jobs/follow-escrow.ts";
import { holdersOf, isOver, type Recovery } from "../../../market/jobs/job-rules.ts";
import type { Transition } from "../../../market/jobs/transitions.ts";
import * as transitions from "../../../market/jobs/transitions.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { JobPart, JobRecord } from "../../../protocol/network/job.ts";
import type { JobClaimRow } from "../../../store/jobs/job-rows.ts";
import { methodOf } from "../../../verify/methods/methods.ts";
import { provenNews } from "../proofs/proven-news.ts";
import { type ChainPart, lasts, lookAtPart, type PartLook } from "../record/look-at-part.ts";
import { payForConviction } from "./audit-pay.ts";
import { releaseClaim } from "./claim-at-hand.ts";
import { drawnAccount, knownDraw } from "./draw-part.ts";
import { type ChainJob, type JobChain, restOf } from "./job-chain.ts";
import { changeJob, type Job, type JobContext } from "./job-context.ts";
import { escrowTermsOf } from "./job-offers.ts";
import type { ClaimBody } from "./take-claim.ts";

/** Claims of this attempt that were stored, newest first. */
export async function storedClaims(
	{ store }: JobContext,
	job: string,
	part: Pick<JobPart, "part" | "attempt">,
): Promise<readonly JobClaimRow[]> {
	const { rows } = await store.jobs.claims({ job, limit: 500 });
	return rows.filter((row) => row.part === part.part && row.attempt === part.attempt);
}

type Found = Pick<PartLook, "found" | "holder" | "offMs"> & { readonly isPaid: boolean };

/** How the chain has a part that the record had given up, or never knew of. */
async function recovery(
	context: JobContext,
	chain: JobChain,
	job: Job,
	part: JobPart,
	{ found, holder, offMs, isPaid }: Found,
): Promise<Recovery> {
	const { store, hosts, env } = context;
	const [id, at] = [BigInt(`0x${job.id}`), part.part];
	const kept = await chain.commitment(id, at, found.attempt);
	const { rows } = await store.jobs.claims({ job: job.id, limit: 500 });
	const isIts = ({ part: of, hash, body }: JobClaimRow) =>
		of === at && claimCommitment(hash, (body as unknown as ClaimBody).last) === kept;
	const row = rows.find(isIts) ?? null;
	const draw = holder === null ? null : await knownDraw(context, job, { part: at, attempt: holder, role: 0 });
	const known = holder === null ? (await hosts.known()).find(({ account }) => account === found.provider) : undefined;
	const frauds = (await store.jobs.frauds({ job: job.id })).rows;
	const claimedAtMs = row?.atMs ?? env.nowMs();
	return {
		...{ holder, isPaid, isAlone: found.isAlone, isChecked: found.isChecked },
		...{ provider: known?.provider ?? null, claim: row?.hash ?? null, claimedAtMs },
		...{ untilMs: endMs(found.untilS) + offMs, assignedAtMs: draw?.atMs ?? claimedAtMs },
		isDisputed: frauds.some((one) => one.part === at && one.attempt === holder),
	};
}

/** Null: there is no news, or none yet that lasts. */
async function newsOf(
	context: JobContext,
	chain: JobChain,
	job: Job,
	part: JobPart,
	look: PartLook,
): Promise<Transition | "behind" | null> {
	const { record, offer } = job;
	const { news, found } = look;
	const nowMs = context.env.nowMs();
	const at = part.part;
	const isProven = methodOf(offer.terms.method).driver === "proofs";
	const recovered = async (isPaid: boolean) =>
		transitions.recovered(record, at, await recovery(context, chain, job, part, { ...look, isPaid }));
	switch (news?.kind) {
		case undefined:
			return null;
		case "behind":
			return "behind";
		case "accepted":
			// The chain took it in time, and the two clocks are never quite the same: it is in time here too.
			return transitions.accepted(record, at, Math.min(news.atMs, part.untilMs));
		case "taken": {
			// ATTACK: one that declines, and keeps the part from everybody by the assignment that it had fetched,
			// would have declined and no more. What was lost or late since is another matter.
			const isLate = nowMs > news.atMs + offer.terms.workMs;
			const rows = isLate ? [] : await context.store.jobs.partsOf([holdersOf(part)[news.holder - 1]!]);
			const said = rows.filter((row) => row.job === job.id && row.part === at && row.attempt === news.holder);
			return said.some(({ outcome }) => outcome === "declined")
				? transitions.taken(record, at, news.holder, news.atMs, nowMs)
				: null;
		}
		case "claimed": {
			const kept = await chain.commitment(BigInt(`0x${job.id}`), at, found.attempt);
			const rows = await storedClaims(context, job.id, part);
			const row = rows.find(({ hash, body }) => claimCommitment(hash, (body as unknown as ClaimBody).last) === kept);
			// What is not one that we stored has no signature of ours: another validator's, or of before a restore.
			return row === undefined
				? recovered(false)
				: transitions.claimed(record, at, row.hash, Math.min(news.atMs, part.untilMs));
		}
		case "checked":
			return transitions.checked(record, at, Math.min(news.atMs, part.untilMs));
		case "settled":
			if (!(await lasts(chain, job, part, news))) return null;
			// Whoever settled it may have been quicker than our last look at its proofs.
			return (
				(isProven ? await provenNews(chain.zk, job, part) : null) ??
				transitions.settled(record, at, Math.max(nowMs, part.untilMs + 1))
			);
		case "released":
			if (!(await lasts(chain, job, part, news))) return null;
			return transitions.handedBack(record, at, "on chain", nowMs);
		case "fell": {
			const account = await drawnAccount(context, job, part);
			const ended = account === null ? null : await chain.ending(BigInt(`0x${job.id}`), at, account);
			if (ended === null) return "behind";
			if (!ended.lasts) return null;
			if (ended.isConviction) return transitions.convicted(record, at);
			return isProven ? transitions.unproven(record, at) : transitions.openedOnChain(record, at);
		}
		case "recovered":
			return news.isPaid && !(await lasts(chain, job, part, news)) ? null : recovered(news.isPaid);
		case "refunded":
			return (await lasts(chain, job, part, news)) ? transitions.refunded(record, at, nowMs, "customer") : null;
		case "unrefunded":
			return transitions.unrefunded(record, at);
		case "moved":
			return transitions.moved(record, at, news.untilMs);
	}
}

/** Whether fees and rests wait, and the record is about to be over: nobody looks at it afterwards. */
const hasRest = ({ offer }: Job, record: JobRecord, whole: ChainJob): boolean =>
	isOver(record) && restOf(escrowTermsOf(offer)!, whole) > 0n;

/**
 * "changed": look again. "behind": the node does not know what the record knows; nothing follows from it.
 * `maySend`: false where another process may be the one that sends; what needs it waits for that one.
 * `isWhole`: what was given back is looked at too, which is over as long as nobody was wrong.
 */
export async function followChain(
	context: JobContext,
	chain: JobChain,
	job: Job,
	{ maySend, isWhole = false }: { readonly maySend: boolean; readonly isWhole?: boolean },
): Promise<"changed" | "same" | "behind"> {
	const id = BigInt(`0x${job.id}`);
	if (job.offer.escrow!.contract !== chain.escrow) return endWithEscrow(context, job);
	const whole = await chain.job(id);
	// Nothing was handed in that was not funded.
	const late: (number | null)[] = whole.isFunded ? [] : [null];
	for (const part of whole.isFunded ? job.record.parts : []) {
		if (part.state === "paid" || (part.state === "refunded" && !isWhole)) continue;
		const isUntouched = part.part >= whole.touched;
		if (isUntouched && part.part < whole.end && part.state === "open") continue;
		const look = await lookAtPart(context, chain, job, part, whole, context.env.nowMs());
		const news = await newsOf(context, chain, job, part, look);
		if (news === "behind") {
			late.push(part.part);
			if (maySend) await openUnclaimed(chain, job, part, look.found);
			continue;
		}
		if (news === null) continue;
		const isFallen = part.state === "claimed" && news.record.parts[part.part]!.state === "open";
		const isLast = hasRest(job, news.record, whole);
		if (!maySend && (isFallen || isLast)) return "same";
		const account = isFallen ? await drawnAccount(context, job, part) : null;
		if (account !== null) await payForConviction(context, chain, job, part, account);
		if (isLast) await chain.share(escrowTermsOf(job.offer)!);
		// Whoever had it checked on chain: nobody is kept from copying any more, and everybody may look for what
		// is false in it until it is paid.
		if (!part.isChecked && news.record.parts[part.part]!.isChecked && part.claim !== null)
			await releaseClaim(context, job, part.part);
		await changeJob(context, job, news);
		return "changed";
	}
	const name = `job/${job.id}`;
	if (late.length === 0) chain.lateness.current(name);
	else {
		chain.lateness.late(name);
		context.log.warn({ job: job.id, parts: late }, "jobs: the chain's node is behind what this job's record knows");
	}
	return late.length === 0 ? "same" : "behind";
}

/** Its escrow is not this network's any more, and nothing of it can be sent there: what is left is over. */
async function endWithEscrow(context: JobContext, job: Job): Promise<"changed" | "same"> {
	const { record } = job;
	const open = record.parts.find(({ state }) => state === "open");
	const claimed = record.parts.find(({ state }) => state === "claimed");
	if (open === undefined && claimed === undefined) return "same";
	const nowMs = context.env.nowMs();
	await changeJob(
		context,
		job,
		open === undefined
			? transitions.openedOnChain(record, claimed!.part)
			: transitions.refunded(record, open.part, nowMs, "customer"),
	);
	return "changed";
}

/**
 * A claim that was seen, and that the chain took back and never had again: once its time is over the escrow
 * opens it. It refuses where its node is behind.
 */
async function openUnclaimed(chain: JobChain, { id, offer }: Job, { part, state }: JobPart, found: ChainPart) {
	if (state !== "claimed" || found.state !== "assigned" || (await chain.nowS()) <= found.untilS) return;
	const attempt = { job: BigInt(`0x${id}`), part, attempt: found.attempt };
	await expired(() => chain.expire(escrowTermsOf(offer)!, attempt, "assigned"));
}

/**
 * Whether the escrow would let somebody be assigned the open part now; it is told first that whoever had it
 * has it no more, and pays a claim that nobody here knows.
 */
export async function isFreeOnChain(context: JobContext, chain: JobChain, job: Job, part: JobPart): Promise<boolean> {
	const id = BigInt(`0x${job.id}`);
	const whole = await chain.job(id);
	const look = await lookAtPart(context, chain, job, part, whole, context.env.nowMs());
	const { found, isFallen, isCancelled, holder } = look;
	// Given back, and not deep enough yet: the record has it open until then.
	if (isCancelled) return false;
	// Nothing of a cancelled job is assigned.
	if (found.state === "untouched" || found.state === "open") return whole.end >= job.offer.terms.parts;
	const what = mustTell(found, await chain.nowS(), { isFallen, holder });
	const [terms, attempt] = [escrowTermsOf(job.offer)!, { job: id, part: part.part, attempt: found.attempt }];
	if (what === "expire") await expired(() => chain.expire(terms, attempt, found.state));
	if (what === "settle") await expired(() => chain.settle(terms, attempt));
	// What this validator has signed `Stored` for may be claimed at any moment: that word stands until its time
	// is over.
	if (what === "release" && (await storedClaims(context, job.id, { part: part.part, attempt: holder! })).length === 0)
		await expired(() => chain.release(terms, attempt));
	return false;
}

/** The customer's again, once nobody may be assigned. The record follows the chain at the next look. */
export async function refundOnChain(context: JobContext, chain: JobChain, whole: Job, part: JobPart): Promise<void> {
	const [job, terms] = [BigInt(`0x${whole.id}`), escrowTermsOf(whole.offer)!];
	const isPast = (await chain.nowS()) > Number(terms.startBy);
	// The customer took the rest back: what came open since goes the same way.
	if (!isPast && (await chain.job(job)).end >= whole.offer.terms.parts) return;
	const found = await chain.part(job, part.part);
	if (found.state === "untouched") {
		if (isPast) await expired(() => chain.cancel(terms));
	} else if (found.state === "open")
		await expired(() => chain.expire(terms, { job, part: part.part, attempt: found.attempt }, "open"));
	else await isFreeOnChain(context, chain, whole, part);
}

/** The contract may still say no, by a second or because a claim stands: the next look tries again. */
async function expired(send: () => Promise<unknown>): Promise<void> {
	await send().catch((error: unknown) => {
		if (!(error instanceof AssayError) || error.code !== "CHAIN_REFUSED") throw error;
	});
}

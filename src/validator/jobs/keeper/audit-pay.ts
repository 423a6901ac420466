// What those who audited a part get: the work's price and a fifth, of the segments that they ran. Of a
// checked part by the escrow, from the customer's audit budget. Of a convicted one by its accuser, this
// validator, from its quarter of the bond: the escrow pays auditors for what was checked alone.
import { auditPay } from "../../../market/jobs/economics.ts";
import { partRange } from "../../../market/jobs/job-rules.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { JobAudit, JobPart } from "../../../protocol/network/job.ts";
import { isPassing } from "../../../protocol/passing.ts";
import { auditHolder } from "../blobs/blob-holders.ts";
import { claimAtHand } from "./claim-at-hand.ts";
import { type DrawSource, knownDraw } from "./draw-part.ts";
import { type JobChain, PER_MICRO } from "./job-chain.ts";
import type { Job, JobContext } from "./job-context.ts";
import { readStates } from "./take-claim.ts";

export interface AuditPay {
	readonly auditor: Hex;
	readonly pay: bigint;
}

type PaySource = DrawSource & Pick<JobContext, "config">;

/** For these audits, to the accounts that the draw had, until `most` is spent. */
async function payFor(
	{ config, ...source }: PaySource,
	job: Job,
	part: JobPart,
	{ audits, most }: { readonly audits: readonly JobAudit[]; readonly most: bigint },
): Promise<AuditPay[]> {
	const { terms } = job.offer;
	const segments = partRange(terms, part.part).count;
	const draw = await knownDraw(source, job, { part: part.part, attempt: part.attempt, role: 1 });
	const pays = new Map<Hex, bigint>();
	let left = most;
	for (const { auditor, count } of audits) {
		const account = auditor === null ? undefined : draw?.accounts[auditor];
		if (account === undefined) continue;
		const wanted = auditPay(BigInt(terms.priceMicros) * PER_MICRO, count, segments, config.params);
		const pay = wanted < left ? wanted : left;
		left -= pay;
		if (pay > 0n) pays.set(account, (pays.get(account) ?? 0n) + pay);
	}
	return [...pays].map(([auditor, pay]) => ({ auditor, pay }));
}

/** Of a part whose audits all agree. `spent`: of its budget, for claims that were checked and fell. */
export const checkedPay = (context: PaySource, job: Job, part: JobPart, spent: bigint): Promise<AuditPay[]> =>
	payFor(context, job, part, {
		audits: part.audits,
		most: BigInt(job.offer.terms.auditMicros) * PER_MICRO - spent,
	});

/** Who was found to have lied beside the claimant gets nothing. */
async function liarsOf(context: JobContext, job: Job, part: JobPart): Promise<ReadonlySet<string>> {
	const { rows } = await context.store.jobs.frauds({ job: job.id });
	const own = rows.filter((row) => row.part === part.part && row.attempt === part.attempt);
	const known = own.flatMap(({ body }) => (body as { readonly liars?: readonly string[] }).liars ?? []);
	return new Set([...known, ...(await unruledLiars(context, job, part))]);
}

/**
 * ATTACK: a claim falls by one answer, and an auditor that ran nothing would hope to be paid beside it. So
 * where several differ from the claim, each is ruled on: now that it has fallen, since a silent one must not
 * keep it from falling.
 */
async function unruledLiars(context: JobContext, job: Job, { part, audits }: JobPart): Promise<string[]> {
	const differing = [...audits.entries()].filter(([, { auditor, agrees }]) => auditor !== null && agrees === false);
	// The only one is the one that it fell by.
	if (differing.length < 2) return [];
	const claim = await claimAtHand(context, job, part);
	const lied = await Promise.all(
		differing.map(async ([at, { auditor, first, count, answer, inside }]) => {
			try {
				const name = { root: answer!, size: 32 * (count + 1) };
				const states = await readStates(context.blobs, auditHolder(job.id), name, count + 1);
				const { verdict } = await context.evidence.referee({
					claim,
					audit: { at, auditor, first, count, states, inside },
				});
				return verdict === "auditor" || verdict === "both";
			} catch (error) {
				if (!(error instanceof AssayError)) throw error;
				// Whoever cannot be ruled on is not found to have lied.
				context.log.info({ job: job.id, part, audit: at, err: error }, "jobs: an audit was not ruled on");
				return false;
			}
		}),
	);
	return differing.flatMap(([, { auditor }], i) => (lied[i] ? [auditor!] : []));
}

/**
 * Pays everybody whose answer was held against a claim that fell by our proof, before the record forgets
 * them. Told twice it pays once. What cannot be paid is said in the log: a job must not stand still for it.
 */
export async function payForConviction(
	context: JobContext,
	chain: JobChain,
	job: Job,
	part: JobPart,
	/** The claimant's. */
	account: Hex,
): Promise<void> {
	const fallen = await chain.conviction(BigInt(`0x${job.id}`), part.part, account);
	if (fallen === null || fallen.accuser !== chain.account) return;
	const liars = await liarsOf(context, job, part);
	const audits = part.audits.filter(({ agrees, auditor }) => agrees !== null && !liars.has(auditor ?? ""));
	for (const { auditor, pay } of await payFor(context, job, part, { audits, most: fallen.quarter })) {
		const name = `${job.id}/${part.part}/${part.attempt}/auditor/${auditor}`;
		try {
			await chain.pay(name, auditor, pay, { tag: `0x${part.claim!}`, since: fallen.block });
		} catch (error) {
			if (!(error instanceof AssayError) || error.code === "CHAIN_TAKEN" || isPassing(error)) throw error;
			context.log.error({ job: job.id, part: part.part, auditor, err: error }, "jobs: an auditor was not paid");
		}
	}
}

// Routes of claims, questions about them, and fraud files: public. ATTACK: an auditor that could read a
// claim, or ask its maker, would have something to copy; so its states are told, and questions relayed, once
// the job's own parties may read them (validator/jobs/keeper releases a claim when nobody has to compute it
// blind any more).
import type { Handlers } from "../../api/routes.ts";
import type { ClaimCase } from "../../api/types.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { TokenBucket } from "../../platform/token-bucket.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";
import type { JobClaimRow } from "../../store/jobs/job-rows.ts";
import { jobHolder } from "../jobs/blobs/blob-holders.ts";
import { claimAtHand } from "../jobs/keeper/claim-at-hand.ts";
import type { Job, JobContext } from "../jobs/keeper/job-context.ts";
import { mustFindJob } from "../jobs/keeper/part-calls.ts";
import type { ClaimBody } from "../jobs/keeper/take-claim.ts";
import { actorOf, mayReadJob } from "./caller.ts";

export const unknownClaim = (hash: string): AssayError => codedError("CLAIM_UNKNOWN", `there is no claim ${hash}`);

/** Nobody has to compute it blind any more: the job's own parties may read it. */
export async function isReleased({ blobs }: Pick<JobContext, "blobs">, { job, body }: JobClaimRow): Promise<boolean> {
	const { states } = body as unknown as ClaimBody;
	return blobs.read(jobHolder(job), states, 0, 1).then(
		() => true,
		(error: unknown) => {
			if (error instanceof AssayError && error.code === "BLOB_UNKNOWN") return false;
			throw error;
		},
	);
}

/** As everybody may see it. */
export async function shownClaim(context: Pick<JobContext, "blobs">, { body, ...row }: JobClaimRow) {
	const { segmentRoot, resultRoot, first, last, states, state, results, attestation } = body as unknown as ClaimBody;
	const isOpen = await isReleased(context, { body, ...row });
	const ends = isOpen ? { last, states, state, results } : null;
	return { ...row, segmentRoot, resultRoot, first, ends, attestation: attestation ?? null };
}

/**
 * ATTACK: a question is free, and may have its host run a segment and its trace again, whoever asks. So every
 * address has so many seconds of answers an hour; keys cost nothing, and count for nothing here.
 */
const ASKING = { perS: 600 / 3600, burst: 600 };
const MAX_ASKERS = 10_000;

export function createAskBudget(nowMs: () => number) {
	const budgets = new BoundedMap<string, TokenBucket>(MAX_ASKERS);
	return {
		/** Throws RATE_LIMITED; what an answer takes beyond what is left is waited for by the next question. */
		async spend<T>(asker: string, ask: () => Promise<T>): Promise<T> {
			const budget = budgets.get(asker) ?? new TokenBucket(ASKING);
			budgets.set(asker, budget);
			const startedMs = nowMs();
			// One second now, so that many at once do not pass together; the rest when it is known.
			if (!budget.take(startedMs))
				throw new AssayError("RATE_LIMITED", `hosts have answered this address for long; wait ${budget.waitMs()} ms`);
			try {
				return await ask();
			} finally {
				const endedMs = nowMs();
				budget.take(endedMs, -Number.MAX_SAFE_INTEGER, Math.max(0, (endedMs - startedMs) / 1000 - 1));
			}
		},
	};
}

export function claimHandlers(context: JobContext) {
	const { store } = context;
	const asking = createAskBudget(context.env.nowMs);
	const shown = (row: JobClaimRow) => shownClaim(context, row);

	/** Its job, where it stands and nobody has to compute it blind any more. Throws JOB_STATE. */
	const mustStand = async (row: JobClaimRow): Promise<Job> => {
		const job = await mustFindJob(context, row.job);
		const part = job.record.parts[row.part];
		if (part?.claim !== row.hash || part.attempt !== row.attempt)
			throw new AssayError("JOB_STATE", "this claim stands no more: nobody has to answer for it");
		if (!(await isReleased(context, row)))
			throw new AssayError("JOB_STATE", "somebody runs this claim again: an auditor must have nothing to copy", {
				hint: "Ask again when it is checked.",
			});
		return job;
	};

	return {
		async listClaims({ query }) {
			const page = await store.jobs.claims(query);
			return { ...page, rows: await Promise.all(page.rows.map(shown)) };
		},
		async getClaim({ params }) {
			const row = await store.jobs.claim(params.hash);
			if (row === null) throw unknownClaim(params.hash);
			return shown(row);
		},
		async getClaimCase({ params, caller }) {
			const row = await store.jobs.claim(params.hash);
			if (row === null) throw unknownClaim(params.hash);
			const job = await mustStand(row);
			if (!mayReadJob(job, caller))
				throw new AssayError("CALLER_OTHER", "only the parties of this job may read what it was given", {
					hint: "Claims of optimistic and zk jobs are for everyone.",
				});
			const { spec, offer } = job;
			const { account, begin, claim } = await claimAtHand(context, job, row.part);
			const { first: firstSegment, segments } = claim;
			const kept = begin && { state: [...begin.state], results: [...begin.results] };
			const about = { spec, terms: offer.terms, escrow: offer.escrow, account, firstSegment, segments, begin: kept };
			return { ...(await shown(row)), ...about } as unknown as ClaimCase;
		},
		async askClaim({ params, body, caller, address }) {
			const row = await store.jobs.claim(params.hash);
			if (row === null) throw unknownClaim(params.hash);
			const job = await mustStand(row);
			const claim = await claimAtHand(context, job, row.part);
			const ask = () => context.evidence.ask({ claim, question: body.question });
			return job.customer === actorOf(caller) ? ask() : asking.spend(address, ask);
		},
		listFrauds: ({ query }) => store.jobs.frauds(query),
		async getFraud({ params }) {
			const found = await store.jobs.fraud(params.hash);
			if (found === null) throw codedError("FRAUD_UNKNOWN", `there is no fraud file ${params.hash}`);
			return { bytes: found.file, sizeBytes: found.file.length, sha256: found.hash };
		},
	} satisfies Partial<Handlers>;
}

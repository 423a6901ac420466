// What the parts of the job market share, and the one way in which a job changes. Made once by start-jobs.ts.

import { isOver } from "../../../market/jobs/job-rules.ts";
import type { Transition } from "../../../market/jobs/transitions.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { Json } from "../../../protocol/bytes/canonical-json.ts";
import type { JobPart, JobRecord } from "../../../protocol/network/job.ts";
import type { JobOffer } from "../../../protocol/network/job-offer.ts";
import type { JobChange } from "../../../store/jobs/change-job.ts";
import type { JobClaimRow, JobRow, JobSummary } from "../../../store/jobs/job-rows.ts";
import type { AgentAsker } from "../../agents/ask-agent.ts";
import type { VerifierPool } from "../../probing/verifier-pool.ts";
import type { ValidatorContext } from "../../validator-context.ts";
import type { Disputes } from "../disputes/create-disputes.ts";
import type { Played } from "../disputes/play-dispute.ts";
import type { AskedBook } from "../evidence/asked-book.ts";
import type { ClaimAtHand, StateBlobs } from "../evidence/claim-at-hand.ts";
import type { Evidence } from "../evidence/evidence.ts";
import type { AuditAtHand } from "../evidence/referee.ts";
import type { JobWorks } from "../programs/job-works.ts";
import type { JobChain } from "./job-chain.ts";
import type { JobHosts } from "./job-hosts.ts";
import type { Nudges } from "./nudges.ts";
import type { Tries } from "./tries.ts";

export interface JobContext extends ValidatorContext {
	readonly asker: AgentAsker;
	/** Judges what came with claims. */
	readonly pool: Pick<VerifierPool, "judgeJobRounds">;
	readonly evidence: Evidence;
	/** What claimants were asked through this process. */
	readonly asked: AskedBook;
	readonly hosts: JobHosts;
	readonly works: JobWorks;
	/** Null without a chain: the same rules keep a record of what is owed. */
	readonly jobChain: JobChain | null;
	readonly nudges: Nudges;
	readonly ownRuns: Tries;
	/** What is asked on chain for this validator. */
	readonly disputes: Disputes;
	/** Brings a claim that an audit differs from before the chain: hours. Without a chain nobody calls it. */
	readonly playDispute: (claim: ClaimAtHand, audit: AuditAtHand, onAsked: (kind: string) => void) => Promise<Played>;
	readonly auditBegins: AuditBegins;
	/** When this process began to hear providers. */
	readonly sinceMs: number;
	/** Aborted when the validator stops. */
	readonly stopping: AbortSignal;
	/** Its work or a conviction says something new of this provider. */
	readonly scoreAgain: (provider: string) => Promise<void>;
	/** Looks at this job soon, unless that has been done since it had this version. */
	readonly wakeJob: (id: string, version: number) => void;
}

/** What an audit in the middle of a part begins with. */
export interface AuditBegin {
	readonly start: string;
	readonly begin: StateBlobs;
	readonly previous: null;
}
interface AuditBegins {
	/** Null: the claimant does not give it. */
	get(job: Job, part: number, at: number): Promise<AuditBegin | null>;
}

/** A job with what it was offered for. */
export interface Job extends Omit<JobRow, "offer"> {
	readonly offer: JobOffer;
}

export const jobOf = (row: JobRow): Job => ({ ...row, offer: row.offer as unknown as JobOffer });

/** As it is now; `atLeast`: one that is remembered in this version, or a newer one, will do. */
export async function loadJob(
	{ store }: Pick<JobContext, "store">,
	id: string,
	options: { readonly atLeast?: number } = {},
): Promise<Job | null> {
	const row = await store.jobs.get(id, options);
	return row === null ? null : jobOf(row);
}

type More = Pick<JobChange, "draws" | "claims" | "fraud">;
export type ChangeContext = Pick<JobContext, "store" | "env" | "wakeJob" | "metrics" | "scoreAgain">;

/** What became of a claim, as its row says it; null: as it was. */
function claimState(before: JobPart, after: JobPart): JobClaimRow["state"] | null {
	if (before.claim !== null && after.claim !== before.claim) return "fallen";
	if (after.claim === null || (before.state === after.state && before.isChecked === after.isChecked)) return null;
	if (after.state === "paid") return "paid";
	return after.isChecked ? "checked" : "claimed";
}

const changedClaims = (before: JobRecord, after: JobRecord): Pick<JobClaimRow, "hash" | "state">[] =>
	after.parts.flatMap((part, i) => {
		const old = before.parts[i]!;
		const state = claimState(old, part);
		return state === null ? [] : [{ hash: (part.claim ?? old.claim)!, state }];
	});

/** Signs of life: whatever they tell, there is nothing to do about them. */
export const isBeat = (kind: string): boolean => ["metrics", "preview", "progress"].includes(kind);

/** One transition, one transaction. Null: somebody was quicker, and nothing was written. */
export async function changeJob(
	context: ChangeContext,
	job: Pick<JobSummary, "id" | "version" | "record">,
	{ record, events, outcomes = [], undone = [] }: Transition,
	more: More = {},
): Promise<JobSummary | null> {
	const { store, env, wakeJob, metrics } = context;
	const ends = isOver(record) && !isOver(job.record);
	const changed = await store.jobs.change({
		...{ id: job.id, version: job.version, record, before: job.record, atMs: env.nowMs(), outcomes, undone },
		...more,
		claimStates: more.claims === undefined ? changedClaims(job.record, record) : [],
		events: ends ? [...events, { kind: "over", part: null, detail: {} }] : events,
	});
	if (!events.every(({ kind }) => isBeat(kind))) wakeJob(job.id, changed?.version ?? job.version + 1);
	if (changed === null) return null;
	for (const { kind } of events) metrics.jobs.inc({ to: kind });
	for (const { provider, outcome } of outcomes)
		if (outcome === "checked" || outcome === "convicted") await context.scoreAgain(provider);
	for (const { provider } of undone) await context.scoreAgain(provider);
	return changed;
}

const MOST_TRIES = 20;

/**
 * Decides from the newest record until nobody is quicker. `decide` gives null where there is nothing to do;
 * what it throws is the caller's answer.
 */
export async function changeUntilDone(
	context: ChangeContext,
	id: string,
	decide: (job: Job) => Promise<(Transition & More) | null>,
): Promise<Job> {
	const known = context.store.jobs.remembered(id);
	return changeLoaded(context, id, known === null ? null : jobOf(known), () => loadJob(context, id), decide);
}

/** The same for what needs neither spec nor offer, which may be large. */
export async function changeSummary(
	context: ChangeContext,
	id: string,
	decide: (job: JobSummary) => Promise<(Transition & More) | null>,
): Promise<JobSummary> {
	const { jobs } = context.store;
	return changeLoaded<JobSummary>(context, id, jobs.remembered(id), () => jobs.summary(id), decide);
}

async function changeLoaded<Loaded extends JobSummary>(
	context: ChangeContext,
	id: string,
	/**
	 * As it was a moment ago: good enough to change it, since its version guards it. That there is nothing to
	 * do, or that it cannot be done, the newest must say.
	 */
	remembered: Loaded | null,
	load: () => Promise<Loaded | null>,
	decide: (job: Loaded) => Promise<(Transition & More) | null>,
): Promise<Loaded> {
	for (let left = MOST_TRIES; ; left--) {
		const isSure = left < MOST_TRIES || remembered === null;
		const job = isSure ? await load() : remembered;
		if (job === null) throw new AssayError("JOB_UNKNOWN", `there is no job ${id} of this caller`);
		const wanted = isSure ? await decide(job) : await decide(job).catch(() => null);
		if (wanted === null && !isSure) continue;
		if (wanted === null) return job;
		const { draws, claims, fraud, ...transition } = wanted;
		const more = { ...(draws && { draws }), ...(claims && { claims }), ...(fraud && { fraud }) };
		const changed = await changeJob(context, job, transition, more);
		if (changed !== null) return { ...job, ...changed };
		if (left <= 1) throw new Error(`job ${id} is changed by others again and again`);
	}
}

export const asJson = (value: unknown): Json => value as Json;

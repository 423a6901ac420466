// Routes of jobs: a customer asks, hands in, watches, takes the result, cancels; a provider takes, beats,
// claims; everybody reads the draws. What the routes do is validator/jobs/keeper's; here is who may see what.
// Of others a job is unknown, not forbidden: its name must tell nothing.
import type { Caller } from "../../api/route.ts";
import type { Handlers } from "../../api/routes.ts";
import type { JobHostView, JobSummary } from "../../api/types.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { JobPart, JobRecord } from "../../protocol/network/job.ts";
import type { JobOffer } from "../../protocol/network/job-offer.ts";
import type { JobSummary as JobRowSummary } from "../../store/jobs/job-rows.ts";
import { callerHolder } from "../jobs/blobs/blob-holders.ts";
import { cancelJob } from "../jobs/keeper/cancel-job.ts";
import type { DrawBody } from "../jobs/keeper/draw-part.ts";
import type { Job, JobContext } from "../jobs/keeper/job-context.ts";
import type { KnownHost } from "../jobs/keeper/job-hosts.ts";
import { secretOfJob } from "../jobs/keeper/job-offers.ts";
import { jobResult } from "../jobs/keeper/job-result.ts";
import * as calls from "../jobs/keeper/part-calls.ts";
import { partOffer } from "../jobs/keeper/part-offer.ts";
import { askQuote, submitJob } from "../jobs/keeper/quote-job.ts";
import { actorOf, isAdmin } from "./caller.ts";
import { watchJobEvents } from "./watch-job-events.ts";

/** ATTACK: what an auditor answered before the claim would let the claimant copy. */
const hideAnswers = (part: JobPart): JobPart =>
	part.state === "claimed" || part.state === "paid"
		? part
		: { ...part, audits: part.audits.map((audit) => ({ ...audit, answer: null })) };
const shown = (record: JobRecord): JobRecord => ({ ...record, parts: record.parts.map(hideAnswers) });
const shownJob = <T extends { readonly record: JobRecord }>(job: T): T => ({ ...job, record: shown(job.record) });

function summaryOf({ id, customer, title, kind, record, isOver, createdAtMs }: JobRowSummary): JobSummary {
	const { terms, parts } = record;
	return {
		...{ id, customer, title, kind, isOver, createdAtMs, method: terms.method, segments: terms.segments },
		done: parts.reduce((sum, part) => sum + part.done, 0),
		parts: parts.map(({ state, provider, isChecked }) => ({ state, provider, isChecked })),
		totalMicros: terms.parts * (terms.priceMicros + terms.feeMicros + terms.auditMicros),
	};
}

/** Of a host's devices. */
function hostView(all: readonly KnownHost[]): JobHostView {
	const host = all[0]!;
	return {
		...{ provider: host.provider, pricePerHourMicros: host.pricePerHourMicros, mostWorkMs: host.mostWorkMs },
		...{ reliabilityPpm: host.reliabilityPpm, freeBondMicros: host.freeBondMicros },
		...{ methods: [...host.methods], attested: host.attested, isSimulated: host.isSimulated },
		isFree: all.some(({ isFree }) => isFree),
		devices: all.map(({ device, isFree, memoryBytes, int8OpsPerS, bytesPerS, int32OpsPerS = 0 }) => ({
			...{ device, isFree, memoryBytes, int8OpsPerS, bytesPerS, int32OpsPerS },
		})),
	};
}

/** Up to so many hosts, each with all its devices, which stand side by side. */
function hostViews(sorted: readonly KnownHost[], limit: number): JobHostView[] {
	const views: JobHostView[] = [];
	for (let from = 0, to = 0; from < sorted.length && views.length < limit; from = to) {
		while (sorted[to]?.provider === sorted[from]!.provider) to++;
		views.push(hostView(sorted.slice(from, to)));
	}
	return views;
}

function providerOf({ key }: Caller): string {
	if (key === null) throw new AssayError("CALLER_OTHER", "a provider speaks for itself", { hint: "Sign the request." });
	return key;
}

export function jobHandlers(context: JobContext) {
	const { store } = context;
	const mustOwn = async (id: string, caller: Caller): Promise<Job> => {
		const job = await calls.mustFindJob(context, id);
		if (!isAdmin(caller) && job.customer !== actorOf(caller))
			throw new AssayError("JOB_UNKNOWN", `there is no job ${id} of this caller`);
		return job;
	};
	const wordOf = (
		{ id, part }: { readonly id: string; readonly part: number },
		{ attempt }: { readonly attempt: number },
		caller: Caller,
	): calls.PartWord => ({ job: id, part, attempt, provider: providerOf(caller) });
	const reply = ({ state, untilMs }: JobPart) => ({ state, untilMs, nowMs: context.env.nowMs() });

	return {
		async listJobHosts({ query: { cursor = "", limit } }) {
			if (!/^([0-9a-f]{64})?$/.test(cursor)) throw new AssayError("CURSOR_BAD", "this is not a cursor of this list");
			const later = (await context.hosts.all()).filter(({ provider }) => provider > cursor);
			const rows = hostViews(later, limit);
			const last = rows.at(-1)?.provider ?? null;
			return { rows, cursor: last === (later.at(-1)?.provider ?? null) ? null : last };
		},
		quoteJob: ({ body, caller, address }) =>
			askQuote(context, { ...body, customer: actorOf(caller), opener: { holder: callerHolder(caller), address } }),
		async submitJob({ body, caller, address }) {
			const offer = body.offer as JobOffer;
			const opener = { holder: callerHolder(caller), address };
			const wish = { spec: body.spec, offer, customer: actorOf(caller), opener };
			return shownJob(await submitJob(context, wish));
		},
		async listJobs({ query: { open, ...query }, caller }) {
			const filter = {
				...(open !== undefined && { isOver: !open }),
				...(!isAdmin(caller) && { customer: actorOf(caller) }),
			};
			const page = await store.jobs.list({ ...query, ...filter });
			return { ...page, rows: page.rows.map(summaryOf) };
		},
		getJob: async ({ params, caller }) => shownJob(await mustOwn(params.id, caller)),
		async watchJob({ params, query, signal, lastEventId, caller }) {
			await mustOwn(params.id, caller);
			return watchJobEvents(context, params.id, lastEventId ?? query.after ?? null, signal);
		},
		getJobResult: async ({ params, caller }) => jobResult(context, await mustOwn(params.id, caller)),
		async cancelJob({ params, caller }) {
			await mustOwn(params.id, caller);
			return shownJob(await cancelJob(context, params.id));
		},
		async getJobDraws({ params }) {
			const job = await calls.mustFindJob(context, params.id);
			const rows = await store.jobs.draws(params.id);
			const draws = rows.map(({ part, attempt, role, listHash, body }) => {
				const { accounts: _, hosts: __, ...draw } = body as unknown as DrawBody;
				return { ...draw, part, attempt, role, listHash };
			});
			return {
				...{
					id: job.id,
					offer: job.offer,
					secretCommitment: job.offer.secretCommitment,
					perWindow: job.offer.perWindow,
					draws,
				},
				secret: job.isOver ? secretOfJob(context.signer, job) : null,
				parts: shown(job.record).parts,
			};
		},

		async getPartOffer({ params, query, caller }) {
			const provider = providerOf(caller);
			const job = await calls.mustFindJob(context, params.id);
			const part = job.record.parts[params.part];
			const audit = query.audit ?? null;
			const whose = audit === null ? part?.provider : part?.audits[audit]?.auditor;
			if (part === undefined || whose !== provider || part.state === "open" || part.state === "refunded")
				throw new AssayError("JOB_UNKNOWN", `there is no job ${params.id} of this caller`);
			return partOffer(context, job, params.part, audit);
		},
		acceptPart: async ({ params, body, caller }) =>
			reply(await calls.acceptPart(context, wordOf(params, body, caller))),
		declinePart: async ({ params, body, caller }) =>
			reply(await calls.declinePart(context, wordOf(params, body, caller), body.why)),
		beatPart: async ({ params, body, caller }) => ({
			go: await calls.beatPart(context, wordOf(params, body, caller), body),
		}),
		async claimPart({ params, body, caller }) {
			const { attempt: _, ...posted } = body;
			const taken = await calls.claimPart(context, wordOf(params, body, caller), posted);
			return { claim: taken.claim, stored: taken.stored as `0x${string}`[] | null, ...reply(taken.part) };
		},
		async answerAudit({ params, body, caller }) {
			await calls.answerAudit(context, { ...wordOf(params, body, caller), at: params.at }, body.states);
			return { stored: true };
		},
	} satisfies Partial<Handlers>;
}

// One look at one job: the chain's news first, then what the rules want now, one transition at a time, each
// decided from the newest record. Called again until there is nothing to do but wait. Killed at any moment,
// the next look goes on: everything it goes by lies in the store or on the chain.
import { type JobStep, nextSteps } from "../../../market/jobs/next-steps.ts";
import * as transitions from "../../../market/jobs/transitions.ts";
import type { JobPart } from "../../../protocol/network/job.ts";
import { methodOf } from "../../../verify/methods/methods.ts";
import { endOfProofs, followProofs } from "../proofs/follow-proofs.ts";
import { hostsFor } from "./audit-draw.ts";
import { releaseClaim } from "./claim-at-hand.ts";
import { goOnDrawing } from "./draw-part.ts";
import { followChain, isFreeOnChain, refundOnChain } from "./follow-chain.ts";
import { changeJob, type Job, type JobContext, loadJob } from "./job-context.ts";
import { escrowTermsOf } from "./job-offers.ts";
import { nudge } from "./nudges.ts";
import { verifyPart } from "./verify-part.ts";

/** More transitions than a job makes at one moment, unless something turns in a circle. */
const MOST_TURNS = 200;
/** Where fewer hosts are free, those that work at something else are drawn from too. */
const ENOUGH_FREE = 8;

/**
 * Gives it as it is when there is nothing to do but wait; null: it is over. `version`: the newest that is
 * known of.
 */
export async function turnJob(context: JobContext, id: string, version: number): Promise<Job | null> {
	let atLeast = version;
	for (let left = MOST_TURNS; ; left--) {
		const job = await loadJob(context, id, { atLeast });
		if (job === null || job.isOver) return null;
		if (left === 0 || context.stopping.aborted) return job;
		if (!(await turnOnce(context, job))) return job;
		// What was changed here is remembered. If somebody was quicker it is read.
		atLeast = job.version + 1;
	}
}

async function turnOnce(context: JobContext, job: Job): Promise<boolean> {
	const { jobChain, env, config, sinceMs } = context;
	const chain = job.offer.escrow === null ? null : jobChain;
	if (chain !== null && (await followChain(context, chain, job, { maySend: true })) === "changed") return true;
	for (const step of nextSteps(job.record, env.nowMs(), config.params, sinceMs))
		if (await take(context, job, step)) return true;
	return false;
}

/** True: something changed; the rest is decided anew. */
async function take(context: JobContext, job: Job, step: JobStep): Promise<boolean> {
	const { env, config } = context;
	const part = job.record.parts[step.part]!;
	const chain = job.offer.escrow === null ? null : context.jobChain;
	const isProven = methodOf(job.offer.terms.method).driver === "proofs";
	switch (step.kind) {
		case "draw":
			return draw(context, job, part, step.only);
		case "remind":
			return remind(context, job, part);
		case "reopen":
			// With a chain it was looked at just now: what is there is not late.
			if (
				(await changeJob(context, job, transitions.reopened(job.record, step.part, env.nowMs(), config.params))) !==
				null
			)
				tellStop(context, job, part);
			return true;
		case "verify":
			// What the chain alone has cannot be run again here: it has its window.
			if (part.state === "claimed" && part.claim === null) return false;
			return isProven ? followProofs(context, job, part) : verifyPart(context, job, step.part);
		case "settle":
			return isProven ? endOfProofs(context, job, part) : settle(context, job, part);
		case "refund":
			if (chain === null) {
				await changeJob(context, job, transitions.refunded(job.record, step.part, env.nowMs(), "anyone"));
				return true;
			}
			await refundOnChain(context, chain, job, part);
			return false;
	}
}

/**
 * Not waited for: it may never answer, and what it does afterwards is refused anyhow. One that cannot be
 * asked now, since another question about the job waits for its answer, hears it with its next sign of life.
 */
function tellStop({ asker, log }: JobContext, job: Job, { part, attempt, provider }: JobPart): void {
	if (provider === null) return;
	void asker.ask(provider, "stop", { job: job.id, part, attempt }).catch((error) => {
		log.info({ job: job.id, part, err: error }, "jobs: a provider could not be told to stop");
	});
}

async function draw(context: JobContext, job: Job, part: JobPart, only: string | null): Promise<boolean> {
	const { jobChain, mutex, store, hosts, env, config } = context;
	if (job.offer.escrow !== null && (jobChain === null || !(await isFreeOnChain(context, jobChain, job, part))))
		return false;
	const place = { part: part.part, attempt: part.attempt + 1, role: 0 } as const;
	const drawn = await goOnDrawing(context, job, place, async () => {
		const { bondMicros, method } = job.offer.terms;
		const isHosted = methodOf(method).needsHosted;
		const limits = { excluded: new Set(part.excluded), bondMicros, isHosted };
		const able = await hostsFor(context, job, part.part, limits);
		if (only !== null) return able.filter(({ provider }) => provider === only);
		if (able.length >= ENOUGH_FREE) return able;
		// The list binds: one with a single host that was free at this moment would make the part wait for it
		// among all others.
		return hostsFor(context, job, part.part, limits, await hosts.known());
	});
	if (drawn === null || drawn === "nobody") return false;
	// One at a time: two jobs must not be given to one host.
	return mutex.run("jobs/offer", async () => {
		const passed: { readonly provider: string; readonly why: string }[] = [];
		const offerTo = async (provider: string, over = passed) => {
			const asked = { nowMs: env.nowMs(), passed: over };
			await changeJob(context, job, transitions.offered(job.record, part.part, provider, asked, config.params));
			return true;
		};
		const busy = await store.jobs.busyProviders();
		const there = await hosts.there();
		for (const provider of drawn.drawn) {
			const why = busy.has(provider) ? "busy" : there.has(provider) ? null : "away";
			if (why === null) return offerTo(provider);
			passed.push({ provider, why });
		}
		// Somebody is at work: whoever comes free first in the order of the draw gets it. If all have gone,
		// others are drawn once the first was silent.
		return passed.some(({ why }) => why === "busy") ? false : offerTo(drawn.drawn[0]!, []);
	});
}

async function remind(context: JobContext, job: Job, part: JobPart): Promise<boolean> {
	const told = await nudge(context, part.provider!, {
		job: job.id,
		part: part.part,
		attempt: part.attempt,
		audit: null,
	});
	if (told !== "declined") return false;
	await changeJob(context, job, transitions.declined(job.record, part.part, "by its owner's limits"));
	return true;
}

async function settle(context: JobContext, job: Job, part: JobPart): Promise<boolean> {
	const { jobChain, env } = context;
	// What was checked was released before.
	if (!part.isChecked) await releaseClaim(context, job, part.part);
	const terms = escrowTermsOf(job.offer);
	if (terms === null || jobChain === null) {
		const before = job.record.parts[part.part - 1];
		const isBuiltOn = before !== undefined && before.attempt === part.base && before.state === "claimed";
		if (isBuiltOn) return false;
		await changeJob(context, job, transitions.settled(job.record, part.part, env.nowMs()));
		return true;
	}
	const id = BigInt(`0x${job.id}`);
	const found = await jobChain.part(id, part.part);
	const before = part.part === 0 ? null : await jobChain.part(id, part.part - 1);
	// In order; what the chain says of the part before is what counts.
	if (found.state !== "claimed" || (await jobChain.nowS()) <= found.untilS || before?.state === "claimed") return false;
	if (await jobChain.isHeld(id, part.part, found)) return false;
	await jobChain.settle(terms, { job: id, part: part.part, attempt: found.attempt });
	return true;
}

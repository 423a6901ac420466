// One part as its record has it, held against the escrow: what is news, and whether the news can be taken
// back. Reads only.
import { clockOffMs, type EscrowKnown, type EscrowNews, escrowNews } from "../../../market/jobs/follow-escrow.ts";
import { holdersOf } from "../../../market/jobs/job-rules.ts";
import type { JobPart } from "../../../protocol/network/job.ts";
import { type DrawSource, knownDraw } from "../keeper/draw-part.ts";
import type { ChainJob, JobChain } from "../keeper/job-chain.ts";
import type { Job } from "../keeper/job-context.ts";

export type ChainPart = Awaited<ReturnType<JobChain["part"]>>;

export interface PartLook extends EscrowKnown {
	readonly found: ChainPart;
	/** Null: the record is up to date. */
	readonly news: EscrowNews | null;
}

/**
 * In which attempt of the record an account had the part. A provider gets a part once, so that everybody who
 * ever had it has a place of his own.
 */
async function holderOf(source: DrawSource, job: Job, part: JobPart, account: string): Promise<number | null> {
	const all = holdersOf(part);
	for (let attempt = all.length; attempt > 0; attempt--) {
		const draw = await knownDraw(source, job, { part: part.part, attempt, role: 0 });
		if (draw?.accounts[all[attempt - 1]!] === account) return attempt;
	}
	return null;
}

/** Whether the claim that it was built on, by the same provider, is not there any more. */
async function isFallen(chain: JobChain, job: Job, part: number, found: ChainPart): Promise<boolean> {
	if (part === 0 || found.isAlone || (found.state !== "assigned" && found.state !== "claimed")) return false;
	const before = await chain.part(BigInt(`0x${job.id}`), part - 1);
	return before.attempt !== found.base || (before.state !== "claimed" && before.state !== "settled");
}

export async function lookAtPart(
	source: DrawSource,
	chain: JobChain,
	job: Job,
	part: JobPart,
	whole: ChainJob,
	nowMs: number,
): Promise<PartLook> {
	const found = await chain.part(BigInt(`0x${job.id}`), part.part);
	const hasDeadline = found.state === "assigned" || found.state === "claimed";
	const known: EscrowKnown = {
		holder: await holderOf(source, job, part, found.provider),
		isCancelled: part.part >= whole.end,
		offMs: hasDeadline ? clockOffMs(nowMs, await chain.nowS()) : 0,
		// Only what the record does not have is asked about.
		isFallen: (part.state === "open" || part.state === "refunded") && (await isFallen(chain, job, part.part, found)),
	};
	return { ...known, found, news: escrowNews(part, job.offer.terms, found, known) };
}

/** Whether what would end the part is deep enough to stay. */
export async function lasts(chain: JobChain, job: Job, { part }: JobPart, { kind }: EscrowNews): Promise<boolean> {
	const id = BigInt(`0x${job.id}`);
	const reading = await chain.lasting();
	const [whole, found] = [await chain.job(id, reading), await chain.part(id, part, reading)];
	if (kind === "released") return found.state === "open";
	if (kind !== "refunded") return found.state === "settled";
	return found.state === "refunded" || (whole.isFunded && part >= whole.end && part >= whole.touched);
}

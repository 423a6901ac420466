// What providers say of their parts: they take one, decline it, show that they live, claim, and answer
// audits. Everything they say is hostile, names the attempt it is about, and is durable before it is
// acknowledged; said again it changes nothing. docs/jobs.md §13.
import * as transitions from "../../../market/jobs/transitions.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { JobPart } from "../../../protocol/network/job.ts";
import type { BlobName } from "../../../protocol/network/job-spec.ts";
import { auditHolder, jobHolder } from "../blobs/blob-holders.ts";
import { followChain, storedClaims } from "./follow-chain.ts";
import { asJson, changeSummary, changeUntilDone, type Job, type JobContext, loadJob } from "./job-context.ts";
import { beginOf } from "./part-offer.ts";
import { signedLevel } from "./signed-level.ts";
import { type ClaimBody, checkClaim, claimHashOf, keepClaim, type PostedClaim, readStates } from "./take-claim.ts";
import { type KeptAttestation, takeRounds } from "./take-rounds.ts";

/** Who says it, and of which attempt. */
export interface PartWord {
	readonly job: string;
	readonly part: number;
	readonly attempt: number;
	readonly provider: string;
}

const stateBad = (why: string): AssayError => new AssayError("JOB_STATE", why, { hint: "Look at the job's state." });

export async function mustFindJob(context: Pick<JobContext, "store">, id: string): Promise<Job> {
	const job = await loadJob(context, id);
	if (job === null) throw new AssayError("JOB_UNKNOWN", `there is no job ${id} of this caller`);
	return job;
}

/**
 * The part, if this provider has this attempt of it. Of others a job is unknown: its name must tell nothing.
 */
function mustHave(job: Pick<Job, "id" | "record">, { part: number, attempt, provider }: PartWord): JobPart {
	const part = job.record.parts[number];
	if (part === undefined || (part.provider !== provider && !part.excluded.includes(provider)))
		throw new AssayError("JOB_UNKNOWN", `there is no job ${job.id} of this caller`);
	if (part.provider !== provider || part.attempt !== attempt)
		throw stateBad(`part ${number} is at attempt ${part.attempt}, and somebody else's`);
	return part;
}

/** The chain's news first: the provider's transaction may be there, and its row not yet. */
async function lookAtChain(context: JobContext, word: PartWord, { isHad }: { readonly isHad: boolean }): Promise<void> {
	const { jobChain } = context;
	if (jobChain === null) return;
	for (let left = 10; left > 0; left--) {
		const job = await mustFindJob(context, word.job);
		if (isHad) mustHave(job, word);
		if (job.offer.escrow === null) return;
		if ((await followChain(context, jobChain, job, { maySend: false })) !== "changed") return;
	}
}

export async function acceptPart(context: JobContext, word: PartWord): Promise<JobPart> {
	await lookAtChain(context, word, { isHad: true });
	const job = await changeUntilDone(context, word.job, async (found) => {
		const part = mustHave(found, word);
		if (part.state !== "assigned") return null;
		// Its own node may be ahead of ours: it asks again.
		if (found.offer.escrow !== null) throw new AssayError("CHAIN_BEHIND", "the assignment is not on the chain yet");
		return transitions.accepted(found.record, word.part, context.env.nowMs());
	});
	return job.record.parts[word.part]!;
}

/**
 * Of the part itself, before it began or while it runs; or of audits that it owes: then others are asked for
 * those, at once.
 */
export async function declinePart(context: JobContext, word: PartWord, why: string): Promise<JobPart> {
	const job = await changeUntilDone(context, word.job, async (found) => {
		const part = found.record.parts[word.part];
		const at = part?.attempt === word.attempt ? owedAudit(part, word.provider) : -1;
		if (at >= 0) return transitions.auditDeclined(found.record, word.part, at, why);
		if (part?.audits.some(({ tried }) => tried.includes(word.provider))) return null;
		if (mustHave(found, word).state === "running")
			return transitions.handedBack(found.record, word.part, why, context.env.nowMs());
		return transitions.declined(found.record, word.part, why);
	});
	return job.record.parts[word.part]!;
}

/** An audit that this provider has to answer, and whose time is not up; −1: none. */
const owedAudit = ({ audits }: JobPart, provider: string): number =>
	audits.findIndex(({ auditor, answer, untilMs }) => auditor === provider && answer === null && untilMs > 0);

export interface Beat {
	readonly done: number;
	readonly metrics: readonly { readonly step: number; readonly values: readonly number[] }[];
	readonly previews: readonly (BlobName & { readonly tensor: number })[];
}

/** Beats that come quicker and say nothing new cost no row. */
const LEAST_BEAT_MS = 500;

/** False: it is somebody else's by now. */
export async function beatPart(context: JobContext, word: PartWord, beat: Beat): Promise<boolean> {
	const { env } = context;
	if (beat.previews.length > 0) await sharePreviews(context, word, beat);
	const job = await changeSummary(context, word.job, async (found) => {
		const part = found.record.parts[word.part];
		if (part?.provider !== word.provider || part.attempt !== word.attempt) {
			if (part?.provider !== word.provider && !part?.excluded.includes(word.provider)) mustHave(found, word);
			return null;
		}
		if (part.state !== "running") return null;
		const nowMs = env.nowMs();
		// One that was killed goes on from what it saved, which may be less than it told.
		const done = Math.max(beat.done, part.done);
		const isNews = beat.metrics.length + beat.previews.length > 0 || done !== part.done;
		if (!isNews && nowMs - part.lastBeatMs < LEAST_BEAT_MS) return null;
		return transitions.beaten(found.record, word.part, { ...beat, done, nowMs });
	});
	const part = job.record.parts[word.part]!;
	return part.provider === word.provider && part.attempt === word.attempt && part.state === "running";
}

/** Whoever has a part may show how far it is. */
async function sharePreviews(context: JobContext, word: PartWord, { previews }: Beat): Promise<void> {
	const { blobs, works } = context;
	const job = await mustFindJob(context, word.job);
	const part = job.record.parts[word.part];
	if (part?.provider !== word.provider || part.attempt !== word.attempt) return;
	const { state, results } = await works.ofJob(job);
	const sizes = new Map([...state, ...results].map(({ tensor, size }) => [tensor, size]));
	for (const { tensor, root, size } of previews) {
		if (!job.spec.previews.includes(tensor) || sizes.get(tensor) !== size)
			throw new AssayError("JOB_CLAIM", `tensor ${tensor} is not one that the job shows`);
		await blobs.share(word.provider, { root, size }, jobHolder(word.job));
	}
}

export interface ClaimTaken {
	readonly claim: string;
	/** EIP-712 Stored; null without a chain. */
	readonly stored: readonly string[] | null;
	readonly part: JobPart;
}

export async function claimPart(context: JobContext, word: PartWord, posted: PostedClaim): Promise<ClaimTaken> {
	const { blobs, works, env, jobChain } = context;
	await lookAtChain(context, word, { isHad: false });
	const job = await mustFindJob(context, word.job);
	const part = mustHave(job, word);
	const hash = claimHashOf(job.offer, word.part, posted);
	if (part.state === "claimed" || part.state === "paid") {
		if (part.claim !== hash) throw stateBad("another claim was made of it");
		return { claim: hash, stored: await signatures(context, job, part, hash), part };
	}
	if (part.state !== "running") throw stateBad(`cannot claim part ${word.part}: it is ${part.state}`);
	if (env.nowMs() > part.untilMs) throw stateBad(`cannot claim part ${word.part}: its time is over`);
	const work = await works.ofJob(job);
	const { start } = await beginOf(context, job, word.part);
	const of = { work, terms: job.offer.terms, part: word.part, begin: start };
	const body = await checkClaim(blobs, word.provider, of, posted);
	await keepClaim(blobs, word.provider, auditHolder(word.job), posted);
	const rounds = await roundsOf(context, job, word, { posted, start, hash });
	const row = {
		...{ hash, job: word.job, part: word.part, attempt: word.attempt, provider: word.provider, atMs: env.nowMs() },
		body: asJson({ ...body, ...rounds }),
	};
	const signed = rounds.attestation === undefined ? [] : [signedEvent(word, rounds.attestation, context.config)];
	const isOnChain = job.offer.escrow !== null && jobChain !== null;
	const changed = await changeUntilDone(context, word.job, async (found) => {
		const now = mustHave(found, word);
		if (now.state === "claimed" && now.claim === hash) return null;
		if (!isOnChain) {
			const claimed = transitions.claimed(found.record, word.part, hash, env.nowMs());
			return {
				...{ ...claimed, events: [...signed, ...claimed.events] },
				claims: [{ ...row, state: "claimed" as const }],
			};
		}
		const known = await storedClaims(context, word.job, now);
		if (known.some((one) => one.hash === hash)) return null;
		if (now.state !== "running") throw stateBad(`cannot claim part ${word.part}: it is ${now.state}`);
		const told = { kind: "stored", part: word.part, detail: { attempt: word.attempt, claim: hash } };
		return { record: found.record, events: [...signed, told], claims: [{ ...row, state: "stored" as const }] };
	});
	const now = changed.record.parts[word.part]!;
	return { claim: hash, stored: await signatures(context, changed, now, hash), part: now };
}

/** What its devices signed, where something came with the claim. */
async function roundsOf(
	context: JobContext,
	{ offer }: Job,
	{ job, part, attempt, provider }: PartWord,
	of: { readonly posted: PostedClaim; readonly start: string; readonly hash: string },
): Promise<Pick<ClaimBody, "attestation">> {
	const { posted, start, hash: claim } = of;
	if (posted.rounds === undefined) return {};
	const bound = { job, part, attempt, provider, escrow: offer.escrow, start, claim };
	return { attestation: await takeRounds(context, bound, posted.rounds) };
}

/** What counts of it, and what is wrong with it. */
function signedEvent(
	{ part, attempt }: PartWord,
	kept: KeptAttestation,
	{ jobs }: JobContext["config"],
): transitions.Told {
	const { attested: level, isSimulated } = signedLevel(kept, jobs.takesSimulated);
	const why = kept.fault === null ? {} : { why: `${kept.fault.code}: ${kept.fault.detail}`.slice(0, 200) };
	return { kind: "signed", part, detail: { attempt, level, isSimulated, ...why } };
}

/** Result and list of states are held by the job: only then is this signed. */
async function signatures({ jobChain }: JobContext, { offer }: Job, { part }: JobPart, hash: string) {
	if (jobChain === null || offer.escrow === null) return null;
	const id = BigInt(`0x${offer.id}`);
	const { attempt } = await jobChain.part(id, part);
	return [await jobChain.signStored({ job: id, part, attempt }, `0x${hash}`)];
}

/** What an auditor computed: kept where nobody reads it until the claim is there. */
export async function answerAudit(
	context: JobContext,
	{ at, ...word }: PartWord & { readonly at: number },
	states: BlobName,
): Promise<void> {
	const { blobs } = context;
	await changeUntilDone(context, word.job, async (found) => {
		const part = found.record.parts[word.part];
		const audit = part?.audits[at];
		if (part === undefined || audit === undefined || audit.auditor !== word.provider)
			throw new AssayError("JOB_UNKNOWN", `there is no audit ${at} of this caller`);
		if (part.attempt !== word.attempt) throw stateBad(`part ${word.part} is at attempt ${part.attempt}`);
		if (audit.answer === states.root) return null;
		await readStates(blobs, word.provider, states, audit.count + 1);
		await blobs.share(word.provider, states, auditHolder(word.job));
		return transitions.answered(found.record, word.part, at, states.root);
	});
}

// The life of a job's part as pure transitions, docs/jobs.md §8: open → assigned → running → claimed → paid,
// or open again, or refunded. Each takes the record and the time and gives the next record, or throws
// JOB_STATE. Whatever state a part is in, time alone leads out of it.
//
// One rule for money: a claim is paid when its window ends undisputed. A method's evidence only shortens the
// window. A proof of fraud kills a claim under every method until it is paid. Nobody has a veto.
import { AssayError } from "../../protocol/assay-error.ts";
import type { JobAudit, JobPart, JobRecord, JobTerms, PartState } from "../../protocol/network/job.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import type { Params } from "../params.ts";

function newPart(part: number): JobPart {
	return {
		...{ part, attempt: 0, state: "open", provider: null, base: 0, isAlone: false, untilMs: 0, lastBeatMs: 0, done: 0 },
		lastProgressMs: 0,
		...{ claim: null, claimedAtMs: 0, assignedAtMs: 0, isChecked: false, isDisputed: false, audits: [], excluded: [] },
	};
}

export function newJob(id: string, terms: JobTerms): JobRecord {
	return { id, terms, parts: Array.from({ length: terms.parts }, (_, part) => newPart(part)) };
}

/** The part's first segment, and how many it has. */
export function partRange({ segments, parts }: Pick<JobTerms, "segments" | "parts">, part: number) {
	const each = Math.ceil(segments / parts);
	return { first: each * part, count: Math.min(each, segments - each * part) };
}

function stateBad(part: JobPart, verb: string, why: string): AssayError {
	return new AssayError("JOB_STATE", `cannot ${verb} part ${part.part}: ${why}`, {
		hint: "Look at the job's state.",
	});
}

function mustBe(part: JobPart, verb: string, ...states: readonly PartState[]): void {
	if (!states.includes(part.state)) throw stateBad(part, verb, `it is ${part.state}`);
}

/** Gives `job` with this part in the place of its number. */
function withPart(job: JobRecord, changed: JobPart): JobRecord {
	return { ...job, parts: job.parts.map((part) => (part.part === changed.part ? changed : part)) };
}

/**
 * Whether this provider may begin a part: the one before has its claim, checked, paid, or this provider's
 * own, who goes on at its own risk.
 */
function mayBegin({ parts }: JobRecord, part: number, provider: string): boolean {
	const before = parts[part - 1];
	if (before === undefined) return part === 0;
	if (before.state === "paid") return true;
	return before.state === "claimed" && !before.isDisputed && (before.isChecked || before.provider === provider);
}

/**
 * The claim that the part was built on is there still, paid or not. Attempts only grow: what fell never
 * stands again.
 */
function stands({ parts }: JobRecord, { part, base }: JobPart): boolean {
	const before = parts[part - 1];
	if (before === undefined) return true;
	return before.attempt === base && (before.state === "claimed" || before.state === "paid");
}

/** A drawn provider is asked. */
export function offer(job: JobRecord, number: number, provider: string, nowMs: number, params: Params): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "assign", "open");
	if (nowMs > job.terms.startByMs) throw stateBad(part, "assign", "the time to start is over");
	if (isCancelled(job)) throw stateBad(part, "assign", "the rest of the job was given back");
	if (part.excluded.includes(provider)) throw stateBad(part, "assign", "this provider had it before");
	if (!mayBegin(job, number, provider)) throw stateBad(part, "assign", "the part before it is not checked");
	const before = job.parts[number - 1];
	return withPart(job, {
		...newPart(number),
		...{ attempt: part.attempt + 1, state: "assigned", provider, excluded: part.excluded, assignedAtMs: nowMs },
		base: before?.attempt ?? 0,
		isAlone: before !== undefined && before.provider !== provider,
		untilMs: nowMs + params.jobAcceptMs,
	});
}

/** Open for somebody else. Who had it does not get it again. */
function reopened(part: JobPart): JobPart {
	const excluded = part.provider === null ? part.excluded : [...part.excluded, part.provider];
	return { ...newPart(part.part), attempt: part.attempt, excluded };
}

/** The provider has fetched inputs, checked program and plan, and locked its bond. */
export function accept(job: JobRecord, number: number, nowMs: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "accept", "assigned");
	if (nowMs > part.untilMs) throw stateBad(part, "accept", "the offer has run out");
	const untilMs = nowMs + job.terms.workMs;
	return withPart(job, { ...part, state: "running", untilMs, lastBeatMs: nowMs, lastProgressMs: nowMs });
}

/** The provider will not: no bond is locked, nothing is lost. */
export function decline(job: JobRecord, number: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "decline", "assigned");
	return withPart(job, reopened(part));
}

/** The provider gives up what it has begun, before its time is over. */
export function handBack(job: JobRecord, number: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "hand back", "running");
	return withPart(job, reopened(part));
}

/** A sign of life. Work told as done never shrinks and never passes what there is. */
export function beat(job: JobRecord, number: number, done: number, nowMs: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "hear of", "running");
	const { count } = partRange(job.terms, number);
	if (!Number.isSafeInteger(done) || done < part.done || done > count)
		throw stateBad(part, "hear of", `${part.done} of ${count} segments were done, now ${done}`);
	const lastProgressMs = done > part.done ? Math.max(part.lastProgressMs, nowMs) : part.lastProgressMs;
	return withPart(job, { ...part, done, lastBeatMs: Math.max(part.lastBeatMs, nowMs), lastProgressMs });
}

/**
 * When a running part goes to another for want of progress: a host that lives keeps it as long as its
 * segments advance, and never beyond the time limit. One segment may take its share of that limit; the first
 * of the job, which is the init phase and may be most of the work, half of it. Once all are done the claim is
 * all that is missing, and only the limit counts.
 *
 * ATTACK: `done` is the provider's word. Who makes it up holds the part until the limit, which is the
 * escrow's own, with its bond locked, and is neither paid nor given this part again.
 */
function stuckAtMs({ terms }: JobRecord, part: JobPart, { jobStuckMs }: Params): number {
	const { count } = partRange(terms, part.part);
	if (part.done >= count) return Number.POSITIVE_INFINITY;
	const share = part.part === 0 && part.done === 0 ? Math.min(2, count) : count;
	return part.lastProgressMs + Math.max(jobStuckMs, Math.ceil(terms.workMs / share));
}

const lostAtMs = ({ lastBeatMs }: JobPart, { jobBeatMs, jobBeatMisses }: Params): number =>
	lastBeatMs + jobBeatMs * jobBeatMisses;

/** When a running part ends by time alone, whatever comes first. */
export const lapsesAtMs = (job: JobRecord, part: JobPart, params: Params): number =>
	Math.min(part.untilMs, lostAtMs(part, params), stuckAtMs(job, part, params));

export type Lapse = "silent" | "late" | "lost" | "stuck";

/** Why a part that somebody has goes to another; null: it does not. */
export function lapse(job: JobRecord, number: number, nowMs: number, params: Params): Lapse | null {
	const part = job.parts[number]!;
	if (part.state === "assigned") return nowMs > part.untilMs ? "silent" : null;
	if (part.state !== "running" || nowMs <= lapsesAtMs(job, part, params)) return null;
	if (nowMs > part.untilMs) return "late";
	return stuckAtMs(job, part, params) < lostAtMs(part, params) ? "stuck" : "lost";
}

/**
 * How long an auditor of the part has, whatever it was doing: to begin, and the share of the part's time that
 * all audits nobody has answered take, since one auditor may have to run them one after the other.
 */
export function auditMs(
	{ terms }: Pick<JobRecord, "terms">,
	number: number,
	unanswered: readonly Pick<JobAudit, "count">[],
	{ jobAcceptMs, jobLeastWorkMs }: Params,
): number {
	const { count } = partRange(terms, number);
	const asked = unanswered.reduce((sum, audit) => sum + audit.count, 0);
	const shareMs = Math.ceil((terms.workMs * Math.min(asked, count)) / count);
	return jobAcceptMs + Math.max(jobLeastWorkMs, shareMs);
}

export function reopen(job: JobRecord, number: number, nowMs: number, params: Params): JobRecord {
	const part = job.parts[number]!;
	if (lapse(job, number, nowMs, params) === null) throw stateBad(part, "reopen", "its provider is in time");
	return withPart(job, reopened(part));
}

export function claim(job: JobRecord, number: number, hash: string, nowMs: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "claim", "running");
	if (nowMs > part.untilMs) throw stateBad(part, "claim", "its time is over");
	if (!part.isAlone && !stands(job, part)) throw stateBad(part, "claim", "what it was built on fell");
	const { count } = partRange(job.terms, number);
	const untilMs = nowMs + methodOf(job.terms.method).windowsToClaim * job.terms.windowMs;
	return withPart(job, { ...part, state: "claimed", claim: hash, claimedAtMs: nowMs, done: count, untilMs });
}

/** Audits that were drawn; before the claim too, where several run the same part at once. */
export function addAudits(job: JobRecord, number: number, audits: readonly JobAudit[]): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "audit", "assigned", "running", "claimed");
	return withPart(job, { ...part, audits: [...part.audits, ...audits] });
}

/**
 * The claimant gives no state to begin with: the whole part is run again from its start, which everybody has.
 * What nobody has answered yet of the other audits is read off that run.
 */
export function auditWhole(job: JobRecord, number: number, untilMs: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "audit", "claimed");
	const { count } = partRange(job.terms, number);
	const audits = part.audits.map((audit) => {
		if (audit.answer !== null || audit.auditor === null) return audit;
		return { ...audit, auditor: null, tried: [...audit.tried, audit.auditor] };
	});
	const whole = { auditor: null, first: 0, count, untilMs, tried: [], answer: null, agrees: null };
	return withPart(job, { ...part, audits: [...audits, whole] });
}

/** Another auditor in the place of one that was silent, would not, or lied. */
export function replaceAudit(job: JobRecord, number: number, at: number, by: Pick<JobAudit, "auditor" | "untilMs">) {
	const part = job.parts[number]!;
	mustBe(part, "audit", "assigned", "running", "claimed");
	const audit = part.audits[at];
	if (audit === undefined || audit.agrees === true) throw stateBad(part, "audit", "nobody is to be replaced");
	const tried = audit.auditor === null ? audit.tried : [...audit.tried, audit.auditor];
	return withPart(job, {
		...part,
		audits: part.audits.with(at, { ...audit, ...by, tried, answer: null, agrees: null }),
	});
}

/** Whoever owes this audit has said that it will not: nobody waits for it. */
export function hurryAudit(job: JobRecord, number: number, at: number): JobRecord {
	const part = job.parts[number]!;
	const audit = part.audits[at];
	if (audit === undefined || audit.answer !== null) throw stateBad(part, "audit", "nobody owes it");
	return withPart(job, { ...part, audits: part.audits.with(at, { ...audit, untilMs: 0 }) });
}

/** What an auditor computed; a second answer to one question is none. */
export function answerAudit(job: JobRecord, number: number, at: number, answer: string): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "answer for", "assigned", "running", "claimed");
	// Everybody may read its claim by now: an answer may be a copy.
	if (part.disputedAtMs !== undefined) throw stateBad(part, "answer for", "it is disputed: no audit counts");
	const audit = part.audits[at];
	if (audit === undefined || audit.answer !== null)
		throw stateBad(part, "answer for", "nobody asked, or it was answered");
	return withPart(job, { ...part, audits: part.audits.with(at, { ...audit, answer }) });
}

/** Claim and answer are held against each other. */
export function compareAudit(job: JobRecord, number: number, at: number, agrees: boolean): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "compare", "claimed");
	const audit = part.audits[at];
	if (audit?.answer == null || audit.agrees !== null) throw stateBad(part, "compare", "there is nothing to compare");
	return withPart(job, { ...part, audits: part.audits.with(at, { ...audit, agrees }) });
}

/** So many of its segments are proven: never fewer than before. */
export function prove(job: JobRecord, number: number, proven: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "prove", "claimed");
	if (proven <= (part.proven ?? 0)) throw stateBad(part, "prove", `${part.proven} of its segments are proven already`);
	return withPart(job, { ...part, proven });
}

/** The method's evidence is there: the window gets shorter, never longer. */
export function markChecked(job: JobRecord, number: number, nowMs: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "check", "claimed");
	if (part.isChecked) throw stateBad(part, "check", "it was checked before");
	if (part.isDisputed) throw stateBad(part, "check", "it is disputed");
	if (nowMs > part.untilMs) throw stateBad(part, "check", "its window has ended");
	const untilMs = Math.min(part.untilMs, nowMs + job.terms.checkedMs);
	return withPart(job, { ...part, isChecked: true, untilMs });
}

/** Found false, or silent: whatever is said of it later, nobody here calls it checked. */
export function dispute(job: JobRecord, number: number, nowMs: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "dispute", "claimed");
	if (part.disputedAtMs !== undefined) throw stateBad(part, "dispute", "it was disputed before");
	return withPart(job, { ...part, isDisputed: true, disputedAtMs: nowMs });
}

/**
 * Nobody asks on chain what the claimant did not answer, or it was found right: what is left is its window.
 * A claim is disputed once.
 */
export function lapseDispute(job: JobRecord, number: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "clear", "claimed");
	if (!part.isDisputed) throw stateBad(part, "clear", "it is not disputed");
	return withPart(job, { ...part, isDisputed: false });
}

/** After the window, in order. */
export function settle(job: JobRecord, number: number, nowMs: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "settle", "claimed");
	if (nowMs <= part.untilMs) throw stateBad(part, "settle", "its window has not ended");
	if (stands(job, part)) {
		if (number > 0 && job.parts[number - 1]!.state !== "paid")
			throw stateBad(part, "settle", "the part before it is not paid");
	} else if (!part.isAlone) throw stateBad(part, "settle", "what it was built on fell");
	return withPart(job, { ...part, state: "paid" });
}

/**
 * A proof of fraud: the claim falls, and with it what the same provider built on it. A part that another
 * provider began at a checked end stays: it did what it was asked.
 */
export function convict(job: JobRecord, number: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "convict", "claimed");
	let next = withPart(job, reopened(part));
	for (let i = number + 1; i < job.parts.length; i++) {
		const later = next.parts[i]!;
		if (later.isAlone || later.provider !== part.provider || later.state === "open") break;
		next = withPart(next, reopened(later));
	}
	return next;
}

/**
 * The customer's again: what nobody has, at the customer's wish; by anyone, once nobody can get it any more.
 */
export function refund(job: JobRecord, number: number, nowMs: number, by: "customer" | "anyone"): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "refund", "open");
	if (by === "anyone" && nowMs <= job.terms.startByMs && !isCancelled(job))
		throw stateBad(part, "refund", "it can still be assigned");
	return withPart(job, { ...part, state: "refunded" });
}

/**
 * The customer took back what nobody had. Parts go in order, so nothing that is open then is begun any more:
 * it is given back, too. What somebody works at is finished and paid.
 */
export const isCancelled = ({ parts }: JobRecord): boolean => parts.some(({ state }) => state === "refunded");

/** How a part stands on chain, where the record had given it up. */
export interface Recovery {
	/** Of the record; null: its provider is nobody whom the record knew. */
	readonly holder: number | null;
	/** Where the record does not have one. */
	readonly provider: string | null;
	/** Null: only the chain has it. */
	readonly claim: string | null;
	readonly isPaid: boolean;
	readonly isChecked: boolean;
	readonly isAlone: boolean;
	/** Fraud was found in it. */
	readonly isDisputed: boolean;
	readonly claimedAtMs: number;
	readonly untilMs: number;
	/** When its draw began. */
	readonly assignedAtMs: number;
}

/** Everybody whom the part was given to: its attempts from 1 on. */
export const holdersOf = ({ excluded, provider }: Pick<JobPart, "excluded" | "provider">): readonly string[] =>
	provider === null ? excluded : [...excluded, provider];

/**
 * The chain has the part as claimed or paid. The record takes it back, whatever it thought: who came after
 * that attempt did not get the part, and may get it still should it fall.
 */
export function recover(job: JobRecord, number: number, { holder, isPaid, ...found }: Recovery): JobRecord {
	const part = job.parts[number]!;
	const all = holdersOf(part);
	const attempt = holder ?? part.attempt + 1;
	const provider = holder === null ? found.provider : all[holder - 1]!;
	return withPart(job, {
		...{ ...newPart(number), ...found, attempt, provider, state: isPaid ? "paid" : "claimed" },
		...{ base: job.parts[number - 1]?.attempt ?? 0, excluded: all.slice(0, attempt - 1) },
		...{ done: partRange(job.terms, number).count, lastBeatMs: found.claimedAtMs, lastProgressMs: found.claimedAtMs },
		...(found.isDisputed && { disputedAtMs: found.claimedAtMs }),
	});
}

/**
 * Whoever had it in that attempt declined, or was silent, and took it on chain all the same: nobody else can
 * have it before its time is over. So it runs, and is lost or late like any other.
 */
export function take(job: JobRecord, number: number, holder: number, atMs: number, nowMs: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "take", "open", "assigned");
	const all = holdersOf(part);
	const provider = all[holder - 1];
	if (provider === undefined) throw stateBad(part, "take", "nobody had it then");
	const before = job.parts[number - 1];
	return withPart(job, {
		...{ ...newPart(number), attempt: holder, state: "running", provider, excluded: all.slice(0, holder - 1) },
		...{ base: before?.attempt ?? 0, isAlone: before !== undefined && before.provider !== provider },
		...{ assignedAtMs: atMs, untilMs: atMs + job.terms.workMs, lastBeatMs: nowMs, lastProgressMs: nowMs },
	});
}

/** The chain's deadline is another moment of the validator's clock by now. */
export function moveDeadline(job: JobRecord, number: number, untilMs: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "move", "running", "claimed");
	return withPart(job, { ...part, untilMs });
}

/** It was taken for refunded, and is not. */
export function unrefund(job: JobRecord, number: number): JobRecord {
	const part = job.parts[number]!;
	mustBe(part, "open", "refunded");
	return withPart(job, { ...part, state: "open" });
}

export const isOver = ({ parts }: JobRecord): boolean =>
	parts.every(({ state }) => state === "paid" || state === "refunded");

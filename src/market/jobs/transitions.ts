// Each transition of a job as it is written down: the next record, what is told of it, and what it says of a
// provider. docs/jobs.md §8, §11. Pure.
import type { JobAudit, JobPart, JobRecord } from "../../protocol/network/job.ts";
import type { Params } from "../params.ts";
import * as rules from "./job-rules.ts";
import type { WorkRow } from "./reputation.ts";

export interface Told {
	readonly kind: string;
	readonly part: number;
	readonly detail: object;
}

interface Outcome extends Pick<WorkRow, "outcome" | "valueMicros"> {
	readonly provider: string;
	readonly part: number;
	readonly attempt: number;
}

export interface Transition {
	readonly record: JobRecord;
	readonly events: readonly Told[];
	readonly outcomes?: readonly Outcome[];
	/** What was said of these attempts was wrong: it is forgotten. */
	readonly undone?: readonly Attempt[];
}

/** Somebody's attempt at a part. */
type Attempt = Pick<Outcome, "provider" | "part" | "attempt">;

const tell = ({ part, attempt }: JobPart, kind: string, detail: object = {}): Told => ({
	...{ kind, part, detail: { attempt, ...detail } },
});

const says = (
	{ part, attempt, provider }: JobPart,
	outcome: WorkRow["outcome"],
	{ priceMicros }: JobRecord["terms"],
): Outcome[] => (provider === null ? [] : [{ provider, part, attempt, outcome, valueMicros: priceMicros }]);

/**
 * `passed`: drawn before it, and busy or away, so that everybody can see whom the validator says it passed
 * over.
 */
export function offered(
	job: JobRecord,
	at: number,
	provider: string,
	{ nowMs, passed }: { readonly nowMs: number; readonly passed: readonly { provider: string; why: string }[] },
	params: Params,
): Transition {
	const record = rules.offer(job, at, provider, nowMs, params);
	const part = record.parts[at]!;
	return { record, events: [tell(part, "offered", { provider, untilMs: part.untilMs, passed })] };
}

export function accepted(job: JobRecord, at: number, atMs: number): Transition {
	const record = rules.accept(job, at, atMs);
	const part = record.parts[at]!;
	return { record, events: [tell(part, "running", { provider: part.provider, untilMs: part.untilMs })] };
}

/** It said that it would not, and did: what was said of it by that is forgotten. */
export function taken(job: JobRecord, at: number, holder: number, atMs: number, nowMs: number): Transition {
	const record = rules.take(job, at, holder, atMs, nowMs);
	const part = record.parts[at]!;
	const { provider, attempt } = part;
	return {
		record,
		events: [tell(part, "running", { provider, untilMs: part.untilMs })],
		undone: [{ provider: provider!, part: at, attempt }],
	};
}

export function declined(job: JobRecord, at: number, why: string): Transition {
	const part = job.parts[at]!;
	const record = rules.decline(job, at);
	return {
		record,
		events: [tell(part, "declined", { provider: part.provider, why })],
		outcomes: says(part, "declined", job.terms),
	};
}

/**
 * It began, and gives it up before its time is over, here or on chain. What comes after its time is late,
 * whatever it says.
 */
export function handedBack(job: JobRecord, at: number, why: string, nowMs: number): Transition {
	const part = job.parts[at]!;
	return {
		record: rules.handBack(job, at),
		events: [tell(part, "returned", { provider: part.provider, why })],
		outcomes: says(part, nowMs > part.untilMs ? "late" : "returned", job.terms),
	};
}

/** Silent ones were asked and never said that they would: that is no work lost. */
export function reopened(job: JobRecord, at: number, nowMs: number, params: Params): Transition {
	const part = job.parts[at]!;
	const why = rules.lapse(job, at, nowMs, params);
	const record = rules.reopen(job, at, nowMs, params);
	return {
		record,
		events: [tell(part, "reopened", { provider: part.provider, why })],
		// Without progress, or after its time: both are late.
		outcomes: says(part, why === "silent" ? "declined" : why === "lost" ? "lost" : "late", job.terms),
	};
}

export function beaten(
	job: JobRecord,
	at: number,
	{
		done,
		nowMs,
		metrics,
		previews,
	}: { done: number; nowMs: number; metrics: readonly object[]; previews: readonly object[] },
): Transition {
	const record = rules.beat(job, at, done, nowMs);
	const part = record.parts[at]!;
	return {
		record,
		events: [
			...(metrics.length === 0 ? [] : [tell(part, "metrics", { metrics })]),
			...(previews.length === 0 ? [] : [tell(part, "preview", { previews })]),
			...(done === job.parts[at]!.done ? [] : [tell(part, "progress", { done })]),
		],
	};
}

export function claimed(job: JobRecord, at: number, hash: string, atMs: number): Transition {
	const record = rules.claim(job, at, hash, atMs);
	const part = record.parts[at]!;
	return { record, events: [tell(part, "claimed", { provider: part.provider, claim: hash, untilMs: part.untilMs })] };
}

export function audited(job: JobRecord, at: number, audits: readonly JobAudit[]): Transition {
	const record = rules.addAudits(job, at, audits);
	const told = audits.map(({ auditor, first, count }) => ({ auditor, first, count }));
	return { record, events: [tell(record.parts[at]!, "audit", { audits: told })] };
}

export function auditReplaced(
	job: JobRecord,
	at: number,
	audit: number,
	by: Pick<JobAudit, "auditor" | "untilMs">,
	why: string,
): Transition {
	const before = job.parts[at]!.audits[audit]!;
	const record = rules.replaceAudit(job, at, audit, by);
	const { auditor, first, count } = record.parts[at]!.audits[audit]!;
	const detail = { audits: [{ auditor, first, count }], instead: before.auditor, why };
	return { record, events: [tell(record.parts[at]!, "audit", detail)] };
}

/** In the place of a window whose first state the claimant does not give. */
export function auditedWhole(job: JobRecord, at: number, untilMs: number, why: string): Transition {
	const record = rules.auditWhole(job, at, untilMs);
	const { auditor, first, count } = record.parts[at]!.audits.at(-1)!;
	return { record, events: [tell(record.parts[at]!, "audit", { audits: [{ auditor, first, count }], why })] };
}

/** Its auditor will not: its time is up, and the next look asks another. */
export function auditDeclined(job: JobRecord, at: number, audit: number, why: string): Transition {
	const part = job.parts[at]!;
	const owed = part.audits[audit]!;
	const record = rules.hurryAudit(job, at, audit);
	return { record, events: [tell(part, "audit-declined", { audit, auditor: owed.auditor, why })] };
}

export function answered(job: JobRecord, at: number, audit: number, answer: string): Transition {
	const record = rules.answerAudit(job, at, audit, answer);
	const { auditor } = record.parts[at]!.audits[audit]!;
	return { record, events: [tell(record.parts[at]!, "answered", { audit, auditor })] };
}

export function compared(job: JobRecord, at: number, audit: number, agrees: boolean): Transition {
	const record = rules.compareAudit(job, at, audit, agrees);
	const { auditor } = record.parts[at]!.audits[audit]!;
	return { record, events: [tell(record.parts[at]!, "compared", { audit, auditor, agrees })] };
}

export function checked(job: JobRecord, at: number, atMs: number): Transition {
	const record = rules.markChecked(job, at, atMs);
	const part = record.parts[at]!;
	return {
		record,
		events: [tell(part, "checked", { untilMs: part.untilMs })],
		outcomes: says(part, "checked", job.terms),
	};
}

/** `by`: who proved the segments that are new. */
export function proven(
	job: JobRecord,
	at: number,
	told: { readonly proven: number; readonly of: number; readonly by: readonly object[] },
): Transition {
	const record = rules.prove(job, at, told.proven);
	return { record, events: [tell(record.parts[at]!, "proven", told)] };
}

export function settled(job: JobRecord, at: number, nowMs: number): Transition {
	const part = job.parts[at]!;
	const detail = { provider: part.provider, priceMicros: job.terms.priceMicros };
	const record = rules.settle(job, at, nowMs);
	return { record, events: [tell(part, "paid", detail)], outcomes: says(part, "paid", job.terms) };
}

/** The claim falls: the part is open, and so is what the same provider built on it. */
function fallen(job: JobRecord, at: number, told: Told, outcome: WorkRow["outcome"] | null): Transition {
	const record = rules.convict(job, at);
	const later = record.parts.filter((one, i) => i > at && one.state === "open" && job.parts[i]!.state !== "open");
	return {
		record,
		events: [told, ...later.map(({ part }) => tell(job.parts[part]!, "reopened", { why: "fell" }))],
		outcomes: outcome === null ? [] : says(job.parts[at]!, outcome, job.terms),
	};
}

/** A proof of fraud, here or on chain. */
export function convicted(job: JobRecord, at: number): Transition {
	const part = job.parts[at]!;
	return fallen(job, at, tell(part, "convicted", { provider: part.provider, claim: part.claim }), "convicted");
}

/**
 * A claim that was to be proven was not, in all its time. Nobody is convicted by that: its bond is free
 * again.
 */
export function unproven(job: JobRecord, at: number): Transition {
	const part = job.parts[at]!;
	return fallen(job, at, tell(part, "reopened", { provider: part.provider, why: "unproven" }), "lost");
}

/** The chain opened it, and convicted nobody: its claim never came to stay, or what it was built on fell. */
export function openedOnChain(job: JobRecord, at: number): Transition {
	const part = job.parts[at]!;
	return fallen(job, at, tell(part, "reopened", { provider: part.provider, why: "fell" }), null);
}

/**
 * The chain has it as claimed or paid. What was said of that attempt when it was given up is forgotten, but
 * where fraud was found.
 */
export function recovered(job: JobRecord, at: number, found: rules.Recovery): Transition {
	const record = rules.recover(job, at, found);
	const part = record.parts[at]!;
	const { provider, claim, untilMs, attempt, isChecked } = part;
	const paid = tell(part, "paid", { provider, priceMicros: job.terms.priceMicros });
	return {
		record,
		events: [tell(part, "recovered", { provider, claim, untilMs }), ...(found.isPaid ? [paid] : [])],
		outcomes: [
			...(isChecked ? says(part, "checked", job.terms) : []),
			...(found.isPaid ? says(part, "paid", job.terms) : []),
		],
		undone: provider === null || found.isDisputed ? [] : [{ provider, part: at, attempt }],
	};
}

/** The chain never gave it back. */
export function unrefunded(job: JobRecord, at: number): Transition {
	return { record: rules.unrefund(job, at), events: [tell(job.parts[at]!, "reopened", { why: "not refunded" })] };
}

/** Nothing happened that anybody must hear of. */
export const moved = (job: JobRecord, at: number, untilMs: number): Transition => ({
	record: rules.moveDeadline(job, at, untilMs),
	events: [],
});

/**
 * Found false, or silent, where no chain has convicted it: the claim stands and is never checked. A fraud
 * file that anybody can judge counts as a conviction of its provider, silence as a lost part.
 */
export function disputed(
	job: JobRecord,
	at: number,
	{ fraud, isProvable, why }: { readonly fraud: string | null; readonly isProvable: boolean; readonly why: string },
	nowMs: number,
): Transition {
	const part = job.parts[at]!;
	return {
		record: rules.dispute(job, at, nowMs),
		events: [tell(part, "disputed", { fraud, isProvable, why: why.slice(0, 500) })],
		outcomes: says(part, fraud === null ? "lost" : "convicted", job.terms),
	};
}

/**
 * Found right, or asked by nobody: what was said of its provider is forgotten, unless a fraud file says it.
 */
export function undisputed(job: JobRecord, at: number, why: string, hasFraud: boolean): Transition {
	const part = job.parts[at]!;
	const { provider, attempt } = part;
	return {
		record: rules.lapseDispute(job, at),
		events: [tell(part, "undisputed", { why: why.slice(0, 500) })],
		undone: provider === null || hasFraud ? [] : [{ provider, part: at, attempt }],
	};
}

export function refunded(job: JobRecord, at: number, nowMs: number, by: "customer" | "anyone"): Transition {
	return { record: rules.refund(job, at, nowMs, by), events: [tell(job.parts[at]!, "refunded", { by })] };
}

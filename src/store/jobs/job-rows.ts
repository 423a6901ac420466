// Rows of the market for jobs, as their readers see them, and the columns they are read from. What they mean:
// docs/jobs.md §8 to §14.
import type { Json } from "../../protocol/bytes/canonical-json.ts";
import type { JobRecord } from "../../protocol/network/job.ts";
import type { JobSpec } from "../../protocol/network/job-spec.ts";

/** Without what the customer handed in, which may be large. */
export interface JobSummary {
	/** 64 hex digits. */
	readonly id: string;
	readonly customer: string;
	readonly title: string;
	readonly kind: string;
	readonly record: JobRecord;
	/** One more with each change. */
	readonly version: number;
	/** Every part is paid or refunded. */
	readonly isOver: boolean;
	readonly createdAtMs: number;
	readonly endedAtMs: number | null;
	/** Its inputs and results were removed. */
	readonly isCleared: boolean;
}

export interface JobRow extends JobSummary {
	readonly spec: JobSpec;
	/** As its validator signed it. */
	readonly offer: Json;
}

export interface JobEvent {
	/** Grows within a job. */
	readonly serial: number;
	readonly atMs: number;
	readonly kind: string;
	readonly part: number | null;
	readonly detail: unknown;
}

/** `turn`: draws of one role for one attempt, from 0. */
export interface JobDraw {
	readonly part: number;
	readonly attempt: number;
	readonly role: 0 | 1 | 2;
	readonly turn: number;
	readonly listHash: string;
	readonly body: Json;
}

export const CLAIM_STATES = ["stored", "claimed", "checked", "paid", "fallen"] as const;

/** Of one attempt at a part, and since when it is there. */
interface AttemptRow {
	readonly job: string;
	readonly part: number;
	readonly attempt: number;
	readonly atMs: number;
}

export interface JobClaimRow extends AttemptRow {
	readonly hash: string;
	readonly provider: string;
	readonly state: (typeof CLAIM_STATES)[number];
	readonly body: Json;
}

export interface FraudRow extends AttemptRow {
	readonly hash: string;
	/** Hash of the claim that it kills. */
	readonly claim: string;
	readonly accused: string;
	readonly body: Json;
}

export const OUTCOMES = ["checked", "paid", "lost", "late", "declined", "returned", "convicted"] as const;

export interface JobOutcome extends AttemptRow {
	readonly serial: number;
	readonly provider: string;
	readonly outcome: (typeof OUTCOMES)[number];
	readonly valueMicros: number;
}

export const SUMMARY_BUT_RECORD = "id, customer, title, kind, version, is_over, created_at_ms, ended_at_ms, is_cleared";
export const SUMMARY = `${SUMMARY_BUT_RECORD}, record`;
export const DRAW = "part, attempt, role, turn, list_hash, body";
export const CLAIM = "hash, job, part, attempt, provider, state, at_ms, body";
export const FRAUD = "hash, claim, job, part, attempt, accused, at_ms, body";
export const OUTCOME = "serial, provider, job, part, attempt, outcome, value_micros, at_ms";

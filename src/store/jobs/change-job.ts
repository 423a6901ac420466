// How a job changes: one transaction a transition, with its events, draws, claims, outcomes and fraud, or nothing of them. Guarded by the version that
// it was decided from. Whoever listens is told in the same transaction: what was told has happened.
import { AssayError } from "../../protocol/assay-error.ts";
import type { Json } from "../../protocol/bytes/canonical-json.ts";
import type { JobPart, JobRecord } from "../../protocol/network/job.ts";
import type { JobSpec } from "../../protocol/network/job-spec.ts";
import { hex, hostileJson, integer, json, list, oneOf, text } from "../check-input.ts";
import type { StoreContext } from "../context.ts";
import type { Sql } from "../postgres/sql.ts";
import { packList } from "./draw-list.ts";
import {
	CLAIM,
	CLAIM_STATES,
	FRAUD,
	type FraudRow,
	type JobClaimRow,
	type JobDraw,
	type JobOutcome,
	type JobRow,
	type JobSummary,
	OUTCOMES,
	SUMMARY,
} from "./job-rows.ts";

interface NewJobEvent {
	readonly kind: string;
	readonly part?: number | null;
	/** JSON, of a provider's words too: strings are made harmless. */
	readonly detail?: unknown;
}

export interface NewJob extends Pick<JobRow, "id" | "customer" | "spec" | "offer" | "record"> {
	readonly atMs: number;
	readonly events?: readonly NewJobEvent[];
}

export interface JobChange {
	readonly id: string;
	/** Guard: the version that it was decided from. */
	readonly version: number;
	readonly record: JobRecord;
	/** The record of that version: parts that say the same in both are not written. Without it all of them are looked at. */
	readonly before?: JobRecord;
	readonly atMs: number;
	readonly events?: readonly NewJobEvent[];
	/** A list that was written before stays: of `body` only the fields that are given change. */
	readonly draws?: readonly JobDraw[];
	/** By hash: one that is known is written over, by its own attempt or by a later one that honestly came to the same. */
	readonly claims?: readonly JobClaimRow[];
	readonly fraud?: FraudRow & { readonly file: Uint8Array };
	/** Each once; what is known stays. */
	readonly outcomes?: readonly Omit<JobOutcome, "serial" | "job" | "atMs">[];
}

/** A spec of 4,096 tensors has half a million characters; a list of 10,000 hosts a million. */
const LARGE_CHARS = 4 * 1024 * 1024;
const MOST_PARTS = 100_000;
const MOST_ROWS = 10_000;
const FRAUD_BYTES = 8 * 1024 * 1024;

const id = (what: string, value: string): string => hex(what, value, 64);
const place = (part: number, attempt: number) => [integer("a part", part), integer("an attempt", attempt)] as const;
const isOver = ({ parts }: JobRecord): boolean => parts.every(({ state }) => state === "paid" || state === "refunded");

function recordJson(job: string, record: JobRecord): string {
	if (record.id !== job) throw new AssayError("STORE_INPUT", "the record is of another job");
	list("parts", record.parts, MOST_PARTS);
	return json("a record", record, LARGE_CHARS);
}

/** Those that must still answer for this part; the validator itself is nobody's host. Of a claim that is disputed nobody is asked any more. */
const owing = ({ state, audits, isDisputed }: JobPart): readonly string[] =>
	["assigned", "running", "claimed"].includes(state) && !isDisputed
		? audits.flatMap(({ auditor, answer }) => (auditor === null || answer !== null ? [] : [auditor]))
		: [];

/** Whether both are one row of the projection. */
function isSameRow(a: JobPart, b: JobPart | undefined): boolean {
	if (b === undefined || a.state !== b.state || a.provider !== b.provider) return false;
	return a.attempt === b.attempt && a.untilMs === b.untilMs && owing(a).join(" ") === owing(b).join(" ");
}

/** Rows that say the same are not written. `from`: what must be there, before `unnest`; values from `$first` on, after the job's id as $1. */
const partsStatement = (from: string, first: number): string => {
	const at = (n: number) => `$${first + n}`;
	return `INSERT INTO job_parts AS p (job, part, state, provider, attempt, until_ms, auditors)
		SELECT $1, n.part, n.state, n.provider, n.attempt, n.until_ms, coalesce(string_to_array(nullif(n.auditors, ''), ' '), '{}')
		FROM ${from} unnest(${at(0)}::integer[], ${at(1)}::text[], ${at(2)}::text[], ${at(3)}::integer[], ${at(4)}::bigint[], ${at(5)}::text[])
			AS n (part, state, provider, attempt, until_ms, auditors)
		ON CONFLICT (job, part) DO UPDATE SET state = excluded.state, provider = excluded.provider, attempt = excluded.attempt,
			until_ms = excluded.until_ms, auditors = excluded.auditors
		WHERE (p.state, p.provider, p.attempt, p.until_ms, p.auditors)
			IS DISTINCT FROM (excluded.state, excluded.provider, excluded.attempt, excluded.until_ms, excluded.auditors)`;
};

const partsValues = (parts: readonly JobPart[]): unknown[] => [
	parts.map(({ part }) => integer("a part", part)),
	parts.map(({ state }) => text("a state", state, 20)),
	parts.map(({ provider }) => (provider === null ? null : id("a provider's id", provider))),
	parts.map(({ attempt }) => integer("an attempt", attempt)),
	parts.map(({ untilMs }) => integer("untilMs", untilMs)),
	parts.map((part) =>
		owing(part)
			.map((one) => id("an auditor's id", one))
			.join(" "),
	),
];

/** In their order; whoever listens is told with the serial. Values from `$first` on, after the job's id as $1. */
const eventsStatement = (from: string, first: number): string => {
	const at = (n: number) => `$${first + n}`;
	return `INSERT INTO job_events (job, at_ms, kind, part, detail)
		SELECT $1, ${at(0)}::bigint, n.kind, n.part, n.detail::jsonb
		FROM ${from} unnest(${at(1)}::text[], ${at(2)}::integer[], ${at(3)}::text[]) WITH ORDINALITY AS n (kind, part, detail, place)
		ORDER BY n.place
		RETURNING pg_notify(${at(4)}, jsonb_build_object('kind', 'event', 'event', jsonb_build_object('kind', 'job.' || kind,
			'subject', job, 'atMs', at_ms, 'detail', jsonb_build_object('providerId', NULL,
			'detail', jsonb_build_object('serial', serial, 'part', part))))::text)`;
};

function eventsValues({ channel }: StoreContext, atMs: number, all: readonly NewJobEvent[]): unknown[] {
	const events = list("events", all, MOST_ROWS);
	return [
		atMs,
		events.map(({ kind }) => text("an event's kind", kind, 80)),
		events.map(({ part = null }) => (part === null ? null : integer("a part", part))),
		events.map(({ detail = {} }) => hostileJson("detail", detail)),
		channel,
	];
}

async function putDraws(sql: Sql, job: string, draws: readonly JobDraw[]): Promise<void> {
	for (const { part, attempt, role, turn, listHash, body } of list("draws", draws, MOST_ROWS)) {
		const { list: own, ...rest } = body as Record<string, Json>;
		const packed = packList(own);
		const written = await sql.write(
			`INSERT INTO job_draws AS d (job, part, attempt, role, turn, list_hash, body, list) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (job, part, attempt, role, turn) DO UPDATE SET body = d.body || excluded.body, list = coalesce(excluded.list, d.list)
			WHERE d.list_hash = excluded.list_hash`,
			[
				...[job, ...place(part, attempt), integer("a role", role, 0, 2), integer("a turn", turn)],
				...[id("a list's hash", listHash), json("a draw", packed === null ? body : rest, LARGE_CHARS), packed],
			],
		);
		if (written !== 1) throw new AssayError("STORE_CONFLICT", "the list of this draw was published and is another one");
	}
}

async function putClaims(sql: Sql, job: string, claims: readonly JobClaimRow[]): Promise<void> {
	for (const claim of list("claims", claims, MOST_ROWS)) {
		if (claim.job !== job) throw new AssayError("STORE_INPUT", "the claim is of another job");
		const written = await sql.write(
			`INSERT INTO job_claims AS c (${CLAIM}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (hash) DO UPDATE SET attempt = excluded.attempt, provider = excluded.provider, state = excluded.state, at_ms = excluded.at_ms,
				body = excluded.body
			WHERE (c.job, c.part) = (excluded.job, excluded.part)
				AND (c.attempt < excluded.attempt OR (c.attempt, c.provider) = (excluded.attempt, excluded.provider))`,
			[
				...[id("a claim's hash", claim.hash), job, ...place(claim.part, claim.attempt)],
				...[id("a provider's id", claim.provider), oneOf("a claim's state", claim.state, CLAIM_STATES)],
				...[integer("atMs", claim.atMs), json("a claim", claim.body, LARGE_CHARS)],
			],
		);
		if (written !== 1) throw new AssayError("STORE_CONFLICT", "a claim with this hash is another's");
	}
}

async function putOutcomes(sql: Sql, { id: job, atMs, outcomes = [] }: JobChange): Promise<void> {
	for (const { provider, part, attempt, outcome, valueMicros } of list("outcomes", outcomes, MOST_ROWS))
		await sql.write(
			`INSERT INTO job_outcomes (provider, job, part, attempt, outcome, value_micros, at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (job, part, attempt, provider, outcome) DO NOTHING`,
			[
				...[id("a provider's id", provider), job, ...place(part, attempt)],
				...[oneOf("an outcome", outcome, OUTCOMES), integer("a value", valueMicros), atMs],
			],
		);
}

function fraudValues({ file, ...fraud }: NonNullable<JobChange["fraud"]>): unknown[] {
	if (file.length > FRAUD_BYTES) throw new AssayError("STORE_INPUT", `a fraud file has at most ${FRAUD_BYTES} bytes`);
	return [
		...[id("a fraud's hash", fraud.hash), id("a claim's hash", fraud.claim), id("a job's id", fraud.job)],
		...[...place(fraud.part, fraud.attempt), id("the accused", fraud.accused), integer("atMs", fraud.atMs)],
		...[json("a fraud", fraud.body, LARGE_CHARS), Buffer.from(file)],
	];
}

async function putFraud(sql: Sql, job: string, fraud: NonNullable<JobChange["fraud"]>): Promise<void> {
	if (fraud.job !== job) throw new AssayError("STORE_INPUT", "the fraud is of another job");
	await sql.write(
		`INSERT INTO frauds (${FRAUD}, file) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (hash) DO UPDATE SET body = excluded.body`,
		fraudValues(fraud),
	);
}

/** Once, while there are fewer than `most` of its claim; what is known stays. False: there are so many, and this is none of them. */
export async function addFraud(
	sql: Sql,
	fraud: NonNullable<JobChange["fraud"]>,
	{ most }: { readonly most: number },
): Promise<boolean> {
	await sql.write(
		`INSERT INTO frauds (${FRAUD}, file) SELECT $1, $2, $3, $4::integer, $5::integer, $6, $7::bigint, $8::jsonb, $9::bytea
		WHERE (SELECT count(*) FROM frauds WHERE claim = $2) < ${integer("a limit", most, 1, 100)} ON CONFLICT DO NOTHING`,
		fraudValues(fraud),
	);
	return (await sql.query("SELECT 1 FROM frauds WHERE hash = $1", [fraud.hash])).length > 0;
}

/** It locks the row before anything else is written, so that serials of one job's events grow in the order in which they can be seen. */
const CHANGE = `UPDATE jobs SET record = $3, version = version + 1, is_over = $4, ended_at_ms = CASE WHEN $4 THEN coalesce(ended_at_ms, $5) END
	WHERE id = $1 AND version = $2 RETURNING ${SUMMARY}`;
const CHANGE_VALUES = 5;

/**
 * The same as one statement, which most changes are: as many of them a second as signs of life and transitions of all jobs, and each way to the
 * database and back holds a connection. Parts and events are written only with a changed job before them.
 */
function changeStatement(hasParts: boolean, hasEvents: boolean): string {
	const first = CHANGE_VALUES + 1;
	const parts = hasParts ? `, parts AS (${partsStatement("changed,", first)})` : "";
	const events = hasEvents ? `, told AS (${eventsStatement("changed,", first + (hasParts ? 6 : 0))})` : "";
	return `WITH changed AS (${CHANGE})${parts}${events} SELECT * FROM changed`;
}

/** Null: another change came first, and nothing was written. */
export async function changeJob(context: StoreContext, change: JobChange): Promise<JobSummary | null> {
	const job = id("a job's id", change.id);
	const atMs = integer("atMs", change.atMs);
	const { before, record, draws = [], claims = [], outcomes = [], events = [], fraud } = change;
	const values = [job, integer("a version", change.version), recordJson(job, record), isOver(record), atMs];
	const parts = record.parts.filter((part) => !isSameRow(part, before?.parts[part.part]));
	const partRows = parts.length === 0 ? [] : partsValues(parts);
	const eventRows = events.length === 0 ? [] : eventsValues(context, atMs, events);
	if (draws.length + claims.length + outcomes.length === 0 && fraud === undefined) {
		const statement = changeStatement(parts.length > 0, events.length > 0);
		const [row] = await context.database.statement<JobSummary>(statement, [...values, ...partRows, ...eventRows]);
		return row ?? null;
	}
	return await context.database.transaction(async (sql) => {
		const [row] = await sql.query<JobSummary>(CHANGE, values);
		if (row === undefined) return null;
		if (parts.length > 0) await sql.write(partsStatement("", 2), [job, ...partRows]);
		await putDraws(sql, job, draws);
		await putClaims(sql, job, claims);
		await putOutcomes(sql, change);
		if (fraud !== undefined) await putFraud(sql, job, fraud);
		if (events.length > 0) await sql.query(eventsStatement("", 2), [job, ...eventRows]);
		return row;
	});
}

/** False: a job with this id is there already, whatever it holds. */
export async function createJob(
	context: StoreContext,
	job: NewJob,
	{ mostOpen }: { readonly mostOpen?: number } = {},
): Promise<boolean> {
	const { record, atMs } = job;
	const customer = text("a customer", job.customer, 200);
	const values = [id("a job's id", job.id), customer, ...described(job.spec, job.offer)];
	values.push(recordJson(job.id, record), integer("atMs", atMs));
	return await context.database.transaction(async (sql) => {
		if (mostOpen !== undefined) {
			// Two requests of one customer come here one after the other.
			await sql.write("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
				`assay/jobs/${context.schema}/${customer}`,
			]);
			const [held] = await sql.query<{ readonly count: number }>(
				"SELECT count(*)::int AS count FROM jobs WHERE customer = $1 AND NOT is_over AND id <> $2",
				[customer, job.id],
			);
			if (held!.count >= mostOpen)
				throw new AssayError("JOB_QUOTA", `${held!.count} jobs are under way, ${mostOpen} are allowed`, {
					hint: "Wait until one of them ends, or cancel one.",
				});
		}
		const written = await sql.write(
			`INSERT INTO jobs (id, customer, title, kind, spec, offer, record, created_at_ms, version, is_over)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, false) ON CONFLICT (id) DO NOTHING`,
			values,
		);
		if (written === 0) return false;
		await sql.write(partsStatement("", 2), [job.id, ...partsValues(record.parts)]);
		await sql.query(eventsStatement("", 2), [job.id, ...eventsValues(context, atMs, job.events ?? [])]);
		return true;
	});
}

const described = (spec: JobSpec, offer: Json): (string | number)[] => [
	text("a title", spec.title, 100),
	text("a kind", spec.kind, 32),
	json("a spec", spec, LARGE_CHARS),
	json("an offer", offer, LARGE_CHARS),
];

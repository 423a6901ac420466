// How a job changes: one transaction a transition, with its events, draws, claims, outcomes and fraud, or
// nothing of them. Guarded by the version that it was decided from. Whoever listens is told in the same
// transaction: what was told has happened.
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
	SUMMARY_BUT_RECORD,
	UNKNOWN_DEVICE,
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
	/**
	 * The record of that version: parts that say the same in both are not written. Without it all of them are
	 * looked at.
	 */
	readonly before?: JobRecord;
	readonly atMs: number;
	readonly events?: readonly NewJobEvent[];
	/** A list that was written before stays: of `body` only the fields that are given change. */
	readonly draws?: readonly JobDraw[];
	/**
	 * By hash: one that is known is written over, by its own attempt or by a later one that honestly came to
	 * the same.
	 */
	readonly claims?: readonly JobClaimRow[];
	/** What became of claims that are there. */
	readonly claimStates?: readonly Pick<JobClaimRow, "hash" | "state">[];
	readonly fraud?: FraudRow & { readonly file: Uint8Array };
	/** Of these attempts all outcomes are forgotten, before those that are new are written. */
	readonly undone?: readonly Pick<JobOutcome, "provider" | "part" | "attempt">[];
	/** Each once; what is known stays. */
	readonly outcomes?: readonly Omit<JobOutcome, "serial" | "job" | "atMs">[];
}

/** A spec of 4,096 tensors has half a million characters. */
const LARGE_CHARS = 4 * 1024 * 1024;
/** A list of 10,000 hosts of eight devices has six million. */
const MAX_DRAW_CHARS = 16 * 1024 * 1024;
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

/**
 * Those that must still answer for this part; the validator itself is nobody's host. Of a claim that is
 * disputed nobody is asked any more.
 */
const owing = ({
	state,
	audits,
	isDisputed,
}: JobPart): readonly { readonly auditor: string; readonly device: number }[] =>
	["assigned", "running", "claimed"].includes(state) && !isDisputed
		? audits.flatMap(({ auditor, answer, device = UNKNOWN_DEVICE }) =>
				auditor === null || answer !== null ? [] : [{ auditor, device }],
			)
		: [];

/** Whether both are one row of the projection. */
function isSameRow(a: JobPart, b: JobPart | undefined): boolean {
	if (b === undefined || a.state !== b.state || a.provider !== b.provider || a.device !== b.device) return false;
	return a.attempt === b.attempt && a.untilMs === b.untilMs && owingText(a) === owingText(b);
}

const owingText = (part: JobPart): string =>
	owing(part)
		.map(({ auditor, device }) => `${auditor}/${device}`)
		.join(" ");

/** Gives a value its place in a statement. */
type At = (value: unknown) => string;

/** Rows that say the same are not written. `from`: what must be there. */
function partsStatement(from: string, job: string, parts: readonly JobPart[], at: At): string {
	const [number, state, provider, device, attempt, untilMs, auditors, devices] = partsValues(parts).map(at);
	return `INSERT INTO job_parts AS p (job, part, state, provider, device, attempt, until_ms, auditors, audit_devices)
		SELECT ${job}, n.part, n.state, n.provider, n.device, n.attempt, n.until_ms,
			coalesce(string_to_array(nullif(n.auditors, ''), ' '), '{}'),
			coalesce(string_to_array(nullif(n.devices, ''), ' ')::integer[], '{}')
		FROM ${from}, unnest(${number}::integer[], ${state}::text[], ${provider}::text[], ${device}::integer[], ${attempt}::integer[],
			${untilMs}::bigint[], ${auditors}::text[], ${devices}::text[])
			AS n (part, state, provider, device, attempt, until_ms, auditors, devices)
		ON CONFLICT (job, part) DO UPDATE SET state = excluded.state, provider = excluded.provider, device = excluded.device,
			attempt = excluded.attempt, until_ms = excluded.until_ms, auditors = excluded.auditors, audit_devices = excluded.audit_devices
		WHERE (p.state, p.provider, p.device, p.attempt, p.until_ms, p.auditors, p.audit_devices)
			IS DISTINCT FROM (excluded.state, excluded.provider, excluded.device, excluded.attempt, excluded.until_ms,
				excluded.auditors, excluded.audit_devices)`;
}

const partsValues = (parts: readonly JobPart[]): unknown[] => [
	parts.map(({ part }) => integer("a part", part)),
	parts.map(({ state }) => text("a state", state, 20)),
	parts.map(({ provider }) => (provider === null ? null : id("a provider's id", provider))),
	parts.map(({ device }) => (device === undefined ? null : integer("a device", device))),
	parts.map(({ attempt }) => integer("an attempt", attempt)),
	parts.map(({ untilMs }) => integer("untilMs", untilMs)),
	parts.map((part) =>
		owing(part)
			.map(({ auditor }) => id("an auditor's id", auditor))
			.join(" "),
	),
	parts.map((part) =>
		owing(part)
			.map(({ device }) => device)
			.join(" "),
	),
];

/** In their order; whoever listens is told with the serial and the job's version. */
function eventsStatement(from: string, job: string, all: readonly NewJobEvent[], of: EventsOf, at: At): string {
	const events = list("events", all, MOST_ROWS);
	const kinds = at(events.map(({ kind }) => text("an event's kind", kind, 80)));
	const parts = at(events.map(({ part = null }) => (part === null ? null : integer("a part", part))));
	const details = at(events.map(({ detail = {} }) => hostileJson("detail", detail)));
	return `INSERT INTO job_events (job, at_ms, kind, part, detail)
		SELECT ${job}, ${at(of.atMs)}::bigint, n.kind, n.part, n.detail::jsonb
		FROM ${from}, unnest(${kinds}::text[], ${parts}::integer[], ${details}::text[]) WITH ORDINALITY AS n (kind, part, detail, place)
		ORDER BY n.place
		RETURNING pg_notify(${at(of.channel)}, jsonb_build_object('kind', 'event', 'event', jsonb_build_object('kind', 'job.' || kind,
			'subject', job, 'atMs', at_ms, 'detail', jsonb_build_object('providerId', NULL,
			'detail', jsonb_build_object('serial', serial, 'part', part, 'version', ${at(of.version)}::integer))))::text)`;
}
interface EventsOf {
	readonly atMs: number;
	/** Of the job, from now on. */
	readonly version: number;
	readonly channel: string;
}

/** A list that was published stays: another one writes no row. */
function drawStatement({ part, attempt, role, turn, listHash, body }: JobDraw, job: string, at: At): string {
	const { list: own, ...rest } = body as Record<string, Json>;
	const packed = packList(own);
	const [number, attempted] = place(part, attempt).map(at);
	const values = [at(integer("a role", role, 0, 2)), at(integer("a turn", turn)), at(id("a list's hash", listHash))];
	values.push(`${at(json("a draw", packed === null ? body : rest, MAX_DRAW_CHARS))}::jsonb`, `${at(packed)}::bytea`);
	return `INSERT INTO job_draws AS d (job, part, attempt, role, turn, list_hash, body, list)
		SELECT ${job}, ${number}::integer, ${attempted}::integer, ${values[0]}::integer, ${values[1]}::integer, ${values.slice(2).join(", ")} FROM changed
		ON CONFLICT (job, part, attempt, role, turn) DO UPDATE SET body = d.body || excluded.body, list = coalesce(excluded.list, d.list)
		WHERE d.list_hash = excluded.list_hash RETURNING 1`;
}

/** What is another's writes no row. */
function claimStatement(claim: JobClaimRow, of: string, job: string, at: At): string {
	if (claim.job !== of) throw new AssayError("STORE_INPUT", "the claim is of another job");
	const [number, attempt] = place(claim.part, claim.attempt).map(at);
	const hash = at(id("a claim's hash", claim.hash));
	const provider = at(id("a provider's id", claim.provider));
	const state = at(oneOf("a claim's state", claim.state, CLAIM_STATES));
	const [atMs, body] = [at(integer("atMs", claim.atMs)), at(json("a claim", claim.body, LARGE_CHARS))];
	return `INSERT INTO job_claims AS c (${CLAIM})
		SELECT ${hash}, ${job}, ${number}::integer, ${attempt}::integer, ${provider}, ${state}, ${atMs}::bigint, ${body}::jsonb FROM changed
		ON CONFLICT (hash) DO UPDATE SET attempt = excluded.attempt, provider = excluded.provider, state = excluded.state, at_ms = excluded.at_ms,
			body = excluded.body
		WHERE (c.job, c.part) = (excluded.job, excluded.part)
			AND (c.attempt < excluded.attempt OR (c.attempt, c.provider) = (excluded.attempt, excluded.provider)) RETURNING 1`;
}

function claimStatesStatement(states: NonNullable<JobChange["claimStates"]>, job: string, at: At): string {
	const hashes = at(states.map(({ hash }) => id("a claim's hash", hash)));
	const names = at(states.map(({ state }) => oneOf("a claim's state", state, CLAIM_STATES)));
	return `UPDATE job_claims c SET state = n.state FROM changed, unnest(${hashes}::text[], ${names}::text[]) AS n (hash, state)
		WHERE c.hash = n.hash AND c.job = ${job}`;
}

/** But those that are written beside it, which one statement cannot both remove and write. */
function undoneStatement({ undone = [], outcomes = [] }: JobChange, job: string, at: At): string {
	const all = list("attempts", undone, MOST_ROWS);
	const providers = at(all.map(({ provider }) => id("a provider's id", provider)));
	const parts = at(all.map(({ part }) => integer("a part", part)));
	const attempts = at(all.map(({ attempt }) => integer("an attempt", attempt)));
	const kept = at(outcomes.map(({ outcome }) => outcome));
	return `DELETE FROM job_outcomes o USING changed, unnest(${providers}::text[], ${parts}::integer[], ${attempts}::integer[])
			AS n (provider, part, attempt)
		WHERE o.job = ${job} AND (o.provider, o.part, o.attempt) = (n.provider, n.part, n.attempt) AND o.outcome <> ALL (${kept}::text[])`;
}

function outcomesStatement({ outcomes = [], atMs }: JobChange, job: string, at: At): string {
	const all = list("outcomes", outcomes, MOST_ROWS);
	const providers = at(all.map(({ provider }) => id("a provider's id", provider)));
	const parts = at(all.map(({ part }) => integer("a part", part)));
	const attempts = at(all.map(({ attempt }) => integer("an attempt", attempt)));
	const names = at(all.map(({ outcome }) => oneOf("an outcome", outcome, OUTCOMES)));
	const values = at(all.map(({ valueMicros }) => integer("a value", valueMicros)));
	return `INSERT INTO job_outcomes (provider, job, part, attempt, outcome, value_micros, at_ms)
		SELECT n.provider, ${job}, n.part, n.attempt, n.outcome, n.value_micros, ${at(atMs)}::bigint FROM changed,
			unnest(${providers}::text[], ${parts}::integer[], ${attempts}::integer[], ${names}::text[], ${values}::bigint[])
			WITH ORDINALITY AS n (provider, part, attempt, outcome, value_micros, place) ORDER BY n.place
		ON CONFLICT (job, part, attempt, provider, outcome) DO NOTHING`;
}

function fraudValues({ file, ...fraud }: NonNullable<JobChange["fraud"]>): unknown[] {
	if (file.length > FRAUD_BYTES) throw new AssayError("STORE_INPUT", `a fraud file has at most ${FRAUD_BYTES} bytes`);
	return [
		...[id("a fraud's hash", fraud.hash), id("a claim's hash", fraud.claim), id("a job's id", fraud.job)],
		...[...place(fraud.part, fraud.attempt), id("the accused", fraud.accused), integer("atMs", fraud.atMs)],
		...[json("a fraud", fraud.body, LARGE_CHARS), Buffer.from(file)],
	];
}

function fraudStatement(fraud: NonNullable<JobChange["fraud"]>, of: string, at: At): string {
	if (fraud.job !== of) throw new AssayError("STORE_INPUT", "the fraud is of another job");
	const types = ["text", "text", "text", "integer", "integer", "text", "bigint", "jsonb", "bytea"];
	const values = fraudValues(fraud).map((value, i) => `${at(value)}::${types[i]}`);
	return `INSERT INTO frauds (${FRAUD}, file) SELECT ${values.join(", ")} FROM changed ON CONFLICT (hash) DO UPDATE SET body = excluded.body`;
}

/**
 * Once, while there are fewer than `most` of its claim; what is known stays. False: there are so many, and
 * this is none of them.
 */
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

/**
 * Rows that must be written, and were not because what is there is another's: nothing of the statement
 * happens then.
 */
const REFUSED = "22012";
const mustAll = (names: readonly string[]): string =>
	names.length === 0
		? "1"
		: `1 / CASE WHEN ${names.map((name) => `(SELECT count(*) FROM ${name})`).join(" + ")} = ${names.length} THEN 1 ELSE 0 END`;

/**
 * The whole change as one statement: there are as many of them a second as signs of life and transitions of
 * all jobs, and each way to the database and back holds a connection. The job's row is locked before anything
 * else is written, so that serials of one job's events grow in the order in which they can be seen; all else
 * is written only with a changed job before it.
 */
function changeStatement(
	context: StoreContext,
	change: JobChange,
): { readonly text: string; readonly values: unknown[] } {
	const of = id("a job's id", change.id);
	const { before, record, draws = [], claims = [], claimStates = [], outcomes = [], undone = [] } = change;
	const { events = [], fraud } = change;
	const values: unknown[] = [];
	const at: At = (value) => `$${values.push(value)}`;
	const [job, version, atMs] = [at(of), integer("a version", change.version), integer("atMs", change.atMs)];
	const parts = record.parts.filter((part) => !isSameRow(part, before?.parts[part.part]));
	const over = at(isOver(record));
	const steps = [
		`changed AS (UPDATE jobs SET record = ${at(recordJson(of, record))}, version = version + 1, is_over = ${over},
			ended_at_ms = CASE WHEN ${over} THEN coalesce(ended_at_ms, ${at(atMs)}) END
			WHERE id = ${job} AND version = ${at(version)} RETURNING ${SUMMARY_BUT_RECORD})`,
	];
	const musts: string[] = [];
	const must = (name: string, statement: string) => {
		musts.push(name);
		steps.push(`${name} AS (${statement})`);
	};
	if (parts.length > 0) steps.push(`parts AS (${partsStatement("changed", job, parts, at)})`);
	for (const [i, draw] of list("draws", draws, MOST_ROWS).entries()) must(`draw${i}`, drawStatement(draw, job, at));
	for (const [i, claim] of list("claims", claims, MOST_ROWS).entries())
		must(`claim${i}`, claimStatement(claim, of, job, at));
	if (claimStates.length > 0) steps.push(`states AS (${claimStatesStatement(claimStates, job, at)})`);
	if (undone.length > 0) steps.push(`undone AS (${undoneStatement(change, job, at)})`);
	if (outcomes.length > 0) steps.push(`outcomes AS (${outcomesStatement(change, job, at)})`);
	if (fraud !== undefined) steps.push(`fraud AS (${fraudStatement(fraud, of, at)})`);
	if (events.length > 0) {
		const about = { atMs, version: version + 1, channel: context.channel };
		steps.push(`told AS (${eventsStatement("changed", job, events, about, at)})`);
	}
	return { text: `WITH ${steps.join(", ")} SELECT *, ${mustAll(musts)} AS is_whole FROM changed`, values };
}

/** Null: another change came first, and nothing was written. */
export async function changeJob(context: StoreContext, change: JobChange): Promise<JobSummary | null> {
	const { text: statement, values } = changeStatement(context, change);
	const [row] = await context.database
		.statement<Omit<JobSummary, "record"> & { readonly isWhole: number }>(statement, values)
		.catch((error: unknown) => {
			const cause = (error as { cause?: { code?: unknown } }).cause;
			if (cause?.code !== REFUSED) throw error;
			throw new AssayError("STORE_CONFLICT", "the list of a draw was published, or a claim made, and is another one");
		});
	if (row === undefined) return null;
	const { isWhole: _, ...summary } = row;
	return { ...summary, record: change.record };
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
		const rows: unknown[] = [];
		const at: At = (value) => `$${rows.push(value)}`;
		const own = at(job.id);
		const about = { atMs, version: 1, channel: context.channel };
		const told = eventsStatement("one", own, job.events ?? [], about, at);
		await sql.query(
			`WITH one AS (SELECT 1), parts AS (${partsStatement("one", own, record.parts, at)}), told AS (${told}) SELECT 1`,
			rows,
		);
		return true;
	});
}

const described = (spec: JobSpec, offer: Json): (string | number)[] => [
	text("a title", spec.title, 100),
	text("a kind", spec.kind, 32),
	json("a spec", spec, LARGE_CHARS),
	json("an offer", offer, LARGE_CHARS),
];

// The audit of a job market's store after load and crashes: every job's events are played again by the rules
// of docs/jobs.md §8, and must lead to the record that is there; public rows must say the same; what anybody
// was told must have happened. Everything that is not so is named.
import type { JobPart, JobRecord } from "../../../src/protocol/network/job.ts";
import type { ToyNetwork } from "../../network/toy-network.ts";
import type { Acknowledged } from "./workers-process.ts";

interface EventRow {
	readonly job: string;
	readonly kind: string;
	readonly part: number | null;
	readonly at: number;
	// biome-ignore lint/suspicious/noExplicitAny: rows of many kinds
	readonly detail: any;
}

interface Audit {
	auditor: string | null;
	isAnswered: boolean;
	agrees: boolean | null;
}

interface Played {
	state: JobPart["state"];
	attempt: number;
	provider: string | null;
	claim: string | null;
	isChecked: boolean;
	audits: Audit[];
	/** Of each draw, how far it is: by attempt and role. */
	readonly draws: Map<string, "listed" | "drawn">;
	paid: number;
}

const fresh = (): Played => ({
	...{ state: "open", attempt: 0, provider: null, claim: null, isChecked: false, audits: [], paid: 0 },
	draws: new Map(),
});

/** Why this event cannot follow; null: it can, and has happened. */
function play(part: Played, { kind, detail }: EventRow): string | null {
	const must = (isRight: boolean): string | null =>
		isRight ? null : `${kind} of attempt ${detail.attempt} in ${part.state} of attempt ${part.attempt}`;
	const isOf = (...states: readonly JobPart["state"][]) =>
		must(states.includes(part.state) && detail.attempt === part.attempt);
	switch (kind) {
		case "listed":
		case "drawn": {
			const name = `${detail.attempt}/${detail.role}`;
			const wrong = must(part.draws.get(name) === (kind === "listed" ? undefined : "listed"));
			part.draws.set(name, kind);
			return wrong;
		}
		case "offered": {
			const wrong = must(part.state === "open" && detail.attempt === part.attempt + 1);
			Object.assign(part, { ...fresh(), draws: part.draws, paid: part.paid });
			Object.assign(part, { state: "assigned", attempt: detail.attempt, provider: detail.provider });
			return wrong;
		}
		case "running": {
			const wrong = isOf("assigned");
			part.state = "running";
			return wrong;
		}
		case "claimed": {
			const wrong = isOf("running");
			Object.assign(part, { state: "claimed", claim: detail.claim });
			return wrong;
		}
		case "declined":
		case "reopened":
		case "convicted": {
			const wrong = isOf(...(kind === "convicted" ? (["claimed"] as const) : (["assigned", "running"] as const)));
			const { attempt, draws, paid } = part;
			Object.assign(part, fresh(), { attempt, draws, paid });
			return wrong;
		}
		case "checked": {
			const wrong = isOf("claimed") ?? must(!part.isChecked);
			part.isChecked = true;
			return wrong;
		}
		case "paid": {
			const wrong = isOf("claimed");
			part.state = "paid";
			part.paid += 1;
			return wrong;
		}
		default:
			return playAudit(part, kind, detail) ?? (BESIDE.includes(kind) ? null : must(false));
	}
}

/** They change no state. */
const BESIDE = ["metrics", "progress", "preview", "audit", "answered", "compared", "audit-declined"];

// biome-ignore lint/suspicious/noExplicitAny: rows of many kinds
function playAudit(part: Played, kind: string, detail: any): string | null {
	if (kind === "audit" && detail.instead !== undefined) {
		const at = part.audits.findIndex(
			(one) => one.auditor === detail.instead && (!one.isAnswered || one.agrees === false),
		);
		if (at < 0) return "an auditor is replaced that owes nothing";
		part.audits[at] = { auditor: detail.audits[0].auditor, isAnswered: false, agrees: null };
	} else if (kind === "audit")
		for (const { auditor } of detail.audits) part.audits.push({ auditor, isAnswered: false, agrees: null });
	else if (kind === "answered" || kind === "compared") {
		const audit = part.audits[detail.audit];
		if (audit === undefined || audit.auditor !== detail.auditor) return `${kind} by somebody who was not asked`;
		if (audit.isAnswered !== (kind === "compared") || audit.agrees !== null) return `${kind} twice, or out of turn`;
		if (kind === "answered") audit.isAnswered = true;
		else audit.agrees = detail.agrees;
	}
	return null;
}

/** What the record says otherwise than its events. */
function differences(record: JobPart, played: Played): string[] {
	const { state, attempt, provider, claim, isChecked, audits } = record;
	const shown = audits.map(({ auditor, answer, agrees }) => ({ auditor, isAnswered: answer !== null, agrees }));
	const own = { state, attempt, provider, claim, isChecked, audits: shown };
	const { draws: _, paid: __, ...other } = played;
	return (Object.keys(own) as (keyof typeof own)[])
		.filter((key) => JSON.stringify(own[key]) !== JSON.stringify(other[key]))
		.map((key) => `${key} is ${JSON.stringify(own[key])}, by its events ${JSON.stringify(other[key])}`);
}

interface JobRows {
	readonly id: string;
	readonly record: JobRecord;
	readonly is_over: boolean;
}

function wrongInJob({ id, record, is_over: isOver }: JobRows, events: readonly EventRow[]): string[] {
	const parts = record.parts.map(fresh);
	const wrong: string[] = [];
	for (const event of events) {
		if (event.part === null) continue;
		const why = play(parts[event.part]!, event);
		if (why !== null) wrong.push(why);
	}
	for (const [i, part] of record.parts.entries()) wrong.push(...differences(part, parts[i]!));
	const isPaid = record.parts.every(({ state }) => state === "paid");
	if (!isOver || !isPaid) wrong.push(`it is not over: ${record.parts.map(({ state }) => state).join(" ")}`);
	for (const { paid } of parts) if (paid !== 1) wrong.push(`paid ${paid} times`);
	const ends = events.filter(({ kind }) => kind === "over").length;
	if (ends !== 1 || events.at(-1)?.kind !== "over") wrong.push(`it ended ${ends} times`);
	if (events.filter(({ kind }) => kind === "submitted").length !== 1) wrong.push("it was not handed in once");
	return wrong.map((why) => `job ${id.slice(0, 8)}: ${why}`);
}

/** Two parts of one host at one time. */
function wrongInHosts(events: readonly EventRow[]): string[] {
	const wrong: string[] = [];
	const at = new Map<string, string>();
	for (const { kind, job, part, detail } of [...events].sort((a, b) => a.at - b.at)) {
		const { provider, attempt } = detail as { provider?: string; attempt?: number };
		if (provider === undefined) continue;
		const name = `${job}/${part}/${attempt}`;
		if (kind === "offered") {
			const other = at.get(provider);
			if (other !== undefined) wrong.push(`host ${provider.slice(0, 8)} was given ${name} beside ${other}`);
			at.set(provider, name);
		} else if (["claimed", "declined", "reopened"].includes(kind) && at.get(provider) === name) at.delete(provider);
	}
	return wrong;
}

/** Outcomes, claims and the projection, against the records. */
const ROWS: readonly (readonly [what: string, statement: string])[] = [
	[
		"parts that say something else than their record",
		`SELECT p.job, p.part FROM job_parts p JOIN jobs j ON j.id = p.job
		WHERE (p.state, coalesce(p.provider, ''), p.attempt) IS DISTINCT FROM (j.record->'parts'->p.part->>'state',
			coalesce(j.record->'parts'->p.part->>'provider', ''), (j.record->'parts'->p.part->>'attempt')::integer)`,
	],
	[
		"parts without exactly one payment in the public rows",
		`SELECT p.job, p.part FROM job_parts p LEFT JOIN job_outcomes o ON (o.job, o.part) = (p.job, p.part) AND o.outcome = 'paid'
		GROUP BY p.job, p.part HAVING count(o.serial) <> 1`,
	],
	[
		"payments to another, or of another price",
		`SELECT o.job FROM job_outcomes o JOIN jobs j ON j.id = o.job WHERE o.outcome = 'paid' AND (o.provider, o.value_micros)
			IS DISTINCT FROM (j.record->'parts'->o.part->>'provider', (j.record->'terms'->>'priceMicros')::bigint)`,
	],
	["honest ones convicted", "SELECT job, provider FROM job_outcomes WHERE outcome = 'convicted'"],
	[
		"paid parts whose claim's row is not paid",
		`SELECT p.job FROM job_parts p JOIN jobs j ON j.id = p.job LEFT JOIN job_claims c ON c.hash = j.record->'parts'->p.part->>'claim'
		WHERE p.state = 'paid' AND (c.state, c.attempt, c.provider) IS DISTINCT FROM ('paid', p.attempt, p.provider)`,
	],
	["leases held", "SELECT name, holder FROM leases WHERE expires_at > clock_timestamp()"],
];

export interface LoadAudit {
	readonly jobs: number;
	readonly transitions: number;
	readonly byKind: Readonly<Record<string, number>>;
	readonly wrong: readonly string[];
}

/** When all validators have been stopped in good order. */
export async function auditLoad(
	{ sql }: Pick<ToyNetwork, "sql">,
	{ submitted, told }: { readonly submitted: readonly string[]; readonly told: readonly Acknowledged[] },
): Promise<LoadAudit> {
	const { rows: jobs } = await sql.query<JobRows>("SELECT id, record, is_over FROM jobs");
	const { rows: events } = await sql.query<EventRow>(
		"SELECT job, kind, part, at_ms::float8 AS at, detail FROM job_events ORDER BY serial",
	);
	const ofJob = Map.groupBy(events, ({ job }) => job);
	const wrong = [...jobs.flatMap((job) => wrongInJob(job, ofJob.get(job.id) ?? [])), ...wrongInHosts(events)];
	const known = new Set(jobs.map(({ id }) => id));
	for (const id of submitted) if (!known.has(id)) wrong.push(`job ${id.slice(0, 8)} was acknowledged and is lost`);
	const happened = new Set(
		events.flatMap(({ job, kind, part, detail }) =>
			["running", "claimed", "answered"].includes(kind)
				? [`${kind} ${job}/${part}/${detail.attempt} ${detail.claim ?? detail.audit ?? null}`]
				: [],
		),
	);
	for (const { what, job, part, attempt, detail } of told)
		if (!happened.has(`${what} ${job}/${part}/${attempt} ${detail}`))
			wrong.push(`${what} of ${job.slice(0, 8)}/${part}/${attempt} was acknowledged and is lost`);
	for (const [what, statement] of ROWS) {
		const { rows } = await sql.query(statement);
		if (rows.length > 0) wrong.push(`${what}: ${rows.length}, first ${JSON.stringify(rows[0])}`);
	}
	const byKind = Object.fromEntries(
		[...Map.groupBy(events, ({ kind }) => kind)].map(([kind, all]) => [kind, all.length]),
	);
	return { jobs: jobs.length, transitions: events.length, byKind, wrong };
}

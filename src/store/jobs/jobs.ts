// The market for jobs in the store: jobs with their records, events, draws, claims, outcomes and frauds. What
// may follow what is decided elsewhere (market/jobs); how a change is written is change-job.ts. Page:
// docs/jobs.md §14.
import type { Json } from "../../protocol/bytes/canonical-json.ts";
import type { JobRecord } from "../../protocol/network/job.ts";
import type { JobSpec } from "../../protocol/network/job-spec.ts";
import { hex, integer, list, text } from "../check-input.ts";
import type { StoreContext } from "../context.ts";
import { type Query, readPage } from "../page.ts";
import { addFraud, changeJob, createJob, type JobChange, type NewJob } from "./change-job.ts";
import { unpackList } from "./draw-list.ts";
import type { JobMemory } from "./job-memory.ts";
import {
	CLAIM,
	DRAW,
	FRAUD,
	type FraudRow,
	type JobClaimRow,
	type JobDraw,
	type JobEvent,
	type JobOutcome,
	type JobRow,
	type JobSummary,
	OUTCOME,
	SUMMARY,
	UNKNOWN_DEVICE,
} from "./job-rows.ts";

const MOST_ROWS = 10_000;
const id = (what: string, value: string): string => hex(what, value, 64);
const limitOf = (limit: number): number => integer("a limit", limit, 1, MOST_ROWS);

export function createJobStore(context: StoreContext, memory: JobMemory) {
	return {
		...lifeOfJobs(context, memory),
		...jobsUnderWay(context),
		...jobsAtWork(context),
		...publicRows(context, memory),
	};
}

type WholeRow = JobSummary & { readonly spec: JobSpec; readonly offer: Json; readonly bytes: number };
type News = Pick<JobSummary, "version" | "isOver" | "endedAtMs" | "isCleared"> & { readonly record: JobRecord | null };

/** What is remembered of a job is not read again: of it only what is new comes. */
async function readJob({ database }: StoreContext, memory: JobMemory, job: string): Promise<JobRow | null> {
	const known = memory.row(job);
	if (known === null) {
		const [found] = await database.read<WholeRow>(
			`SELECT ${SUMMARY}, spec, offer, pg_column_size(spec) + pg_column_size(offer) + pg_column_size(record) AS bytes FROM jobs WHERE id = $1`,
			[id("a job's id", job)],
		);
		if (found === undefined) return null;
		const { bytes, ...row } = found;
		memory.keep(row, bytes);
		return row;
	}
	const [news] = await database.read<News>(
		"SELECT version, is_over, ended_at_ms, is_cleared, CASE WHEN version <> $2 THEN record END AS record FROM jobs WHERE id = $1",
		[job, known.version],
	);
	if (news === undefined) {
		memory.forget(job);
		return null;
	}
	const row = { ...known, ...news, record: news.record ?? known.record };
	memory.keep(row);
	return row;
}

function lifeOfJobs(context: StoreContext, memory: JobMemory) {
	const { database } = context;
	/** As it is now; `atLeast`: one that is remembered in this version, or a newer one, will do. */
	const get = async (job: string, { atLeast }: { readonly atLeast?: number } = {}): Promise<JobRow | null> => {
		const known = atLeast === undefined ? null : memory.row(job);
		return known !== null && known.version >= atLeast! ? known : readJob(context, memory, job);
	};
	return {
		/**
		 * By its id once: a second one gives what is there. Throws JOB_QUOTA where its customer has `mostOpen`
		 * others that are not over.
		 */
		async create(job: NewJob, options: { readonly mostOpen?: number } = {}) {
			const isNew = await createJob(context, job, options);
			return { job: (await get(job.id))!, isNew };
		},
		/**
		 * One transition, whole. Null: the job has another version by now (or is none), and nothing was written.
		 */
		async change(change: JobChange): Promise<JobSummary | null> {
			const changed = await changeJob(context, change);
			const known = memory.row(change.id);
			if (changed !== null && known !== null) memory.keep({ ...known, ...changed });
			// Written whole: the next one who asks finds it.
			for (const draw of changed === null ? [] : (change.draws ?? [])) {
				const { list: published, ...body } = draw.body as Record<string, Json>;
				if (published !== undefined && (body.block ?? null) !== null)
					memory.draws.set(drawName(change.id, draw), { ...draw, body });
			}
			return changed;
		},
		get,
		/** As it was when this process had to do with it last; null: it is not remembered. */
		remembered: (job: string): JobRow | null => memory.row(job),

		/** The same without what the customer handed in. */
		summary: async (job: string) =>
			await database.readOne<JobSummary>(`SELECT ${SUMMARY} FROM jobs WHERE id = $1`, [id("a job's id", job)]),

		/** Newest first. `q`: in its title, or the beginning of its number. */
		list: (query: Query<Pick<JobSummary, "customer" | "isOver" | "kind"> & { readonly q: string }> = {}) =>
			readPage<JobSummary>(
				database,
				{ name: "jobs", columns: SUMMARY, from: "jobs", by: "created_at_ms", id: "id" },
				[
					["customer = ?", query.customer],
					["is_over = ?", query.isOver],
					["kind = ?", query.kind],
					["(strpos(lower(title), lower(?::text)) > 0 OR starts_with(id, ?::text))", query.q],
				],
				query,
			),

		/** In their order, after a serial. */
		events: (job: string, { after = 0, limit = 500 }: { readonly after?: number; readonly limit?: number } = {}) =>
			database.read<JobEvent>(
				"SELECT serial, at_ms, kind, part, detail FROM job_events WHERE job = $1 AND serial > $2 ORDER BY serial LIMIT $3",
				[id("a job's id", job), integer("a serial", after), limitOf(limit)],
			),
	};
}

/** Who works now. */
function jobsAtWork({ database }: StoreContext) {
	return {
		/**
		 * The devices of everyone that has a part to run, or owes the answer of an audit; `UNKNOWN_DEVICE`: one
		 * of them, and nobody here knows which.
		 */
		async devicesAtWork(): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
			// One text: asked at every draw, and a row for each of thousands would be dear.
			const [row] = await database.read<{ readonly all: string | null }>(
				`SELECT string_agg(n.provider || ' ' || n.device, ' ') AS all FROM (
					SELECT provider, coalesce(device, ${UNKNOWN_DEVICE}) AS device FROM job_parts WHERE state IN ('assigned', 'running')
					UNION SELECT unnest(auditors), unnest(audit_devices) FROM job_parts WHERE auditors <> '{}') n`,
			);
			const found = new Map<string, Set<number>>();
			const words = row?.all?.split(" ") ?? [];
			for (let i = 0; i < words.length; i += 2) {
				const device = Number(words[i + 1]);
				const known = found.get(words[i]!);
				if (known === undefined) found.set(words[i]!, new Set([device]));
				else known.add(device);
			}
			return found;
		},

		/** What a provider was given and has not locked a bond for yet, as far as this record knows. */
		async promisedMicros(provider: string): Promise<number> {
			const [row] = await database.read<{ readonly micros: string }>(
				`SELECT coalesce(sum((j.record->'terms'->>'bondMicros')::numeric), 0)::text AS micros
				FROM job_parts p JOIN jobs j ON j.id = p.job WHERE p.provider = $1 AND p.state = 'assigned'`,
				[id("a provider's id", provider)],
			);
			return Number(row!.micros);
		},
	};
}

/** What a keeper goes by. */
function jobsUnderWay({ database }: StoreContext) {
	return {
		/** Of all that are not over, with their versions. */
		async open(): Promise<ReadonlyMap<string, number>> {
			// One text: asked every second, and a row for each of thousands would be dear.
			const [row] = await database.read<{ readonly all: string | null }>(
				"SELECT string_agg(id || ' ' || version, ' ' ORDER BY id) AS all FROM jobs WHERE NOT is_over",
			);
			const words = row?.all?.split(" ") ?? [];
			return new Map(words.flatMap((word, i) => (i % 2 === 0 ? [[word, Number(words[i + 1])] as const] : [])));
		},

		/** Those of which a part was given back; newest first. */
		async givenBack({ limit }: { readonly limit: number }): Promise<readonly string[]> {
			const rows = await database.read<{ readonly id: string }>(
				`SELECT id FROM jobs j WHERE EXISTS (SELECT 1 FROM job_parts WHERE job = j.id AND state = 'refunded')
				ORDER BY created_at_ms DESC, id LIMIT $1`,
				[limitOf(limit)],
			);
			return rows.map((row) => row.id);
		},

		/**
		 * What a key has to do here: a provider with a part to run, to hand in or to answer for, or the customer
		 * of a job whose blobs are kept.
		 */
		async standingOf(key: string): Promise<"stranger" | "customer" | "working"> {
			const [row] = await database.read<{ readonly working: boolean; readonly customer: boolean }>(
				`SELECT EXISTS (SELECT 1 FROM job_parts WHERE provider = $1 AND state IN ('assigned', 'running', 'claimed'))
						OR EXISTS (SELECT 1 FROM job_parts WHERE auditors <> '{}' AND $1 = ANY (auditors)) AS working,
					EXISTS (SELECT 1 FROM jobs WHERE customer = $1 AND NOT is_cleared) AS customer`,
				[text("a key", key, 80)],
			);
			if (row!.working) return "working";
			return row!.customer ? "customer" : "stranger";
		},

		/** Bytes of all that a customer's jobs and this one more would keep, each blob once. */
		async keptBytes(customer: string, more: readonly { readonly root: string; readonly size: number }[]) {
			const [row] = await database.read<{ readonly bytes: string }>(
				`SELECT coalesce(sum(size), 0)::text AS bytes FROM (
					SELECT b->>'root' AS root, (b->>'size')::numeric AS size FROM jobs,
						jsonb_array_elements(jsonb_build_array(spec->'program', spec->'generation') || (spec->'given')) AS b
						WHERE customer = $1 AND NOT is_cleared AND jsonb_typeof(b) = 'object'
					UNION SELECT b->>'root', (b->>'size')::numeric FROM jsonb_array_elements($2::jsonb) AS b) AS kept`,
				[text("a customer", customer, 80), JSON.stringify(more)],
			);
			return Number(row!.bytes);
		},

		/** Whose claims are disputed and stand still: lost or convicted by its row, claimed by its part. */
		async disputedProviders(): Promise<readonly string[]> {
			const rows = await database.read<{ readonly provider: string }>(
				`SELECT DISTINCT p.provider FROM jobs j JOIN job_parts p ON p.job = j.id JOIN job_outcomes o USING (job, part, attempt, provider)
				WHERE NOT j.is_over AND p.state = 'claimed' AND o.outcome IN ('lost', 'convicted') ORDER BY 1`,
			);
			return rows.map(({ provider }) => provider);
		},

		/** Jobs that ended before `beforeMs` and whose blobs are held still; oldest first. */
		async uncleared({ beforeMs, limit }: { readonly beforeMs: number; readonly limit: number }) {
			const rows = await database.read<{ readonly id: string }>(
				"SELECT id FROM jobs WHERE is_over AND NOT is_cleared AND ended_at_ms < $1 ORDER BY ended_at_ms, id LIMIT $2",
				[integer("beforeMs", beforeMs), limitOf(limit)],
			);
			return rows.map((row) => row.id);
		},
		async cleared(job: string): Promise<void> {
			await database.write("UPDATE jobs SET is_cleared = true WHERE id = $1 AND is_over", [id("a job's id", job)]);
		},

		/** Forgets what happened in jobs that ended before `beforeMs`; the jobs and their public rows stay. */
		pruneEvents: ({ beforeMs, limit = MOST_ROWS }: { readonly beforeMs: number; readonly limit?: number }) =>
			database.write(
				`DELETE FROM job_events WHERE serial IN (SELECT e.serial FROM job_events e JOIN jobs j ON j.id = e.job
					WHERE j.is_over AND j.ended_at_ms < $1 LIMIT $2)`,
				[integer("beforeMs", beforeMs), limitOf(limit)],
			),
	};
}

const drawName = (job: string, { part, attempt, role }: Pick<JobDraw, "part" | "attempt" | "role">): string =>
	`${job}/${part}/${attempt}/${role}`;

type PackedDraw = JobDraw & { readonly list: Buffer | null };

const unpackDraw = ({ list: packed, ...draw }: PackedDraw): JobDraw =>
	packed === null ? draw : { ...draw, body: { ...(draw.body as object), list: unpackList(packed) } };

/** What everybody may read. */
function publicRows({ database }: StoreContext, memory: JobMemory) {
	return {
		draws: async (job: string): Promise<readonly JobDraw[]> =>
			(
				await database.read<PackedDraw>(
					`SELECT ${DRAW}, list FROM job_draws WHERE job = $1 ORDER BY part, attempt, role, turn`,
					[id("a job's id", job)],
				)
			).map(unpackDraw),
		/**
		 * One of them; its list is left out once it has a block, unless it is wanted: then nothing of it changes
		 * any more.
		 */
		async draw(
			job: string,
			{ part, attempt, role }: Pick<JobDraw, "part" | "attempt" | "role">,
			{ withList = true }: { readonly withList?: boolean } = {},
		): Promise<JobDraw | null> {
			const name = drawName(job, { part, attempt, role });
			const known = withList ? undefined : memory.draws.get(name);
			if (known !== undefined) return known;
			const rows = await database.read<PackedDraw>(
				`SELECT part, attempt, role, turn, list_hash, CASE WHEN $5 OR body->>'block' IS NULL THEN body ELSE body - 'list' END AS body,
					CASE WHEN $5 OR body->>'block' IS NULL THEN list END AS list
				FROM job_draws WHERE job = $1 AND part = $2 AND attempt = $3 AND role = $4 ORDER BY turn LIMIT 1`,
				[id("a job's id", job), integer("a part", part), integer("an attempt", attempt), role, withList],
			);
			const draw = rows[0] === undefined ? null : unpackDraw(rows[0]);
			const { block = null } = (draw?.body ?? {}) as { readonly block?: Json };
			if (draw !== null && block !== null && !withList) memory.draws.set(name, draw);
			return draw;
		},

		claim: async (hash: string) =>
			await database.readOne<JobClaimRow>(`SELECT ${CLAIM} FROM job_claims WHERE hash = $1`, [
				id("a claim's hash", hash),
			]),
		/** Newest first. */
		claims: (query: Query<Pick<JobClaimRow, "job" | "part" | "provider" | "state">> = {}) =>
			readPage<JobClaimRow>(
				database,
				{ name: "job-claims", columns: CLAIM, from: "job_claims", by: "at_ms", id: "hash" },
				[
					["job = ?", query.job],
					["part = ?", query.part],
					["provider = ?", query.provider],
					["state = ?", query.state],
				],
				query,
			),

		fraud: async (hash: string) =>
			await database.readOne<FraudRow & { readonly file: Uint8Array }>(
				`SELECT ${FRAUD}, file FROM frauds WHERE hash = $1`,
				[id("a fraud's hash", hash)],
			),
		/** Beside any change of its job. False: so many files are kept of its claim already. */
		addFraud: (fraud: NonNullable<JobChange["fraud"]>, o: { readonly most: number }) => addFraud(database, fraud, o),
		/** Newest first, without their files. */
		frauds: (query: Query<Pick<FraudRow, "job" | "accused" | "claim">> = {}) =>
			readPage<FraudRow>(
				database,
				{ name: "frauds", columns: FRAUD, from: "frauds", by: "at_ms", id: "hash" },
				[
					["job = ?", query.job],
					["accused = ?", query.accused],
					["claim = ?", query.claim],
				],
				query,
			),

		/** The newest row of each of these providers that has any: when it is another, there is something new. */
		async lastOutcomes(providers: readonly string[]): Promise<ReadonlyMap<string, number>> {
			const rows = await database.read<{ readonly provider: string; readonly serial: number }>(
				`SELECT n.provider, o.serial FROM unnest($1::text[]) AS n (provider),
					LATERAL (SELECT serial FROM job_outcomes WHERE provider = n.provider ORDER BY serial DESC LIMIT 1) o`,
				[list("providers", providers, 100_000).map((one) => id("a provider's id", one))],
			);
			return new Map(rows.map(({ provider, serial }) => [provider, serial]));
		},
		/** What came of the newest parts of these providers, oldest first: their reputations. */
		partsOf: (providers: readonly string[], { limit = 1000 }: { readonly limit?: number } = {}) =>
			database.read<JobOutcome>(
				`SELECT o.* FROM unnest($1::text[]) AS n (provider), LATERAL (SELECT ${OUTCOME} FROM job_outcomes WHERE provider = n.provider
					ORDER BY serial DESC LIMIT $2) o ORDER BY o.serial`,
				[list("providers", providers, 100_000).map((one) => id("a provider's id", one)), limitOf(limit)],
			),
	};
}

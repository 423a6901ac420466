// Probes that are due: which providers a process may take now, which it has, and groups that must be probed
// at the same time. All of it stands in the rows of `providers`: `next_probe_at_ms` says when, `probed_by`
// who works on it, and `together` that it was called for a simultaneous probe. Page: docs/schedule.md.
import { randomUUID } from "node:crypto";
import { hex, integer, list } from "../check-input.ts";
import type { StoreContext } from "../context.ts";
import { alive, type Leases, providerLease, releaseLease, unleased } from "./leases.ts";
import { createWorker, type Source, type Worker } from "./worker.ts";

/** Probes that must overlap in time: all of them wait for `startAtMs`. */
export interface ProbeGroup {
	readonly id: string;
	readonly startAtMs: number;
	readonly providerIds: readonly string[];
}

export interface DueProbe {
	readonly providerId: string;
	readonly together: ProbeGroup | null;
	/** Aborted when the lease was lost or the store closes: stop probing. */
	readonly signal: AbortSignal;
}

interface TakeOptions {
	readonly concurrency: number;
	/** How many of them may be other hosts than prompt ones (turn 0). Default: all. */
	readonly others?: number;
	/** Pause after a probe that failed for our own reasons, doubled each time in a row. Default a minute. */
	readonly retryMs?: number;
	readonly nowMs: () => number;
	/**
	 * No date lies further ahead than that; one that does was set while the clock was wrong, and is due now.
	 * Default: a thousand years.
	 */
	readonly farthestMs?: number;
}

interface Call {
	readonly providerIds: readonly string[];
	readonly startAtMs: number;
	readonly nowMs: number;
}

const FARTHEST_MS = 1000 * 365 * 86_400_000;
const RETRY_MS = 60_000;
const RETRY_DOUBLINGS = 8;
/** Members wait for each other no longer: whoever was not taken by then is probed alone, when it is due. */
const CALL_ENDS_MS = 60_000;

/** Work that somebody pays for is not disturbed; it lasts for an hour or so, and proves something itself. */
const WORKS = "EXISTS (SELECT 1 FROM job_parts j WHERE j.provider = p.id AND j.state IN ('assigned', 'running'))";
const FREE = `p.state = 'active' AND p.rental_id IS NULL AND p.probed_by IS NULL AND NOT ${WORKS} AND ${unleased("'provider/' || p.id")}`;
const CALLED = "(p.together IS NOT NULL AND (p.together ->> 'startAtMs')::bigint > $1::bigint - $2::bigint)";
const DUE = `providers p JOIN provider_memory m ON m.provider_id = p.id
		WHERE ${FREE} AND (p.link <> 'agent' OR p.connected_to = $3) AND p.id <> ALL ($6) AND NOT ${CALLED} AND (p.next_probe_at_ms <= $1 OR p.next_probe_at_ms > $8)`;

/**
 * $1 now, $2 how long a call lasts, $3 this process, $4 a lease's length, $5 how many, $6 who runs here, $7
 * how many that are not prompt, $8 the latest date that a right clock can have set.
 */
const TAKE = `
	WITH called AS (
		SELECT p.id, p.together FROM providers p
		WHERE ${FREE} AND (p.link <> 'agent' OR p.connected_to = $3) AND p.id <> ALL ($6) AND ${CALLED}
		-- Its own agents first: nobody else can probe those.
		ORDER BY p.link <> 'agent' LIMIT $5 FOR UPDATE OF p SKIP LOCKED
	), prompt AS (
		SELECT p.id, NULL::jsonb AS together FROM ${DUE} AND m.turn = 0
		ORDER BY p.next_probe_at_ms LIMIT $5 - (SELECT count(*) FROM called) FOR UPDATE OF p SKIP LOCKED
	), others AS (
		SELECT p.id, NULL::jsonb AS together FROM ${DUE} AND m.turn > 0
		ORDER BY m.turn, p.next_probe_at_ms LIMIT greatest(0, least(
			$5 - (SELECT count(*) FROM called) - (SELECT count(*) FROM prompt),
			$7 - (SELECT count(*) FROM provider_memory m WHERE m.provider_id = ANY ($6) AND m.turn > 0)
		)) FOR UPDATE OF p SKIP LOCKED
	), chosen AS (
		SELECT * FROM called UNION ALL SELECT * FROM prompt UNION ALL SELECT * FROM others
	), leased AS (
		INSERT INTO leases AS l (name, holder, expires_at)
		SELECT 'provider/' || id, $3, clock_timestamp() + $4 * interval '1 ms' FROM chosen ORDER BY id
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
		WHERE NOT ${alive("l")} RETURNING l.name
	)
	UPDATE providers p SET probed_by = $3, together = NULL, requested_at_ms = NULL
	FROM chosen JOIN leased ON leased.name = 'provider/' || chosen.id
	WHERE p.id = chosen.id RETURNING p.id AS provider_id, chosen.together`;

type Taken = Omit<DueProbe, "signal">;

function createSource({ database, process: me, leaseMs }: StoreContext, options: TakeOptions): Source<Taken> {
	const retryMs = integer("retryMs", options.retryMs ?? RETRY_MS);
	const others = integer("others", options.others ?? options.concurrency);
	const nowMs = () => integer("nowMs", Math.floor(options.nowMs()));
	const farthestMs = integer("farthestMs", options.farthestMs ?? FARTHEST_MS);
	return {
		leaseOf: ({ providerId }) => providerLease(providerId),
		async take(limit, running) {
			const ids = running.map((name) => name.slice(providerLease("").length));
			const now = nowMs();
			return await database.query<Taken>(TAKE, [
				...[now, CALL_ENDS_MS, me, leaseMs, limit, ids, others],
				now + farthestMs,
			]);
		},
		async giveBack({ providerId }, isStopping) {
			// A process that shuts down is no failure of the provider's: it is due at once, elsewhere.
			const [pauseMs, crashes] = isStopping ? [0, 0] : [retryMs, 1];
			await database.transaction(async (sql) => {
				await releaseLease(sql, providerLease(providerId), me);
				await sql.write(
					"UPDATE probes SET state = 'abandoned', finished_at_ms = $3 WHERE provider_id = $1 AND process = $2 AND state = 'running'",
					[providerId, me, nowMs()],
				);
				// Still marked as ours: nothing was counted, and nobody has taken it over.
				await sql.write(
					`UPDATE providers SET probed_by = NULL, crashes = crashes + $5, requested_at_ms = NULL,
						next_probe_at_ms = least($3::bigint + $4::bigint * (1::bigint << least(crashes, $6::integer)), requested_at_ms)
					WHERE id = $1 AND probed_by = $2`,
					[providerId, me, nowMs(), pauseMs, crashes, RETRY_DOUBLINGS],
				);
			});
		},
	};
}

export function createDueProbes(context: StoreContext, leases: Leases) {
	const { database, channel } = context;
	const workers = new Set<Worker>();
	return {
		/** A group was called, here or elsewhere. */
		wake: (): void => {
			for (const worker of workers) worker.wake();
		},
		stop: async (): Promise<void> => void (await Promise.all([...workers].map((worker) => worker.stop()))),
		store: {
			/**
			 * Takes due, active, unrented providers (agents: only those connected to this process), called groups
			 * first, then prompt hosts, then at most `others` of the rest by their turn, the longest due first,
			 * each under a lease that is given back when the handler has ended. A handler that threw, or returned
			 * without `probes.finish`, leaves its provider due again after `retryMs`. Looks at once, after every
			 * end and when woken: falling due makes no sound.
			 */
			take(options: TakeOptions, handler: (due: DueProbe) => Promise<void>): Worker {
				const concurrency = integer("concurrency", options.concurrency, 1, 1000);
				const source = createSource(context, options);
				const worker = createWorker(context, leases, source, concurrency, (taken, signal) =>
					handler({ ...taken, signal }),
				);
				workers.add(worker);
				return worker;
			},

			/**
			 * All of them to one simultaneous probe, or none: false when one is busy, rented, paused or not
			 * connected.
			 */
			async callTogether({ providerIds, startAtMs, nowMs }: Call): Promise<boolean> {
				const ids = [...new Set(list("providerIds", providerIds, 100))];
				for (const id of ids) hex("a provider's id", id, 64);
				if (ids.length === 0) return false;
				const group: ProbeGroup = {
					id: randomUUID(),
					startAtMs: integer("startAtMs", startAtMs),
					providerIds: ids,
				};
				return await database.transaction(async (sql) => {
					const free = await sql.query(
						`SELECT 1 FROM providers p WHERE p.id = ANY ($3) AND ${FREE} AND NOT ${CALLED}
							AND (p.link <> 'agent' OR p.connected_to IS NOT NULL) ORDER BY p.id FOR UPDATE OF p`,
						[integer("nowMs", nowMs), CALL_ENDS_MS, ids],
					);
					if (free.length !== ids.length) return false;
					await sql.write("UPDATE providers SET together = $2 WHERE id = ANY ($1)", [ids, JSON.stringify(group)]);
					await sql.write("SELECT pg_notify($1, $2)", [channel, '{"kind":"due"}']);
					return true;
				});
			},

			/** Providers that are probed, and those that are due and wait. */
			async counts({ nowMs }: { readonly nowMs: number }) {
				const [row] = await database.read<{ readonly running: number; readonly due: number }>(
					`SELECT count(*) FILTER (WHERE p.probed_by IS NOT NULL) AS running,
						count(*) FILTER (WHERE p.state = 'active' AND p.probed_by IS NULL AND p.rental_id IS NULL AND p.next_probe_at_ms <= $1) AS due
					FROM providers p WHERE p.probed_by IS NOT NULL OR p.next_probe_at_ms <= $1`,
					[integer("nowMs", nowMs)],
				);
				return row!;
			},
		},
	};
}

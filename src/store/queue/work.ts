// The queue of probes: due providers become jobs, processes take them. A job is marked on its provider in the transaction that queues it, and
// taken together with the lease, so that there is one per provider at a time, however many processes ask. Page: docs/network.md §3, §4.
import { randomUUID } from "node:crypto";
import { hex, integer, list } from "../check-input.ts";
import type { StoreContext } from "../context.ts";
import type { Row, Sql } from "../postgres/database.ts";
import type { ProbeJob, WorkStore } from "../store.ts";
import type { Leases } from "./leases.ts";
import { bossOn, processQueue, SHARED_QUEUE } from "./queue.ts";
import { createWorker, type Worker } from "./worker.ts";

/** What a job carries in the queue. */
export interface JobData {
	readonly providerId: string;
	readonly queuedAtMs: number;
	readonly together: ProbeJob["together"];
}

const FREE = `p.state = 'active' AND p.job_id IS NULL AND p.rental_id IS NULL
	AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = 'provider/' || p.id AND l.expires_at > clock_timestamp())`;

export interface Work {
	readonly store: WorkStore;
	/** Something was queued, here or elsewhere. */
	wake(): void;
	stop(): Promise<void>;
}

export function createWork(context: StoreContext, leases: Leases): Work {
	const { database, boss, process: me, channel } = context;
	const workers = new Set<Worker>();

	/** Marks nothing: that was done by the statement that chose the providers. */
	const send = async (
		sql: Sql,
		marked: readonly Row[],
		nowMs: number,
		together: ProbeJob["together"],
	): Promise<void> => {
		const byQueue = Map.groupBy(marked, (row) => row.job_queue as string);
		for (const [queue, rows] of byQueue) {
			const jobs = rows.map((row) => {
				const data: JobData = { providerId: row.id, queuedAtMs: nowMs, together };
				// Suspects first: their probes have to overlap.
				return { id: row.job_id, data, singletonKey: row.id, priority: together ? 10 : 0 };
			});
			await boss.insert(queue, jobs, bossOn(sql));
		}
		if (marked.length > 0) await sql.query("SELECT pg_notify($1, $2)", [channel, '{"kind":"work"}']);
	};

	const store: WorkStore = {
		async dispatchDue({ nowMs, limit }) {
			integer("limit", limit, 0, 10_000);
			if (limit === 0) return [];
			return await database.transaction(async (sql) => {
				const marked = await sql.query(
					`WITH due AS (
						SELECT p.id FROM providers p
						WHERE ${FREE} AND p.next_probe_at_ms <= $1 AND (p.link <> 'agent' OR p.connected_to = $2)
						ORDER BY p.next_probe_at_ms LIMIT $3 FOR UPDATE OF p SKIP LOCKED
					)
					UPDATE providers p SET job_id = gen_random_uuid(), job_at_ms = $1, job_taken_by = NULL, requested_at_ms = NULL,
						job_queue = CASE WHEN p.link = 'agent' THEN $4 ELSE $5 END
					FROM due WHERE p.id = due.id RETURNING p.id, p.job_id, p.job_queue`,
					[integer("nowMs", nowMs), me, limit, processQueue(me), SHARED_QUEUE],
				);
				await send(sql, marked, nowMs, null);
				return marked.map((row) => row.id as string);
			});
		},

		async dispatchTogether({ providerIds, startAtMs, nowMs }) {
			const ids = [...new Set(list("providerIds", providerIds, 100))];
			for (const id of ids) hex("a provider's id", id, 64);
			if (ids.length === 0) return false;
			return await database.transaction(async (sql) => {
				const free = await sql.query(
					`SELECT p.id FROM providers p WHERE p.id = ANY ($1) AND ${FREE} AND (p.link <> 'agent' OR p.connected_to IS NOT NULL)
					ORDER BY p.id FOR UPDATE OF p`,
					[ids],
				);
				if (free.length !== ids.length) return false;
				const marked = await sql.query(
					`UPDATE providers p SET job_id = gen_random_uuid(), job_at_ms = $2, job_taken_by = NULL, requested_at_ms = NULL,
						job_queue = CASE WHEN p.link = 'agent' THEN $3 || '.' || p.connected_to ELSE $3 END
					WHERE p.id = ANY ($1) RETURNING p.id, p.job_id, p.job_queue`,
					[ids, integer("nowMs", nowMs), SHARED_QUEUE],
				);
				const together = { id: randomUUID(), startAtMs: integer("startAtMs", startAtMs), providerIds: ids };
				await send(sql, marked, nowMs, together);
				return true;
			});
		},

		async take(options, handler) {
			const worker = createWorker(context, leases, options, handler);
			workers.add(worker);
			const stop = async () => {
				await worker.stop();
				workers.delete(worker);
			};
			return { running: worker.running, stop };
		},

		async counts({ nowMs }) {
			const [row] = await database.read(
				`SELECT count(*) FILTER (WHERE p.job_id IS NOT NULL AND p.job_taken_by IS NULL) AS queued,
					count(*) FILTER (WHERE p.job_taken_by IS NOT NULL) AS running,
					count(*) FILTER (WHERE p.state = 'active' AND p.job_id IS NULL AND p.rental_id IS NULL AND p.next_probe_at_ms <= $1) AS due
				FROM providers p WHERE p.job_id IS NOT NULL OR p.next_probe_at_ms <= $1`,
				[integer("nowMs", nowMs)],
			);
			return { queued: row.queued, running: row.running, due: row.due };
		},
	};

	return {
		store,
		wake: () => {
			for (const worker of workers) worker.wake();
		},
		async stop() {
			await Promise.all([...workers].map((worker) => worker.stop()));
			workers.clear();
		},
	};
}

// What dead processes leave behind is taken over: expired leases go, running probes without a lease are abandoned, jobs without anybody to do
// them are cancelled, connections of processes that are gone are forgotten. Every step looks at the state of the tables only, so it does not
// matter who runs it, how often, or whether a former run was itself killed halfway.
import type { StoreContext } from "../context.ts";
import type { Row, Sql } from "../postgres/database.ts";
import { bossOn, processOfQueue, SHARED_QUEUE } from "./queue.ts";

/** A queued job that nobody took for so long has been lost (the queue's tables were restored or emptied). */
const LOST_JOB_MS = 15 * 60_000;

/** The ids of the probes that were abandoned. */
export async function takeOver(context: StoreContext, nowMs: number): Promise<readonly string[]> {
	const { database } = context;
	// Most beats find nothing: looked at without a lock first.
	const [found] = await database.read(
		`SELECT EXISTS (SELECT 1 FROM leases WHERE expires_at < clock_timestamp())
			OR EXISTS (SELECT 1 FROM probes r WHERE r.state = 'running' AND ${unleased("r.provider_id")})
			OR EXISTS (SELECT 1 FROM providers p WHERE ${orphaned("$1")})
			OR EXISTS (SELECT 1 FROM providers p WHERE ${disconnected}) AS anything`,
		[nowMs - LOST_JOB_MS],
	);
	if (!found.anything) return [];
	const { abandoned, dead } = await database.transaction(async (sql) => {
		// One at a time, and never waiting: the other is doing the same.
		const [lock] = await sql.query("SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS mine", [
			`assay/take-over/${context.schema}`,
		]);
		if (!lock.mine) return { abandoned: [], dead: [] };
		const expired = await sql.query("DELETE FROM leases WHERE expires_at < clock_timestamp() RETURNING name, holder");
		const probes = await sql.query(
			`UPDATE probes r SET state = 'abandoned', finished_at_ms = $1 WHERE state = 'running' AND ${unleased("r.provider_id")} RETURNING id`,
			[nowMs],
		);
		await dropJobs(context, sql, nowMs);
		await sql.query(`UPDATE providers p SET connected_to = NULL, connected_at_ms = NULL WHERE ${disconnected}`);
		const gone = expired
			.filter((lease) => lease.name === `process/${lease.holder}`)
			.map((lease) => lease.holder as string);
		return { abandoned: probes.map((probe) => probe.id as string), dead: gone };
	});
	for (const process of dead) {
		context.onWarning(`process ${process} is gone; its work is taken over`);
		// Its queue is empty by now; a job that slipped in is found by the next run.
		await context.boss.deleteQueue(`${SHARED_QUEUE}.${process}`).catch(() => {});
	}
	return abandoned;
}

const unleased = (id: string): string =>
	`NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = 'provider/' || ${id} AND l.expires_at >= clock_timestamp())`;
const dead = (process: string): string =>
	`NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = 'process/' || ${process} AND l.expires_at >= clock_timestamp())`;
const disconnected = `p.connected_to IS NOT NULL AND ${dead("p.connected_to")}`;
/** Taken by a process that lost the lease; or queued for a process that is gone; or queued before `before` and never taken. */
const orphaned = (
	before: string,
): string => `p.job_id IS NOT NULL AND ${unleased("p.id")} AND (p.job_taken_by IS NOT NULL
	OR p.job_at_ms < ${before} OR (p.job_queue <> '${SHARED_QUEUE}' AND ${dead(`substr(p.job_queue, ${SHARED_QUEUE.length + 2})`)}))`;

async function dropJobs(context: StoreContext, sql: Sql, nowMs: number): Promise<void> {
	// The providers stay due: their date was not moved when the job was queued.
	const orphans = await sql.query(
		`SELECT p.id, p.job_id, p.job_queue FROM providers p WHERE ${orphaned("$1")} ORDER BY p.id FOR UPDATE OF p SKIP LOCKED`,
		[nowMs - LOST_JOB_MS],
	);
	await sql.query(
		"UPDATE providers SET job_id = NULL, job_queue = NULL, job_at_ms = NULL, job_taken_by = NULL WHERE id = ANY ($1)",
		[orphans.map((orphan) => orphan.id)],
	);
	const byQueue = Map.groupBy(orphans, (orphan: Row) => orphan.job_queue as string);
	for (const [queue, jobs] of byQueue) {
		if (queue !== SHARED_QUEUE && processOfQueue(queue) === "") continue;
		// A queue that is gone has no jobs to cancel.
		if (await context.boss.getQueue(queue))
			await context.boss.cancel(
				queue,
				jobs.map((job) => job.job_id),
				bossOn(sql),
			);
	}
}

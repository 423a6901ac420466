// pg-boss as the store uses it: jobs live in its tables, in a schema of its own on the same server, and every call of it runs on our connections,
// inside our transactions where it matters. It delivers; who may work is decided by leases, so its own expiry is only the last resort.
import { type Db, PgBoss } from "pg-boss";
import type { Database, Sql } from "../postgres/database.ts";

export const SHARED_QUEUE = "probe";
/** Providers on the agent link are probed by the process that holds their connection, so it has a queue of its own. */
export const processQueue = (process: string): string => `${SHARED_QUEUE}.${process}`;
export const processOfQueue = (queue: string): string => queue.slice(SHARED_QUEUE.length + 1);

export const queueSchema = (schema: string): string => `${schema}_queue`;

/** The `db` option of a pg-boss call: runs it inside the caller's transaction. */
export function bossOn(sql: Sql): { readonly db: Db } {
	return { db: { executeSql: async (text, values) => await sql.raw(text, values) } };
}

const QUEUE = {
	// One job per provider, queued or running: its key is the provider's id.
	policy: "exclusive",
	// Retries are the schedule's: a job that failed leaves its provider due again.
	retryLimit: 0,
	expireInSeconds: 6 * 3600,
	retentionSeconds: 24 * 3600,
	deleteAfterSeconds: 3600,
} as const;

export async function startQueue(
	database: Database,
	schema: string,
	process: string,
	onWarning: (message: string) => void,
): Promise<PgBoss> {
	const boss = new PgBoss({
		...bossOn(database),
		schema: queueSchema(schema),
		// No cron here; upkeep of its tables is shared among the processes by pg-boss itself.
		schedule: false,
		supervise: true,
		superviseIntervalSeconds: 60,
	});
	boss.on("error", (error) => onWarning(`queue: ${error.message}`));
	// One at a time: pg-boss makes its schema without a lock, and two processes that open a fresh database at once would both make it.
	await database.transaction(async (sql) => {
		await sql.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`assay/queue/${schema}`]);
		await boss.start();
		for (const name of [SHARED_QUEUE, processQueue(process)]) {
			if (!(await boss.getQueue(name))) await boss.createQueue(name, QUEUE);
		}
	});
	return boss;
}

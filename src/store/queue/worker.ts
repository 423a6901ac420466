// One taker of jobs: as many at once as it may, each with the lease on its provider. Taking a job and its lease is one transaction, so a process
// that is killed at any moment leaves either a queued job or a lease that expires.
import { AssayError } from "../../protocol/assay-error.ts";
import { integer } from "../check-input.ts";
import type { StoreContext } from "../context.ts";
import type { Sql } from "../postgres/database.ts";
import type { ProbeJob } from "../store.ts";
import { type Leases, providerLease } from "./leases.ts";
import { bossOn, processQueue, SHARED_QUEUE } from "./queue.ts";
import type { JobData } from "./work.ts";

export interface WorkerOptions {
	readonly concurrency: number;
	readonly retryMs?: number;
	readonly nowMs: () => number;
}

export interface Worker {
	readonly running: () => number;
	wake(): void;
	stop(): Promise<void>;
}

interface Taken {
	readonly queue: string;
	readonly id: string;
	readonly data: JobData;
}

/** After a job that failed for our own reasons; grows to some four hours at the eighth in a row. */
const RETRY_MS = 60_000;
const RETRY_DOUBLINGS = 8;

export function createWorker(
	context: StoreContext,
	leases: Leases,
	options: WorkerOptions,
	handler: (job: ProbeJob) => Promise<void>,
): Worker {
	const { database, boss, process: me, pollMs, onWarning } = context;
	const concurrency = integer("concurrency", options.concurrency, 1, 1000);
	const retryMs = integer("retryMs", options.retryMs ?? RETRY_MS);
	const running = new Map<string, { readonly abort: AbortController; readonly done: Promise<void> }>();
	let stopping = false;
	let woken = false;
	let pumping: Promise<void> | null = null;

	const takeJobs = async (free: number): Promise<readonly Taken[]> =>
		await database.transaction(async (sql) => {
			const taken: Taken[] = [];
			// Its own queue first: nobody else can do those.
			for (const queue of [processQueue(me), SHARED_QUEUE]) {
				if (taken.length >= free) break;
				const jobs = await boss.fetch<JobData>(queue, { batchSize: free - taken.length, ...bossOn(sql) });
				for (const { id, data } of jobs) {
					if (await claim(sql, id, data.providerId)) taken.push({ queue, id, data });
					else await boss.cancel(queue, id, bossOn(sql));
				}
			}
			return taken;
		});

	/** False: the provider was rented, paused or given another job since; then the job is void. */
	const claim = async (sql: Sql, jobId: string, providerId: string): Promise<boolean> => {
		const [provider] = await sql.query("SELECT state, rental_id, job_id FROM providers WHERE id = $1 FOR UPDATE", [
			providerId,
		]);
		if (provider?.job_id !== jobId) return false;
		const free = provider.state === "active" && provider.rental_id === null;
		if (free && (await leases.acquireWith(sql, providerLease(providerId)))) {
			await sql.query("UPDATE providers SET job_taken_by = $2 WHERE id = $1", [providerId, me]);
			return true;
		}
		await sql.query(
			"UPDATE providers SET job_id = NULL, job_queue = NULL, job_at_ms = NULL, job_taken_by = NULL WHERE id = $1",
			[providerId],
		);
		return false;
	};

	const run = async (job: Taken, abort: AbortController): Promise<void> => {
		const name = providerLease(job.data.providerId);
		const stopListening = leases.store.onLost((lost) => {
			if (lost === name)
				abort.abort(new AssayError("STORE_LEASE_LOST", `the lease on provider ${job.data.providerId} was lost`));
		});
		let failure = "the handler returned without a counted probe";
		try {
			// Taken while the store closes: given back at once.
			if (!stopping) await handler({ id: job.id, ...job.data, signal: abort.signal });
		} catch (cause) {
			failure = cause instanceof Error ? cause.message : String(cause);
			onWarning(`a job for provider ${job.data.providerId} failed: ${failure}`);
		} finally {
			stopListening();
			await settle(job, name, failure);
		}
	};

	/** Gives the lease back. A job that `probes.finish` has not completed leaves its provider due again, later each time. */
	const settle = async (job: Taken, name: string, failure: string): Promise<void> => {
		leases.drop(name);
		try {
			await database.transaction(async (sql) => {
				const [provider] = await sql.query(
					"SELECT job_id, job_taken_by, crashes FROM providers WHERE id = $1 FOR UPDATE",
					[job.data.providerId],
				);
				if (provider?.job_id === job.id && provider.job_taken_by === me) {
					// A process that shuts down is no failure of the provider's: it is due at once, elsewhere.
					const pauseMs = stopping ? 0 : retryMs * 2 ** Math.min(provider.crashes, RETRY_DOUBLINGS);
					await sql.query(
						`UPDATE providers SET job_id = NULL, job_queue = NULL, job_at_ms = NULL, job_taken_by = NULL, crashes = crashes + $3,
							next_probe_at_ms = least($2, coalesce(requested_at_ms, $2)), requested_at_ms = NULL WHERE id = $1`,
						[job.data.providerId, Math.floor(options.nowMs()) + pauseMs, stopping ? 0 : 1],
					);
					await sql.query(
						"UPDATE probes SET state = 'abandoned', finished_at_ms = $3 WHERE provider_id = $1 AND process = $2 AND state = 'running'",
						[job.data.providerId, me, Math.floor(options.nowMs())],
					);
					await boss.fail(job.queue, job.id, { message: failure.slice(0, 1000) }, bossOn(sql));
				}
				await leases.releaseWith(sql, name);
			});
		} catch (cause) {
			// The lease expires by itself and the rest is taken over.
			onWarning(`a job's end could not be written: ${(cause as Error).message}`);
		}
	};

	const pump = async (): Promise<void> => {
		while (!stopping && running.size < concurrency) {
			woken = false;
			const free = concurrency - running.size;
			const jobs = await takeJobs(free);
			for (const job of jobs) {
				leases.keep(providerLease(job.data.providerId));
				const abort = new AbortController();
				const done = run(job, abort).finally(() => {
					running.delete(job.id);
					wake();
				});
				running.set(job.id, { abort, done });
			}
			if (jobs.length < free && !woken) return;
		}
	};

	const wake = (): void => {
		woken = true;
		if (stopping || pumping) return;
		pumping = pump()
			.catch((cause: Error) => onWarning(`jobs could not be taken: ${cause.message}`))
			.finally(() => {
				pumping = null;
			});
	};

	const poll = setInterval(wake, pollMs);
	wake();

	return {
		running: () => running.size,
		wake,
		async stop() {
			stopping = true;
			clearInterval(poll);
			for (const { abort } of running.values())
				abort.abort(new AssayError("STORE_LEASE_LOST", "the store is closing and gives its leases back"));
			await pumping;
			await Promise.all([...running.values()].map(({ done }) => done));
		},
	};
}

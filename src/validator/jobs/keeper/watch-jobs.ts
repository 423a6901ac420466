// Keeps the jobs going: looks at each when somebody says so, when its time has come, and every few seconds in any case. One process at a time does it (a
// lease), with a chain the one that sends; what is open is read from the store, so that it goes on after any restart.
import { isAtWork, nextLookMs } from "../../../market/jobs/next-steps.ts";
import { repeat } from "../../../platform/repeat.ts";
import { createSemaphore } from "../../../platform/semaphore.ts";
import { failure } from "../../validator-context.ts";
import { isBeat, type JobContext } from "./job-context.ts";
import { turnJob } from "./turn-job.ts";

const LEASE = "jobs";
const WATCH_EVERY_MS = 200;
const LIST_EVERY_MS = 1000;
/** Nobody tells us of a new block, a host that came free, or an agent that dialled in: each is looked at that often, or all of them at this pace. */
const LOOK_AT_LEAST_EVERY_MS = 2000;
const MS_A_JOB = 10;
/** Of those that hosts work at, who say when they are done. */
const MS_A_JOB_AT_WORK = 40;
/** Beside those that somebody spoke of: after a restart all are due at once, and others wait for the database too. */
const MOST_A_WATCH = 64;
const AT_ONCE = 32;

/** What was found at the last look at a job. */
interface Look {
	readonly atMs: number;
	/** When time alone changes what is to be done. */
	readonly dueMs: number;
	/** Of the record that there was nothing to do about but wait; null: not known. */
	readonly version: number | null;
	readonly isAtWork: boolean;
}
const NEVER: Look = { atMs: 0, dueMs: Number.POSITIVE_INFINITY, version: null, isAtWork: false };

export function startJobWatch(
	context: JobContext,
	/** The sender's lease; null without a chain. */
	chainLease: string | null,
): { wake(id: string): void; stop(): Promise<void> } {
	const { store, env, config, hub } = context;
	const slots = createSemaphore(AT_ONCE);
	const running = new Set<string>();
	const woken = new Set<string>();
	/** Of every open job, the one that was looked at longest ago first. */
	const looks = new Map<string, Look>();
	const turns = new Set<Promise<void>>();
	const onError = failure(context, "jobs");

	/** `seen`: a job that has this version still is left alone. */
	async function turn(id: string, seen: number | null): Promise<void> {
		running.add(id);
		const release = await slots.acquire();
		try {
			woken.delete(id);
			const look: Look = { ...NEVER, atMs: env.nowMs() };
			looks.delete(id);
			looks.set(id, look);
			if (context.stopping.aborted) return;
			const job = await turnJob(context, id, seen);
			if (job === null) looks.delete(id);
			else {
				const { record, version } = job;
				const dueMs = nextLookMs(record, config.params) ?? Number.POSITIVE_INFINITY;
				looks.set(id, { ...look, version, dueMs, isAtWork: isAtWork(record) });
			}
		} catch (error) {
			if (!context.stopping.aborted) onError(error);
		} finally {
			release();
			running.delete(id);
		}
	}

	function begin(id: string, seen: number | null): void {
		if (running.has(id)) return;
		const turned = turn(id, seen);
		turns.add(turned);
		void turned.finally(() => turns.delete(turned));
	}

	const unlisten = hub.listen(({ kind, subject }) => {
		if (kind.startsWith("job.") && !isBeat(kind.slice("job.".length))) woken.add(subject);
	});
	let isKeeper = false;
	let listedMs = 0;
	/** Whether this process keeps the jobs; the store renews what it holds, and a lost one is seen at the next look. */
	const mayKeep = async (): Promise<boolean> =>
		(await store.leases.acquire(LEASE)) && (chainLease === null || (await store.leases.acquire(chainLease)));

	async function list(): Promise<void> {
		isKeeper = await mayKeep();
		const open = new Set(isKeeper ? await store.jobs.openIds() : []);
		for (const id of looks.keys()) if (!open.has(id)) looks.delete(id);
		for (const id of woken) if (!open.has(id)) woken.delete(id);
		for (const id of open) if (!looks.has(id)) looks.set(id, NEVER);
	}

	function dueAt(nowMs: number): string[] {
		const restMs = (msAJob: number) => Math.max(LOOK_AT_LEAST_EVERY_MS, msAJob * looks.size);
		const [soon, later] = [restMs(MS_A_JOB), restMs(MS_A_JOB_AT_WORK)];
		const due: string[] = [];
		for (const [id, { atMs, dueMs, isAtWork: isQuiet }] of looks) {
			if (due.length >= MOST_A_WATCH) break;
			const isDue = (dueMs <= nowMs && atMs < dueMs) || nowMs - atMs >= (isQuiet ? later : soon);
			if (isDue && !running.has(id)) due.push(id);
		}
		return due;
	}

	const watching = repeat({ everyMs: WATCH_EVERY_MS, after: env.after, onError }, async () => {
		const nowMs = env.nowMs();
		if (nowMs - listedMs >= LIST_EVERY_MS) {
			listedMs = nowMs;
			await list();
		}
		if (!isKeeper) return;
		for (const id of woken) begin(id, looks.get(id)?.version ?? null);
		for (const id of dueAt(nowMs)) begin(id, null);
	});
	return {
		wake: (id) => void woken.add(id),
		async stop() {
			unlisten();
			await watching.stop();
			await Promise.all(turns);
			await store.leases.release(LEASE).catch(() => {});
		},
	};
}

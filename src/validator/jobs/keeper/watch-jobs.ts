// Keeps the jobs going: looks at each when it has changed, when its time has come, and every few seconds in any case. One process at a time does it (a
// lease), with a chain the one that sends; what is open is read from the store with its versions, so that it goes on after any restart, and a change that
// nobody told us of is seen a second later. What was looked at is remembered in its version: a look at what has not changed reads no job again.
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
	/** Of the record that there was nothing to do about but wait; 0: not known. */
	readonly version: number;
	readonly isAtWork: boolean;
}
const NEVER: Look = { atMs: 0, dueMs: Number.POSITIVE_INFINITY, version: 0, isAtWork: false };

export function startJobWatch(
	context: JobContext,
	/** The sender's lease; null without a chain. */
	chainLease: string | null,
): { wake(id: string, version: number): void; stop(): Promise<void> } {
	const { store, env, config, hub } = context;
	const slots = createSemaphore(AT_ONCE);
	const running = new Set<string>();
	/** Versions that may want something done. */
	const woken = new Map<string, number>();
	/** The newest that are known of. */
	const versions = new Map<string, number>();
	/** Of every open job, the one that was looked at longest ago first. */
	const looks = new Map<string, Look>();
	const turns = new Set<Promise<void>>();
	const onError = failure(context, "jobs");

	async function turn(id: string): Promise<void> {
		running.add(id);
		const release = await slots.acquire();
		try {
			const look: Look = { ...NEVER, atMs: env.nowMs() };
			looks.delete(id);
			looks.set(id, look);
			if (context.stopping.aborted) return;
			const job = await turnJob(context, id, versions.get(id) ?? Number.POSITIVE_INFINITY);
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

	function begin(id: string): void {
		const turned = turn(id);
		turns.add(turned);
		void turned.finally(() => turns.delete(turned));
	}

	function wake(id: string, version: number): void {
		versions.set(id, Math.max(version, versions.get(id) ?? 0));
		woken.set(id, Math.max(version, woken.get(id) ?? 0));
	}

	const unlisten = hub.listen(({ kind, subject, detail }) => {
		if (!kind.startsWith("job.")) return;
		const { version } = detail as { readonly version?: unknown };
		if (typeof version !== "number") return;
		if (!isBeat(kind.slice("job.".length))) return wake(subject, version);
		versions.set(subject, Math.max(version, versions.get(subject) ?? 0));
		const look = looks.get(subject);
		if (look?.version === version - 1) looks.set(subject, { ...look, version });
	});
	let isKeeper = false;
	let listedMs = 0;
	/** Whether this process keeps the jobs; the store renews what it holds, and a lost one is seen at the next look. */
	const mayKeep = async (): Promise<boolean> =>
		(await store.leases.acquire(LEASE)) && (chainLease === null || (await store.leases.acquire(chainLease)));

	async function list(): Promise<void> {
		isKeeper = await mayKeep();
		const open: ReadonlyMap<string, number> = isKeeper ? await store.jobs.open() : new Map();
		for (const map of [looks, woken, versions]) for (const id of map.keys()) if (!open.has(id)) map.delete(id);
		for (const [id, version] of open) {
			if (!looks.has(id)) looks.set(id, NEVER);
			if (version > (looks.get(id)?.version ?? 0)) wake(id, version);
		}
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
		for (const [id, version] of woken) {
			if (running.has(id)) continue;
			woken.delete(id);
			if (version > (looks.get(id)?.version ?? 0)) begin(id);
		}
		for (const id of dueAt(nowMs)) begin(id);
	});
	return {
		wake,
		async stop() {
			unlisten();
			await watching.stop();
			await Promise.all(turns);
			await store.leases.release(LEASE).catch(() => {});
		},
	};
}

// Keeps the jobs going: looks at each when it has changed, when its time has come, and every few seconds in
// any case. One process at a time does it (a lease), with a chain the one that sends; what is open is read
// from the store with its versions, so that it goes on after any restart, and a change that nobody told us of
// is seen a second later. What was looked at is remembered in its version: a look at what has not changed
// reads no job again.
import { repeat } from "../../../platform/repeat.ts";
import { createSemaphore } from "../../../platform/semaphore.ts";
import { failure } from "../../validator-context.ts";
import { checkRecords } from "../record/check-records.ts";
import { isBeat, type JobContext } from "./job-context.ts";
import { createJobLooks } from "./job-looks.ts";
import { turnJob } from "./turn-job.ts";

const LEASE = "jobs";
const WATCH_EVERY_MS = 200;
const LIST_EVERY_MS = 1000;
const AT_ONCE = 32;

export function startJobWatch(
	context: JobContext,
	/** The sender's lease; null without a chain. */
	chainLease: string | null,
): { wake(id: string, version: number): void; stop(): Promise<void> } {
	const { store, env, config, hub, watchdog } = context;
	const slots = createSemaphore(AT_ONCE);
	const running = new Set<string>();
	const looks = createJobLooks(config.params);
	const turns = new Set<Promise<void>>();
	const onError = failure(context, "jobs");

	async function turn(id: string): Promise<void> {
		running.add(id);
		const release = await slots.acquire();
		try {
			const version = looks.begin(id, env.nowMs());
			if (!context.stopping.aborted) looks.end(id, await turnJob(context, id, version));
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

	let isChecked = context.jobChain === null;
	/** Once, by whoever keeps the jobs. */
	function check(): void {
		if (isChecked) return;
		isChecked = true;
		const checking = checkRecords(context, context.jobChain!).catch(onError);
		turns.add(checking);
		void checking.finally(() => turns.delete(checking));
	}

	const unlisten = hub.listen(({ kind, subject, detail }) => {
		const { version } = detail as { readonly version?: unknown };
		if (!kind.startsWith("job.") || typeof version !== "number") return;
		if (isBeat(kind.slice("job.".length))) looks.beaten(subject, version);
		else looks.wake(subject, version);
	});
	let isKeeper = false;
	let listedMs = 0;
	/**
	 * Whether this process keeps the jobs: with both leases, or with neither. Of two processes that had one
	 * each nobody would keep them. The store renews what it holds, and a lost one is seen at the next look.
	 */
	const mayKeep = async (): Promise<boolean> => {
		if (chainLease === null || (await store.leases.acquire(chainLease))) return store.leases.acquire(LEASE);
		if (isKeeper) await store.leases.release(LEASE);
		return false;
	};

	// Another process keeps them while this one hangs.
	const giveUp = () => {
		for (const lease of [LEASE, chainLease]) if (lease !== null) void store.leases.release(lease).catch(onError);
	};
	const loop = watchdog.watch(LEASE, undefined, giveUp);
	const watching = repeat({ everyMs: WATCH_EVERY_MS, after: env.after, onError, turns: loop }, async () => {
		const nowMs = env.nowMs();
		if (nowMs - listedMs >= LIST_EVERY_MS) {
			listedMs = nowMs;
			isKeeper = await mayKeep();
			if (isKeeper) check();
			looks.list(isKeeper ? await store.jobs.open() : new Map());
		}
		if (isKeeper) for (const id of looks.take(nowMs, (one) => running.has(one))) begin(id);
	});
	return {
		wake: looks.wake,
		async stop() {
			unlisten();
			await watching.stop();
			await Promise.all(turns);
			await store.leases.release(LEASE).catch(() => {});
		},
	};
}

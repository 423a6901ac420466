// Keeps the jobs going: looks at each when somebody says so, when its time has come, and every few seconds in any case. One process at a time does it (a
// lease), with a chain the one that sends; what is open is read from the store, so that it goes on after any restart.
import { nextLookMs } from "../../../market/jobs/next-steps.ts";
import { repeat } from "../../../platform/repeat.ts";
import { createSemaphore } from "../../../platform/semaphore.ts";
import { failure } from "../../validator-context.ts";
import type { JobContext } from "./job-context.ts";
import { turnJob } from "./turn-job.ts";

const LEASE = "jobs";
const WATCH_EVERY_MS = 200;
const LOOK_AT_ALL_EVERY_MS = 1000;
/** Nobody tells us of a new block, a host that came free, or an agent that dialled in. */
const LOOK_AT_LEAST_EVERY_MS = 2000;
const AT_ONCE = 32;

export function startJobWatch(
	context: JobContext,
	/** The sender's lease; null without a chain. */
	chainLease: string | null,
): { wake(id: string): void; stop(): Promise<void> } {
	const { store, env, config, hub } = context;
	const slots = createSemaphore(AT_ONCE);
	const running = new Set<string>();
	const woken = new Set<string>();
	/** When each was looked at last. */
	const looked = new Map<string, number>();
	const turns = new Set<Promise<void>>();
	const onError = failure(context, "jobs");

	async function turn(id: string): Promise<void> {
		running.add(id);
		const release = await slots.acquire();
		try {
			woken.delete(id);
			looked.set(id, env.nowMs());
			if (!context.stopping.aborted) await turnJob(context, id);
		} catch (error) {
			if (!context.stopping.aborted) onError(error);
		} finally {
			release();
			running.delete(id);
		}
	}

	function begin(id: string): void {
		if (running.has(id)) return;
		const turned = turn(id);
		turns.add(turned);
		void turned.finally(() => turns.delete(turned));
	}

	const unlisten = hub.listen(({ kind, subject }) => {
		if (kind.startsWith("job.")) woken.add(subject);
	});
	let isKeeper = false;
	let lookedAllMs = 0;
	/** Whether this process keeps the jobs; the store renews what it holds, and a lost one is seen at the next look. */
	const mayKeep = async (): Promise<boolean> =>
		(await store.leases.acquire(LEASE)) && (chainLease === null || (await store.leases.acquire(chainLease)));

	async function lookAtAll(nowMs: number): Promise<void> {
		isKeeper = await mayKeep();
		if (!isKeeper) return;
		const open = await store.jobs.open();
		const ids = new Set(open.map(({ id }) => id));
		for (const id of looked.keys()) if (!ids.has(id)) looked.delete(id);
		for (const id of woken) if (!ids.has(id)) woken.delete(id);
		for (const { id, record } of open) {
			const lookedMs = looked.get(id) ?? 0;
			const dueMs = nextLookMs(record, config.params) ?? Number.POSITIVE_INFINITY;
			const isDue = (dueMs <= nowMs && lookedMs < dueMs) || nowMs - lookedMs >= LOOK_AT_LEAST_EVERY_MS;
			if (isDue || woken.has(id)) begin(id);
		}
	}

	const watching = repeat({ everyMs: WATCH_EVERY_MS, after: env.after, onError }, async () => {
		const nowMs = env.nowMs();
		if (nowMs - lookedAllMs >= LOOK_AT_ALL_EVERY_MS) {
			lookedAllMs = nowMs;
			await lookAtAll(nowMs);
		} else if (isKeeper) for (const id of woken) begin(id);
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

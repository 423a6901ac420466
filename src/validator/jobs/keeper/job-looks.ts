// Which open jobs are to be looked at, and when: those that have changed since, those whose time has come,
// and every one now and then. Only what to look at; who looks is watch-jobs.ts.
import { isAtWork, nextLookMs } from "../../../market/jobs/next-steps.ts";
import type { Params } from "../../../market/params.ts";
import type { Job } from "./job-context.ts";

/**
 * Nobody tells us of a new block, a host that came free, or an agent that dialled in: each is looked at that
 * often, or all of them at this pace.
 */
const LOOK_AT_LEAST_EVERY_MS = 2000;
const MS_A_JOB = 10;
/** Of those that hosts work at, who say when they are done. */
const MS_A_JOB_AT_WORK = 40;
/**
 * Beside those that have changed: after a restart all are due at once, and others wait for the database too.
 */
const MOST_AT_ONCE = 64;

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

export function createJobLooks(params: Params) {
	/** Of every open job, the one that was looked at longest ago first. */
	const looks = new Map<string, Look>();
	/** Versions that may want something done. */
	const woken = new Map<string, number>();
	/** The newest that are known of. */
	const versions = new Map<string, number>();

	const seen = (id: string): number => looks.get(id)?.version ?? 0;
	const know = (id: string, version: number) => versions.set(id, Math.max(version, versions.get(id) ?? 0));

	/** It has this version now, and somebody may have to do something about it. */
	function wake(id: string, version: number): void {
		know(id, version);
		woken.set(id, Math.max(version, woken.get(id) ?? 0));
	}

	function due(nowMs: number, isRunning: (id: string) => boolean): string[] {
		const restMs = (msAJob: number) => Math.max(LOOK_AT_LEAST_EVERY_MS, msAJob * looks.size);
		const [soon, later] = [restMs(MS_A_JOB), restMs(MS_A_JOB_AT_WORK)];
		const all: string[] = [];
		for (const [id, { atMs, dueMs, isAtWork: isQuiet }] of looks) {
			if (all.length >= MOST_AT_ONCE) break;
			const isDue = (dueMs <= nowMs && atMs < dueMs) || nowMs - atMs >= (isQuiet ? later : soon);
			if (isDue && !isRunning(id)) all.push(id);
		}
		return all;
	}

	return {
		wake,
		/** A sign of life: whatever it tells, there is nothing to do about it. */
		beaten(id: string, version: number): void {
			know(id, version);
			const look = looks.get(id);
			if (look?.version === version - 1) looks.set(id, { ...look, version });
		},
		/** All that are open, with their versions: one that changed and nobody told us of wakes too. */
		list(open: ReadonlyMap<string, number>): void {
			for (const map of [looks, woken, versions]) for (const id of map.keys()) if (!open.has(id)) map.delete(id);
			for (const [id, version] of open) {
				if (!looks.has(id)) looks.set(id, NEVER);
				if (version > seen(id)) wake(id, version);
			}
		},
		/** Begins a look. The newest version that is known of; infinite: none is. */
		begin(id: string, atMs: number): number {
			looks.delete(id);
			looks.set(id, { ...NEVER, atMs });
			return versions.get(id) ?? Number.POSITIVE_INFINITY;
		},
		/** There was nothing to do about it but wait; null: it is over. */
		end(id: string, job: Pick<Job, "version" | "record"> | null): void {
			const look = looks.get(id);
			if (job === null) looks.delete(id);
			else if (look !== undefined) {
				const dueMs = nextLookMs(job.record, params) ?? Number.POSITIVE_INFINITY;
				looks.set(id, { ...look, version: job.version, dueMs, isAtWork: isAtWork(job.record) });
			}
		},
		/**
		 * Who is to be looked at now, each once: begin with them. One that is being looked at comes when that is
		 * done.
		 */
		take(nowMs: number, isRunning: (id: string) => boolean): string[] {
			const all = new Set<string>();
			for (const [id, version] of woken) {
				if (isRunning(id)) continue;
				woken.delete(id);
				if (version > seen(id)) all.add(id);
			}
			for (const id of due(nowMs, isRunning)) all.add(id);
			return [...all];
		},
	};
}

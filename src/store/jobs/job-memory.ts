// What this process remembers of jobs, so that a job that is looked at again and again is not read whole each
// time: rows as they were last read or written here, and draws that cannot change any more. A remembered row
// may be old, for other processes write too: what is decided from it is refused by its version, and whoever
// must have the newest asks the database which version that is.
import { BoundedMap } from "../../platform/bounded-map.ts";
import type { JobDraw, JobRow } from "./job-rows.ts";

/**
 * Of the rows as the database keeps them; a large spec among thousands of small ones may push those out, and
 * no more.
 */
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_DRAWS = 8192;

interface Remembered {
	readonly row: JobRow;
	readonly bytes: number;
}

export type JobMemory = ReturnType<typeof createJobMemory>;

export function createJobMemory({ mostBytes = MOST_BYTES }: { readonly mostBytes?: number } = {}) {
	/** The one that was used longest ago first. */
	const rows = new Map<string, Remembered>();
	let held = 0;

	function forget(job: string): void {
		held -= rows.get(job)?.bytes ?? 0;
		rows.delete(job);
	}

	return {
		row: (job: string): JobRow | null => rows.get(job)?.row ?? null,
		/** Of two the newer stays. One that is over is looked at no more. `bytes`: as before, unless given. */
		keep(row: JobRow, bytes = rows.get(row.id)?.bytes ?? null): void {
			if (bytes === null || (rows.get(row.id)?.row.version ?? 0) > row.version) return;
			forget(row.id);
			if (row.isOver) return;
			rows.set(row.id, { row, bytes });
			held += bytes;
			for (const oldest of rows.keys()) {
				if (held <= mostBytes) break;
				forget(oldest);
			}
		},
		forget,
		/** By job, part, attempt and role: once they have their block. */
		draws: new BoundedMap<string, JobDraw>(MOST_DRAWS),
	};
}

// Which states a run keeps, docs/jobs.md §4. A check of a segment begins at the kept state before it, so a
// window between two kept states is what one check costs at least: a hundredth of the run where the disk
// allows, and never more than two minutes to answer a question. Pure.

/** Windows of a run, where the disk holds so many states. */
const WINDOWS = 100;
/**
 * Fewer where saving would take more than a tenth of the time; never so few that a window is more than 2 % of
 * the run.
 */
const FEWEST_WINDOWS = 50;
const SAVING = 10;
/** A question about any segment is answered within this: the replay from the state before it. */
const ANSWER_MS = 120_000;

export interface Keeping {
	/** Segments of the run, init among them. */
	readonly segments: number;
	readonly stateBytes: number;
	readonly diskBytes: number;
}

/** States that may lie on disk at once; two at least: the last one stays while the next is written. */
export const mostStates = ({ stateBytes, diskBytes }: Keeping): number =>
	Math.max(2, Math.floor(diskBytes / Math.max(1, stateBytes)) - 1);

/** How long one segment takes, and the saving of a state. */
export interface Pace {
	readonly segmentMs: number;
	readonly saveMs: number;
}

/** Segments from one kept state to the next. `pace`: as far as it is known. */
export function windowSegments(keeping: Keeping, pace: Pace | null): number {
	const { segments } = keeping;
	const bySize = Math.ceil(segments / Math.min(WINDOWS, mostStates(keeping)));
	if (pace === null || pace.segmentMs <= 0) return bySize;
	const byCost = Math.ceil((SAVING * pace.saveMs) / pace.segmentMs);
	const wanted = Math.max(bySize, Math.min(byCost, Math.ceil(segments / FEWEST_WINDOWS)));
	return Math.max(1, Math.min(wanted, Math.floor(ANSWER_MS / pace.segmentMs)));
}

/** Kept states, ascending, that must go so that one more has room: every other one, the newest stays. */
export function collectStates(kept: readonly number[], keeping: Keeping): number[] {
	if (kept.length < mostStates(keeping)) return [];
	return kept.filter((_, i) => (kept.length - 1 - i) % 2 === 1);
}

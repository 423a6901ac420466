// What a provider's work says of it, recomputed from public rows: docs/jobs.md §11. Feeds the draw's weight,
// by a fifth at most, and how often its optimistic parts are run again. Pure.
import type { Params } from "../params.ts";

/** One finished part, oldest first. */
export interface WorkRow {
	readonly outcome: "checked" | "paid" | "lost" | "late" | "declined" | "convicted";
	readonly valueMicros: number;
	readonly atMs: number;
}

export interface Reputation {
	readonly counts: Readonly<Record<WorkRow["outcome"], number>>;
	readonly valueMicros: number;
	/** Checked parts since the last conviction, loss or delay. */
	readonly checkedInARow: number;
	/** In the last `jobConvictionMs`: as long it gets no work. */
	readonly isBarred: boolean;
}

export function reputationOf(rows: readonly WorkRow[], nowMs: number, { jobConvictionMs }: Params): Reputation {
	const counts = { checked: 0, paid: 0, lost: 0, late: 0, declined: 0, convicted: 0 };
	let checkedInARow = 0;
	let valueMicros = 0;
	let convictedAtMs = Number.NEGATIVE_INFINITY;
	for (const { outcome, valueMicros: value, atMs } of rows) {
		counts[outcome] += 1;
		if (outcome === "checked") checkedInARow += 1;
		else if (outcome !== "paid" && outcome !== "declined") checkedInARow = 0;
		if (outcome === "paid") valueMicros += value;
		if (outcome === "convicted") convictedAtMs = Math.max(convictedAtMs, atMs);
	}
	return { counts, valueMicros, checkedInARow, isBarred: nowMs < convictedAtMs + jobConvictionMs };
}

/**
 * 1,000,000 for a new one; more by checked work, less by lost and late, within a fifth: a kept name must not
 * keep others out.
 */
export function drawWeightPpm({ counts }: Reputation, { jobWeightPpm }: Pick<Params, "jobWeightPpm">): number {
	const good = counts.checked + counts.paid;
	const bad = counts.lost + counts.late;
	const seen = good + bad;
	// Ten parts count as much as what nobody knows.
	return 1_000_000 + Math.trunc((jobWeightPpm * (good - bad)) / (seen + 10));
}

// What a provider's work says of it, recomputed from public rows: docs/jobs.md §11. Feeds the draw's weight,
// by a fifth at most, and how often its optimistic parts are run again. Pure.
import type { Params } from "../params.ts";

/** One finished part, oldest first. */
export interface WorkRow {
	readonly outcome: "checked" | "paid" | "lost" | "late" | "declined" | "returned" | "convicted";
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

/** Rows that end a part which somebody had begun. */
const isEnd = ({ outcome }: WorkRow): boolean => outcome !== "checked" && outcome !== "declined";

/**
 * Of so many parts in a row one may be handed back without a mark; more of them count as late.
 *
 * ATTACK: whoever hands back whatever turns out dear, or each part after a while, earns nothing by those, and
 * is drawn less often from the second one on.
 */
function withMarks(rows: readonly WorkRow[], { jobReturnOneOf }: Pick<Params, "jobReturnOneOf">): readonly WorkRow[] {
	let sinceFree = Number.POSITIVE_INFINITY;
	return rows.map((row) => {
		if (!isEnd(row)) return row;
		sinceFree += 1;
		if (row.outcome !== "returned") return row;
		if (sinceFree < jobReturnOneOf) return { ...row, outcome: "late" };
		sinceFree = 0;
		return row;
	});
}

export function reputationOf(rows: readonly WorkRow[], nowMs: number, params: Params): Reputation {
	const counts = { checked: 0, paid: 0, lost: 0, late: 0, declined: 0, returned: 0, convicted: 0 };
	let checkedInARow = 0;
	let valueMicros = 0;
	let convictedAtMs = Number.NEGATIVE_INFINITY;
	for (const { outcome, valueMicros: value, atMs } of withMarks(rows, params)) {
		counts[outcome] += 1;
		if (outcome === "checked") checkedInARow += 1;
		else if (outcome !== "paid" && outcome !== "declined" && outcome !== "returned") checkedInARow = 0;
		if (outcome === "paid") valueMicros += value;
		if (outcome === "convicted") convictedAtMs = Math.max(convictedAtMs, atMs);
	}
	return { counts, valueMicros, checkedInARow, isBarred: nowMs < convictedAtMs + params.jobConvictionMs };
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

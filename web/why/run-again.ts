// Which segments of a part were run again, by whom, and what came of it; and how many segments a cell stands
// for where there are many. Pure.
import type { JobDraws } from "../../src/api/types.ts";
import { partRange } from "../../src/market/jobs/job-rules.ts";

export type DrawnPart = JobDraws["parts"][number];
export type CellState = "none" | "waiting" | "right" | "wrong";

export interface Cell {
	/** Counted over the whole job. */
	readonly first: number;
	readonly count: number;
	readonly state: CellState;
}

/** A drawing of more says nothing more. */
const MOST_CELLS = 480;
const WORSE: readonly CellState[] = ["none", "right", "waiting", "wrong"];

/** In order; each as bad as its worst segment. */
export function cellsOf(draws: JobDraws, part: DrawnPart): Cell[] {
	const { first, count } = partRange(draws.offer.terms, part.part);
	const states = new Array<CellState>(count).fill("none");
	const put = (at: number, state: CellState) => {
		if (at >= 0 && at < count && WORSE.indexOf(state) > WORSE.indexOf(states[at]!)) states[at] = state;
	};
	for (const { first: from, count: length, agrees } of part.audits)
		for (let at = from; at < Math.min(count, from + length); at++)
			put(at, agrees === null ? "waiting" : agrees ? "right" : "wrong");
	const each = Math.max(1, Math.ceil(count / MOST_CELLS));
	return Array.from({ length: Math.ceil(count / each) }, (_, i) => {
		const own = states.slice(i * each, (i + 1) * each);
		const state = own.reduce(
			(worst, one) => (WORSE.indexOf(one) > WORSE.indexOf(worst) ? one : worst),
			"none" as CellState,
		);
		return { first: first + i * each, count: own.length, state };
	});
}

/** How many of a part's segments were run again and found right. */
export function shareOf({ audits }: DrawnPart, count: number): { readonly right: number; readonly of: number } {
	const seen = new Set<number>();
	for (const { first, count: length, agrees } of audits)
		if (agrees === true) for (let at = first; at < Math.min(count, first + length); at++) seen.add(at);
	return { right: seen.size, of: count };
}

// Reliability, and how many probes were answered: exponentially weighted records of past probes, in ppm. What
// a probe counts for is decided in schedule.ts. An inconclusive probe says nothing of a provider's
// truthfulness; it shows in the second only. Work that was checked counts like a valid probe, a conviction as
// nothing for `jobConvictionMs`: docs/jobs.md §11.

import type { PastProbe } from "../../protocol/network/provider-memory.ts";
import type { WorkRow } from "../jobs/reputation.ts";
import type { Params } from "../params.ts";
import type { Outcome } from "../schedule/schedule-state.ts";
import type { Term } from "./explanation.ts";
import { given, term } from "./recompute.ts";
import type { ScoreInput } from "./score-input.ts";

const FULL = 1_000_000;

/** One term for each counted probe, at most `reliabilityWindow` of them. */
export function reliabilityTerm(
	{ reliabilityPpm, history, convicted = null }: Pick<ScoreInput, "reliabilityPpm" | "history" | "convicted">,
	params: Params,
): Term {
	if (convicted !== null) return given("reliability", "ppm", 0, convicted);
	const counted = history.filter(({ counts }) => counts !== "nothing").slice(-params.reliabilityWindow);
	const start =
		reliabilityPpm === null
			? given("new provider", "ppm", params.reliabilityStartPpm, "params:reliabilityStartPpm")
			: given("before", "ppm", bounded(reliabilityPpm), "state:reliabilityPpm");
	return term("reliability", "ppm", "steps", [
		start,
		given("step", "ppm", params.reliabilityStepPpm, "params:reliabilityStepPpm"),
		...counted.map(({ counts, evidence }) => given(counts, "ppm", counts === "success" ? FULL : 0, evidence)),
	]);
}

/** The record after one more probe; null: the first one. */
export function nextReliabilityPpm(beforePpm: number | null, counts: PastProbe["counts"], params: Params): number {
	return reliabilityTerm({ reliabilityPpm: beforePpm, history: [{ evidence: "", counts }] }, params).value;
}

/** A probe that came to a verdict was answered, true or false. */
export function nextAnsweredPpm(beforePpm: number | null, status: Outcome["status"], params: Params): number {
	return nextReliabilityPpm(beforePpm, status === "inconclusive" ? "failure" : "success", params);
}

/** A part of a job that ended, as its public row has it. */
export interface JobWork extends Pick<WorkRow, "outcome" | "atMs"> {
	readonly job: string;
	readonly part: number;
	readonly attempt: number;
}

const nameOf = ({ job, part, attempt }: JobWork): string => `job:${job}/${part}/${attempt}`;

/**
 * Checked parts since the last probe, each as a valid one: a host at work is not probed. Oldest first.
 * ATTACK: who gives itself jobs would be checked as often as it likes; so one counts for an interval between
 * probes, and none after a probe that failed. `sinceMs`: when the last probe began, if it was valid.
 */
export function workAsProbes(
	rows: readonly JobWork[],
	{ sinceMs, untilMs }: { readonly sinceMs: number | null; readonly untilMs: number },
	{ intervalMs }: Pick<Params, "intervalMs">,
): PastProbe[] {
	const counted: PastProbe[] = [];
	let lastMs = sinceMs ?? Number.POSITIVE_INFINITY;
	for (const row of rows) {
		if (row.outcome !== "checked" || row.atMs > untilMs || row.atMs - lastMs < intervalMs) continue;
		counted.push({ evidence: nameOf(row), counts: "success" });
		lastMs = row.atMs;
	}
	return counted;
}

/** The conviction for which it is worth nothing now; null: there is none. */
export function convictionOf(
	rows: readonly JobWork[],
	nowMs: number,
	{ jobConvictionMs }: Pick<Params, "jobConvictionMs">,
): string | null {
	const last = rows.findLast(({ outcome, atMs }) => outcome === "convicted" && nowMs < atMs + jobConvictionMs);
	return last === undefined ? null : nameOf(last);
}

function bounded(ppm: number): number {
	return Number.isSafeInteger(ppm) ? Math.min(FULL, Math.max(0, ppm)) : 0;
}

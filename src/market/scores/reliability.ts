// Reliability and uptime: exponentially weighted records of past probes, in ppm. What a probe counts for is decided in schedule.ts.
// An inconclusive probe says nothing of a provider's truthfulness; it shows in the uptime only.

import type { PastProbe } from "../../protocol/network/provider-memory.ts";
import type { Params } from "../params.ts";
import type { Outcome } from "../schedule/schedule-state.ts";
import type { Term } from "./explanation.ts";
import { given, term } from "./recompute.ts";
import type { ScoreInput } from "./score-input.ts";

const FULL = 1_000_000;

/** One term for each counted probe, at most `reliabilityWindow` of them. */
export function reliabilityTerm(
	{ reliabilityPpm, history }: Pick<ScoreInput, "reliabilityPpm" | "history">,
	params: Params,
): Term {
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
export function nextUptimePpm(beforePpm: number | null, status: Outcome["status"], params: Params): number {
	return nextReliabilityPpm(beforePpm, status === "inconclusive" ? "failure" : "success", params);
}

function bounded(ppm: number): number {
	return Number.isSafeInteger(ppm) ? Math.min(FULL, Math.max(0, ppm)) : 0;
}

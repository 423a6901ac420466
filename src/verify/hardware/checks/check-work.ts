// What checking a file would cost, before any of it is done: whoever makes a file chooses its sizes, and a
// verifier must not be kept busy for hours. Nanoseconds of one slow core (POLICY.workNs), counted from specs
// and roots alone.
import { INTERVAL_HOPS } from "../../../protocol/hash/chase.ts";
import { openedWhats } from "../../../protocol/probe/challenge-shape.ts";
import type { ChallengeSpec, TrainSpec } from "../../../protocol/probe/evidence.ts";
import type { Answered } from "../answers.ts";
import { type Fault, fault } from "../fault.ts";
import { POLICY } from "../policy.ts";

export function checkWork(answers: readonly Answered[]): Fault | null {
	const ns = answers.reduce((sum, answer) => sum + workNs(answer, answers), 0);
	if (ns <= POLICY.maxWorkNs) return null;
	return fault(
		"WORK_LIMIT",
		"challenges",
		`about ${Math.ceil(ns / 1e9)} s of checking; at most ${POLICY.maxWorkNs / 1e9}`,
	);
}

/**
 * Seed chains are walked once for the seeds and once under the provider's word; each place is opened and
 * computed again.
 */
function workNs({ record: { spec }, roots }: Answered, answers: readonly Answered[]): number {
	const { hash, opening } = POLICY.workNs;
	const opened = spec.kind === "chase" ? INTERVAL_HOPS + 2 : openedWhats(spec).length;
	if (spec.kind === "train") return trainNs(spec);
	return 2 * roots.length * hash + spec.samples * (opened * opening + placeNs(spec, answers));
}

/**
 * Ops of a step grow with the layers; most elements take a few leaves, those of a weight's gradient a row
 * over all tokens.
 */
function trainNs({ layers, batch, context, draws, samples }: TrainSpec): number {
	const ops = 150 * (layers + 1);
	const leaves = 6 + (batch * context) / 1024;
	return (draws + 1) * ops * samples * leaves * POLICY.workNs.opening;
}

/** A lane, or a row of A and two of B. */
function placeNs(spec: ChallengeSpec, answers: readonly Answered[]): number {
	const { entry, step } = POLICY.workNs;
	if (spec.kind === "fma") return spec.steps * step[spec.precision];
	if (spec.kind === "chase") return 0;
	if (spec.kind === "train") return 0;
	const gemm = spec.kind === "gemm" ? spec : answers[spec.of]?.record.spec;
	return gemm?.kind === "gemm" ? 3 * gemm.k * entry : 0;
}

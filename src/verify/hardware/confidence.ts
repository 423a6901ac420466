// How sure the checked places make us: a prover that skipped the share f of the work passes S of them with
// probability (1 − f)^S.
import type { ChallengeRecord } from "../../protocol/probe/evidence.ts";
import type { Confidence } from "../../protocol/probe/verdict.ts";
import type { Answered } from "./answers.ts";

export function confidenceOf({ index, opens, record }: Pick<Answered, "index" | "opens" | "record">): Confidence {
	const opened = opens[0]?.openings.length ?? 0;
	// Two labels for each opened interval of a chase.
	if (record.spec.kind === "train") return steps(index, record.spec.draws);
	const samples = record.spec.kind === "chase" ? opened / 2 : opened;
	return { challenge: index, samples, skippedShareAt99: skippedShareAt99(samples) };
}

/**
 * A prover that skipped steps is caught when one of them is drawn: what is checked of a drawn step does not
 * help against it.
 */
function steps(challenge: number, draws: number): Confidence {
	return { challenge, samples: draws, skippedShareAt99: skippedShareAt99(draws) };
}

/** The largest skipped share that passes with probability above 1 %. */
export function skippedShareAt99(samples: ChallengeRecord["spec"]["samples"]): number {
	return samples === 0 ? 1 : 1 - 0.01 ** (1 / samples);
}

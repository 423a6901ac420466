// How sure the checked places make us: a prover that skipped the share f of the work passes S of them with
// probability (1 − f)^S.
import { formatPercent } from "../../protocol/format-number.ts";
import type { ChallengeRecord, Figure } from "../../protocol/probe/evidence.ts";
import type { Confidence, Verdict } from "../../protocol/probe/verdict.ts";
import type { Answered } from "./answers.ts";
import { isPeerFigure } from "./peer-speeds.ts";

export function confidenceOf(answer: Pick<Answered, "index" | "opens" | "record">): Confidence {
	const { index, record } = answer;
	if (record.spec.kind === "train") return steps(index, record.spec.draws);
	const samples = spotChecksOf(answer);
	return { challenge: index, samples, skippedShareAt99: skippedShareAt99(samples) };
}

/**
 * Number of spot checks that an honest answer passes, as the verifier counts them. It is not the number of
 * opened places: a check of a chase looks at two labels and the hops between them, a check of a training run
 * at the whole trace of a segment.
 */
export function spotChecksOf({ opens, record }: Pick<Answered, "opens" | "record">): number {
	const opened = opens[0]?.openings.length ?? 0;
	const { spec } = record;
	// Segment 0, which makes the first state, is always among them.
	if (spec.kind === "train") return opened === 0 ? 0 : spec.draws + 1;
	return spec.kind === "chase" ? Math.floor(opened / 2) : opened;
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

/**
 * How sure a valid verdict is, in a sentence for people; empty where no challenge gave a figure. Reads
 * between devices, and hop by hop, get fewer spot checks: what they read was proven at full strength before.
 * A challenge without a figure proves no speed. Of a training run a few steps are drawn, and their number
 * stands beside its figure.
 */
export function confidenceText({
	figures,
	confidence,
}: Pick<Extract<Verdict, { status: "valid" }>, "figures" | "confidence">): string {
	const isRead = (figure: Figure) => isPeerFigure(figure) || figure.name === "memory.latency";
	const counted = new Set(
		figures.filter((figure) => !isRead(figure) && figure.name !== "train.gpt").map(({ challenge }) => challenge),
	);
	const weakest = Math.max(0, ...confidence.filter((c) => counted.has(c.challenge)).map((c) => c.skippedShareAt99));
	if (weakest === 0) return "";
	const excepted = figures.some(isRead) ? " (reads of what was proven before excepted)" : "";
	return `99 % confidence that no more than ${formatPercent(weakest)} of any challenge was skipped${excepted}`;
}

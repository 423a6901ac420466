// What a card is worth at full speed: SN27's score where it has one, else a formula of three facts that was fitted on those scores.
// The same formula, on proven figures and discounted, values a card that no profile explains. docs/scores.md has the table it gives.

import type { Params } from "../params.ts";
import type { Term } from "./explanation.ts";
import { given, term } from "./recompute.ts";
import type { CardFacts } from "./score-input.ts";

/** Eighths: fp16 speed, memory, bandwidth. They sum to 8, so a card cut in two is never worth more than the whole. */
export const FORMULA_EIGHTHS: readonly number[] = [3, 3, 2];

/** The highest score of the table; no other card is taken to be worth more, for nothing is known up there. */
export function bestBasePpm({ baseScoresPpm }: Params): number {
	return Object.values(baseScoresPpm).reduce((best, value) => Math.max(best, value), 0);
}

export function baseTerm(card: CardFacts, params: Params): Term {
	const known = Object.hasOwn(params.baseScoresPpm, card.id) ? params.baseScoresPpm[card.id] : undefined;
	if (known !== undefined) return given("base score", "ppm", known, "params:baseScoresPpm", `profile:${card.id}`);
	const source = `profile:${card.id}`;
	return formulaTerm(
		given("fp16 peak", "op/s", card.rates.fp16 ?? 0, source),
		given("memory", "B", card.memoryBytes, source),
		given("bandwidth", "B/s", card.bytesPerS, source),
		params,
	);
}

/** Monotone in each of the three, 0 when one is missing, at most the best base score. */
export function formulaTerm(fp16: Term, memory: Term, bandwidth: Term, params: Params): Term {
	const reference = (name: keyof Params & `formula${string}`, unit: Term["unit"]) =>
		given(name, unit, params[name], `params:${name}`);
	return term(
		"base score",
		"ppm",
		"power",
		[
			fp16,
			reference("formulaFp16OpsPerS", "op/s"),
			memory,
			reference("formulaMemoryBytes", "B"),
			bandwidth,
			reference("formulaBytesPerS", "B/s"),
			reference("formulaScorePpm", "ppm"),
			given("best base score", "ppm", bestBasePpm(params), "params:baseScoresPpm"),
		],
		FORMULA_EIGHTHS,
	);
}

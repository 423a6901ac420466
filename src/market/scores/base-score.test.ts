// Base scores of all profiles: SN27's where it has one, else a formula that is fitted, monotone and not worth cutting cards for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../../tests/fuzz.test-kit.ts";
import { createParams, DEFAULT_PARAMS, type Params, SN27_SCORES_PPM } from "../params.ts";
import { baseTerm, bestBasePpm, FORMULA_EIGHTHS, formulaTerm } from "./base-score.ts";
import { given } from "./recompute.ts";
import type { CardFacts } from "./score-input.ts";
import { CARDS, profile } from "./scored-host.test-kit.ts";

const P = DEFAULT_PARAMS;
const baseScorePpm = (card: CardFacts, params: Params) => baseTerm(card, params).value;
const formula = (fp16: number, memory: number, bandwidth: number, params: Params = P) =>
	formulaTerm(given("", "op/s", fp16), given("", "B", memory), given("", "B/s", bandwidth), params).value;
const formulaOf = (card: CardFacts, params: Params = P) =>
	formula(card.rates.fp16 ?? 0, card.memoryBytes, card.bytesPerS, params);

test("SN27's scores above 0 are the base scores; every other card has one too, none above the best", () => {
	assert.equal(CARDS.length, 98);
	const nonzero = Object.entries(SN27_SCORES_PPM).filter(([, score]) => (score ?? 0) > 0);
	assert.deepEqual(Object.fromEntries(nonzero), { ...P.baseScoresPpm });
	for (const [id, score] of nonzero) assert.equal(baseScorePpm(profile(id), P), score);
	for (const card of CARDS) {
		const base = baseScorePpm(card, P);
		assert.ok(base >= 100_000 && base <= bestBasePpm(P), `${card.id}: ${base}`);
	}
	assert.equal(bestBasePpm(P), 5_000_000);
});

test("cards that SN27 scores 0 are worth what their facts say, in the order of their facts", () => {
	for (const id of ["A40", "GeForce RTX 3090", "RTX A4500", "L4"])
		assert.equal(baseScorePpm(profile(id), P), formulaOf(profile(id)));
	assert.ok(baseScorePpm(profile("GeForce RTX 4080"), P) < baseScorePpm(profile("GeForce RTX 4090"), P));
	assert.ok(baseScorePpm(profile("GeForce RTX 3080"), P) < baseScorePpm(profile("GeForce RTX 3090"), P));
	assert.ok(baseScorePpm(profile("Tesla T4"), P) < baseScorePpm(profile("A10"), P));
});

/** Over SN27's scores, without the cap: logarithms of score ÷ formula for these eighths and a factor of 1. */
function residuals(eighths: readonly number[]): number[] {
	return Object.entries(P.baseScoresPpm).map(([id, score]) => {
		const { rates, memoryBytes, bytesPerS } = profile(id);
		const ratios = [
			rates.fp16! / P.formulaFp16OpsPerS,
			memoryBytes / P.formulaMemoryBytes,
			bytesPerS / P.formulaBytesPerS,
		];
		return Math.log(score / 1e6) - ratios.reduce((sum, ratio, i) => sum + (eighths[i]! / 8) * Math.log(ratio), 0);
	});
}

test("the formula is the least-squares fit among whole eighths that sum to 1, and is off by 25 % in the mean", () => {
	const fit = (eighths: readonly number[]) => {
		const logs = residuals(eighths);
		const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
		return {
			factor: Math.exp(mean),
			rms: Math.sqrt(logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / logs.length),
		};
	};
	const ours = fit(FORMULA_EIGHTHS);
	for (let a = 0; a <= 8; a++)
		for (let b = 0; a + b <= 8; b++) assert.ok(fit([a, b, 8 - a - b]).rms >= ours.rms, `${a} ${b}`);
	assert.ok(Math.abs(ours.factor * 1e6 - P.formulaScorePpm) < 0.005 * P.formulaScorePpm, `${ours.factor}`);
	assert.ok(ours.rms > 0.24 && ours.rms < 0.26, `${ours.rms}`);
});

const fp16 = fc.integer({ min: 0, max: 4e15 });
const memory = fc.integer({ min: 0, max: 4e11 });
const bandwidth = fc.integer({ min: 0, max: 1e13 });
const more = fc.integer({ min: 0, max: 1e15 });

test("monotone in every figure, 0 without one of them, bounded", () => {
	fc.assert(
		fc.property(fp16, memory, bandwidth, more, (f, m, b, d) => {
			const base = formula(f, m, b);
			assert.ok(base >= 0 && base <= bestBasePpm(P));
			assert.ok(formula(f + d, m, b) >= base && formula(f, m + d, b) >= base && formula(f, m, b + d) >= base);
			assert.equal(formula(0, m, b) + formula(f, 0, b) + formula(f, m, 0), 0);
		}),
	);
});

test("a card cut in two is worth no more than the whole", () => {
	// Uncapped: a card beyond the best is worth the best, and two halves of it may both be.
	const params = createParams({ baseScoresPpm: { cap: 1_000_000_000 } });
	fc.assert(
		fc.property(fp16, memory, bandwidth, fp16, memory, bandwidth, (f, m, b, f2, m2, b2) => {
			const parts = formula(f, m, b, params) + formula(f2, m2, b2, params);
			// Roundings of three ratios of 10⁻⁶ and one scale: some tens of ppm of a score.
			return parts <= formula(f + f2, m + m2, b + b2, params) + 30;
		}),
	);
});

test("under a name that nobody knows, no known card is worth more than under its own", () => {
	for (const card of CARDS) {
		const unknown = Math.floor((formulaOf(card) * P.unknownCardPpm) / 1_000_000);
		assert.ok(unknown <= baseScorePpm(card, P), `${card.id}: ${unknown} > ${baseScorePpm(card, P)}`);
	}
	// The twin: without the discount one would.
	assert.ok(formulaOf(profile("RTX A5000")) > baseScorePpm(profile("RTX A5000"), P));
});

test("an operator's score takes the formula's place, and a higher best is a new best", () => {
	const params = createParams({ baseScoresPpm: { GB300: 7_000_000 } });
	assert.equal(baseScorePpm(profile("GB300"), params), 7_000_000);
	assert.equal(bestBasePpm(params), 7_000_000);
	assert.ok(baseScorePpm(profile("GB200"), params) > 5_000_000);
});

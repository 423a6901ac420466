// The median over validators' reports, against any minority of stake.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../../tests/fuzz.test-kit.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { createScoreReport } from "./score-report.ts";
import { type CountedReport, medianWeights } from "./weight-proposal.ts";
import { weightedMedian } from "./weighted-median.ts";

type Scores = Readonly<Record<string, number>>;
const ppm = fc.integer({ min: 0, max: 1_000_000 });
const accountOf = (name: string): Hex => `0x${Buffer.from(name).toString("hex").padStart(40, "0")}`;
const report = (validator: string, stake: number | bigint, scores: Scores): CountedReport => ({
	validator: accountOf(validator),
	stake: BigInt(stake),
	report: createScoreReport(
		Object.entries(scores).map(([id, scorePpm]) => ({
			provider: accountOf(id),
			scorePpm,
			evidenceSha256: `0x${"e1".repeat(32)}`,
		})),
	),
});
/** By provider; 0 where there is none. */
function weightsOf(reports: readonly CountedReport[]): (id: string) => number {
	const weights = new Map(medianWeights(reports).map(({ provider, weightPpm }) => [provider, weightPpm]));
	return (id) => weights.get(accountOf(id)) ?? 0;
}

test("the stake-weighted median, ties to the lower", () => {
	const median = (...votes: [number, number][]) =>
		weightedMedian(votes.map(([stake, scorePpm]) => ({ stake: BigInt(stake), scorePpm })));
	assert.equal(median([1, 10], [1, 20], [1, 30]), 20);
	assert.equal(median([1, 10], [1, 20]), 10, "in balance: the lower");
	assert.equal(median([1, 10], [1, 20], [3, 30]), 30);
	assert.equal(median([0, 5], [1, 20], [0, 99]), 20, "no stake, no say");
	assert.equal(median([0, 5]), 0);
	assert.equal(median(), 0);
});

test("three validators, one lying by any amount on any provider: the weight stays within the honest reports", () => {
	const honest = fc.dictionary(fc.constantFrom("p", "q", "r"), fc.tuple(ppm, ppm, ppm));
	const lies = fc.dictionary(fc.constantFrom("p", "q", "r", "invented"), ppm);
	fc.assert(
		fc.property(honest, lies, fc.nat(2), (scores, lied, liar) => {
			const of = (i: 0 | 1 | 2) => Object.fromEntries(Object.entries(scores).map(([id, each]) => [id, each[i]]));
			const said = [of(0), of(1), of(2)].map((one, i) => (i === liar ? lied : one));
			const weightOf = weightsOf(said.map((one, i) => report(`v${i}`, 5, one)));
			assert.equal(weightOf("invented"), 0, "a minority cannot invent a provider");
			for (const [id, each] of Object.entries(scores)) {
				const honestly = each.filter((_, i) => i !== liar);
				const weight = weightOf(id);
				assert.ok(
					weight >= Math.min(...honestly) && weight <= Math.max(...honestly),
					`${id}: ${weight} of ${honestly.join()}`,
				);
			}
		}),
	);
});

test("any minority by stake, any number of validators; the twin: a majority does decide", () => {
	const voter = fc.record({ stake: fc.bigInt({ min: 1n, max: 10n ** 24n }), lies: fc.boolean(), lie: ppm });
	fc.assert(
		fc.property(fc.array(voter, { minLength: 1, maxLength: 12 }), ppm, (voters, truth) => {
			const reports = voters.map(({ stake, lies, lie }, i) => report(`v${i}`, stake, { p: lies ? lie : truth }));
			const lying = voters.filter(({ lies }) => lies).reduce((sum, { stake }) => sum + stake, 0n);
			const total = voters.reduce((sum, { stake }) => sum + stake, 0n);
			if (2n * lying < total) assert.equal(weightsOf(reports)("p"), truth);
		}),
	);
	assert.equal(weightsOf([report("a", 2, { p: 7 }), report("b", 1, { p: 500_000 })])("p"), 7);
});

test("the order of reports plays no part, nor does a report without stake", () => {
	const reports = [report("a", 3, { p: 5, q: 1 }), report("b", 4, { q: 9 }), report("c", 5, { p: 7 })];
	assert.deepEqual(medianWeights([...reports].reverse()), medianWeights(reports));
	assert.deepEqual(medianWeights([...reports, report("d", 0, { p: 99, r: 99 })]), medianWeights(reports));
});

test("a provider that is left out of a report is 0 in it", () => {
	assert.equal(weightsOf([report("a", 1, { p: 9 }), report("b", 1, { p: 8 }), report("c", 1, {})])("p"), 8);
	assert.deepEqual(medianWeights([report("a", 1, { p: 9 }), report("b", 1, {}), report("c", 1, {})]), []);
	assert.deepEqual(medianWeights([]), []);
});

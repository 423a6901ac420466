// The median over validators' reports, against any minority of stake.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../../tests/fuzz.test-kit.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { createScoreReport } from "./score-report.ts";
import { setOf } from "./seat-set.ts";
import { weightedMedian } from "./weighted-median.ts";
import { medianWeights } from "./weights.ts";

type Scores = Readonly<Record<string, number>>;
const ppm = fc.integer({ min: 0, max: 1_000_000 });
const accountOf = (name: string): Hex => `0x${Buffer.from(name).toString("hex").padStart(40, "0")}`;
const report = (name: string, stake: number | bigint, scores: Scores) => ({
	seat: { validator: accountOf(name), signer: accountOf(name), stake: BigInt(stake), root: accountOf("root") },
	report: createScoreReport(
		Object.entries(scores).map(([id, scorePpm]) => ({
			provider: accountOf(id),
			scorePpm,
			evidenceSha256: `0x${"e1".repeat(32)}`,
		})),
	),
});
const mediansOf = (reports: readonly ReturnType<typeof report>[]) =>
	medianWeights(setOf(reports.keys()), {
		seats: reports.map(({ seat }) => seat),
		reports: reports.map((one) => one.report),
	});
/** By provider; 0 where there is none. */
function weightsOf(reports: readonly ReturnType<typeof report>[]): (id: string) => number {
	const weights = mediansOf(reports);
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

test("the order of reports plays no part, nor does a report that is not in the set", () => {
	const reports = [report("a", 3, { p: 5, q: 1 }), report("b", 4, { q: 9 }), report("c", 5, { p: 7 })];
	assert.deepEqual(mediansOf([...reports].reverse()), mediansOf(reports));
	const more = [...reports, report("d", 100, { p: 99, r: 99 })];
	const facts = { seats: more.map(({ seat }) => seat), reports: [...reports.map((one) => one.report), null] };
	assert.deepEqual(medianWeights(7n, facts), mediansOf(reports));
});

test("a provider that is left out of a report is 0 in it", () => {
	assert.equal(weightsOf([report("a", 1, { p: 9 }), report("b", 1, { p: 8 }), report("c", 1, {})])("p"), 8);
	assert.equal(mediansOf([report("a", 1, { p: 9 }), report("b", 1, {}), report("c", 1, {})]).size, 0);
	assert.equal(mediansOf([]).size, 0);
});

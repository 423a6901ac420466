// The median over validators, against any minority of stake; and rewards to the last unit.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DEFAULT_PARAMS } from "../params.ts";
import { networkWeights, weightedMedian } from "./network-weights.ts";
import { rewardShares } from "./reward-shares.ts";
import type { ValidatorReport } from "./validator-report.ts";

const P = DEFAULT_PARAMS;
const ppm = fc.integer({ min: 0, max: 1_000_000 });
const report = (validatorId: string, stake: number | bigint, scores: ValidatorReport["scores"]): ValidatorReport => ({
	validatorId,
	stake: BigInt(stake),
	scores,
});
const weightsOf = (reports: readonly ValidatorReport[]) =>
	Object.fromEntries(networkWeights(reports, P).weights.map(({ providerId, weightPpm }) => [providerId, weightPpm]));

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
	fc.assert(
		fc.property(
			honest,
			fc.dictionary(fc.constantFrom("p", "q", "r", "invented"), ppm),
			fc.nat(2),
			(scores, lies, liar) => {
				const of = (i: 0 | 1 | 2) => Object.fromEntries(Object.entries(scores).map(([id, each]) => [id, each[i]]));
				const reports = [report("a", 5, of(0)), report("b", 5, of(1)), report("c", 5, of(2))];
				const lied = reports.map((one, i) => (i === liar ? { ...one, scores: lies } : one));
				const weights = weightsOf(lied);
				assert.equal(weights.invented ?? 0, 0, "a minority cannot invent a provider");
				for (const [id, each] of Object.entries(scores)) {
					const true_ = each.filter((_, i) => i !== liar);
					const weight = weights[id] ?? 0;
					assert.ok(
						weight >= Math.min(...true_) && weight <= Math.max(...true_),
						`${id}: ${weight} of ${true_.join()}`,
					);
				}
			},
		),
	);
});

test("when honest reports agree within the clip, a lie moves a weight by less than the clip", () => {
	fc.assert(
		fc.property(
			fc.integer({ min: 1000, max: 900_000 }),
			fc.tuple(...[0, 1, 2].map(() => fc.integer({ min: -45, max: 45 }))),
			ppm,
			fc.nat(2),
			(score, noise, lie, liar) => {
				// ± 4.5 % of noise; the clip is 10 %.
				const scores = noise.map((thousandths) => Math.floor((score * (1000 + thousandths)) / 1000));
				const reports = scores.map((p, i) => report(`v${i}`, 1, { p }));
				const honest = weightsOf(reports).p!;
				const lied = weightsOf(reports.map((one, i) => (i === liar ? { ...one, scores: { p: lie } } : one))).p!;
				assert.ok(Math.abs(lied - honest) * 1_000_000 < P.clipPpm * honest, `${honest} → ${lied}`);
			},
		),
	);
});

test("any minority by stake, any number of validators; the twin: a majority does decide", () => {
	const voter = fc.record({ stake: fc.bigInt({ min: 1n, max: 10n ** 24n }), lies: fc.boolean(), lie: ppm });
	fc.assert(
		fc.property(fc.array(voter, { minLength: 1, maxLength: 12 }), ppm, (voters, truth) => {
			const reports = voters.map(({ stake, lies, lie }, i) => report(`v${i}`, stake, { p: lies ? lie : truth }));
			const lying = voters.filter(({ lies }) => lies).reduce((sum, { stake }) => sum + stake, 0n);
			const total = voters.reduce((sum, { stake }) => sum + stake, 0n);
			if (2n * lying < total) assert.equal(weightsOf(reports).p, truth);
		}),
	);
	assert.equal(weightsOf([report("a", 2, { p: 7 }), report("b", 1, { p: 500_000 })]).p, 7);
});

test("clipping leaves the median where it is, and names who lay outside", () => {
	fc.assert(
		fc.property(
			fc.array(fc.record({ stake: fc.bigInt({ min: 0n, max: 9n }), p: ppm }), { minLength: 1, maxLength: 9 }),
			(voters) => {
				const { weights } = networkWeights(
					voters.map(({ stake, p }, i) => report(`v${i}`, stake, { p })),
					P,
				);
				for (const { weightPpm, medianPpm, lowPpm, highPpm } of weights) {
					assert.equal(weightPpm, medianPpm);
					assert.ok(lowPpm <= medianPpm && medianPpm <= highPpm && highPpm <= 1_000_000);
				}
			},
		),
	);
	const [weight] = networkWeights(
		[report("a", 1, { p: 100_000 }), report("b", 1, { p: 101_000 }), report("c", 1, { p: 900_000 })],
		P,
	).weights;
	assert.deepEqual(weight?.clipped, [{ validatorId: "c", scorePpm: 900_000 }]);
	assert.deepEqual([weight?.lowPpm, weight?.highPpm], [90_900, 111_100]);
});

test("the order of reports plays no part", () => {
	const reports = [report("a", 3, { p: 5, q: 1 }), report("b", 4, { q: 9 }), report("c", 5, { p: 7 })];
	assert.deepEqual(networkWeights([...reports].reverse(), P), networkWeights(reports, P));
});

test("missing: a provider left out of a report is 0 there; who reports nothing lowers the quorum", () => {
	assert.deepEqual(weightsOf([report("a", 1, { p: 9 }), report("b", 1, { p: 8 }), report("c", 1, {})]), { p: 8 });
	assert.deepEqual(weightsOf([report("a", 1, { p: 9 }), report("b", 1, {}), report("c", 1, {})]), { p: 0 });
	assert.deepEqual(weightsOf([report("a", 1, { p: 9 }), report("b", 1, { p: 9 }), report("c", 1, null)]), { p: 9 });
	assert.equal(
		networkWeights([report("a", 1, { p: 9 }), report("b", 5, { p: 9 }), report("c", 4, null)], P).quorum,
		false,
	);
	const half = networkWeights([report("a", 1, { p: 9 }), report("b", 1, null)], P);
	assert.equal(half.quorum, false);
	assert.deepEqual(half.weights, []);
});

test("no stake at all, or nobody: no quorum", () => {
	assert.equal(networkWeights([], P).quorum, false);
	assert.equal(networkWeights([report("a", 0, { p: 9 })], P).quorum, false);
	assert.equal(networkWeights([report("a", 1, { p: 9 })], P).quorum, true);
});

test("hostile reports count as not made", () => {
	for (const bad of [-1, 1_000_001, 0.5, Number.NaN, Number.POSITIVE_INFINITY, "9" as unknown as number]) {
		const { refused, quorum } = networkWeights([report("a", 3, { p: 9 }), report("b", 1, { p: bad })], P);
		assert.deepEqual(
			refused.map(({ validatorId }) => validatorId),
			["b"],
			String(bad),
		);
		assert.equal(quorum, true);
	}
	const twice = networkWeights([report("a", 5, { p: 9 }), report("b", 1, { p: 1 }), report("b", 1, { p: 2 })], P);
	assert.deepEqual(twice.refused, [{ validatorId: "b", why: "listed more than once" }]);
	assert.equal(twice.totalStake, 6n);
	assert.equal(networkWeights([report("a", -1, { p: 9 })], P).refused.length, 1);
	const odd = networkWeights(
		[report("a", 1, JSON.parse('{"__proto__": 9, "constructor": 8}') as Record<string, number>)],
		P,
	);
	assert.deepEqual(
		odd.weights.map(({ providerId, weightPpm }) => [providerId, weightPpm]),
		[
			["__proto__", 9],
			["constructor", 8],
		],
	);
});

const weighted = (...weights: number[]) =>
	weights.map((weightPpm, i) => ({ providerId: `p${String.fromCharCode(97 + i)}`, weightPpm }));

test("shares sum to the emission, follow the weights, and are within one unit of the exact part", () => {
	fc.assert(
		fc.property(fc.array(ppm, { maxLength: 30 }), fc.bigInt({ min: 0n, max: 10n ** 30n }), (weights, emission) => {
			const list = weighted(...weights);
			const { shares, undistributed } = rewardShares(list, emission);
			assert.equal(
				shares.reduce((sum, { amount }) => sum + amount, undistributed),
				emission,
			);
			const total = weights.reduce((sum, weight) => sum + BigInt(weight), 0n);
			if (total === 0n) return assert.equal(undistributed, emission);
			for (const { providerId, weightPpm } of list) {
				const amount = shares.find((share) => share.providerId === providerId)?.amount ?? 0n;
				const exact = emission * BigInt(weightPpm);
				assert.ok(amount * total > exact - total && amount * total < exact + total);
				if (weightPpm === 0) assert.equal(amount, 0n);
			}
		}),
	);
});

test("ties go by name, whatever the order", () => {
	const list = weighted(1, 1, 1);
	const amounts = (of: typeof list) =>
		rewardShares(of, 100n).shares.map(({ providerId, amount }) => `${providerId}:${amount}`);
	assert.deepEqual(amounts(list), ["pa:34", "pb:33", "pc:33"]);
	assert.deepEqual(amounts([...list].reverse()), amounts(list));
	assert.deepEqual(rewardShares(weighted(3, 1), 1n).shares, [{ providerId: "pa", amount: 1n }]);
});

test("nobody has weight: nothing is given away; two weights of one provider, or less than nothing, are refused", () => {
	assert.deepEqual(rewardShares(weighted(0, 0), 100n), { shares: [], undistributed: 100n });
	assert.deepEqual(rewardShares([], 100n), { shares: [], undistributed: 100n });
	assert.throws(() => rewardShares([...weighted(1), ...weighted(1)], 100n), RangeError);
	assert.throws(() => rewardShares(weighted(1), -1n), RangeError);
});

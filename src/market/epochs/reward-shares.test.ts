// Rewards to the last unit.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../../tests/fuzz.test-kit.ts";
import { rewardShares } from "./reward-shares.ts";

const ppm = fc.integer({ min: 0, max: 1_000_000 });
const weighted = (...weights: number[]) =>
	weights.map((weightPpm, i) => ({ provider: `p${String.fromCharCode(97 + i)}`, weightPpm }));

test("shares sum to the emission, follow the weights, and are within one unit of the exact part", () => {
	fc.assert(
		fc.property(fc.array(ppm, { maxLength: 30 }), fc.bigInt({ min: 0n, max: 10n ** 30n }), (weights, emission) => {
			const list = weighted(...weights);
			const shares = rewardShares(list, emission);
			const total = weights.reduce((sum, weight) => sum + BigInt(weight), 0n);
			const given = shares.reduce((sum, { amount }) => sum + amount, 0n);
			assert.equal(given, total === 0n ? 0n : emission);
			if (total === 0n) return;
			for (const { provider, weightPpm } of list) {
				const amount = shares.find((share) => share.provider === provider)?.amount ?? 0n;
				const exact = emission * BigInt(weightPpm);
				assert.ok(amount * total > exact - total && amount * total < exact + total);
				if (weightPpm === 0) assert.equal(amount, 0n);
			}
		}),
	);
});

test("ties go by name, whatever the order", () => {
	const list = weighted(1, 1, 1);
	const amounts = (of: typeof list) => rewardShares(of, 100n).map(({ provider, amount }) => `${provider}:${amount}`);
	assert.deepEqual(amounts(list), ["pa:34", "pb:33", "pc:33"]);
	assert.deepEqual(amounts([...list].reverse()), amounts(list));
	assert.deepEqual(rewardShares(weighted(3, 1), 1n), [{ provider: "pa", amount: 1n }]);
});

test("nobody has weight: nothing is given away; two weights of one provider, or less than nothing, are refused", () => {
	assert.deepEqual(rewardShares(weighted(0, 0), 100n), []);
	assert.deepEqual(rewardShares([], 100n), []);
	assert.throws(() => rewardShares([...weighted(1), ...weighted(1)], 100n), RangeError);
	assert.throws(() => rewardShares(weighted(1), -1n), RangeError);
});

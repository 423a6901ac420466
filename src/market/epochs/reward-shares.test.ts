// Pots and shares, to the last unit.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../../tests/fuzz.test-kit.ts";
import { earnedOf, type PotFacts, potOf } from "./reward-shares.ts";

const facts: PotFacts = {
	emissionPerEpoch: 1000n,
	funded: 10_000n,
	allocated: 2000n,
	totalStake: 9000n,
	quorumPpm: 666_667,
	signerSlashPpm: 500_000,
};

test("a pot is the least of the emission, what is left, and what liars would lose", () => {
	assert.equal(potOf(facts), 1000n);
	assert.equal(potOf({ ...facts, allocated: 9001n }), 999n);
	assert.equal(potOf({ ...facts, allocated: 10_001n }), 0n);
	assert.equal(potOf({ ...facts, totalStake: 2000n }), 666n);
	assert.equal(potOf({ ...facts, totalStake: 0n }), 0n);
});

test("shares never exceed the pot, whatever is stated; below the target weight they are in proportion", () => {
	const weights = fc.array(fc.integer({ min: 0, max: 1_000_000 }), { maxLength: 20 });
	const stakes = fc.array(fc.bigInt(1n, 10n ** 24n), { minLength: 1, maxLength: 20 });
	const rules = fc.record({ validatorPpm: fc.nat(1_000_000), targetWeight: fc.bigInt(0n, 10n ** 8n) });
	fc.assert(
		fc.property(weights, stakes, rules, fc.bigInt(0n, 1n << 127n), (list, by, of, pot) => {
			const totalWeight = list.reduce((sum, weight) => sum + BigInt(weight), 0n);
			const setStake = by.reduce((sum, stake) => sum + stake, 0n);
			const sums = { pot, totalWeight, setStake };
			const given = [
				...list.map((weightPpm) => earnedOf({ ...sums, weightPpm, stake: 0n }, of)),
				...by.map((stake) => earnedOf({ ...sums, weightPpm: 0, stake }, of)),
			].reduce((sum, one) => sum + one, 0n);
			assert.ok(given <= pot);
			// At most one unit is lost a share.
			const isFull = totalWeight >= of.targetWeight && totalWeight > 0n;
			if (isFull) assert.ok(pot - given <= BigInt(list.length + by.length));
		}),
	);
	const sums = { pot: 1000n, setStake: 3n, stake: 0n, weightPpm: 250_000, totalWeight: 250_000n };
	assert.equal(earnedOf(sums, { validatorPpm: 100_000, targetWeight: 0n }), 900n);
	assert.equal(earnedOf(sums, { validatorPpm: 100_000, targetWeight: 1_000_000n }), 225n);
	assert.equal(earnedOf({ ...sums, stake: 1n }, { validatorPpm: 100_000, targetWeight: 1_000_000n }), 225n + 33n);
	assert.equal(earnedOf({ ...sums, totalWeight: 0n, setStake: 0n }, { validatorPpm: 0, targetWeight: 0n }), 0n);
});

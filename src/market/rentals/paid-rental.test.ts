// What a rented host's time counts for, and that renting from oneself brings less than it burns: for one
// honest card, and for many keys that share one and hide behind rentals when they are called.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../../tests/fuzz.test-kit.ts";
import { DEFAULT_PARAMS } from "../params.ts";
import { rentedTerm } from "../scores/rented.ts";
import { escrowPerSecond, paidPpm, type RewardRate } from "./paid-rental.ts";

const P = DEFAULT_PARAMS;
const rate: RewardRate = { emission: 4320n * 10n ** 18n, epochSeconds: 4320, totalScorePpm: 10_000_000n };

test("a call counts by what is burned against twice what the full score brings", () => {
	// 1 token a second for all, a tenth of it for a score of 1.
	const tenth = 10n ** 17n;
	assert.equal(paidPpm(2n * tenth, 1_000_000, rate, P), 1_000_000);
	assert.equal(paidPpm(tenth, 1_000_000, rate, P), 500_000);
	assert.equal(paidPpm(tenth, 500_000, rate, P), 1_000_000, "half the score brings half");
	assert.equal(paidPpm(tenth, 1_000_000, { ...rate, emission: rate.emission * 2n }, P), 250_000);
	assert.equal(paidPpm(tenth, 1_000_000, { ...rate, totalScorePpm: 20_000_000n }, P), 1_000_000);
	assert.equal(paidPpm(100n * tenth, 1_000_000, rate, P), P.rentedBonusPpm, "no more than the bonus");
	assert.equal(paidPpm(0n, 1_000_000, rate, P), 0);
	assert.equal(paidPpm(1n, 1_000_000, rate, P), 0, "dust counts for nothing");
	// A new network, where a host is all there is, or has no score yet that is added up.
	assert.equal(paidPpm(10n ** 18n, 1_000_000, { ...rate, totalScorePpm: 0n }, P), 500_000);
	assert.equal(paidPpm(10n ** 18n, 0, rate, P), 0, "ATTACK: burn while a score is 0, and be excused when it is not");
});

test("the factor is a mean over the window, and nothing without a rented call", () => {
	assert.equal(rentedTerm({ calls: 0, paidPpm: 1_100_000 }, P).value, 1_000_000);
	assert.equal(rentedTerm({ calls: 24, paidPpm: 1_100_000 }, P).value, 1_100_000);
	assert.equal(rentedTerm({ calls: 12, paidPpm: 0 }, P).value, 500_000);
	assert.equal(rentedTerm({ calls: 24, paidPpm: 9_000_000 }, P).value, 1_100_000, "no more than the bonus");
	assert.equal(rentedTerm({ calls: 99, paidPpm: 0 }, P).value, 0);
	for (const calls of [-1, Number.NaN, 0.5])
		assert.equal(rentedTerm({ calls, paidPpm: 1_100_000 }, P).value, 1_000_000, String(calls));
});

test("a price an hour as tokens a second, never less", () => {
	assert.equal(escrowPerSecond(3_600_000_000), 10n ** 18n);
	assert.equal(escrowPerSecond(0), 0n);
	assert.equal(escrowPerSecond(1), 277_777_778n);
});

const CARD = 125_000;
const { emission, epochSeconds } = { ...rate, emission: 10n ** 24n };
const perSecond = Number(emission) / epochSeconds;

interface Key {
	/** Of the window's calls: answered by the card under this key, and rented in. The rest is missed. */
	readonly answers: number;
	readonly rented: number;
	/** A second while rented, against what the full score brings. */
	readonly burns: number;
}

/** What the keys on one card get a second, less what they burn; and what the card gets by itself. */
function shares(keys: readonly Key[], othersPpm: number): { readonly got: number; readonly honest: number } {
	const honest = (perSecond * CARD) / (othersPpm + CARD);
	const totalScorePpm = BigInt(othersPpm + CARD);
	let [scored, burned] = [0, 0];
	for (const { answers, rented, burns } of keys) {
		const burnedPerSecond = BigInt(Math.round(honest * burns));
		const paid = paidPpm(burnedPerSecond, CARD, { emission, epochSeconds, totalScorePpm }, P);
		const free = P.rollCallWindow - rented;
		// Without the lower bound, which only makes it less.
		const presence = free === 0 ? 1 : Math.min(1, answers / free);
		scored += (CARD * presence * rentedTerm({ calls: rented, paidPpm: paid }, P).value) / 1e6;
		burned += (Number(burnedPerSecond) * rented) / P.rollCallWindow;
	}
	return { got: (perSecond * scored) / (othersPpm + scored || 1) - burned, honest };
}

test("self-rental: keys that share a card and are rented whenever it is not their turn burn more than they get", () => {
	for (const othersPpm of [0, 125_000, 10_000_000, 1_000_000_000])
		for (const keys of [1, 2, 3, 4, 8, 24])
			for (const burns of [0, 1e-3, 0.1, 0.5, 1, 2, 2.2, 10]) {
				const answers = P.rollCallWindow / keys;
				const each: Key = { answers, rented: P.rollCallWindow - answers, burns };
				const { got, honest } = shares(Array(keys).fill(each), othersPpm);
				assert.ok(got <= honest * (1 + 1e-9), `${keys} keys burn ${burns} beside ${othersPpm}: ${got}, not ${honest}`);
			}
});

test("self-rental: nor any other mix of answers and rentals, as long as the card answers once", () => {
	const key = fc.record({
		answers: fc.nat(24),
		rented: fc.nat(24),
		burns: fc.double({ min: 0, max: 10, noNaN: true }),
	});
	fc.assert(
		fc.property(fc.array(key, { minLength: 1, maxLength: 40 }), fc.nat(1_000_000_000), (wanted, othersPpm) => {
			let left = P.rollCallWindow;
			const keys = wanted.map(({ answers, rented, burns }) => {
				const given = Math.min(answers, left, P.rollCallWindow - rented);
				left -= given;
				// A key that never answers and is always rented keeps an old presence of 1: the worst case.
				return { answers: given, rented, burns };
			});
			const { got, honest } = shares(keys, othersPpm);
			assert.ok(got <= honest * (1 + 1e-9), `${got} instead of ${honest}`);
		}),
	);
});

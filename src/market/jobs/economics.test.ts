// The sums of docs/jobs.md §9: whoever skips work loses by it under every method, and what a bond becomes
// adds up.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc, scaled } from "../../../tests/fuzz.test-kit.ts";
import { DEFAULT_PARAMS } from "../params.ts";
import {
	auditChancePpm,
	auditMicros,
	bondMicros,
	chanceOfOne,
	chanceOfSkip,
	convictedShares,
	feeMicros,
	isTooFast,
	lossMicros,
} from "./economics.ts";
import { hostRows } from "./host-strategies.test-kit.ts";
import { faultsOf, METHOD_ORDERS, moneyOf, rowsOf, type Situation } from "./strategies.test-kit.ts";

const P = DEFAULT_PARAMS;
const SAMPLED = { name: "sampled", count: 16 } as const;
const OPTIMISTIC = { name: "optimistic", count: 0 } as const;
const ATTESTED = { name: "attested", count: 0 } as const;
const REDUNDANT = { name: "redundant", count: 2 } as const;

test("a skipped tenth is found with 81 % by 16 drawn windows; by two providers for sure; by audits one time in ten", () => {
	assert.ok(Math.abs(chanceOfSkip(SAMPLED, 0.1, P.jobAuditPpm) - 0.815) < 0.001);
	assert.equal(chanceOfSkip(REDUNDANT, 0.1, P.jobAuditPpm), 1);
	assert.equal(chanceOfSkip(OPTIMISTIC, 0.1, P.jobAuditPpm), 0.1);
	assert.equal(chanceOfSkip(ATTESTED, 0.1, P.jobAuditPpm), 0.1);
	for (const method of [SAMPLED, REDUNDANT, OPTIMISTIC, ATTESTED])
		assert.equal(chanceOfSkip(method, 0, P.jobAuditPpm), 0);
	assert.equal(chanceOfSkip({ name: "sampled", count: 0 }, 0.5, P.jobAuditPpm), 0);
	assert.equal(chanceOfSkip(SAMPLED, 1.5, P.jobAuditPpm), 1, "more than all is all");
	assert.equal(chanceOfOne(SAMPLED, 5, 400, P.jobAuditPpm), 0.2);
	assert.equal(chanceOfOne(SAMPLED, 50, 400, P.jobAuditPpm), 1);
	assert.equal(chanceOfOne(REDUNDANT, 5, 400, P.jobAuditPpm), 1);
	for (const method of [OPTIMISTIC, ATTESTED]) assert.equal(chanceOfOne(method, 5, 400, P.jobAuditPpm), 0.1);
});

test("whoever skips a share of the work never gains by it, whatever the share, the price and the method", () => {
	const amounts = fc.integer({ min: 1, max: 1e9 });
	fc.assert(
		fc.property(
			amounts,
			fc.integer({ min: 0, max: 1e6 }),
			fc.double({ min: 0.001, max: 1, noNaN: true }),
			(reward, gas, skipped) => {
				for (const method of [SAMPLED, OPTIMISTIC, REDUNDANT, ATTESTED]) {
					const audit = auditMicros(reward, method === SAMPLED ? 90 : 400, 400, P);
					const bond = bondMicros(
						method,
						{ rewardMicros: reward, auditMicros: audit, gasMicros: gas, convictions: 0 },
						P,
					);
					// All of the reward is cost: the most that skipping can save.
					const gain = (1 - chanceOfSkip(method, skipped, P.jobAuditPpm)) * skipped * reward;
					const loss = chanceOfSkip(method, skipped, P.jobAuditPpm) * (bond + reward);
					assert.ok(loss >= gain - 1e-6, `${method.name}: ${loss} < ${gain}`);
				}
			},
		),
		{ numRuns: scaled(300) },
	);
});

test("no strategy brings more than honest work, by any method, at any price, gas and name (audit F7)", () => {
	fc.assert(
		fc.property(
			fc.constantFrom(...METHOD_ORDERS),
			fc.integer({ min: 1, max: 1e9 }),
			fc.integer({ min: 0, max: 1e9 }),
			fc.integer({ min: 0, max: 9 }),
			fc.constantFrom(0, 9, 10, 11, 100, 1_000_000),
			fc.integer({ min: 1, max: 5000 }),
			fc.integer({ min: 1, max: 50 }),
			(method, rewardMicros, gasMicros, convictions, checkedInARow, segments, window) => {
				const perWindow = Math.min(window, segments);
				const of: Situation = {
					...{ method, rewardMicros, gasMicros, convictions, checkedInARow, segments, perWindow },
				};
				// Sums are whole micro-units.
				for (const row of rowsOf(of, P)) assert.deepEqual(faultsOf(row, 2), []);
			},
		),
		{ numRuns: scaled(1000) },
	);
});

test("a host is paid no less than its work costs, and no more for playing slow or holding a part", () => {
	for (const row of hostRows()) assert.deepEqual(faultsOf(row, 2), []);
});

test("a liar whose friend accuses first loses as well: what the friend brings back is not counted as lost", () => {
	for (const method of [OPTIMISTIC, ATTESTED])
		for (const gasMicros of [0, 83_334, 1e9]) {
			const of = { ...{ method, rewardMicros: 1_000_000, gasMicros, convictions: 0, checkedInARow: 0 } };
			const { bond, chancePpm } = moneyOf({ ...of, segments: 400, perWindow: 4 }, P);
			const found = chancePpm / 1e6;
			const back = convictedShares(bond, gasMicros, P).accuser;
			assert.equal(lossMicros(bond, gasMicros, P), bond - back);
			const gain = (1 - found) * 1_000_000 + found * (back - bond);
			assert.ok(gain <= 1, `${method.name} with gas ${gasMicros}: ${gain}`);
			// Not more than that needs.
			if (gasMicros === 0) assert.ok(gain > -2, `${gain}`);
		}
});

test("trust makes audits rarer where the bond is larger than they need, and never so rare that a lie pays", () => {
	const sums = { rewardMicros: 120, bondMicros: 1440, gasMicros: 0 };
	for (const checked of [0, 9, 10, 11, 1_000_000]) assert.equal(auditChancePpm(checked, sums, P), 100_000);
	const large = { ...sums, bondMicros: 14_400 };
	assert.equal(auditChancePpm(10, large, P), 100_000);
	assert.equal(auditChancePpm(11, large, P), 90_910);
	assert.equal(auditChancePpm(1_000_000, large, P), 10_990, "R / (R + three quarters of the bond)");
	// What the escrow gives the accuser for gas is not lost to a friend on a cheap chain.
	assert.equal(auditChancePpm(1_000_000, { ...large, gasMicros: 10_000 }, P), 62_500);
	assert.equal(auditChancePpm(0, { ...sums, bondMicros: 0, rewardMicros: 0 }, P), 100_000);
	assert.equal(auditChancePpm(0, { rewardMicros: 1, bondMicros: 0, gasMicros: 0 }, P), 1_000_000);
});

test("the bond of each method; a conviction doubles it", () => {
	const input = { rewardMicros: 1000, auditMicros: 10, gasMicros: 0, convictions: 0 };
	assert.equal(bondMicros(OPTIMISTIC, input, P), 12_000, "p·(R + 0.75 B) = R");
	assert.equal(bondMicros(OPTIMISTIC, { ...input, gasMicros: 1000 }, P), 13_200, "and the accuser's costs");
	assert.equal(bondMicros(SAMPLED, input, P), 500);
	assert.equal(bondMicros(SAMPLED, { ...input, auditMicros: 400 }, P), 1600);
	assert.equal(bondMicros(SAMPLED, { ...input, gasMicros: 1001 }, P), 40 + 1202);
	assert.equal(bondMicros(SAMPLED, { ...input, convictions: 2 }, P), 2000);
	assert.equal(bondMicros(SAMPLED, { ...input, convictions: 9 }, P), 500 * 2 ** 8, "doubled eight times at most");
	// To the unit, and in favour of whoever was harmed.
	assert.equal(bondMicros(SAMPLED, { ...input, rewardMicros: 1001 }, P), 501);
	assert.equal(bondMicros(SAMPLED, { ...input, rewardMicros: 1, auditMicros: 0 }, P), 1);
	assert.equal(bondMicros(OPTIMISTIC, input, { ...P, jobAuditPpm: 300_000 }), 3112);
});

test("a convicted bond is shared to the unit: costs and a fifth first, a quarter each, the rest is burned", () => {
	assert.deepEqual(convictedShares(1000, 100, P), { accuser: 120 + 220, customer: 220, burned: 440 });
	assert.deepEqual(convictedShares(1003, 0, P), { accuser: 250, customer: 250, burned: 503 });
	assert.deepEqual(convictedShares(1000, 101, P), { accuser: 122 + 219, customer: 219, burned: 440 });
	const least = { jobGasMarginPpm: 1_000_001 };
	assert.deepEqual(convictedShares(10, 1, least), { accuser: 2 + 2, customer: 2, burned: 4 }, "costs are rounded up");
	fc.assert(
		fc.property(fc.integer({ min: 0, max: 1e12 }), fc.integer({ min: 0, max: 1e12 }), (bond, costs) => {
			const { accuser, customer, burned } = convictedShares(bond, costs, P);
			assert.equal(accuser + customer + burned, bond);
			assert.ok(Math.min(accuser, customer, burned) >= 0 && customer <= accuser);
		}),
		{ numRuns: scaled(200) },
	);
});

test("faster than proven, what audits and validators get", () => {
	assert.equal(isTooFast(899, 1000, P), true);
	assert.equal(isTooFast(900, 1000, P), false);
	assert.equal(isTooFast(900, 1001, P), false, "in doubt it was not");
	assert.equal(auditMicros(1000, 30, 100, P), 360);
	assert.equal(auditMicros(1, 1, 100, P), 2, "rounded up: nobody audits for nothing");
	assert.equal(feeMicros(1000, P), 20);
	assert.equal(feeMicros(1049, P), 20, "rounded down");
});

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
} from "./economics.ts";

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

test("trust makes audits rarer, never so rare that a lie pays; a conviction doubles the bond", () => {
	const sums = { costMicros: 100, rewardMicros: 120, bondMicros: 1080 };
	assert.equal(auditChancePpm(0, sums, P), 100_000);
	assert.equal(auditChancePpm(9, sums, P), 100_000);
	assert.equal(auditChancePpm(10, sums, P), 100_000);
	assert.equal(auditChancePpm(11, sums, P), 90_910);
	assert.equal(auditChancePpm(1_000_000, sums, P), 83_334, "C / (B + R)");
	assert.equal(auditChancePpm(0, { ...sums, bondMicros: 0, rewardMicros: 0 }, P), 1_000_000);
	assert.equal(auditChancePpm(0, { costMicros: 1, rewardMicros: 1, bondMicros: 0 }, P), 1_000_000);
	const input = { rewardMicros: 1000, auditMicros: 10, gasMicros: 0, convictions: 0 };
	assert.equal(bondMicros(OPTIMISTIC, input, P), 9000, "p·(B + R) = R");
	assert.equal(bondMicros(SAMPLED, input, P), 500);
	assert.equal(bondMicros(SAMPLED, { ...input, auditMicros: 400 }, P), 1600);
	assert.equal(bondMicros(SAMPLED, { ...input, gasMicros: 1001 }, P), 40 + 1202);
	assert.equal(bondMicros(SAMPLED, { ...input, convictions: 2 }, P), 2000);
	assert.equal(bondMicros(SAMPLED, { ...input, convictions: 9 }, P), 500 * 2 ** 8, "doubled eight times at most");
	// To the unit, and in favour of whoever was harmed.
	assert.equal(bondMicros(SAMPLED, { ...input, rewardMicros: 1001 }, P), 501);
	assert.equal(bondMicros(SAMPLED, { ...input, rewardMicros: 1, auditMicros: 0 }, P), 1);
	assert.equal(bondMicros(OPTIMISTIC, input, { ...P, jobAuditPpm: 300_000 }), 2334);
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

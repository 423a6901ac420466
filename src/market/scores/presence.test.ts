// Presence as a factor: its formula, and that nobody gains by sharing a card among keys.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_PARAMS as P } from "../params.ts";
import { presenceTerm } from "./presence.ts";
import { presencePpm } from "./presence-ppm.ts";
import { mismatchesOf } from "./recompute.ts";
import type { Presence } from "./score-input.ts";
import { scoreProvider } from "./score-provider.ts";
import { inputOf, proofOf } from "./scored-host.test-kit.ts";

const W = BigInt(P.rollCallWindow);
const ppm = (answered: number, counted: number) => Number(presencePpm(BigInt(answered), BigInt(counted), W));

/** The textbook's formula, with floats. */
function wilson(a: number, n: number): number {
	const p = a / n;
	return (p + 1 / (2 * n) - Math.sqrt((p * (1 - p)) / n + 1 / (4 * n * n))) / (1 + 1 / n);
}

test("the integers are the textbook's bound over that of a full record, never above it", () => {
	for (let n = 1; n <= P.rollCallWindow; n++)
		for (let a = 0; a <= n; a++) {
			const exact = (1e6 * wilson(a, n)) / wilson(P.rollCallWindow, P.rollCallWindow);
			const got = ppm(a, n);
			assert.ok(got <= exact + 1e-6 && got >= exact - 2, `${a} of ${n}: ${got}, not ${exact}`);
			if (a > 0) assert.ok(got > ppm(a - 1, n), "one more answer is worth more");
		}
	assert.equal(ppm(P.rollCallWindow, P.rollCallWindow), 1_000_000);
	assert.equal(ppm(0, 0), 0, "no call yet");
	assert.equal(ppm(0, 24), 0);
	assert.equal(ppm(1, 1), 520_833);
	assert.equal(ppm(5, 4), 0, "more answers than calls are no record");
	assert.equal(ppm(-1, 4), 0);
});

test("N keys that share the answers of one card have less together than one key with all of them", () => {
	for (const keys of [2, 3, 4, 8, 24, 400]) {
		const shares = Array.from({ length: keys }, (_, i) => Math.floor((24 + i) / keys));
		assert.equal(shares.reduce((sum, one) => sum + one, 0) >= 24, true);
		const together = shares.reduce((sum, one) => sum + ppm(one, 24), 0);
		assert.ok(together <= 1_000_000, `${keys} keys: ${together}`);
	}
});

test("the score is multiplied by it, after the cap, and its terms multiply out", () => {
	const proof = proofOf({ cards: Array.from({ length: 8 }, () => "full card"), share: 1, hostShare: 1 });
	const score = (presence: Presence | null) =>
		scoreProvider(inputOf(proof, { rented: { calls: 24, paidPpm: 1_100_000 }, presence }), P);
	assert.equal(score(null).scorePpm, 1_000_000, "no roll calls");
	assert.ok(score(null).root.from.some((one) => typeof one !== "string" && one.name === "no roll calls"));
	assert.equal(score({ counted: 24, answered: 24 }).scorePpm, 1_000_000);
	assert.equal(score({ counted: 24, answered: 22 }).scorePpm, ppm(22, 24), "the bonus does not make up for it");
	assert.equal(score({ counted: 0, answered: 0 }).scorePpm, 0);
	// Who answers no calls is told another reason, and has no more by it.
	const off = score({ counted: 3, answered: 0, isUncalled: true });
	const absent = score({ counted: 3, answered: 0 });
	assert.deepEqual([off.root, off.why], [absent.root, "it answers no roll calls, as its owner wants"]);
	assert.equal(absent.why, "no roll call was answered");
	assert.deepEqual(mismatchesOf(score({ counted: 24, answered: 22 })), []);
	const sn27 = { ...P, scoring: "sn27" } as unknown as typeof P;
	assert.equal(scoreProvider(inputOf(proof, { presence: { counted: 24, answered: 0 } }), sn27).scorePpm, 0);
});

test("a record that cannot be one is worth nothing", () => {
	for (const answered of [Number.NaN, -1, 0.5, 25])
		assert.equal(presenceTerm({ counted: 24, answered }, P).value, 0, String(answered));
});

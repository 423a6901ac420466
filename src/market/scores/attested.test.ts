// The bonus for a level: it only adds, is never beyond 1, and is none for a host whose GPUs are worth
// nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_PARAMS as P } from "../params.ts";
import { statedLevel } from "./attested.ts";
import { mismatchesOf } from "./recompute.ts";
import { scoreProvider } from "./score-provider.ts";
import { EVIDENCE, inputOf, proofOf } from "./scored-host.test-kit.ts";

const LEVELS = ["none", "genuine", "measured", "hosted"] as const;
const namesOf = (score: ReturnType<typeof scoreProvider>) =>
	score.root.from.flatMap((one) => (typeof one === "string" ? [] : [one.name]));

test("each level is worth no less than the one before, its terms multiply out, and say the level and its evidence", () => {
	const proof = proofOf({ cards: ["H200"] });
	const scores = LEVELS.map((attested) => scoreProvider(inputOf(proof, { attested }), P));
	const plain = scores[0]!.scorePpm;
	for (const [i, level] of LEVELS.entries()) {
		const score = scores[i]!;
		const bonus = { none: 1e6, genuine: P.genuineBonusPpm, measured: P.measuredBonusPpm, hosted: P.hostedBonusPpm }[
			level
		];
		assert.ok(Math.abs(score.scorePpm - (plain * bonus) / 1e6) <= 1, `${level}: ${score.scorePpm}`);
		assert.deepEqual(mismatchesOf(score), []);
		assert.equal(statedLevel(namesOf(score)), level);
		const term = score.root.from.find((one) => typeof one !== "string" && one.name.startsWith("attested"));
		if (level === "none") assert.equal(term, undefined);
		else assert.ok(typeof term === "object" && term.from.includes(EVIDENCE));
	}
	assert.ok(plain > 0 && P.genuineBonusPpm <= P.measuredBonusPpm && P.measuredBonusPpm <= P.hostedBonusPpm);
	assert.deepEqual(scoreProvider(inputOf(proof), P), scores[0], "no word on it is no level");
});

test("no score is above 1, and a bonus on nothing is nothing", () => {
	const full = proofOf({ cards: Array.from({ length: 8 }, () => "full card"), share: 1, hostShare: 1 });
	assert.equal(scoreProvider(inputOf(full, { attested: "hosted" }), P).scorePpm, 1_000_000);
	// Without a GPU of its own, a card of somebody else's adds nothing to a CPU.
	const none = proofOf({ cards: [] });
	const trial = { ...P, hostOnlyPpm: 10_000 };
	for (const attested of LEVELS) {
		assert.equal(scoreProvider(inputOf(none, { attested }), P).scorePpm, 0);
		assert.deepEqual(scoreProvider(inputOf(none, { attested }), trial), scoreProvider(inputOf(none), trial));
	}
	const sn27 = { ...P, scoring: "sn27" } as unknown as typeof P;
	assert.deepEqual(scoreProvider(inputOf(full, { attested: "hosted" }), sn27), scoreProvider(inputOf(full), sn27));
});

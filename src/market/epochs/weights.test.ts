// Weights: medians, shares and totals to the unit; every kind of fault found with its openings; a right
// statement never has one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc, scaled } from "../../../tests/fuzz.test-kit.ts";
import { NO_BASE, type RewardLeaf, type Weights } from "../../protocol/chain/epoch-shapes.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import { keccakNode } from "../../protocol/hash/keccak-tree.ts";
import { rootFromPath } from "../../protocol/hash/merkle.ts";
import { createScoreReport, malformedAt, readScoreReport, scoreLeafHash } from "./score-report.ts";
import { setOf } from "./seat-set.ts";
import { address, baseOf, factsOf, restated, scoreReport, summed } from "./weights.test-kit.ts";
import { createWeights, type EpochFacts, openRewards } from "./weights.ts";
import { faultOf } from "./weights-fault.ts";

const evidence: Hex = `0x${"e1".repeat(32)}`;
const anyScores = fc.dictionary(fc.integer({ min: 1, max: 9 }).map(String), fc.integer({ min: 0, max: 1_000_000 }));
const anySeats = fc.array(fc.record({ stake: fc.bigInt(1n, 9n), scores: anyScores }), { minLength: 1, maxLength: 5 });
const anyRules = fc.record({
	quorumPpm: fc.constantFrom(500_001, 666_667, 1_000_000),
	validatorPpm: fc.integer({ min: 0, max: 1_000_000 }),
	targetWeight: fc.bigInt(0n, 3_000_000n),
});

/** The slow way: every unit of stake is one vote, and the lower of the two in the middle counts. */
function countedMedian(seats: readonly { stake: bigint; scores: Readonly<Record<string, number>> }[], id: number) {
	const votes = seats.flatMap(({ stake, scores }) => Array(Number(stake)).fill(scores[id] ?? 0) as number[]);
	return votes.sort((a, b) => a - b)[Math.ceil(votes.length / 2) - 1]!;
}

test("medians, earned and totals, to the unit; no more than the pot; nothing to fault", () => {
	fc.assert(
		fc.property(anySeats, anyRules, fc.bigInt(0n, 10n ** 21n), fc.boolean(), (votes, rules, pot, isFirst) => {
			const base = isFirst ? null : baseOf({ 3: 17n, 500: 9n, 1000: 1n });
			const facts = factsOf(votes, { rules, pot, base });
			const { weights, leaves } = createWeights(setOf(votes.keys()), facts);
			const before = new Map(base?.leaves.map(({ account, total }) => [account, total]));
			const forValidators = (pot * BigInt(rules.validatorPpm)) / 1_000_000n;
			const medians = Array.from({ length: 10 }, (_, id) => countedMedian(votes, id));
			const sum = BigInt(medians.reduce((all, one) => all + one, 0));
			assert.equal(weights.totalWeight, sum);
			const full = sum > rules.targetWeight ? sum : rules.targetWeight;
			const stated = new Map(leaves.map((leaf) => [leaf.account, leaf]));
			for (const id of [...medians.keys(), 500, ...votes.map((_, i) => 1000 + i)]) {
				const weightPpm = medians[id] ?? 0;
				const share = full === 0n ? 0n : ((pot - forValidators) * BigInt(weightPpm)) / full;
				const stake = votes[id - 1000]?.stake ?? 0n;
				const earned = share + (forValidators * stake) / facts.totalStake;
				const total = earned + (before.get(address(id)) ?? 0n);
				const leaf = stated.get(address(id));
				if (total === 0n && weightPpm === 0) assert.equal(leaf, undefined);
				else assert.deepEqual([leaf?.weightPpm, leaf?.earned, leaf?.total], [weightPpm, earned, total]);
			}
			assert.ok(weights.paid <= pot);
			assert.equal(
				weights.paid,
				leaves.reduce((all, { earned }) => all + earned, 0n),
			);
			assert.equal(faultOf(weights, leaves, facts), null);
		}),
		{ numRuns: scaled(150) },
	);
});

test("an opening leads to the root; a missing provider is shown by its neighbours", () => {
	const report = scoreReport({ 2: 2, 4: 4, 6: 6, 8: 8, 10: 10 });
	for (const opening of [report.openAccount(address(6))[0]!, ...report.openAccount(address(7))]) {
		const path = opening.path.map((hash) => Uint8Array.from(Buffer.from(hash.slice(2), "hex")));
		assert.deepEqual(rootFromPath(scoreLeafHash(opening.leaf), opening.index, 5, path, keccakNode), report.root);
		assert.notDeepEqual(
			rootFromPath(scoreLeafHash({ ...opening.leaf, scorePpm: 5 }), opening.index, 5, path, keccakNode),
			report.root,
		);
		assert.equal(rootFromPath(scoreLeafHash(opening.leaf), opening.index, 5, path.slice(1), keccakNode), null);
	}
	const places = (n: number) => report.openAccount(address(n)).map(({ index }) => index);
	assert.deepEqual([places(7), places(1), places(11)], [[2, 3], [0], [4]]);
	assert.deepEqual(createScoreReport([]).openAccount(address(1)), []);
});

test("a report that is none is refused, and found in others'", () => {
	const leaf = { provider: address(3), scorePpm: 1, evidenceSha256: evidence };
	assert.throws(() => createScoreReport([leaf, leaf]), RangeError);
	assert.throws(() => createScoreReport([{ ...leaf, scorePpm: 1_000_001 }]), RangeError);
	assert.throws(() => createScoreReport([{ ...leaf, scorePpm: 0.5 }]), RangeError);
	assert.throws(() => readScoreReport([{ ...leaf, provider: "0xABC" }]), RangeError);
	assert.deepEqual(malformedAt(readScoreReport([leaf, leaf])), [0, 1]);
	assert.deepEqual(malformedAt(readScoreReport([leaf, { ...leaf, provider: address(4), scorePpm: 2_000_000 }])), [1]);
	assert.deepEqual(malformedAt({ leaves: Array((1 << 17) + 1).fill(leaf) }), [0]);
	assert.equal(malformedAt(createScoreReport([leaf])), null);
});

const votes = [
	{ stake: 5n, scores: { 1: 100, 2: 200, 3: 300 } },
	{ stake: 4n, scores: { 1: 150, 2: 250, 4: 400 } },
];
const facts = factsOf(votes, { base: baseOf({ 2: 50n, 9: 10n }) });
const right = createWeights(3n, facts);

const kindOf = (leaves: readonly RewardLeaf[], more: Partial<Weights> = {}, of: EpochFacts = facts) =>
	faultOf(restated(right.weights, leaves, more), leaves, of)?.kind ?? null;
const changed = (at: number, change: Partial<RewardLeaf>) =>
	right.leaves.map((leaf, i) => (i === at ? { ...leaf, ...change } : leaf));

test("every field of a leaf that is wrong is found, in its own kind", () => {
	assert.deepEqual(
		right.leaves.map(({ account, weightPpm }) => [Number(account), weightPpm]),
		[
			[1, 100],
			[2, 200],
			[3, 300],
			[9, 0],
			[1000, 0],
			[1001, 0],
		],
	);
	assert.equal(kindOf(right.leaves), null);
	for (const [at, leaf] of right.leaves.entries()) {
		assert.equal(kindOf(changed(at, { weightPpm: 1_000_001 })), "shape");
		assert.equal(kindOf(changed(at, { weightBefore: leaf.weightBefore + 1n })), "shape");
		assert.equal(kindOf(changed(at, { earnedBefore: leaf.earnedBefore + 1n })), "shape");
		assert.equal(kindOf(summed(changed(at, { weightPpm: leaf.weightPpm + 1 }))), "weight");
		assert.equal(kindOf(summed(changed(at, { earned: leaf.earned + 1n, total: leaf.total + 1n }))), "earned");
		assert.equal(kindOf(changed(at, { total: leaf.total + 1n })), "total");
		const rest = summed(right.leaves.filter((_, i) => i !== at));
		const omitted = ["weight", "weight", "weight", "total", "earned", "earned"];
		assert.equal(kindOf(rest), omitted[at]);
	}
	const stranger = { account: address(5), weightPpm: 0, weightBefore: 600n, earned: 0n, earnedBefore: 0n, total: 0n };
	const more = (leaf: RewardLeaf) => summed([...right.leaves.slice(0, 3), leaf, ...right.leaves.slice(3)]);
	assert.equal(kindOf(more(stranger)), "shape", "listed for nothing");
	assert.equal(kindOf(more({ ...stranger, total: 1n })), "total");
	assert.equal(kindOf(more({ ...stranger, weightPpm: 1 })), "weight");
	assert.equal(kindOf(summed([right.leaves[0]!, ...right.leaves])), "shape", "twice");
});

test("every field of a statement that is wrong is found", () => {
	assert.equal(kindOf(right.leaves, { totalWeight: 601n }), "shape");
	assert.equal(kindOf(right.leaves, { paid: right.weights.paid - 1n }), "shape");
	assert.equal(kindOf(right.leaves, { set: 7n }), "set", "a bit without a seat");
	assert.equal(kindOf(right.leaves, { set: 1n }), "set", "too little stake");
	assert.equal(kindOf(right.leaves, { set: 0n }), "set");
	assert.equal(kindOf(right.leaves, { base: NO_BASE }), "base");
	assert.equal(kindOf([], { paid: 1n }), "shape");
	assert.equal(kindOf([], { totalWeight: 1n }), "shape");
	assert.equal(kindOf([], { root: evidence }), "shape");
	assert.equal(kindOf([]), "weight");
	assert.equal(faultOf(right.weights, null, facts)?.kind, "withheld");
	assert.equal(faultOf(right.weights, right.leaves.slice(1), facts)?.kind, "withheld");
	assert.equal(faultOf({ ...right.weights, count: 5 }, right.leaves, facts)?.kind, "withheld");
	assert.equal(faultOf(right.weights, changed(0, { account: "0xzz" }), facts)?.kind, "withheld");
	assert.equal(faultOf(right.weights, changed(0, { total: 1n << 128n }), facts)?.kind, "withheld");
	assert.equal(kindOf(right.leaves, {}, { ...facts, pot: facts.pot + 100n }), "earned");
	assert.equal(faultOf(right.weights, right.leaves, { ...facts, totalStake: 0n })?.kind, "set", "no electorate");
});

test("a report of the set that is malformed, or not held", () => {
	const leaf = { provider: address(3), scorePpm: 1, evidenceSha256: evidence };
	const malformed = readScoreReport([leaf, leaf]);
	const fault = faultOf(right.weights, right.leaves, { ...facts, reports: [facts.reports[0]!, malformed] });
	assert.ok(fault?.kind === "report" && fault.report.seat === 1 && fault.report.openings.length === 2);
	const without = { ...facts, reports: [facts.reports[0]!, null] };
	assert.deepEqual(faultOf(right.weights, right.leaves, without), { kind: "unheld", seats: [1] });
	assert.equal(faultOf(right.weights, null, { ...facts, reports: [] })?.kind, "withheld");
	assert.throws(() => createWeights(3n, without), RangeError);
	// Another first report, and all that follows from it: 5 of 9 is enough to show that, 4 is not.
	const lie = createWeights(3n, { ...facts, reports: [scoreReport({ 1: 150, 2: 200, 3: 300 }), facts.reports[1]!] });
	assert.equal(faultOf(lie.weights, lie.leaves, without)?.kind, "weight");
	assert.equal(faultOf(lie.weights, lie.leaves, { ...facts, reports: [null, facts.reports[1]!] })?.kind, "unheld");
});

test("a weight is shown with the fewest reports, by seat", () => {
	const many = Array.from({ length: 9 }, (_, i) => ({ stake: i === 7 ? 20n : 2n, scores: { 1: 100 + i } }));
	const of = factsOf(many);
	const { weights, leaves } = createWeights(511n, of);
	assert.equal(leaves[0]!.weightPpm, 107);
	for (const [weightPpm, isTooHigh, seats] of [
		[108, true, [7]],
		[106, false, [7]],
		[1, false, [7]],
	] as const) {
		const lie = summed(leaves.map((leaf, i) => (i === 0 ? { ...leaf, weightPpm } : leaf)));
		const fault = faultOf(restated(weights, lie), lie, of);
		assert.ok(fault?.kind === "weight" && fault.isTooHigh === isTooHigh);
		assert.deepEqual(
			fault.reports.map(({ seat }) => seat),
			seats,
		);
		assert.equal(toHex(openRewards(lie).root), restated(weights, lie).root);
	}
	const even = factsOf(Array.from({ length: 4 }, (_, i) => ({ stake: 1n, scores: { 1: 100 + i } })));
	const stated = createWeights(15n, even);
	assert.equal(stated.leaves[0]!.weightPpm, 101);
	const high = summed(stated.leaves.map((leaf, i) => (i === 0 ? { ...leaf, weightPpm: 102 } : leaf)));
	const fault = faultOf(restated(stated.weights, high), high, even);
	assert.ok(fault?.kind === "weight" && fault.isTooHigh);
	assert.deepEqual(
		fault.reports.map(({ seat }) => seat),
		[0, 1],
	);
});

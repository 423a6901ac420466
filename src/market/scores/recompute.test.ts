// Every rule of an explanation with its rounding, and every way in which an explanation can be wrong.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rule, Term } from "./explanation.ts";
import { given, mismatchesOf, recompute, term } from "./recompute.ts";

const leaf = (value: number) => given("x", "ppm", value, "here");
const value = (rule: Rule, values: readonly number[], weights?: readonly number[]) =>
	term("t", "ppm", rule, values.map(leaf), weights).value;

test("each rule, with its rounding", () => {
	assert.equal(value("sum", [1, 2, 3]), 6);
	assert.equal(value("min", [3, 1, 2]), 1);
	assert.equal(value("max", [3, 1, 2]), 3);
	for (const rule of ["sum", "min", "max", "product", "capped", "mean"] as const)
		assert.equal(value(rule, []), 0, rule);
	assert.equal(value("mean", [1, 2]), 1, "down");
	assert.equal(value("mean", [10, 20], [3, 1]), 12, "down from 12.5");
	assert.equal(value("product", [7, 500_000]), 3, "down from 3.5");
	assert.equal(value("product", [3, 500_000, 2_000_000]), 3, "one rounding at the end: 3, not 2");
	assert.equal(value("capped", [900_000, 1_200_000]), 1_000_000);
	assert.equal(value("cappedTimes", [900_000, 1_200_000, 500_000]), 500_000, "the cap comes before the last");
	assert.equal(value("cappedTimes", []), 0);
	assert.equal(value("cappedTimesTwo", [900_000, 1_200_000, 500_000, 500_001]), 250_000, "one rounding after the cap");
	assert.equal(value("cappedTimesTwo", []), 0);
	assert.equal(value("presence", [24, 24, 24]), 1_000_000);
	assert.equal(value("presence", []), 0);
	assert.equal(value("share", [2, 3]), 666_666);
	assert.equal(value("share", [4, 3]), 1_000_000);
	assert.equal(value("share", [3, 10, 600_000]), 500_000);
	assert.equal(value("share", [3, 0]), 0);
	assert.equal(value("ratio", [2, 3]), 666_666);
	assert.equal(value("ratio", [4, 3]), 1_333_333, "of any size");
	assert.equal(value("ratio", [3, 0]), 0);
	assert.equal(value("shareOfSum", [1, 1, 3]), 666_666);
	assert.equal(value("shareOfSum", [5, 3]), 1_000_000, "at most all of it");
	assert.equal(value("shareOfSum", [5]), 0, "a divisor alone");
	assert.equal(value("steps", [500_000, 100_000, 1_000_000]), 550_000);
	assert.equal(value("steps", [500_000, 100_000, 0]), 450_000);
	assert.equal(value("steps", [999_999, 100_000, 1_000_000]), 1_000_000, "up, so that it is reached");
	assert.equal(value("steps", [1, 100_000, 0]), 0, "down, so that it is reached");
	assert.equal(value("steps", [1_000_000, 100_000, 1_000_000]), 1_000_000);
});

const tree = term("root", "ppm", "product", [
	term("a", "ppm", "sum", [leaf(300_000), leaf(200_000)]),
	term("b", "ppm", "mean", [leaf(1_000_000), leaf(0)]),
]);

test("an explanation multiplies out; one changed value anywhere is found", () => {
	assert.equal(recompute({ root: tree }), 250_000);
	assert.deepEqual(mismatchesOf({ root: tree, scorePpm: 250_000 }), []);
	assert.equal(mismatchesOf({ root: tree, scorePpm: 250_001 })[0]?.where, "scorePpm");
	const inner = { ...tree, from: [{ ...(tree.from[0] as Term), value: 600_000 }, tree.from[1]!] };
	const [found] = mismatchesOf({ root: inner, scorePpm: 250_000 });
	assert.deepEqual(found, { where: "root / a", stated: 600_000, recomputed: 500_000 });
	// A changed leaf is another tree: it no longer gives the stated values above it.
	const a = tree.from[0] as Term;
	const leafChanged = { ...tree, from: [{ ...a, from: [leaf(400_000), a.from[1]!] }, tree.from[1]!] };
	assert.deepEqual(
		mismatchesOf({ root: leafChanged, scorePpm: 250_000 }).map(({ where }) => where),
		["root / a", "root", "scorePpm"],
	);
});

test("an explanation that is no tree of ours is refused", () => {
	const unruly = { ...tree, rule: "magic" as Rule };
	assert.throws(() => recompute({ root: unruly }), TypeError);
	assert.throws(() => recompute({ root: { ...tree, from: ["a".repeat(64)] } }), TypeError);
	let deep: Term = leaf(1);
	for (let i = 0; i < 40; i++) deep = { ...tree, rule: "sum", from: [deep] };
	assert.throws(() => recompute({ root: deep }), RangeError);
});

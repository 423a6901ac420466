// The faults that run.ts puts into contracts: each rule finds its place, changes that and nothing else.
// Running them takes an hour and is part of `npm run test:deep`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mutate, mutationsOf } from "./mutations.ts";
import { allMutants, sampleOf } from "./run.ts";

const SOURCE = `
/// if (a < b) stays: a comment.
contract C {
    event E(uint256 a);
    error Wrong(uint256 a, string text);
    function f(uint256 a, uint256 b) external returns (bool) {
        if (a < b || !done) revert Wrong(a, "a == b");
        _kept[a] = b + 1;
        _sum += a;
        check(a, b);
        delete _kept[b];
        return true;
    }
}
`;

test("every rule of a small contract, at its place", () => {
	const found = mutationsOf(SOURCE).map(({ rule, from, to }) => `${rule}: ${from} → ${to}`);
	assert.deepEqual(found, [
		"branch: (a < b || !done) → (false)",
		"less: < → <=",
		"or: || → &&",
		"not: ! → ",
		"write: _kept[a] = b + 1; → {}",
		"plus: + → -",
		"write: _sum += a; → {}",
		"add to: += → -=",
		"call: check(a, b); → {}",
		"deletion: delete _kept[b]; → {}",
		"true: true → false",
	]);
});

test("a mutant differs from its source in that one place", () => {
	for (const one of mutationsOf(SOURCE)) {
		const mutant = mutate(SOURCE, one);
		assert.equal(mutant.length, SOURCE.length - one.from.length + one.to.length);
		assert.equal(mutant.slice(0, one.at), SOURCE.slice(0, one.at));
		assert.equal(mutant.slice(one.at + one.to.length), SOURCE.slice(one.at + one.from.length));
		assert.ok(SOURCE.split("\n")[one.line - 1]!.includes(one.text));
	}
});

test("a sample has mutants of every contract, each once, and the same ones for a seed", () => {
	const all = allMutants();
	assert.ok(all.length >= 300, `${all.length}`);
	const sample = sampleOf(all, 100, 1);
	assert.deepEqual(new Set(sample.map(({ file }) => file)), new Set(all.map(({ file }) => file)));
	assert.equal(new Set(sample.map(({ file, at, rule }) => `${file} ${at} ${rule}`)).size, sample.length);
	assert.ok(sample.length >= 60);
	assert.deepEqual(sampleOf(all, 100, 1), sample);
	assert.notDeepEqual(sampleOf(all, 100, 2), sample);
});

// Honest cards, whole and in slices, at half their power, shared in time, near and far: none is ever
// accused, and what is slow has no more than it shows. The campaign with 200 probes of each is
// bench/honest/cards.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CONDITIONS, HONEST_CARDS, simulateProbe } from "./simulated-probe.test-kit.ts";

const find = (id: string) => HONEST_CARDS.find((card) => card.id === id)!;

test("a probe of every card under every condition: nobody is accused", () => {
	assert.ok(HONEST_CARDS.length >= 100 && Object.keys(CONDITIONS).length === 8);
	for (const [i, card] of HONEST_CARDS.entries())
		for (const [j, [name, conditions]] of Object.entries(CONDITIONS).entries()) {
			const { code, residentBytes } = simulateProbe(card, 1000 * i + j, conditions);
			assert.equal(code, null, `${card.id}, ${name}: ${code}`);
			assert.ok((residentBytes ?? 0) < card.memoryBytes);
		}
});

test("a neighbour that comes and goes accuses nobody either", () => {
	for (const [i, card] of HONEST_CARDS.entries()) {
		const { code } = simulateProbe(card, 7 * i, { cap: 0.7, bursts: 0.5, rttUs: 20_000 });
		assert.equal(code, null, `${card.id}: ${code}`);
	}
});

test("small cards and slices show some of their memory alone, and say why there is none where there is none", () => {
	const shares = (id: string, conditions: keyof typeof CONDITIONS) =>
		Array.from({ length: 20 }, (_, seed) => {
			const { residentBytes, findings } = simulateProbe(find(id), seed, CONDITIONS[conditions]!);
			assert.ok(residentBytes !== null || findings.some((code) => /^MEMORY_(SLOW|FAR)$/.test(code)), id);
			return (residentBytes ?? 0) / find(id).memoryBytes;
		});
	const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
	for (const id of ["A2", "A16", "GeForce RTX 3050", "RTX 2000 Ada Generation", "A100-SXM4-40GB MIG 1g.5gb"]) {
		assert.ok(mean(shares(id, "100 % power, alone, 1 ms")) > 0.15, id);
		assert.equal(mean(shares(id, "100 % power, two time slices, 1 ms")), 0, id);
	}
	// The measured one: all but what could have been fetched or made in a pass.
	assert.ok(mean(shares("H200", "100 % power, alone, 1 ms")) > 0.85);
	assert.ok(mean(shares("H200", "100 % power, alone, 200 ms")) > 0.85);
});

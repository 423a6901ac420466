// The simulation in small: every kind of cheater once, among honest ones of every kind, before one real
// validator process. npm run simulate is the same with a thousand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CHEATS } from "../toy/cheats.ts";
import { NO_MEMORY, reportOf, simulate } from "./simulate.ts";
import { CHEAT_KINDS, HONEST_KINDS, kindNamed, spreadKinds } from "./simulated-kinds.ts";
import { kindsById } from "./toy-network.ts";

const HONEST = 12;
/** A probe that is under way, or that the validator broke off and made again: it says nothing of the host. */
const NO_VERDICT = new Set(["running", "abandoned"]);

test("every cheat is a kind, and every kind takes part, evenly spread", () => {
	assert.deepEqual(CHEAT_KINDS.map(({ name }) => name).sort(), Object.keys(CHEATS).sort());
	const kinds = spreadKinds(1000, 0.3);
	assert.equal(kinds.length, 1000);
	const counts = [...Map.groupBy(kinds, ({ name }) => name)].map(([name, some]) => [name, some.length] as const);
	assert.equal(counts.length, CHEAT_KINDS.length + HONEST_KINDS.length);
	const cheating = counts.filter(([name]) => name in CHEATS).map(([, count]) => count);
	assert.equal(
		cheating.reduce((a, b) => a + b, 0),
		300,
	);
	assert.ok(Math.max(...cheating) - Math.min(...cheating) <= 1);
	for (let at = 0; at < 1000; at += 100)
		assert.equal(kinds.slice(at, at + 100).filter(({ isHonest }) => !isHonest).length, 30);
	assert.throws(() => spreadKinds(20, 0.3), /too few/);
	assert.ok(spreadKinds(20, 0).every(({ isHonest }) => isHonest));
});

test("every cheater is caught, no honest provider is accused", async (t) => {
	const providers = CHEAT_KINDS.length + HONEST;
	const report = await simulate({
		providers,
		cheaters: CHEAT_KINDS.length / providers,
		validators: 1,
		processes: 1,
		// Two more than the kinds need: on a busy machine a link may be silent once, and both a forgiven cheater
		// and an honest host that was late must be asked again.
		validator: { concurrency: 24, params: { retries: 3 } },
	});
	t.diagnostic(`${report.probes} probes in ${report.seconds.toFixed(1)} s`);
	assert.deepEqual([report.missed, report.wronged, report.waiting], [[], [], 0]);
	const proven = report.kinds.filter(({ isHonest }) => isHonest).reduce((sum, kind) => sum + kind.proven, 0);
	assert.equal(proven, HONEST);
	// Those whom nothing can be proven against are not proven either; everyone else is accused by a code.
	for (const { kind, isHonest, accused, unproven, outcomes } of report.kinds) {
		if (isHonest) continue;
		assert.equal(accused + unproven, 1, kind);
		// Who hangs up after the draw is proven nothing, and counts as failed all the same.
		const isInconclusive = Object.keys(outcomes).every(
			(outcome) =>
				(outcome.startsWith("inconclusive") && outcome !== "inconclusive OPENING_CUT") ||
				outcome === `valid ${NO_MEMORY}` ||
				NO_VERDICT.has(outcome),
		);
		assert.equal(unproven === 1, isInconclusive, `${kind}: ${JSON.stringify(outcomes)}`);
	}
});

test("the twin: a cheater that passed, an honest one that was accused or never proven, one without a verdict", () => {
	const kinds = [
		...["not-fused", "fetched-late"].map(kindNamed),
		...Array.from({ length: 5 }, () => kindNamed("honest")),
	];
	const byId = kindsById(kinds);
	const outcomes = [
		["valid"],
		[`valid ${NO_MEMORY}`],
		[`valid ${NO_MEMORY}`],
		["invalid STREAM_LATE", "valid"],
		["valid", "invalid ELEMENT_WRONG"],
		["inconclusive CHALLENGE_SILENT"],
	];
	const stands = [...byId.keys()].slice(0, 6).map((id, i) => ({
		id,
		failures: i === 4 ? 1 : 0,
		settled: true,
		outcomes: outcomes[i]!,
	}));
	const cost = { cpuS: 0, rssBytes: 0 };
	const report = reportOf(stands, byId, {
		seconds: 1,
		lagS: { p50: 0, p99: 0 },
		validator: cost,
		simulated: cost,
	});
	assert.equal(report.ok, false);
	assert.equal(report.missed.length, 1);
	assert.match(report.missed[0]!, /^not-fused /);
	assert.deepEqual([report.wronged.length, report.waiting, report.forgiven], [2, 1, 1]);
	assert.match(report.wronged[0]!, /ELEMENT_WRONG/);
	assert.match(report.wronged[1]!, /CHALLENGE_SILENT/);
});

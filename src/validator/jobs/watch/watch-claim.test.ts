// A watcher accuses only by what its engine gives twice: one that errs once accuses nobody, asks nobody and
// says so; claims that are right are right.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Cheat } from "../../../engine/client/toy-work-session.test-kit.ts";
import { verifyFraud } from "../../../verify/optimistic/fraud/judge-fraud.ts";
import { mlpSample } from "../../../work/builder/samples.test-kit.ts";
import type { OwnEngine } from "../evidence/own-engine.ts";
import {
	claimOf,
	giveState,
	JOB,
	letAnswer,
	type Runner,
	runnerOf,
	toyEngine,
	toyNetwork,
} from "../evidence/toy-claim.test-kit.ts";
import { watchClaim } from "./watch-claim.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-watch-claim-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

const sample = mlpSample();
/** The last op of a step gives state: a wrong number of it shows. */
const wrongIn = (segment: number, element = 3): Cheat => ({
	...{ segment, step: 1, op: sample.program.step.length - 1, element },
});
let honest: Runner;
let liar: Runner;
before(async () => {
	honest = await runnerOf(scratch, sample, 5);
	liar = await runnerOf(scratch, sample, 5, wrongIn(4));
});

/** One engine for each start, the last one for all that follow. */
const engines = (...cheats: readonly (Cheat | undefined)[]): OwnEngine => {
	let starts = 0;
	return { ...toyEngine(), start: (path) => toyEngine(cheats[Math.min(starts++, cheats.length - 1)]).start(path) };
};

async function watch(of: Runner, engine: OwnEngine = toyEngine()) {
	const net = await toyNetwork(scratch, honest, { engine });
	const at = claimOf(of, net.spec, 1, 2, 4);
	await giveState(net.blobs, `job-${JOB}`, of, 2);
	letAnswer(net, of, at);
	return { ...(await watchClaim(net.means, at)), asked: net.asked.length };
}

test("a right claim is right, a false one ends with the file that convicts", async () => {
	assert.deepEqual(await watch(honest), { kind: "right", asked: 0 });
	const found = await watch(liar);
	assert.ok(found.kind === "false" && found.file !== null && found.asked > 0, JSON.stringify(found));
	assert.equal(found.segment, 4);
	const verdict = verifyFraud(found.file);
	assert.ok(verdict.status === "valid" && verdict.segment === 4 && verdict.element === 3);
});

test("an engine that errs once, whenever and wherever, accuses nobody and asks nobody", async () => {
	// In the first run.
	for (const segment of [2, 4, 5]) {
		const found = await watch(honest, engines(wrongIn(segment), undefined));
		assert.deepEqual([found.kind, found.asked], ["unsteady", 0], JSON.stringify(found));
	}
	// In both, each time elsewhere; and against one that does lie, where the second run errs before the lie.
	for (const [of, first, second] of [
		[honest, wrongIn(4, 3), wrongIn(4, 5)],
		[honest, wrongIn(4, 3), wrongIn(3, 3)],
		[liar, undefined, wrongIn(3)],
	] as const) {
		const found = await watch(of, engines(first, second));
		assert.deepEqual([found.kind, found.asked], ["unsteady", 0], JSON.stringify(found));
	}
});

test("an engine that always errs asks, and finds nothing that convicts whoever is right", async () => {
	const found = await watch(honest, toyEngine(wrongIn(4)));
	assert.ok(found.kind === "false" && found.file === null, JSON.stringify(found));
});

test("no engine, too little room or too slow: unable, and nobody is asked", async () => {
	for (const engine of [
		{ ...toyEngine(), mostBytes: 10 },
		{ ...toyEngine(), start: () => Promise.reject(new Error("no engine")) },
	]) {
		const found = await watch(liar, engine).catch(() => ({ kind: "threw", asked: 0 }));
		assert.ok(found.kind !== "false" && found.asked === 0, JSON.stringify(found));
	}
});

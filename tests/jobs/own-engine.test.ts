// The validator's own engine, the real one on the CPU: it runs windows of a claim again from blobs, whoever
// started it, and leads the referee to the false element.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { ownEngine } from "../../src/validator/jobs/evidence/own-engine.ts";
import { referee } from "../../src/validator/jobs/evidence/referee.ts";
import { rerun } from "../../src/validator/jobs/evidence/rerun.ts";
import {
	claimOf,
	giveState,
	JOB,
	letAnswer,
	type Runner,
	runnerOf,
	toyNetwork,
} from "../../src/validator/jobs/evidence/toy-claim.test-kit.ts";
import { verifyFraud } from "../../src/verify/optimistic/fraud/judge-fraud.ts";
import { mlpSample } from "../../src/work/builder/samples.test-kit.ts";

test("a real engine runs windows again and convicts; nothing of it is left on disk", async () => {
	const scratch = mkdtempSync(join(tmpdir(), "assay-own-engine-"));
	try {
		const sample = mlpSample();
		const honest = await runnerOf(scratch, sample, 5);
		const engine = ownEngine({ command: (await findEngine(hostPlatform())).path, args: [] }, realEnvironment());
		const claimed = async (of: Runner) => {
			const net = await toyNetwork(scratch, honest, { engine });
			const at = claimOf(of, net.spec, 1, 2, 4);
			await giveState(net.blobs, `job-${JOB}`, of, 2);
			letAnswer(net, of, at);
			return { net, at };
		};
		const hexes = (states: readonly Uint8Array[]) => states.map(bytesToHex);
		const right = await claimed(honest);
		for (const first of [0, 1]) {
			const found = await rerun(right.net.means, right.at, { first, count: 2 });
			assert.ok(found.kind === "ran", JSON.stringify(found));
			assert.deepEqual(hexes(found.states), hexes(right.at.states.slice(first, first + 3)));
		}
		const cheat = { segment: 4, step: 1, op: sample.program.step.length - 1, element: 3 };
		const wrong = await claimed(await runnerOf(scratch, sample, 5, cheat));
		const audit = { at: 0, auditor: null, first: 1, count: 3, states: honest.run.states.slice(3, 7) };
		const ruling = await referee(wrong.net.means, wrong.at, audit);
		assert.equal(ruling.verdict, "provider", ruling.why);
		const verdict = verifyFraud(ruling.file!);
		assert.ok(verdict.status === "valid" && verdict.op === cheat.op && verdict.element === cheat.element);
		assert.deepEqual(readdirSync(wrong.net.means.scratch), []);
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
});

// What a worker declines of jobs that are paid by proof, before its bond is locked, whatever its validator
// says of them. That orders are compared word by word is in tests/jobs/zk-jobs.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { toHex } from "../../protocol/chain/hex.ts";
import { exactMlpProgram } from "../../work/models/exact-mlp.ts";
import { SEED } from "../../work/models/training.test-kit.ts";
import { compilePlan, planHash, type ZkPlan } from "../../work/plan/compile-plan.ts";
import { mustBeOrdered } from "./zk-part.ts";

test("a job with a segment after its last epoch is declined: its end is shown to all, and nobody could prove it", async () => {
	const schedule = { batch: 2, steps: 16, k: 2, seed: SEED, order: "cube" } as const;
	const samples = { features: new Int16Array(32), labels: new Int16Array(8) };
	const { program } = exactMlpProgram([4, 4, 2], schedule, 4, samples);
	const plan = toHex(planHash(compilePlan(program, 10) as ZkPlan));
	const reached = new Error("everything that is known without an engine was right");
	const taken = (segments: number) =>
		mustBeOrdered({ id: "01".repeat(32), spec: { segments, seed: "01".repeat(32), given: [] } } as never, program, {
			zk: { order: async () => ({ plan }) } as never,
			engine: { openProof: () => {}, open: () => Promise.reject(reached), device: 0 } as never,
			powersFor: () => ({}) as never,
			read: async () => null,
		});
	await assert.rejects(taken(9), reached);
	await assert.rejects(taken(10), { code: "JOB_DECLINED" });
});

// Limits that no toy reaches: what checking a file may cost.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChallengeSpec, FmaSpec, GemmSpec } from "../../../protocol/probe/evidence.ts";
import type { Answered } from "../answers.ts";
import { checkWork } from "./check-work.ts";

const root = new Uint8Array(32);
function answer(index: number, spec: ChallengeSpec, rounds: number, ownUs: number): Answered {
	const roots = Array.from({ length: rounds }, (_, i) => ({ index: i, atUs: i + 1, root }));
	const record = { spec, stage: index, attempt: 0, sentAtUs: 0, roots: 0, end: "complete" as const, opens: [] };
	return { index, where: `challenges[${index}]`, record, roots, opens: [], ownUs, workUs: ownUs };
}
const GEMM: GemmSpec = {
	...{ kind: "gemm", device: 0, precision: "int8", m: 128, n: 512, k: 128, rounds: 1, keep: 1, samples: 1 },
};
const stream = (passes: number, device = 0): ChallengeSpec => ({
	...{ kind: "stream", device, of: 0, newest: 0, passes, samples: 1 },
});

test("seed chains, places and the dear fp64 steps are counted before any of it is done", () => {
	const chains = (count: number) => checkWork(Array.from({ length: count }, (_, i) => answer(i, GEMM, 2 ** 20, 1)));
	assert.equal(chains(1), null);
	assert.equal(chains(10)?.code, "WORK_LIMIT", "ten chains of a million rounds");
	const lanes = (precision: FmaSpec["precision"]) =>
		checkWork([
			answer(0, { kind: "fma", device: 0, precision, lanes: 256, steps: 2 ** 20, rounds: 1, samples: 1000 }, 1, 1),
		]);
	assert.equal(lanes("fp32"), null);
	assert.equal(lanes("fp64")?.code, "WORK_LIMIT");
	const opened = (samples: number) =>
		checkWork([
			answer(0, GEMM, 1, 1),
			answer(1, { kind: "chase", device: 0, of: 0, newest: 0, intervals: 65536, samples }, 1, 1),
		]);
	assert.equal(opened(4096), null);
	const many = Array.from({ length: 4 }, (_, i) => answer(i + 1, { ...stream(1), samples: 4096 }, 1, 1));
	assert.equal(checkWork([answer(0, { ...GEMM, k: 65536 }, 1, 1), ...many]), null);
});

// Trees that were made on a thread are those that are made here, node by node, and this thread goes on meanwhile.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEV_POWERS, powerOf } from "../../verify/zk/srs.ts";
import { weightTrees } from "../../verify/zk/weight-trees.ts";
import { exactMlpProgram } from "../../work/models/exact-mlp.ts";
import { compilePlan, type ZkPlan } from "../../work/plan/compile-plan.ts";
import { nodeOf } from "./chain-forms.ts";
import { makeTrees } from "./make-trees.ts";

test("a thread makes the trees of more than 2,048 weights", async () => {
	const sizes = [64, 40, 2];
	const given = { features: new Int16Array(8 * 64), labels: new Int16Array(8) };
	const run = { batch: 2, steps: 16, k: 2, seed: new Uint8Array(32), order: "cube" as const };
	const plan = compilePlan(exactMlpProgram(sizes, run, 4, given).program, 12) as ZkPlan;
	// Few are not zero, which is what costs time.
	const weights = [new Int32Array(64 * 40), new Int32Array(40 * 2)];
	for (const [link, at, value] of [
		[0, 0, 7],
		[0, 63, -(2 ** 30)],
		[1, 79, 2 ** 30 - 1],
	] as const)
		weights[link]![at] = value;
	let turns = 0;
	const clock = setInterval(() => {
		turns += 1;
	}, 1);
	const made = await makeTrees({ plan, weights, powers: DEV_POWERS });
	clearInterval(clock);
	const own = weightTrees(plan, weights, powerOf(DEV_POWERS));
	const shown = (trees: typeof made) => trees.map((levels) => levels.map((nodes) => nodes.map(nodeOf)));
	assert.deepEqual(shown(made), shown(own));
	assert.ok(turns > 0);
});

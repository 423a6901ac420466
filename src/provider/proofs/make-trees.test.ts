// What is made on a thread is what is made here, node by node, and this thread goes on meanwhile.
import assert from "node:assert/strict";
import { test } from "node:test";
import { concatBytes } from "../../protocol/bytes/bytes.ts";
import { createBare } from "../../verify/zk/hybrid/bare.ts";
import { DEV_POWERS, powerOf } from "../../verify/zk/srs.ts";
import { pointBytes } from "../../verify/zk/twin-tree.ts";
import { weightTrees } from "../../verify/zk/weight-trees.ts";
import { exactMlpProgram } from "../../work/models/exact-mlp.ts";
import { compilePlan, type ZkPlan } from "../../work/plan/compile-plan.ts";
import { nodeOf } from "./chain-forms.ts";
import { makeBare, makeTrees } from "./make-trees.ts";

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

test("a thread shows that numbers are bare, as it is shown here", async () => {
	const [count, chunkBits] = [14, 4];
	const points = concatBytes(...Array.from({ length: 2 ** chunkBits }, (_, i) => pointBytes(powerOf(DEV_POWERS)(i))));
	const bare = createBare(new Uint8Array(64), { count, chunkBits, powers: { ...DEV_POWERS, points } });
	bare.add([[1n, 2n, 3n]]);
	assert.deepEqual(await makeBare(bare.sums(), 0), await makeBare(bare.sums()));
});

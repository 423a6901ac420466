// The way down a posted tree, put together from answers to demands, is that of the tree, also over several
// answers. The whole game is in tests/jobs/zk-jobs.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { G1_ONE, times } from "../../protocol/maths/bn254.ts";
import { twinLevels, twinWay } from "../../verify/zk/twin-tree.ts";
import { nodeOf } from "./chain-forms.ts";
import { nodesBelow } from "./keep-end.ts";
import { wayDown } from "./watch-trees.ts";

test("answers of sixteen and of eight nodes lead down seven levels", () => {
	const levels = twinLevels(Array.from({ length: 128 }, (_, i) => times(G1_ONE, BigInt(i * i + 1))));
	for (const leaf of [0, 7, 64, 127]) {
		const first = nodesBelow([levels], nodeOf(levels[7]![0]!))!;
		const which = Math.floor(leaf / 8);
		const second = nodesBelow([levels], first[which]!)!;
		assert.deepEqual([first.length, second.length], [16, 8]);
		const rounds = [
			{ level: 3, first: 0, nodes: first },
			{ level: 0, first: 8 * which, nodes: second },
		];
		const wanted = twinWay(levels, 0, leaf).map(([left, right]) => [nodeOf(left), nodeOf(right)]);
		assert.deepEqual(wayDown(rounds, leaf), wanted, `leaf ${leaf}`);
	}
});

// Whole networks while everything they stand on fails, in an order that one number draws: in the end each job
// is paid or given back once, nobody is blamed who did not lie, and no money is out of reach. Some seeds
// here; in the deep tier up to 500. Of a seed that went wrong: node tests/faults/run-faults.ts --seed N.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isDeep, seed } from "../fuzz.test-kit.ts";

const PROGRAM = fileURLToPath(new URL("run-faults.ts", import.meta.url));
/** Of `npm test`, each with what it has that the product must bear. */
const FIXED: Readonly<Record<number, string>> = {
	32: "two processes; a node 12 blocks behind, then two by turns, a cut database, clocks an hour off, one process frozen",
	145: "late and failing nodes; a full disk, a cut database, a clock an hour ahead, a link that breaks again and again",
};
const DEEP_SEEDS = 500;
/** No further network is begun then: the tier ends a file after an hour. */
const BEGIN_WITHIN_MS = 50 * 60_000;
/** A network is some processes that mostly wait. */
const AT_ONCE = Math.max(1, Math.floor(availableParallelism() / 2));

/** In a process of its own: what one leaves behind is no other's. */
async function run(number: number): Promise<string | null> {
	const told = await promisify(execFile)(process.execPath, [PROGRAM, "--seed", String(number)], {
		maxBuffer: 1 << 26,
	}).catch((error: Error & { stdout?: string; stderr?: string }) => error);
	return told instanceof Error ? `${told.stdout}${told.stderr}` : null;
}

// At once: each mostly waits.
describe("a fixed series", { concurrency: true, skip: isDeep && "drawn anew below" }, () => {
	for (const [number, what] of Object.entries(FIXED))
		test(`seed ${number}: ${what}`, async () => {
			const said = await run(Number(number));
			// What was wrong stands at the end, and the first line of an error is what a long run repeats last.
			assert.equal(said, null, said?.trimEnd().split("\n").slice(-5).join("; "));
		});
});

test("500 seeds", { skip: !isDeep && "hours of cores: for `npm run test:deep`" }, async (t) => {
	const fromMs = Date.now();
	const failed: number[] = [];
	let begun = 0;
	const work = async () => {
		while (begun < DEEP_SEEDS && Date.now() - fromMs < BEGIN_WITHIN_MS) {
			const number = seed + begun++;
			const said = await run(number);
			if (said === null) continue;
			failed.push(number);
			t.diagnostic(said);
		}
	};
	await Promise.all(Array.from({ length: AT_ONCE }, work));
	t.diagnostic(`${begun} seeds from ${seed}; failed: ${failed.join(" ")}`);
	assert.deepEqual(failed, []);
});

// Jobs of millions of steps: their tables are filled a little at a time, so that whoever builds one serves
// others meanwhile and hears that it is to stop; and what comes out is the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildWorkload } from "../build-workload.ts";
import { readJob } from "../read-job.ts";

const STEPS = 1_000_000;
const text = new Uint8Array(200).map((_, i) => (i * 31) & 255);
const job = (steps: number, more: object = {}) =>
	readJob({
		workload: "train",
		model: { kind: "gpt", layers: 1, width: 16, heads: 1, context: 8, vocabulary: 256 },
		data: { text: "t.txt" },
		optimizer: { kind: "adamw", rate: 0.003, warmup: 5 },
		...{ batch: 1, steps, stepsPerSegment: 10, seed: `0x${"01".repeat(32)}`, ...more },
	});

test("F9h the tables of a long job are made in pieces, and others are served between them", async () => {
	let pauses = 0;
	const { given } = await buildWorkload(
		job(STEPS),
		() => text,
		async () => {
			pauses += 1;
		},
	);
	// A row for each step, and one for each epoch of 24 windows.
	assert.deepEqual([given.rates!.length, given.order!.length], [3 * STEPS, 2 * Math.ceil(STEPS / 24)]);
	assert.ok(pauses > STEPS / 10_000, `${pauses} pauses`);
	const short = await buildWorkload(job(1000), () => text);
	assert.deepEqual(given.rates!.subarray(0, 3000), short.given.rates);
	assert.deepEqual(given.order!.subarray(0, short.given.order!.length), short.given.order);
	assert.deepEqual(given.rates!.subarray(-3), given.rates!.subarray(-6, -3), "filled to its end");
	assert.ok(given.rates!.at(-1)! > 0);
});

test("F9h whoever stops it need not wait for its end", async () => {
	let pauses = 0;
	const stopped = new Error("stopped");
	const built = buildWorkload(
		job(STEPS),
		() => text,
		async () => {
			pauses += 1;
			if (pauses === 3) throw stopped;
		},
	);
	await assert.rejects(built, stopped);
	assert.equal(pauses, 3);
});

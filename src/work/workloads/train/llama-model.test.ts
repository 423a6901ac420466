// Llama jobs: the model comes out as a folder that is read again, and that a LoRA job takes as its base.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { jobModel } from "../../imports/open-model.ts";
import { Trial } from "../../models/training.test-kit.ts";
import { buildWorkload } from "../build-workload.ts";
import { readJob } from "../read-job.ts";

const JOB = {
	workload: "train",
	model: { kind: "llama", layers: 1, width: 16, heads: 4, kvHeads: 2, hidden: 24, context: 6, vocabulary: 300 },
	data: { generated: 200 },
	optimizer: { kind: "adamw", rate: 0.01 },
	batch: 2,
	steps: 2,
	seed: `0x${"05".repeat(32)}`,
};

test("a trained Llama is a folder that others read, and a base for adapters", async () => {
	const work = await buildWorkload(readJob(JOB), () => new Uint8Array());
	const trial = new Trial(work, work.seed);
	trial.losses(2);
	const made = await Promise.all(
		work.files.map(async ({ name, make }) => [`mine/${name}`, await make((one) => trial.tensor(one))] as const),
	);
	const folder = new Map<string, Uint8Array>(made);
	const files = (name: string): Uint8Array => {
		const bytes = folder.get(name);
		if (bytes === undefined) throw new AssayError("FILE_UNREADABLE", name);
		return bytes;
	};
	const model = await jobModel("mine/", files);
	assert.deepEqual(
		{ ...model.architecture, family: "llama" },
		{ ...model.architecture, layers: 1, width: 16, heads: 4, kvHeads: 2, headWidth: 4, hidden: 24, isTied: true },
	);
	const held = (name: string) => [...model.tensor(name).values];
	const all = trial.floats("layers.0.qkv.weight", 2 ** 24);
	assert.deepEqual(held("layers.0.q.weight"), [...all.subarray(0, 256)]);
	assert.deepEqual(held("layers.0.v.weight"), [...all.subarray(256 + 128)]);
	assert.deepEqual(held("norm.weight"), [...Float32Array.from(trial.floats("norm.weight", 2 ** 24))]);
	assert.ok(held("norm.weight").some((gain) => gain !== 1));
	const tuned = { ...JOB, model: { kind: "lora", base: "mine/", rank: 2 }, data: { generated: 100 } };
	const next = await buildWorkload(readJob(tuned), files);
	const [loss] = new Trial(next, next.seed).losses(1).map((sum) => sum / 2 ** 16 / 12);
	assert.ok(loss! > 4 && loss! < 6, `begins at ${loss}`);
});

const model = (of: object) => ({ ...JOB, model: { ...JOB.model, ...of } });
for (const [what, message, job] of [
	["heads that do not divide", /^model\.heads/, model({ heads: 3 })],
	["heads of an odd size", /^model\.heads/, model({ width: 20 })],
	["heads of 256", /^model\.heads/, model({ width: 1024 })],
	["keys that do not divide", /^model\.kvHeads/, model({ kvHeads: 3 })],
	["more tokens than a sum holds", /^batch/, { ...model({ context: 1024 }), batch: 4000 }],
	["text for a small vocabulary", /^model\.vocabulary/, { ...model({ vocabulary: 255 }), data: { text: "a" } }],
	["exact SGD", /^optimizer\.kind/, { ...JOB, optimizer: { kind: "exact-sgd" } }],
	["pictures", /^data/, { ...JOB, data: { features: "a", labels: "b" } }],
] as const)
	test(`refused: ${what}`, () => {
		assert.throws(() => readJob(job), { code: "JOB_FIELD", message });
	});

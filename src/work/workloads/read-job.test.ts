// Job files: what is read, with its defaults; every refusal names its field.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { readJob } from "./read-job.ts";

const SEED = `0x${"07".repeat(32)}`;
const GPT = {
	workload: "train",
	model: { kind: "gpt", layers: 2, width: 64, heads: 4, context: 64, vocabulary: 256 },
	data: { text: "text.txt" },
	optimizer: { kind: "adamw", rate: 0.001 },
	batch: 8,
	steps: 100,
	seed: SEED,
};
const MLP = {
	...GPT,
	model: { kind: "mlp", sizes: [64, 32, 10] },
	data: { features: "x.npy", labels: "y.npy" },
	optimizer: { kind: "exact-sgd" },
};
const PROGRAM = { workload: "program", program: "p.txt", inputs: { x: "x.npy" }, segments: 3, seed: SEED };

test("a job gets its defaults", () => {
	const spec = readJob(GPT);
	assert.ok(spec.workload === "train");
	assert.deepEqual(spec.optimizer, {
		kind: "adamw",
		rate: 0.001,
		warmup: 0,
		floor: 1,
		beta1: 0.9,
		beta2: 0.999,
		decay: 0.01,
	});
	assert.equal(spec.order, "affine");
	assert.equal(spec.stepsPerSegment, null);
	assert.deepEqual(spec.seed, new Uint8Array(32).fill(7));
	assert.deepEqual(readJob(PROGRAM), { ...PROGRAM, seed: spec.seed });
	const mlp = readJob({ ...MLP, order: "cube", stepsPerSegment: 4 });
	assert.ok(mlp.workload === "train" && mlp.order === "cube" && mlp.optimizer.kind === "exact-sgd");
});

const without = (field: string) => Object.fromEntries(Object.entries(GPT).filter(([name]) => name !== field));
const model = (of: object) => ({ ...GPT, model: { ...GPT.model, ...of } });
const data = (from: object, base: object = GPT) => ({ ...base, data: from });
const optimizer = (by: object, base: object = GPT) => ({ ...base, optimizer: by });
const REFUSED: readonly [what: string, job: unknown, message: RegExp][] = [
	["no object", [], /^workload must be one of/],
	["null", null, /^workload/],
	["no workload", { ...GPT, workload: "mine" }, /^workload must be one of train, program/],
	["a surplus field", { ...GPT, colour: 1 }, /^the job has a field that does not belong: "colour"\.$/],
	["a misspelt field", { ...without("steps"), stepz: 1 }, /belong: "stepz"\. Did you mean 'steps'\?$/],
	["a misspelt limit", { ...GPT, mostPrize: 1 }, /belong: "mostPrize"\. Did you mean 'mostPrice'\?$/],
	[
		"a misspelt part of a field",
		optimizer({ kind: "adamw", rate: 0.1, wormup: 1 }),
		/^optimizer has.* Did you mean 'warmup'/,
	],
	["a name that a terminal would obey", { ...GPT, "\u001b[2J\u202e": 1 }, /belong: "\\u001b\[2J\\u202e"\.$/],
	["a name without end", { ...GPT, ["x".repeat(1e5)]: 1 }, /belong: "x{32}" and so on\.$/],
	["no seed", { ...GPT, seed: undefined }, /^seed/],
	["a short seed", { ...GPT, seed: "0x00" }, /^seed must be 0x/],
	["a seed in capitals", { ...GPT, seed: SEED.replaceAll("7", "A") }, /^seed/],
	["no batch", without("batch"), /^batch is missing/],
	["a batch of none", { ...GPT, batch: 0 }, /^batch must be a whole number/],
	["half a step", { ...GPT, steps: 1.5 }, /^steps/],
	["an unknown model", model({ kind: "rnn" }), /^model\.kind/],
	["a model without layers", model({ layers: undefined }), /^model\.layers/],
	["heads that do not divide", model({ heads: 5 }), /^model\.heads/],
	["heads of 2", model({ heads: 32 }), /^model\.heads/],
	["heads of 256", model({ width: 1024 }), /^model\.heads/],
	["a batch of 2^21 tokens", { ...GPT, batch: 4000, model: { ...GPT.model, context: 1024 } }, /^batch/],
	["beta2 of 0.9993", optimizer({ kind: "adamw", beta2: 0.9993 }), /^optimizer\.beta2/],
	["a context of one", model({ context: 1 }), /^model\.context/],
	["fewer tokens than bytes", model({ vocabulary: 255 }), /^model\.vocabulary/],
	["one layer of numbers", { ...MLP, model: { kind: "mlp", sizes: [4] } }, /^model\.sizes/],
	["no data", data({}), /^data must have one of/],
	["two kinds of data", data({ text: "a", tokens: "b" }), /^data must have one of/],
	["a path with an escape", data({ text: "a\u001b[2J" }), /^data\.text holds control/],
	["an empty path", data({ text: "" }), /^data\.text/],
	["bytes a token without tokens", data({ text: "a", bytesPerToken: 2 }), /^data\.bytesPerToken/],
	["three bytes a token", data({ tokens: "a", bytesPerToken: 3 }), /^data\.bytesPerToken/],
	["features for a gpt", data({ features: "a", labels: "b" }), /^data\.features/],
	["features without labels", data({ features: "a" }, MLP), /^data must have labels/],
	["labels without features", data({ generated: 9, labels: "b" }, MLP), /^data must have labels/],
	["text for an mlp", data({ text: "a" }, MLP), /^data\.text is nothing for this model: it takes features/],
	["an unknown optimizer", optimizer({ kind: "lion" }), /^optimizer\.kind/],
	["exact SGD for a gpt", optimizer({ kind: "exact-sgd" }), /^optimizer\.kind exact-sgd/],
	["a rate for exact SGD", optimizer({ kind: "exact-sgd", rate: 0.1 }, MLP), /^optimizer has a field/],
	["a rate of nothing", optimizer({ kind: "adamw", rate: 0 }), /^optimizer\.rate/],
	["beta of one", optimizer({ kind: "adamw", beta2: 1 }), /^optimizer\.beta2/],
	["a cube for a gpt", { ...GPT, order: "cube" }, /^order/],
	["segments that do not fit", { ...GPT, stepsPerSegment: 7 }, /^stepsPerSegment/],
	["a program without its file", { ...PROGRAM, program: undefined }, /^program/],
	["an input that is no path", { ...PROGRAM, inputs: { x: 1 } }, /^inputs\.x must be text/],
	["inputs as a list", { ...PROGRAM, inputs: [] }, /^inputs must be an object/],
	["no segments", { ...PROGRAM, segments: 0 }, /^segments/],
];

for (const [what, job, message] of REFUSED)
	test(`refused: ${what}`, () => {
		assert.throws(
			() => readJob(job),
			(error) =>
				error instanceof AssayError &&
				error.code === "JOB_FIELD" &&
				message.test(error.message) &&
				error.hint.length > 0,
		);
	});

// Training jobs: the sample jobs build, weights have their places, and every refusal of data has its code.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { npyBytes } from "../../formats/arrays.test-kit.ts";
import { readSafetensors } from "../../formats/safetensors.ts";
import { Trial } from "../../models/training.test-kit.ts";
import { elementCount } from "../../operators/tensor-type.ts";
import { buildWorkload } from "../build-workload.ts";
import { readJob } from "../read-job.ts";

const SAMPLES = new URL("../../../../samples/", import.meta.url);
const SEED = `0x${"05".repeat(32)}`;
const GPT = {
	workload: "train",
	model: { kind: "gpt", layers: 1, width: 8, heads: 2, context: 4, vocabulary: 300 },
	data: { tokens: "tokens.bin" },
	optimizer: { kind: "sgd" },
	batch: 2,
	steps: 4,
	stepsPerSegment: 2,
	seed: SEED,
};
const MLP = {
	...GPT,
	model: { kind: "mlp", sizes: [3, 8, 2] },
	data: { features: "x.npy", labels: "y.npy" },
};
const bytes = (array: { readonly buffer: ArrayBufferLike }) => new Uint8Array(array.buffer.slice(0) as ArrayBuffer);
const FILES: Readonly<Record<string, Uint8Array>> = {
	"tokens.bin": bytes(Uint16Array.from({ length: 40 }, (_, i) => (i * 7) % 300)),
	"x.npy": npyBytes("<f4", [4, 3], bytes(Float32Array.from({ length: 12 }, (_, i) => i / 4 - 1))),
	"y.npy": npyBytes("<i8", [4], bytes(BigInt64Array.of(0n, 1n, 1n, 0n))),
};
const build = (job: object, files: Readonly<Record<string, Uint8Array>> = FILES) =>
	buildWorkload(readJob(job), (name) => files[name]!);
const refused = (code: string, job: object, files: Readonly<Record<string, Uint8Array>> = {}) =>
	assert.rejects(
		build(job, { ...FILES, ...files }),
		(error) => error instanceof AssayError && error.code === code && error.hint !== "",
	);

const sample = (name: string) => JSON.parse(readFileSync(new URL(name, SAMPLES), "utf8"));
const isTraining = (name: string) => name.endsWith(".json") && sample(name).workload === "train";

for (const name of readdirSync(SAMPLES).filter(isTraining))
	test(`the sample ${name} builds`, async () => {
		const work = await buildWorkload(readJob(sample(name)), (file): Uint8Array => {
			const path = new URL(file, SAMPLES);
			if (!existsSync(path)) throw new AssayError("FILE_UNREADABLE", file);
			return new Uint8Array(readFileSync(path));
		});
		assert.ok(work.segments >= 1);
		assert.equal(work.metrics[0]?.label, "loss");
	});

test("a GPT's weights come out as a safetensors file", async () => {
	const work = await build(GPT);
	const trial = new Trial(work, work.seed);
	const [loss] = trial.losses(work.segments).map((value) => work.metrics[0]!.read(BigInt64Array.of(BigInt(value))));
	assert.ok(Math.abs(loss! - Math.log(300)) < 0.1);
	const tensors = readSafetensors(await work.files[0]!.make((name) => trial.tensor(name)), "w");
	const state = work.program.tensors.filter(({ kind }) => kind === "state");
	assert.equal(
		tensors.reduce((sum, { values }) => sum + values.length, 0),
		state.reduce((sum, { dims }) => sum + elementCount(dims), 0),
		"every weight once",
	);
	const gain = tensors.find(({ name }) => name === "h.0.ln_2.weight")!;
	assert.ok(gain.values.every((value) => Math.abs(value - 1) < 0.1));
	const embedding = tensors.find(({ name }) => name === "wte.weight")!;
	assert.deepEqual(embedding.dims, [300, 8]);
	assert.equal(embedding.values[9], Math.fround(Number(trial.tensor("tokens.embedding")[9]) / 2 ** 24));
});

test("tokens of two and four bytes and text are read", async () => {
	const wide = bytes(Uint32Array.from({ length: 40 }, (_, i) => (i * 7) % 300));
	const narrow = (await build(GPT)).given.tokens;
	assert.deepEqual(
		(await build({ ...GPT, data: { tokens: "t", bytesPerToken: 4 } }, { t: wide })).given.tokens,
		narrow,
	);
	const text = new TextEncoder().encode("hello, world");
	assert.deepEqual(
		[...(await build({ ...GPT, data: { text: "t" } }, { t: text })).given.tokens!],
		[...text.slice(0, 9)],
	);
});

test("tokens that do not fit are refused", async () => {
	const tokens = { "tokens.bin": bytes(Uint16Array.of(1, 2, 300, 4, 5, 6)) };
	await refused("DATA_RANGE", GPT, tokens);
	await refused("DATA_CUT", GPT, { "tokens.bin": new Uint8Array(41) });
	await refused(
		"DATA_CUT",
		{ ...GPT, data: { tokens: "tokens.bin", bytesPerToken: 4 } },
		{ "tokens.bin": new Uint8Array(42) },
	);
	await refused("DATA_SHORT", GPT, { "tokens.bin": new Uint8Array(8) });
	await refused("DATA_SHORT", GPT, { "tokens.bin": new Uint8Array(0) });
});

test("features and labels that do not fit are refused", async () => {
	await build(MLP);
	const labels = (...all: bigint[]) => ({ "y.npy": npyBytes("<i8", [all.length], bytes(BigInt64Array.from(all))) });
	await refused("DATA_RANGE", MLP, labels(0n, 1n, 2n, 0n));
	await refused("DATA_RANGE", MLP, labels(0n, -1n, 1n, 0n));
	await refused("DATA_FORMAT", MLP, labels(0n, 1n, 1n));
	await refused("DATA_RANGE", MLP, {
		"x.npy": npyBytes("<f4", [4, 3], bytes(Float32Array.from({ length: 12 }, () => 17))),
	});
	await refused("DATA_FORMAT", MLP, { "x.npy": npyBytes("<f4", [3, 4], bytes(new Float32Array(12))) });
	await refused("DATA_FORMAT", MLP, { "x.npy": npyBytes("<f4", [12], bytes(new Float32Array(12))) });
	await refused("DATA_FORMAT", MLP, { "x.npy": new Uint8Array(10) });
	await refused("DATA_SHORT", { ...MLP, order: "cube", data: { generated: 12 } });
});

test("steps a segment: hashing takes 3 % at most, and steps are a multiple", async () => {
	const job = (model: object, batch: number, steps: number, more = {}) => ({
		workload: "train",
		model,
		data: { generated: 4096 },
		optimizer: { kind: "adamw" },
		batch,
		steps,
		seed: SEED,
		...more,
	});
	const small = { kind: "gpt", layers: 2, width: 64, heads: 4, context: 32, vocabulary: 256 };
	assert.equal((await build(job(small, 8, 10))).program.k, 1);
	// 10M parameters at batch 64: the hash of 160 MB takes as long as a step.
	const wide = { kind: "mlp", sizes: [1024, 2048, 2048, 2048, 10] };
	assert.equal((await build(job(wide, 64, 128))).program.k, 64);
	await refused("JOB_FIELD", job(wide, 64, 100));
	assert.equal((await build(job(wide, 64, 100, { stepsPerSegment: 50 }))).segments, 2);
});

// From a training job to its ONNX file, from there to classes and to more training; and what does not fit is
// refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { npyBytes } from "../../formats/arrays.test-kit.ts";
import { readNpy } from "../../formats/npy.ts";
import { networkOf } from "../../imports/onnx/network-of.ts";
import { readOnnx } from "../../imports/onnx/read-onnx.ts";
import { writeOnnx } from "../../imports/onnx/write-onnx.ts";
import { floatLogits } from "../../models/cnn/float-cnn.test-kit.ts";
import { type Layer, type Network, type Picture, type Stage, stagesOf } from "../../models/cnn/layers.ts";
import { Trial } from "../../models/training.test-kit.ts";
import { buildWorkload } from "../build-workload.ts";
import { readJob } from "../read-job.ts";

const SEED = `0x${"05".repeat(32)}`;
const TRAIN = {
	workload: "train",
	model: { kind: "cnn", input: [2, 4, 4], layers: [{ conv: 3, size: 3 }, { pool: "max", size: 2 }, { dense: 3 }] },
	data: { records: "data.bin" },
	optimizer: { kind: "momentum", rate: 0.05 },
	batch: 4,
	steps: 6,
	stepsPerSegment: 3,
	seed: SEED,
};
const CLASSIFY = { workload: "classify", model: "m.onnx", data: { records: "data.bin" }, batch: 4, seed: SEED };
/** Six pictures; a label byte before each. */
const RECORDS = Uint8Array.from({ length: 6 * 33 }, (_, i) => (i % 33 === 0 ? (i / 33) % 3 : (i * 37) % 256));
type FilesOf = Readonly<Record<string, Uint8Array>>;
const build = (job: object, files: FilesOf) =>
	buildWorkload(readJob(job), (name) => ({ "data.bin": RECORDS, ...files })[name]!);

/** What the job leaves, by the file's name. */
async function run(job: object, files: FilesOf = {}) {
	const work = await build(job, files);
	const trial = new Trial(work, work.seed);
	for (let n = 0; n < work.segments; n++) trial.machine.runSegment();
	const made: Record<string, Uint8Array> = {};
	for (const file of work.files) {
		assert.ok(file.tensors.every((name) => trial.tensor(name) !== undefined));
		made[file.name] = await file.make((name) => trial.tensor(name));
	}
	return { made, trial, work };
}

test("trained, written, classified, trained on", async () => {
	const { made, trial } = await run(TRAIN);
	const onnx = made["model.onnx"]!;
	const { stages, weights } = networkOf(readOnnx(onnx));
	assert.equal(weights[0]!.weight[5], Math.fround(Number(trial.tensor("layer0.weight")[5]) / 2 ** 24));

	const classified = await run(CLASSIFY, { "m.onnx": onnx });
	const logits = readNpy(classified.made["logits.npy"]!, "l");
	assert.deepEqual(logits.dims, [6, 3]);
	const named = Object.fromEntries(
		weights.flatMap((own, i) =>
			own === null
				? []
				: [
						[`layer${i}.weight`, Float64Array.from(own.weight)] as const,
						[`layer${i}.bias`, Float64Array.from(own.bias)] as const,
					],
		),
	);
	const classes = Array.from({ length: 6 }, (_, n) => {
		const pixels = Float64Array.from(RECORDS.subarray(33 * n + 1, 33 * n + 33), (p) => (p - 128) / 128);
		const wanted = [...floatLogits(stages, named, pixels)];
		for (const [c, value] of wanted.entries()) assert.ok(Math.abs(value - Number(logits.values[3 * n + c])) < 1e-4);
		return wanted.indexOf(Math.max(...wanted));
	});
	assert.deepEqual([...readNpy(classified.made["labels.npy"]!, "l").values], classes);
	assert.deepEqual(
		classified.work.metrics.map(({ label }) => label),
		["right"],
	);

	const tuned = { ...TRAIN, model: { kind: "cnn", onnx: "m.onnx" } };
	const again = await build(tuned, { "m.onnx": onnx });
	const start = new Trial(again, again.seed);
	const near = (name: string) =>
		assert.ok(
			[...start.tensor(name)].every((value, i) => Math.abs(Number(value) - Number(trial.tensor(name)[i])) <= 2),
		);
	for (const name of ["layer0.weight", "layer0.bias", "layer2.weight", "layer2.bias"]) near(name);
	start.losses(again.segments);
	assert.notDeepEqual(start.tensor("layer0.weight"), trial.tensor("layer0.weight"), "it learns on");
});

test("part of the pictures, floats, and a rule for bytes", async () => {
	const { made } = await run(TRAIN);
	const files = {
		"m.onnx": made["model.onnx"]!,
		"x.npy": npyBytes(
			"<f4",
			[6, 2, 4, 4],
			new Uint8Array(
				Float32Array.from(
					[...RECORDS].filter((_, i) => i % 33 !== 0),
					(p) => (p / 255 - 0.5) / 0.25,
				).buffer,
			),
		),
	};
	const labels = async (change: object) => (await run({ ...CLASSIFY, ...change }, files)).made["logits.npy"]!;
	const floats = await labels({ data: { images: "x.npy" } });
	const normalise = { mean: [0.5, 0.5], deviation: [0.25, 0.25] };
	assert.deepEqual(await labels({ data: { records: "data.bin", normalise } }), floats);
	assert.notDeepEqual(await labels({}), floats);
	const some = readNpy(await labels({ data: { images: "x.npy" }, count: 2 }), "l");
	assert.deepEqual(some.dims, [2, 3]);
	assert.deepEqual([...some.values], [...readNpy(floats, "l").values].slice(0, 6));
});

/** A network of zeros. */
function networkFile(input: Picture, layers: readonly Layer[]): Uint8Array {
	const stages = stagesOf(input, layers) as readonly Stage[];
	const weights = stages.map(({ layer, from }) => {
		if (layer.kind === "pool") return null;
		const inputs =
			from.channels * (layer.kind === "conv" ? layer.window.size[0] * layer.window.size[1] : from.height * from.width);
		return { weight: new Float32Array(layer.outputs * inputs), bias: new Float32Array(layer.outputs) };
	});
	const network: Network = { stages, weights };
	return writeOnnx(network);
}

test("what does not fit is refused", async () => {
	const { made } = await run(TRAIN);
	const onnx = made["model.onnx"]!;
	const refused = (words: string, code: string, job: object, files: FilesOf = { "m.onnx": onnx }) =>
		assert.rejects(
			async () => await build(job, files),
			(error) => {
				assert.ok(error instanceof AssayError, String(error));
				assert.equal(error.code, code, error.message);
				assert.ok(error.hint !== "" && error.message.includes(words), error.message);
				return true;
			},
		);
	await refused("has no graph", "ONNX_FILE", CLASSIFY, { "m.onnx": new Uint8Array() });
	await refused("data must have images or records", "JOB_FIELD", { ...CLASSIFY, data: {} });
	await refused("count is 7; there are 6", "JOB_FIELD", { ...CLASSIFY, count: 7 });
	await refused("data.labels goes with images", "JOB_FIELD", {
		...CLASSIFY,
		data: { records: "data.bin", labels: "y" },
	});
	await refused("data.labelBytes goes with records", "JOB_FIELD", {
		...CLASSIFY,
		data: { images: "x.npy", labelBytes: 1 },
	});
	const normalise = { mean: [0], deviation: [1] };
	await refused("must have 2 means", "JOB_FIELD", { ...CLASSIFY, data: { records: "data.bin", normalise } });
	const wide = networkFile({ channels: 65_537, height: 1, width: 1 }, [{ kind: "dense", outputs: 1, isRelu: false }]);
	await refused("at most 4096", "ONNX_FILE", CLASSIFY, { "m.onnx": wide });
	const large = networkFile({ channels: 2, height: 200, width: 200 }, [{ kind: "dense", outputs: 1, isRelu: false }]);
	await refused("has layer 0 (dense) with sums of more than 65536", "JOB_FIELD", CLASSIFY, { "m.onnx": large });

	const from = (network: Uint8Array) =>
		[{ ...TRAIN, model: { kind: "cnn", onnx: "m.onnx" } }, { "m.onnx": network }] as const;
	await refused("has the input and layers of its file", "JOB_FIELD", {
		...TRAIN,
		model: { ...TRAIN.model, onnx: "m.onnx" },
	});
	const window = { size: [2, 2], stride: [2, 2], pads: [1, 1, 0, 0] } as const;
	const pads = networkFile({ channels: 2, height: 4, width: 4 }, [
		{ kind: "pool", pool: "max", window, isRelu: false },
		{ kind: "dense", outputs: 3, isRelu: false },
	]);
	await refused("model.onnx (layer 0) is a max pool with pads", "JOB_FIELD", ...from(pads));
	const open = networkFile({ channels: 2, height: 4, width: 4 }, [{ kind: "dense", outputs: 3, isRelu: true }]);
	await refused("must end with a dense layer", "JOB_FIELD", ...from(open));
	const { stages, weights } = networkOf(readOnnx(onnx));
	const high = writeOnnx({ stages, weights: weights.map((own) => own && { ...own, bias: own.bias.map(() => 2.5) }) });
	await refused("has a weight above 2", "JOB_FIELD", ...from(high));
});

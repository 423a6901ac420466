// CNN jobs: pictures from lists, arrays and records give the same program and inputs; what does not fit is
// refused with its field or code.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { npyBytes } from "../../formats/arrays.test-kit.ts";
import { pngBytes } from "../../formats/png.test-kit.ts";
import { readSafetensors } from "../../formats/safetensors.ts";
import { Trial } from "../../models/training.test-kit.ts";
import { compilePlan, unitsOf } from "../../plan/compile-plan.ts";
import { buildWorkload } from "../build-workload.ts";
import { readJob } from "../read-job.ts";

const LAYERS = [{ conv: 2, size: 3, stride: 2 }, { pool: "max", size: 2 }, { dense: 3 }];
const JOB = {
	workload: "train",
	model: { kind: "cnn", input: [1, 4, 4], layers: LAYERS },
	data: { records: "data.bin" },
	optimizer: { kind: "sgd" },
	batch: 2,
	steps: 4,
	stepsPerSegment: 2,
	seed: `0x${"05".repeat(32)}`,
};
const pixelsOf = (n: number) => Uint8Array.from({ length: 16 }, (_, i) => (n * 50 + i * 16) & 255);
const LABELS = [0, 2, 1];
const png = (n: number) =>
	pngBytes({
		width: 4,
		height: 4,
		depth: 8,
		kind: 0,
		rows: Uint8Array.from([0, 4, 8, 12].flatMap((i) => [0, ...pixelsOf(n).subarray(i, i + 4)])),
	});
const joined = (...parts: readonly Uint8Array[]) => new Uint8Array(Buffer.concat(parts));
const listed = (...entries: readonly object[]) => new TextEncoder().encode(JSON.stringify(entries));
const NUMBERS = [0, 1, 2];
const FILES: Readonly<Record<string, Uint8Array>> = {
	"data.bin": joined(...NUMBERS.flatMap((n) => [Uint8Array.of(LABELS[n]!), pixelsOf(n)])),
	"pairs.bin": joined(...NUMBERS.flatMap((n) => [Uint8Array.of(9, LABELS[n]!), pixelsOf(n)])),
	"set/list.json": listed(...NUMBERS.map((n) => ({ file: `${n}.png`, label: LABELS[n] }))),
	...Object.fromEntries(NUMBERS.map((n) => [`set/${n}.png`, png(n)])),
	"x.npy": npyBytes("|u1", [3, 4, 4], joined(...NUMBERS.map(pixelsOf))),
	"f.npy": npyBytes(
		"<f4",
		[3, 1, 4, 4],
		new Uint8Array(Float32Array.from(joined(...NUMBERS.map(pixelsOf)), (p) => (p - 128) / 128).buffer),
	),
	"y.npy": npyBytes("|u1", [3], Uint8Array.from(LABELS)),
};
const build = (change: object, files: Readonly<Record<string, Uint8Array>> = {}) =>
	buildWorkload(readJob({ ...JOB, ...change }), (name) => ({ ...FILES, ...files })[name]!);

test("records, pairs of label bytes, lists of PNG files and arrays of bytes are the same pictures", async () => {
	const { given } = await build({});
	assert.deepEqual([...given.labels!], LABELS);
	assert.deepEqual([...given.images!.subarray(16, 20)], [50 - 128, 66 - 128, 82 - 128, 98 - 128]);
	for (const data of [
		{ records: "pairs.bin", labelBytes: 2 },
		{ images: "set/list.json" },
		{ images: "x.npy", labels: "y.npy" },
	])
		assert.deepEqual((await build({ data })).given, given);
});

test("floats are the same numbers at another scale; they train the same weights", async () => {
	const [bytes, floats] = [await build({}), await build({ data: { images: "f.npy", labels: "y.npy" } })];
	assert.deepEqual(
		[...floats.given.images!],
		[...bytes.given.images!].map((value) => Number(value) * 16),
	);
	const [a, b] = [bytes, floats].map((work) => {
		const trial = new Trial(work, work.seed);
		trial.losses(work.segments);
		return trial;
	});
	assert.deepEqual(a!.tensor("layer0.weight"), b!.tensor("layer0.weight"));
	assert.notDeepEqual(a!.tensor("layer0.weight"), new Trial(bytes, bytes.seed).tensor("layer0.weight"));
	const tensors = readSafetensors(await bytes.files[0]!.make((name) => a!.tensor(name)), "w");
	assert.deepEqual(
		tensors.map(({ name, dims }) => [name, dims]),
		[
			["layer0.weight", [2, 1, 3, 3]],
			["layer0.bias", [2]],
			["layer2.weight", [3, 2]],
			["layer2.bias", [3]],
		],
	);
	assert.deepEqual(
		bytes.metrics.map(({ label, read }) => [label, read(Int32Array.of(1))]),
		[
			["loss", 1 / 2 ** 17],
			["accuracy", 0.5],
		],
	);
});

test("gray pictures serve three channels, colors become gray", async () => {
	const color = pngBytes({ width: 1, height: 1, depth: 8, kind: 2, rows: Uint8Array.of(0, 255, 100, 7) });
	const gray = pngBytes({ width: 1, height: 1, depth: 8, kind: 0, rows: Uint8Array.of(0, 200) });
	const files = {
		"l.json": listed({ file: "c.png", label: 0 }, { file: "g.png", label: 1 }),
		"c.png": color,
		"g.png": gray,
	};
	const of = async (channels: number) =>
		(
			await build(
				{ model: { kind: "cnn", input: [channels, 1, 1], layers: [{ dense: 2 }] }, data: { images: "l.json" } },
				files,
			)
		).given.images!;
	assert.deepEqual(
		[...(await of(3))],
		[255, 100, 7, 200, 200, 200].map((p) => p - 128),
	);
	assert.deepEqual(
		[...(await of(1))],
		[136, 200].map((p) => p - 128),
	);
});

const refused = (words: string, code: string, change: object, files: Readonly<Record<string, Uint8Array>> = {}) =>
	assert.rejects(
		async () => await build(change, files),
		(error) => {
			assert.ok(error instanceof AssayError, String(error));
			assert.equal(error.code, code);
			assert.ok(error.hint !== "" && error.message.includes(words), error.message);
			return true;
		},
	);
const model = (layers: readonly object[], input: readonly number[] = [1, 4, 4]) => ({
	model: { kind: "cnn", input, layers },
});

test("layers that do not fit are refused by their place", async () => {
	const field = (words: string, layers: readonly object[], input?: readonly number[]) =>
		refused(words, "JOB_FIELD", model(layers, input));
	await field("model.layers[0] must have one of", [{ size: 3 }, { dense: 3 }]);
	await field("model.layers[0] must have one of", [{ conv: 3, pool: "max", size: 3 }, { dense: 3 }]);
	await field("model.layers[0] must have a size", [{ conv: 3 }, { dense: 3 }]);
	await field("model.layers[0] has no size", [{ dense: 3, size: 3 }]);
	await field("model.layers[0] has no stride", [{ pool: "global", stride: 3 }, { dense: 3 }]);
	await field("model.layers[0] has a pad", [{ pool: "max", size: 2, pad: 1 }, { dense: 3 }]);
	await field("model.layers[1] does not fit a picture of 1 x 2 x 2", [
		{ pool: "max", size: 2 },
		{ pool: "max", size: 3 },
		{ dense: 3 },
	]);
	await field("model.layers[0] does not fit", [{ conv: 3, size: 3, pad: 3 }, { dense: 3 }]);
	await field("model.layers[1] must be dense", [{ dense: 3 }, { conv: 3, size: 1 }, { dense: 3 }]);
	await field("model.layers must end with a dense layer", [{ conv: 3, size: 3 }]);
	await field("model.layers must end with a dense layer", []);
	await field("model.input must be", [{ dense: 3 }], [4, 4]);
	await field("model.layers[0] must have a window of at most 4096", [{ pool: "global" }, { dense: 3 }], [1, 65, 64]);
	await field("model.layers[0] must have at most 1048576 inputs", [{ dense: 3 }], [2, 1024, 1024]);
	await field(
		"batch must be smaller: model.layers[0]",
		[{ conv: 1, size: 1 }, { pool: "max", size: 64 }, { dense: 3 }],
		[1, 1024, 1024],
	);
	await refused("model.layers[1] is a pool, which exact-sgd has not", "JOB_FIELD", {
		optimizer: { kind: "exact-sgd" },
	});
	await refused("order cube", "JOB_FIELD", { order: "cube" });
});

test("pictures that do not fit are refused", async () => {
	await refused("data.text is nothing for this model", "JOB_FIELD", { data: { text: "t" } });
	await refused("labelBytes goes with records", "JOB_FIELD", {
		data: { images: "x.npy", labels: "y.npy", labelBytes: 2 },
	});
	await refused("data.generated must be at most 134217728 pictures", "JOB_FIELD", { data: { generated: 2 ** 31 - 1 } });
	await refused("data.labels goes with images that are an array", "JOB_FIELD", {
		data: { images: "set/list.json", labels: "y.npy" },
	});
	await refused("not a multiple of 1 + 16", "DATA_CUT", {}, { "data.bin": new Uint8Array(18) });
	await refused("label 0 of data.bin is 3", "DATA_RANGE", {}, { "data.bin": new Uint8Array(17).with(0, 3) });
	await refused("has no pictures", "DATA_SHORT", {}, { "data.bin": new Uint8Array() });
	const list = { data: { images: "set/list.json" } };
	await refused("is no JSON", "DATA_FORMAT", list, { "set/list.json": Uint8Array.of(255) });
	await refused("[0].label", "DATA_FORMAT", list, { "set/list.json": listed({ file: "0.png", label: -1 }) });
	await refused("[1] must have", "DATA_FORMAT", list, {
		"set/list.json": listed({ file: "0.png", label: 1 }, { file: "1.png" }),
	});
	await refused("has no labels", "DATA_FORMAT", list, { "set/list.json": listed({ file: "0.png" }) });
	await refused("has no pictures", "DATA_SHORT", list, { "set/list.json": listed() });
	await refused("set/0.png has 4 x 4 pixels; the model takes 5 x 4", "IMAGE_SIZE", {
		...list,
		...model([{ dense: 3 }], [1, 4, 5]),
	});
	await refused("pictures have 1 or 3 channels", "DATA_FORMAT", { ...list, ...model([{ dense: 3 }], [2, 4, 4]) });
	await refused("set/1.png: is no PNG", "IMAGE_FORMAT", list, { "set/1.png": Uint8Array.of(1) });
	const array = { data: { images: "x.npy", labels: "y.npy" } };
	await refused("has dims [3,4,4]", "DATA_FORMAT", { ...array, ...model([{ dense: 3 }], [3, 4, 4]) });
	await refused("pixels are u1, f4 or f8", "DATA_FORMAT", array, {
		"x.npy": npyBytes("|i1", [1, 4, 4], new Uint8Array(16)),
	});
	await refused("outside ±15.99", "DATA_RANGE", array, {
		"x.npy": npyBytes("<f4", [1, 4, 4], new Uint8Array(new Float32Array(16).fill(16).buffer)),
	});
	await refused("has 2 labels for 3 pictures", "DATA_FORMAT", array, {
		"y.npy": npyBytes("|u1", [2], new Uint8Array(2)),
	});
	await refused("x.npy has no labels", "DATA_FORMAT", { data: { images: "x.npy" } });
});

test("by exact SGD: a program that has a proof, of the same pictures", async () => {
	const model = { kind: "cnn", input: [2, 4, 4], layers: [{ conv: 4, size: 3, stride: 2 }, { dense: 3 }] };
	const job = { model, data: { generated: 8 }, order: "cube" };
	const exact = { kind: "exact-sgd", shift: 4, weightBits: 64, loss: "softmax" };
	const { program, given, metrics } = await build({ ...job, optimizer: exact });
	const plan = compilePlan(program);
	assert.ok(!("code" in plan), JSON.stringify(plan));
	assert.deepEqual([plan.links.map(unitsOf), plan.isSoftmax], [[16, 3], true]);
	// Channels last, at 2^11 instead of 2^7.
	const images = (await build({ ...job, order: "affine" })).given.images as Int8Array;
	const turned = Int16Array.from(images, (_, i) => {
		const [picture, place, channel] = [Math.floor(i / 32), Math.floor((i % 32) / 2), i % 2];
		return images[picture * 32 + channel * 16 + place]! * 16;
	});
	assert.deepEqual(given.features, turned);
	assert.equal(metrics[0]!.unit, "nats a picture");
	const losses = new Trial({ program, given }, new Uint8Array(32).fill(5)).losses(2);
	assert.ok(losses.every((one) => one > 0));
	const square = await build({ ...job, optimizer: { ...exact, loss: "square" } });
	assert.ok(!("code" in compilePlan(square.program)));
	await refused("model.onnx is not trained by exact-sgd", "JOB_FIELD", {
		...{ ...job, model: { kind: "cnn", onnx: "a.onnx" }, data: { generated: 8 } },
		optimizer: exact,
	});
});

// `"model": { "kind": "cnn" }`: convolutions, pools and dense layers, trained on pictures with a class each.
// docs/training.md.

import { int, list, oneOf, type Shape, type Typed } from "../../../protocol/bytes/shape.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import { networkOf } from "../../imports/onnx/network-of.ts";
import { readOnnx } from "../../imports/onnx/read-onnx.ts";
import { writeOnnx } from "../../imports/onnx/write-onnx.ts";
import { cnnProgram, type StartWeights } from "../../models/cnn/cnn.ts";
import { type Images, PIXEL } from "../../models/cnn/images.ts";
import {
	fanIn,
	type Layer,
	type Network,
	type Picture,
	placesOf,
	type Stage,
	sizeOf,
	stagesOf,
	weightDims,
} from "../../models/cnn/layers.ts";
import { exactProgram, exactScale } from "../../models/exact-mlp.ts";
import { SCALE } from "../../models/numbers.ts";
import { LIMITS } from "../../program/shapes.ts";
import { file, partial, wrongField } from "../job-fields.ts";
import { readImages } from "../read-images.ts";
import { weightsFile } from "../weights-file.ts";
import type { Files, WorkloadFile, WorkloadMetric } from "../workload.ts";
import { generatedImages } from "./generated-data.ts";
import { checkData, exactLossMetric, lossMetric, type TrainModel, type TrainSpec } from "./train-spec.ts";

const MOST_SIDE = 4096;
const layer = partial({
	conv: int(1, 4096),
	pool: oneOf("max", "average", "global"),
	dense: int(1, 65_536),
	size: int(1, 64),
	stride: int(1, 64),
	pad: int(0, 63),
});
const shape = partial({
	kind: oneOf("cnn"),
	/** Channels, height, width. */
	input: list(int(1, MOST_SIDE), 3),
	layers: list(layer, 64),
	/** An ONNX file instead: its layers, and weights to begin with. */
	onnx: file,
});
/** `variants` has seen the kind. */
type CnnModel = Typed<typeof shape> & { readonly kind: "cnn" };
type CnnSpec = TrainSpec<CnnModel>;
type LayerSpec = Typed<typeof layer>;

/** `from`: the picture that goes in, which a global average is as large as. */
function layerOf(spec: LayerSpec, i: number, isLast: boolean, from: Picture): Layer {
	const { conv, pool, dense, size, stride, pad } = spec;
	const where = `model.layers[${i}]`;
	if ([conv, pool, dense].filter((one) => one !== undefined).length !== 1)
		throw wrongField(where, "must have one of conv, pool, dense");
	const isWhole = dense !== undefined || pool === "global";
	if (isWhole !== (size === undefined)) throw wrongField(where, isWhole ? "has no size" : "must have a size");
	if (isWhole && stride !== undefined) throw wrongField(where, "has no stride");
	if (conv === undefined && pad !== undefined) throw wrongField(where, "has a pad: that is for conv");
	if (dense !== undefined) return { kind: "dense", outputs: dense, isRelu: !isLast };
	if (pool === "global") {
		const whole = [from.height, from.width] as const;
		const window = { size: whole, stride: whole, pads: [0, 0, 0, 0] as const };
		return { kind: "pool", pool: "average", window, isRelu: false };
	}
	const edge = conv === undefined ? 0 : (pad ?? Math.floor((size! - 1) / 2));
	const step = stride ?? (conv === undefined ? size! : 1);
	const window = { size: [size!, size!], stride: [step, step], pads: [edge, edge, edge, edge] } as const;
	if (conv !== undefined) return { kind: "conv", outputs: conv, window, isRelu: true };
	return { kind: "pool", pool: pool as "max" | "average", window, isRelu: false };
}

/** Layers that the job itself lists. */
function listedStages({ model: { input = [], layers = [] }, batch }: CnnSpec): readonly Stage[] {
	const [channels, height, width] = input;
	if (channels === undefined || height === undefined || width === undefined)
		throw wrongField("model.input", "must be channels, height and width");
	const stages: Stage[] = [];
	let from: Picture = { channels, height, width };
	for (const [i, spec] of layers.entries()) {
		const where = `model.layers[${i}]`;
		if (spec.dense === undefined && stages.some(({ layer: { kind } }) => kind === "dense"))
			throw wrongField(where, "must be dense, after a dense layer");
		const made = stagesOf(from, [layerOf(spec, i, i === layers.length - 1, from)]);
		if (typeof made === "number")
			throw wrongField(where, `does not fit a picture of ${from.channels} x ${from.height} x ${from.width}`);
		const stage = made[0]!;
		checkLimits(stage, batch, where);
		stages.push(stage);
		from = stage.to;
	}
	if (stages.at(-1)?.layer.kind !== "dense")
		throw wrongField("model.layers", "must end with a dense layer: the classes");
	return stages;
}

/** What products see of a weight; docs/training.md §2. */
const MOST_WEIGHT = 2;

/** Of an ONNX file: what can be trained, with weights that products can hold. */
function checkTrainable({ stages, weights }: Network, batch: number): void {
	const { layer: last } = stages.at(-1)!;
	if (last.kind !== "dense" || last.isRelu) throw wrongField("model.onnx", "must end with a dense layer: the classes");
	for (const [i, stage] of stages.entries()) {
		const where = `model.onnx (layer ${i})`;
		const { layer: of } = stage;
		if (of.kind === "pool" && of.pool === "max" && of.window.pads.some((pad) => pad > 0))
			throw wrongField(where, "is a max pool with pads, which is not trained");
		checkLimits(stage, batch, where);
		const { weight, bias } = weights[i] ?? { weight: [], bias: [] };
		if (![...weight, ...bias].every((value) => Math.abs(value) <= MOST_WEIGHT))
			throw wrongField(where, `has a weight above ${MOST_WEIGHT}, which training does not hold`);
	}
}

/** `weights`: to begin with. */
async function networkFor(
	spec: CnnSpec,
	files: Files,
): Promise<{ readonly stages: readonly Stage[]; readonly weights: Network["weights"] | null }> {
	const { onnx } = spec.model;
	if (onnx === undefined) return { stages: listedStages(spec), weights: null };
	const network = networkOf(readOnnx(await files(onnx)));
	checkTrainable(network, spec.batch);
	return network;
}

/** By the names of the parameters, at 2^24. */
function startOf(weights: Network["weights"] | null): StartWeights {
	if (weights === null) return null;
	return (name) => {
		const own = weights[Number(/\d+/.exec(name)![0])]!;
		const values = name.endsWith("bias") ? own.bias : own.weight;
		return Int32Array.from(values, (value) => Math.round(value * 2 ** SCALE.weight));
	};
}

function checkLimits(stage: Stage, batch: number, where: string): void {
	const { layer: of, to } = stage;
	if (of.kind === "pool" && of.window.size[0] * of.window.size[1] > LIMITS.turns)
		throw wrongField(where, `must have a window of at most ${LIMITS.turns} places`);
	if (fanIn(stage) > LIMITS.summed) throw wrongField(where, `must have at most ${LIMITS.summed} inputs`);
	if (batch * placesOf(to) > LIMITS.summed)
		throw wrongField(
			"batch",
			`must be smaller: ${where} has ${placesOf(to)} places a picture, ${LIMITS.summed} at most a step`,
		);
}

/** Bytes of generated pixels. */
const MOST_GENERATED = 2 ** 31;

async function imagesOf({ data, seed }: CnnSpec, input: Picture, classes: number, files: Files): Promise<Images> {
	if (data.generated !== undefined && data.generated * sizeOf(input) > MOST_GENERATED)
		throw wrongField("data.generated", `must be at most ${Math.floor(MOST_GENERATED / sizeOf(input))} pictures`);
	if (data.generated !== undefined) return generatedImages(seed, data.generated, input, classes);
	const { pixels, labels } = await readImages(data, input, classes, files);
	if (labels === null) throw codedError("DATA_FORMAT", `${data.images} has no labels`);
	return { pixels, labels };
}

const accuracyMetric = (batch: number): WorkloadMetric => ({
	name: "accuracy",
	label: "accuracy",
	unit: "of the batch",
	read: (elements) => Number(elements[0]!) / batch,
});

/** The trained network, as others load it. */
function onnxFile(stages: readonly Stage[]): WorkloadFile {
	const names = stages.map((stage, i) => (weightDims(stage) === null ? null : `layer${i}`));
	return {
		name: "model.onnx",
		tensors: names.flatMap((name) => (name === null ? [] : [`${name}.weight`, `${name}.bias`])),
		isPreview: false,
		make(elements) {
			const floats = (name: string) =>
				Float32Array.from(elements(name) as Int32Array, (value) => value / 2 ** SCALE.weight);
			const weights = names.map((name) =>
				name === null ? null : { weight: floats(`${name}.weight`), bias: floats(`${name}.bias`) },
			);
			return writeOnnx({ stages, weights });
		},
	};
}

/** What exact SGD has no numbers for: pools, and weights of a file. */
function checkExact(spec: CnnSpec): void {
	if (spec.model.onnx !== undefined) throw wrongField("model.onnx", "is not trained by exact-sgd");
	for (const [i, { layer: of }] of listedStages(spec).entries())
		if (of.kind === "pool")
			throw wrongField(`model.layers[${i}]`, "is a pool, which exact-sgd has not: a stride serves");
}

/** Rows [height, width, channels] at 2^11, as exact SGD has pictures. */
function rowsOf({ pixels }: Images, { channels, height, width }: Picture): Int16Array {
	const [places, up] = [height * width, pixels instanceof Int8Array ? 2 ** (SCALE.activation - PIXEL) : 1];
	return Int16Array.from(pixels, (_, i) => {
		const [picture, inside] = [Math.floor(i / (channels * places)), i % (channels * places)];
		return pixels[(picture * channels + (inside % channels)) * places + Math.floor(inside / channels)]! * up;
	});
}

/** The profile of proofs, docs/training.md §6: convolutions and dense layers, in whole numbers throughout. */
async function exactCnn(
	spec: CnnSpec,
	{ shift, weightBits, loss }: Extract<CnnSpec["optimizer"], { kind: "exact-sgd" }>,
	k: number,
	files: Files,
	later: Generator<void>[],
) {
	const { batch, steps, seed, order } = spec;
	const stages = listedStages(spec);
	const picture = stages[0]!.from;
	const images = await imagesOf(spec, picture, stages.at(-1)!.to.channels, files);
	if (order === "cube" && !Number.isInteger(Math.log2(images.labels.length)))
		throw codedError("DATA_SHORT", `order cube wants 2^m pictures; there are ${images.labels.length}`);
	const windows = stages.map(({ layer: of, from }) =>
		of.kind === "dense"
			? null
			: { ...from, size: of.window.size[0], stride: of.window.stride[0], pad: of.window.pads[0] },
	);
	const sizes = [sizeOf(picture), ...stages.map(({ to }) => sizeOf(to))];
	const { program, given, parameters } = exactProgram(
		{
			sizes,
			...(windows.some((one) => one !== null) && { windows }),
			...(loss === "softmax" && { isSoftmax: true }),
		},
		{ batch, steps, k, seed, order, later },
		shift,
		{ features: rowsOf(images, picture), labels: images.labels },
		weightBits,
	);
	const scale = 2 ** exactScale(shift);
	const weights = parameters.map(({ name, w }) => ({ name, tensor: name, first: 0, dims: w.dims, scale }));
	return { program, given, metrics: [exactLossMetric(loss, batch, "picture")], files: [weightsFile(weights)] };
}

export const cnnModel: TrainModel<CnnModel> = {
	shape: shape as Shape<CnnModel>,
	check(spec) {
		checkData(spec, ["images", "records", "generated"], "images, records or generated");
		if (spec.data.labels !== undefined && !spec.data.images?.endsWith(".npy"))
			throw wrongField("data.labels", "goes with images that are an array");
		const { onnx, input, layers } = spec.model;
		if (spec.optimizer.kind === "exact-sgd") checkExact(spec);
		else if (onnx === undefined) listedStages(spec);
		else if ((input ?? layers) !== undefined) throw wrongField("model.onnx", "has the input and layers of its file");
	},
	async size(spec, files) {
		const { stages } = await networkFor(spec, files);
		const weights = stages.map((stage) => stage.to.channels * (fanIn(stage) === 0 ? 0 : fanIn(stage) + 1));
		const parameters = weights.reduce((a, b) => a + b, 0);
		const products = stages.reduce((sum, { to }, i) => sum + weights[i]! * placesOf(to), 0);
		return { parameters, rows: (spec.batch * products) / parameters, ops: 28 * stages.length };
	},
	async build(spec, k, files, later) {
		const { batch, steps, seed, optimizer, order } = spec;
		if (optimizer.kind === "exact-sgd") return exactCnn(spec, optimizer, k, files, later);
		const { stages, weights: start } = await networkFor(spec, files);
		const images = await imagesOf(spec, stages[0]!.from, stages.at(-1)!.to.channels, files);
		const schedule = { batch, steps, k, seed, order, later };
		const { program, given } = cnnProgram(stages, schedule, optimizer, images, startOf(start));
		const weights = stages.flatMap((stage, i) => {
			const dims = weightDims(stage);
			const one = (name: string, own: readonly number[]) => ({
				name,
				tensor: name,
				first: 0,
				dims: own,
				scale: 2 ** SCALE.weight,
			});
			return dims === null ? [] : [one(`layer${i}.weight`, dims), one(`layer${i}.bias`, [dims[0]!])];
		});
		const metrics = [lossMetric(2 ** SCALE.loss, batch, "nats a picture"), accuracyMetric(batch)];
		return { program, given, metrics, files: [weightsFile(weights), onnxFile(stages)] };
	},
};

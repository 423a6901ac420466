// A training job as a workload: its data, its program, how to read loss and weights. docs/training.md.
import { AssayError } from "../../protocol/assay-error.ts";
import { codes } from "../../protocol/codes.ts";
import { readNpy } from "../formats/npy.ts";
import { readTokens, type Tokens } from "../formats/tokens.ts";
import { exactMlpProgram, exactScale } from "../models/exact-mlp.ts";
import { gptProgram, gptWeights, windowsOf } from "../models/gpt.ts";
import { mlpProgram, type Samples } from "../models/mlp.ts";
import { I16, SCALE } from "../models/numbers.ts";
import type { Elements } from "../operators/tensor-type.ts";
import { generatedSamples, generatedTokens } from "./generated-data.ts";
import { type Files, type GptModel, type MlpModel, type TrainSpec, wrongField } from "./read-job.ts";
import { stepsPerSegment } from "./segment-length.ts";
import type { Workload } from "./workload.ts";

function refused(code: "DATA_SHORT" | "DATA_RANGE" | "DATA_FORMAT", message: string): AssayError {
	return new AssayError(code, message, { hint: codes[code].hint });
}

async function tokensOf({ data, seed }: TrainSpec, { vocabulary }: GptModel, files: Files): Promise<Tokens> {
	if (data.generated !== undefined) return generatedTokens(seed, data.generated, vocabulary);
	const [file, size] = data.text !== undefined ? [data.text, 1 as const] : [data.tokens!, data.bytesPerToken ?? 2];
	return readTokens(await files(file), size as 1 | 2 | 4, vocabulary, file);
}

/** Features at 2^11, each inside ±15.99; labels are whole numbers below the classes. */
async function samplesOf({ data, seed }: TrainSpec, { sizes }: MlpModel, files: Files): Promise<Samples> {
	const [inputs, classes] = [sizes[0]!, sizes.at(-1)!];
	if (data.generated !== undefined) return generatedSamples(seed, data.generated, inputs, classes);
	const x = readNpy(await files(data.features!), data.features!);
	const y = readNpy(await files(data.labels!), data.labels!);
	if (x.dims.length !== 2 || x.dims[1] !== inputs)
		throw refused("DATA_FORMAT", `${data.features} has dims [${x.dims.join(",")}]; the model takes rows of ${inputs}`);
	if (y.dims.length !== 1 || y.dims[0] !== x.dims[0])
		throw refused("DATA_FORMAT", `${data.labels} has dims [${y.dims.join(",")}]; there are ${x.dims[0]} rows`);
	const features = new Int16Array(x.values.length);
	for (let i = 0; i < features.length; i++) {
		const value = Math.round(Number(x.values[i]!) * 2 ** SCALE.activation);
		if (Math.abs(value) > I16)
			throw refused("DATA_RANGE", `element ${i} of ${data.features} is ${x.values[i]}, outside ±15.99`);
		features[i] = value;
	}
	const labels = classes <= 2 ** 15 ? new Int16Array(y.values.length) : new Int32Array(y.values.length);
	for (let i = 0; i < labels.length; i++) {
		const value = Number(y.values[i]!);
		if (!Number.isInteger(value) || value < 0 || value >= classes)
			throw refused("DATA_RANGE", `label ${i} of ${data.labels} is ${y.values[i]}; the model has ${classes} classes`);
		labels[i] = value;
	}
	return { features, labels };
}

const lossMetric = (scale: number, count: number, unit: string): Workload["metrics"][number] => ({
	name: "loss",
	label: "loss",
	unit,
	read: (elements: Elements) => Number(elements[0]!) / scale / count,
});

async function gptWorkload(spec: TrainSpec, model: GptModel, k: number, files: Files) {
	const { batch, steps, seed, optimizer } = spec;
	if (optimizer.kind === "exact-sgd") throw wrongField("optimizer.kind", "exact-sgd is for an mlp");
	const tokens = await tokensOf(spec, model, files);
	if (windowsOf(tokens.length, model.context) < 1)
		throw refused("DATA_SHORT", `${tokens.length} tokens are less than one context of ${model.context} and its answer`);
	const { program, given } = gptProgram(model, { batch, steps, k, seed }, optimizer, tokens);
	const metrics = [lossMetric(2 ** SCALE.loss, batch * model.context, "nats a token")];
	return { program, given, metrics, weights: gptWeights(model) };
}

async function mlpWorkload(spec: TrainSpec, { sizes, kind }: MlpModel, k: number, files: Files) {
	const { batch, steps, seed, optimizer, order } = spec;
	const samples = await samplesOf(spec, { kind, sizes }, files);
	if (order === "cube" && !Number.isInteger(Math.log2(samples.labels.length)))
		throw refused("DATA_SHORT", `order cube wants 2^m rows; there are ${samples.labels.length}`);
	const schedule = { batch, steps, k, seed, order };
	const isExact = optimizer.kind === "exact-sgd";
	const { program, given, parameters } = isExact
		? exactMlpProgram(sizes, schedule, optimizer.shift, samples)
		: mlpProgram(sizes, schedule, optimizer, samples);
	const scale = 2 ** (isExact ? exactScale(optimizer.shift) : SCALE.weight);
	const weights = parameters.map(({ name, w }) => ({ name, tensor: name, first: 0, dims: w.dims, scale }));
	// Squared error: half of Σ d² at 2^24, a row.
	const metrics = [
		isExact ? lossMetric(2 ** 25, batch, "squared error a row") : lossMetric(2 ** SCALE.loss, batch, "nats a row"),
	];
	return { program, given, metrics, weights };
}

export async function trainWorkload(spec: TrainSpec, files: Files): Promise<Workload> {
	const { model, steps, seed } = spec;
	const k = spec.stepsPerSegment ?? stepsPerSegment(spec);
	if (steps % k !== 0)
		throw wrongField("steps", `must be a multiple of ${k}, the steps a segment`, "Or set stepsPerSegment.");
	const made = await (model.kind === "gpt" ? gptWorkload(spec, model, k, files) : mlpWorkload(spec, model, k, files));
	return { ...made, seed, segments: steps / k };
}

// `"model": { "kind": "mlp" }`: linear layers with relu between, trained on rows with a class each; also the
// profile that proofs need.

import { int, list, object, oneOf, type Typed } from "../../../protocol/bytes/shape.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import { readNpy } from "../../formats/npy.ts";
import { exactProgram, exactScale } from "../../models/exact-mlp.ts";
import { mlpProgram, type Samples } from "../../models/mlp.ts";
import { I16, SCALE } from "../../models/numbers.ts";
import { wrongField } from "../job-fields.ts";
import { weightsFile } from "../weights-file.ts";
import type { Files } from "../workload.ts";
import { generatedSamples } from "./generated-data.ts";
import { checkData, exactLossMetric, lossMetric, type TrainModel, type TrainSpec } from "./train-spec.ts";

const shape = object({ kind: oneOf("mlp"), sizes: list(int(1, 65_536), 33) });
type MlpSpec = TrainSpec<Typed<typeof shape>>;

/** Features at 2^11, each inside ±15.99; labels are whole numbers below the classes. */
async function samplesOf({ data, seed, model: { sizes } }: MlpSpec, files: Files): Promise<Samples> {
	const [inputs, classes] = [sizes[0]!, sizes.at(-1)!];
	if (data.generated !== undefined) return generatedSamples(seed, data.generated, inputs, classes);
	const x = readNpy(await files(data.features!), data.features!);
	const y = readNpy(await files(data.labels!), data.labels!);
	if (x.dims.length !== 2 || x.dims[1] !== inputs)
		throw codedError(
			"DATA_FORMAT",
			`${data.features} has dims [${x.dims.join(",")}]; the model takes rows of ${inputs}`,
		);
	if (y.dims.length !== 1 || y.dims[0] !== x.dims[0])
		throw codedError("DATA_FORMAT", `${data.labels} has dims [${y.dims.join(",")}]; there are ${x.dims[0]} rows`);
	const features = new Int16Array(x.values.length);
	for (let i = 0; i < features.length; i++) {
		const value = Math.round(Number(x.values[i]!) * 2 ** SCALE.activation);
		if (Math.abs(value) > I16)
			throw codedError("DATA_RANGE", `element ${i} of ${data.features} is ${x.values[i]}, outside ±15.99`);
		features[i] = value;
	}
	const labels = classes <= 2 ** 15 ? new Int16Array(y.values.length) : new Int32Array(y.values.length);
	for (let i = 0; i < labels.length; i++) {
		const value = Number(y.values[i]!);
		if (!Number.isInteger(value) || value < 0 || value >= classes)
			throw codedError(
				"DATA_RANGE",
				`label ${i} of ${data.labels} is ${y.values[i]}; the model has ${classes} classes`,
			);
		labels[i] = value;
	}
	return { features, labels };
}

export const mlpModel: TrainModel<Typed<typeof shape>> = {
	shape,
	check(spec) {
		if (spec.model.sizes.length < 2) throw wrongField("model.sizes", "must name at least inputs and outputs");
		checkData(spec, ["features", "generated"], "features with labels, or generated");
	},
	size({ model: { sizes }, batch }) {
		const parameters = sizes.slice(1).reduce((sum, outputs, i) => sum + outputs * (sizes[i]! + 1), 0);
		return { parameters, rows: batch, ops: 22 * sizes.length };
	},
	async build(spec, k, files, later) {
		const { batch, steps, seed, optimizer, order, model } = spec;
		const samples = await samplesOf(spec, files);
		if (order === "cube" && !Number.isInteger(Math.log2(samples.labels.length)))
			throw codedError("DATA_SHORT", `order cube wants 2^m rows; there are ${samples.labels.length}`);
		const schedule = { batch, steps, k, seed, order, later };
		const isExact = optimizer.kind === "exact-sgd";
		const { program, given, parameters } = isExact
			? exactProgram(
					{ sizes: model.sizes, ...(optimizer.loss === "softmax" && { isSoftmax: true }) },
					...([schedule, optimizer.shift, samples, optimizer.weightBits] as const),
				)
			: mlpProgram(model.sizes, schedule, optimizer, samples);
		const scale = 2 ** (isExact ? exactScale(optimizer.shift) : SCALE.weight);
		const weights = parameters.map(({ name, w }) => ({ name, tensor: name, first: 0, dims: w.dims, scale }));
		const metrics = [
			isExact ? exactLossMetric(optimizer.loss, batch, "row") : lossMetric(2 ** SCALE.loss, batch, "nats a row"),
		];
		return { program, given, metrics, files: [weightsFile(weights)] };
	},
};

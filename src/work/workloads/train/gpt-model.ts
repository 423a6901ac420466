// `"model": { "kind": "gpt" }`: a GPT-2-like model, trained on tokens.
import { object, oneOf, type Typed } from "../../../protocol/bytes/shape.ts";
import { gptProgram, gptWeights } from "../../models/gpt.ts";
import { SCALE } from "../../models/numbers.ts";
import { wrongField } from "../job-fields.ts";
import { weightsFile } from "../weights-file.ts";
import { checkText, textModelFields, tokensOf } from "./decoder-model.ts";
import { lossMetric, type TrainModel } from "./train-spec.ts";

const shape = object({
	kind: oneOf("gpt"),
	...textModelFields,
});

export const gptModel: TrainModel<Typed<typeof shape>> = {
	shape,
	check(spec) {
		const { model } = spec;
		if (model.width % model.heads !== 0 || model.width / model.heads < 4 || model.width / model.heads > 128)
			throw wrongField("model.heads", "must divide the width into parts of 4 to 128");
		checkText(spec);
	},
	size({ model: { layers, width, context, vocabulary }, batch }) {
		const parameters = (vocabulary + context + 2) * width + layers * (12 * width + 13) * width;
		return { parameters, rows: batch * context, ops: 167 * layers + 52 };
	},
	async build(spec, k, files, later) {
		const { model, batch, steps, seed, optimizer } = spec;
		if (optimizer.kind === "exact-sgd") throw wrongField("optimizer.kind", "exact-sgd is for an mlp or a cnn");
		const tokens = await tokensOf(spec, model, files);
		const { program, given } = gptProgram(model, { batch, steps, k, seed, later }, optimizer, tokens);
		const metrics = [lossMetric(2 ** SCALE.loss, batch * model.context, "nats a token")];
		return { program, given, metrics, files: [weightsFile(gptWeights(model))] };
	},
};

// `"model": { "kind": "gpt" }`: a GPT-2-like model, trained on tokens.
import { int, object, oneOf, type Typed } from "../../../protocol/bytes/shape.ts";
import { gptProgram, gptWeights } from "../../models/gpt.ts";
import { SCALE } from "../../models/numbers.ts";
import { LIMITS } from "../../program/shapes.ts";
import { wrongField } from "../job-fields.ts";
import { weightsFile } from "../weights-file.ts";
import { tokensOf } from "./decoder-model.ts";
import { checkData, lossMetric, type TrainModel } from "./train-spec.ts";

const shape = object({
	kind: oneOf("gpt"),
	layers: int(1, 96),
	width: int(8, 8192),
	heads: int(1, 128),
	context: int(2, 8192),
	vocabulary: int(2, 262_144),
});

export const gptModel: TrainModel<Typed<typeof shape>> = {
	shape,
	check(spec) {
		const { model, data, batch, optimizer } = spec;
		if (model.width % model.heads !== 0 || model.width / model.heads < 4 || model.width / model.heads > 128)
			throw wrongField("model.heads", "must divide the width into parts of 4 to 128");
		if (batch > LIMITS.turns || batch * model.context > LIMITS.summed)
			throw wrongField("batch", `must be at most ${LIMITS.turns}, and ${LIMITS.summed} tokens`);
		if (optimizer.kind === "exact-sgd") throw wrongField("optimizer.kind", "exact-sgd is for an mlp or a cnn");
		checkData(spec, ["text", "tokens", "generated"], "text, tokens or generated");
		if (data.text !== undefined && model.vocabulary < 256)
			throw wrongField("model.vocabulary", "must be at least 256 for text, whose tokens are bytes");
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

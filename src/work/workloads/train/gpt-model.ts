// `"model": { "kind": "gpt" }`: a GPT-2-like model, trained on tokens.
import { int, object, oneOf, type Typed } from "../../../protocol/bytes/shape.ts";
import { readTokens, type Tokens } from "../../formats/tokens.ts";
import { gptProgram, gptWeights, windowsOf } from "../../models/gpt.ts";
import { SCALE } from "../../models/numbers.ts";
import { LIMITS } from "../../program/shapes.ts";
import { wrongData, wrongField } from "../job-fields.ts";
import { weightsFile } from "../weights-file.ts";
import type { Files } from "../workload.ts";
import { generatedTokens } from "./generated-data.ts";
import { checkData, lossMetric, type TrainModel, type TrainSpec } from "./train-spec.ts";

const shape = object({
	kind: oneOf("gpt"),
	layers: int(1, 96),
	width: int(8, 8192),
	heads: int(1, 128),
	context: int(2, 8192),
	vocabulary: int(2, 262_144),
});

/** Tokens of a job: text is bytes. */
export async function tokensOf({ data, seed }: TrainSpec, vocabulary: number, files: Files): Promise<Tokens> {
	if (data.generated !== undefined) return generatedTokens(seed, data.generated, vocabulary);
	const [file, size] = data.text !== undefined ? [data.text, 1 as const] : [data.tokens!, data.bytesPerToken ?? 2];
	return readTokens(await files(file), size as 1 | 2 | 4, vocabulary, file);
}

export const gptModel: TrainModel<Typed<typeof shape>> = {
	shape,
	check(spec) {
		const { model, data, batch, optimizer } = spec;
		if (model.width % model.heads !== 0 || model.width / model.heads < 4 || model.width / model.heads > 128)
			throw wrongField("model.heads", "must divide the width into parts of 4 to 128");
		if (batch > LIMITS.turns || batch * model.context > LIMITS.summed)
			throw wrongField("batch", `must be at most ${LIMITS.turns}, and ${LIMITS.summed} tokens`);
		if (optimizer.kind === "exact-sgd") throw wrongField("optimizer.kind", "exact-sgd is for an mlp");
		checkData(spec, ["text", "tokens", "generated"], "text, tokens or generated");
		if (data.text !== undefined && model.vocabulary < 256)
			throw wrongField("model.vocabulary", "must be at least 256 for text, whose tokens are bytes");
	},
	size({ model: { layers, width, context, vocabulary }, batch }) {
		const parameters = (vocabulary + context + 2) * width + layers * (12 * width + 13) * width;
		return { parameters, rows: batch * context, ops: 167 * layers + 52 };
	},
	async build(spec, k, files) {
		const { model, batch, steps, seed, optimizer } = spec;
		if (optimizer.kind === "exact-sgd") throw wrongField("optimizer.kind", "exact-sgd is for an mlp");
		const tokens = await tokensOf(spec, model.vocabulary, files);
		if (windowsOf(tokens.length, model.context) < 1)
			throw wrongData(
				"DATA_SHORT",
				`${tokens.length} tokens are less than one context of ${model.context} and its answer`,
			);
		const { program, given } = gptProgram(model, { batch, steps, k, seed }, optimizer, tokens);
		const metrics = [lossMetric(2 ** SCALE.loss, batch * model.context, "nats a token")];
		return { program, given, metrics, files: [weightsFile(gptWeights(model))] };
	},
};

// `"model": { "kind": "llama" }`: a Llama-like model from new weights, trained on tokens. docs/training.md
// §10. What comes out is a folder that other programs load, and that a LoRA or inference job takes as its
// model.
import { int, object, oneOf, type Typed } from "../../../protocol/bytes/shape.ts";
import { type Architecture, parameterCount } from "../../imports/architecture.ts";
import { FAMILIES, tensorSources } from "../../imports/families.ts";
import { writeConfig } from "../../imports/read-config.ts";
import { MOST_SIZE } from "../../models/attention.ts";
import { llamaProgram } from "../../models/decoder/llama.ts";
import { SCALE } from "../../models/numbers.ts";
import { wrongField } from "../job-fields.ts";
import { weightsFile } from "../weights-file.ts";
import { checkText, decoderMetrics, textModelFields, tokensOf } from "./decoder-model.ts";
import type { TrainModel } from "./train-spec.ts";

const shape = object({
	kind: oneOf("llama"),
	...textModelFields,
	kvHeads: int(1, 128),
	hidden: int(8, 65_536),
});
type LlamaModel = Typed<typeof shape>;

const architectureOf = ({ kind: family, ...size }: LlamaModel): Architecture => ({
	...size,
	family,
	headWidth: size.width / size.heads,
	norm: "rms",
	normEpsilon: 1e-5,
	order: "pre",
	positions: "rope",
	ropeTheta: 10_000,
	segments: 0,
	activation: "silu-glu",
	hasBias: { qkv: false, out: false, mlp: false },
	isTied: true,
});

export const llamaModel: TrainModel<LlamaModel> = {
	shape,
	check(spec) {
		const { model } = spec;
		const size = model.width / model.heads;
		if (size % 2 !== 0 || size < 4 || size > MOST_SIZE)
			throw wrongField("model.heads", `must divide the width into even parts of 4 to ${MOST_SIZE}`);
		if (model.heads % model.kvHeads !== 0) throw wrongField("model.kvHeads", "must divide heads");
		checkText(spec);
	},
	size: ({ model, batch }) => ({
		parameters: parameterCount(architectureOf(model)),
		rows: batch * model.context,
		ops: 250 * model.layers + 60,
	}),
	async build(spec, k, files, later) {
		const { model, batch, steps, seed, optimizer } = spec;
		if (optimizer.kind === "exact-sgd") throw wrongField("optimizer.kind", "exact-sgd is for an mlp or a cnn");
		const architecture = architectureOf(model);
		const tokens = await tokensOf(spec, model, files);
		const { program, given, places, residual } = llamaProgram(
			architecture,
			{ batch, steps, k, seed, later },
			optimizer,
			tokens,
		);
		const scale = 2 ** SCALE.weight;
		const { prefix } = FAMILIES.llama;
		const names = new Map(tensorSources(architecture).map((one) => [one.name, `${prefix}${one.names[0]}`]));
		const weights = places.map(({ name, ...place }) => ({ ...place, name: names.get(name)!, scale }));
		const config = new TextEncoder().encode(`${JSON.stringify(writeConfig(architecture), null, "\t")}\n`);
		return {
			program,
			given,
			metrics: decoderMetrics(batch * model.context, residual),
			files: [
				weightsFile(weights, "model.safetensors"),
				{ name: "config.json", tensors: [], isPreview: false, make: () => config },
			],
		};
	},
};

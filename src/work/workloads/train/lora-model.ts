// `"model": { "kind": "lora" }`: adapters of an imported model, trained on tokens. docs/training.md §9.
import { int, list, oneOf, type Shape, type Typed } from "../../../protocol/bytes/shape.ts";
import type { Architecture } from "../../imports/architecture.ts";
import { jobModel } from "../../imports/open-model.ts";
import { MOST_SIZE } from "../../models/attention.ts";
import { layersOf, type Target } from "../../models/decoder/block.ts";
import { loraProgram } from "../../models/decoder/lora.ts";
import { encodeProgram } from "../../program/encode.ts";
import { LIMITS } from "../../program/shapes.ts";
import { file, partial, real, wrongField } from "../job-fields.ts";
import { decoderMetrics, tokensOf } from "./decoder-model.ts";
import { type AdapterFiles, adapterFiles, readAdapter } from "./lora-adapter.ts";
import { checkData, type TrainModel } from "./train-spec.ts";

/** What a job calls a layer; `o` is the one after attention. */
const TARGETS = ["q", "k", "v", "qkv", "o", "gate", "up", "down"] as const;
/** The largest value of the residual stream that must fit, where a job does not say. */
const RANGE = 32_768;

const TOKENS_HINT = "A model with a tokenizer takes token ids: `assay model tokens` makes them.";

const fields = partial({
	kind: oneOf("lora"),
	/** Folder of the model: config.json and its safetensors. */
	base: file,
	rank: int(1, 256),
	alpha: real(2 ** -10, 2 ** 16),
	targets: list(oneOf(...TARGETS), TARGETS.length),
	/** Tokens of a window. */
	context: int(2, 8192),
	weights: oneOf("i16", "i8"),
	range: real(64, 2 ** 24),
	/** Folder of an adapter to go on from. */
	adapter: file,
});

type LoraModel = Typed<typeof fields> & { readonly kind: string };

const ours = (target: (typeof TARGETS)[number]): Target => (target === "o" ? "out" : target);
const theirs = (target: Target): string => (target === "out" ? "o" : target);

/** Every field, with what stands for one that was left out; against the model that it is for. */
function settled({ rank = 8, alpha = 16, targets, context, ...rest }: LoraModel, architecture: Architecture) {
	const known = layersOf(architecture);
	const asked = targets?.map(ours) ?? (architecture.family === "gpt2" ? ["qkv" as const] : (["q", "v"] as const));
	for (const target of asked)
		if (!known.some((one) => one.target === target))
			throw wrongField(
				"model.targets",
				`names ${theirs(target)}; a ${architecture.family} has ${known.map((one) => theirs(one.target)).join(", ")}`,
			);
	const trained = known.filter(({ target }) => asked.includes(target));
	const most = Math.min(...trained.map(({ inputs, outputs }) => Math.min(inputs, outputs)));
	if (rank > most) throw wrongField("model.rank", `must be at most ${most}, the smallest side of a target`);
	if ((context ?? 0) > architecture.context)
		throw wrongField("model.context", `must be at most ${architecture.context}, which the model has`);
	if (architecture.headWidth > MOST_SIZE || architecture.width > 2 ** 14)
		throw wrongField("model.base", `must have heads of at most ${MOST_SIZE} numbers and a width of at most ${2 ** 14}`);
	const { weights = "i16", range = RANGE } = rest;
	return {
		rank,
		alpha,
		targets: trained.map(({ target }) => target),
		context: context ?? architecture.context,
		bits: weights === "i8" ? (8 as const) : (16 as const),
		residual: 31 - Math.max(0, Math.ceil(Math.log2(range))),
	};
}

export const loraModel: TrainModel<LoraModel> = {
	shape: fields as Shape<LoraModel>,
	check(spec) {
		const { model, batch, optimizer } = spec;
		if (model.base === undefined) throw wrongField("model.base", "is missing");
		if (
			model.targets !== undefined &&
			(model.targets.length === 0 || new Set(model.targets).size < model.targets.length)
		)
			throw wrongField("model.targets", "must name at least one layer, and each once");
		if ((model.alpha ?? 16) / (model.rank ?? 8) > 2 ** 8)
			throw wrongField("model.alpha", "must be at most 256 times the rank");
		if (batch > LIMITS.turns) throw wrongField("batch", `must be at most ${LIMITS.turns}`);
		if (optimizer.kind === "exact-sgd") throw wrongField("optimizer.kind", "exact-sgd is for an mlp or a cnn");
		checkData(spec, ["text", "tokens", "generated"], "text, tokens or generated");
	},
	/** A step goes through the whole model; hashing its adapters takes far less than 3 % of that. */
	size: ({ batch }) => ({ parameters: 0, rows: batch, ops: 1 }),
	async build(spec, k, files, later) {
		const { model: of, data, batch, steps, seed, optimizer } = spec;
		if (optimizer.kind === "exact-sgd") throw wrongField("optimizer.kind", "exact-sgd is for an mlp or a cnn");
		const base = of.base!;
		const model = await jobModel(base, files);
		const { architecture } = model;
		if (architecture.order !== "pre")
			throw wrongField("model.base", `is a ${architecture.family}, which predicts no text`);
		const { context, bits, residual, ...own } = settled(of, architecture);
		const { vocabulary } = architecture;
		if (batch * context > LIMITS.summed) throw wrongField("batch", `must have at most ${LIMITS.summed} tokens`);
		if (data.text !== undefined && vocabulary !== 256)
			throw wrongField("data.text", "is for models whose tokens are bytes; give data.tokens", TOKENS_HINT);
		const tokens = await tokensOf(spec, { vocabulary, context }, files);
		const adapter: AdapterFiles = { base, ...own };
		const start = of.adapter === undefined ? null : await readAdapter(of.adapter, files, architecture, adapter);
		const { program, given } = loraProgram(
			{ model, lora: { ...own, start }, context, bits, residual },
			{ batch, steps, k, seed, later },
			optimizer,
			tokens,
		);
		if (encodeProgram(program).length > LIMITS.bytes)
			throw wrongField(
				"model.targets",
				`makes a program of more than ${LIMITS.bytes} bytes`,
				"Name fewer targets: q and v alone fit some 37 layers.",
			);
		const metrics = decoderMetrics(batch * context, residual);
		return { program, given, metrics, files: adapterFiles(architecture, adapter) };
	},
};

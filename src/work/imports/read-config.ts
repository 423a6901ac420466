// config.json of gpt2, llama, qwen2 and bert → Architecture. Every field that changes what is computed is
// either part of it or refused. Not here: whether the tensors fit (read-model.ts).
import type { Architecture } from "./architecture.ts";
import { type ConfigFields, configFields, wrongConfig } from "./config-fields.ts";

type Family = Architecture["family"];

/** Names of GELU: with erf, and with the tanh that GPT-2 has. */
const GELU = {
	gelu: "gelu",
	gelu_python: "gelu",
	gelu_new: "gelu-tanh",
	gelu_pytorch_tanh: "gelu-tanh",
	gelu_fast: "gelu-tanh",
} as const;
const SILU = { silu: "silu-glu", swish: "silu-glu" } as const;

/**
 * Classes whose weights are the family's own, with or without a head that names tokens. Of a bert only the
 * encoder is used.
 */
const CLASSES: Readonly<Record<Family, RegExp>> = {
	gpt2: /^GPT2(LMHead|LM)?Model$/,
	llama: /^Llama(ForCausalLM|Model)$/,
	qwen2: /^Qwen2(ForCausalLM|Model)$/,
	bert: /^Bert(Model|ForMaskedLM|ForPreTraining|LMHeadModel|ForNextSentencePrediction)$/,
};

function sizes(of: ConfigFields, [layers, width, heads, vocabulary, context]: readonly string[]) {
	return {
		layers: of.whole(layers!, 1, 512),
		width: of.whole(width!, 1, 65_536),
		heads: of.whole(heads!, 1, 1024),
		vocabulary: of.whole(vocabulary!, 2, 2 ** 20),
		context: of.whole(context!, 1, 2 ** 22),
	};
}

function headWidthOf(width: number, heads: number, field: string): number {
	if (width % heads !== 0) throw wrongConfig(field, `must divide the width ${width}, and is ${heads}`);
	return width / heads;
}

function gpt2(of: ConfigFields): Omit<Architecture, "family"> {
	const size = sizes(of, ["n_layer", "n_embd", "n_head", "vocab_size", "n_positions"]);
	of.only("scale_attn_weights", true);
	of.only("scale_attn_by_inverse_layer_idx", false);
	return {
		...size,
		kvHeads: size.heads,
		headWidth: headWidthOf(size.width, size.heads, "n_head"),
		hidden: of.whole("n_inner", 1, 2 ** 20, 4 * size.width),
		norm: "layer",
		normEpsilon: of.real("layer_norm_epsilon", 1e-15, 0.01, 1e-5),
		order: "pre",
		positions: "learned",
		ropeTheta: 0,
		segments: 0,
		activation: of.word("activation_function", GELU, "gelu_new"),
		hasBias: { qkv: true, out: true, mlp: true },
		isTied: of.flag("tie_word_embeddings", true),
	};
}

/** θ from either of the two places where it may stand; every kind of scaling is refused. */
function ropeThetaOf(of: ConfigFields): number {
	const theta = of.real("rope_theta", 1, 1e12, 10_000);
	let own = theta;
	for (const name of ["rope_scaling", "rope_parameters"]) {
		const value = of.raw(name);
		if (value === undefined) continue;
		const fields = typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
		const kind = fields?.rope_type ?? fields?.type ?? "default";
		const surplus = Object.keys(fields ?? {}).find((key) => !["rope_type", "type", "rope_theta"].includes(key));
		if (fields === null || kind !== "default" || surplus !== undefined)
			throw wrongConfig(name, "asks for scaled positions, which are not computed here");
		const given = fields.rope_theta;
		if (given === undefined) continue;
		if (typeof given !== "number" || !(given >= 1 && given <= 1e12) || (of.raw("rope_theta") ?? given) !== given)
			throw wrongConfig(`${name}.rope_theta`, "must be a number from 1 to 1e12, and the only one");
		own = given;
	}
	return own;
}

/** A window in use, and layers of other kinds, are refused; a size that is not in use says nothing. */
function refuseWindows(of: ConfigFields, family: Family): void {
	of.only("use_sliding_window", false);
	if (family === "qwen2") of.raw("sliding_window");
	else of.only("sliding_window");
	const kinds = of.raw("layer_types");
	if (kinds !== undefined && !(Array.isArray(kinds) && kinds.every((kind) => kind === "full_attention")))
		throw wrongConfig("layer_types", "names layers other than full_attention");
}

function llamaLike(of: ConfigFields, family: "llama" | "qwen2"): Omit<Architecture, "family"> {
	const names = ["num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size", "max_position_embeddings"];
	const size = sizes(of, names);
	const kvHeads = of.whole("num_key_value_heads", 1, 1024, size.heads);
	if (size.heads % kvHeads !== 0) throw wrongConfig("num_key_value_heads", "must divide num_attention_heads");
	const given = of.raw("head_dim");
	const headWidth =
		given === undefined ? headWidthOf(size.width, size.heads, "num_attention_heads") : of.whole("head_dim", 2, 1024);
	if (headWidth % 2 !== 0) throw wrongConfig("head_dim", `must be even to be turned, and is ${headWidth}`);
	refuseWindows(of, family);
	for (const name of ["rope_interleaved", "use_mrope", "use_qk_norm"]) of.only(name, false);
	of.only("partial_rotary_factor", 1);
	if (family === "qwen2") of.only("attention_bias", true);
	const qkv = family === "qwen2" || of.flag("attention_bias", false);
	return {
		...size,
		kvHeads,
		headWidth,
		hidden: of.whole("intermediate_size", 1, 2 ** 20),
		norm: "rms",
		normEpsilon: of.real("rms_norm_eps", 1e-15, 0.01, 1e-6),
		order: "pre",
		positions: "rope",
		ropeTheta: ropeThetaOf(of),
		segments: 0,
		activation: of.word("hidden_act", SILU, "silu"),
		hasBias: { qkv, out: family === "llama" && qkv, mlp: family === "llama" && of.flag("mlp_bias", false) },
		isTied: of.flag("tie_word_embeddings", false),
	};
}

function bert(of: ConfigFields): Omit<Architecture, "family"> {
	const names = ["num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size", "max_position_embeddings"];
	const size = sizes(of, names);
	of.only("position_embedding_type", "absolute");
	of.only("is_decoder", false);
	of.raw("tie_word_embeddings");
	return {
		...size,
		kvHeads: size.heads,
		headWidth: headWidthOf(size.width, size.heads, "num_attention_heads"),
		hidden: of.whole("intermediate_size", 1, 2 ** 20),
		norm: "layer",
		normEpsilon: of.real("layer_norm_eps", 1e-15, 0.01, 1e-12),
		order: "post",
		positions: "learned",
		ropeTheta: 0,
		segments: of.whole("type_vocab_size", 1, 1024, 2),
		activation: of.word("hidden_act", GELU, "gelu"),
		hasBias: { qkv: true, out: true, mlp: true },
		isTied: true,
	};
}

const READERS: Readonly<Record<Family, (of: ConfigFields) => Omit<Architecture, "family">>> = {
	gpt2,
	llama: (of) => llamaLike(of, "llama"),
	qwen2: (of) => llamaLike(of, "qwen2"),
	bert,
};

/** `config`: parsed JSON from anyone. Refuses with the field. */
export function readConfig(config: unknown): Architecture {
	const of = configFields(config);
	const kind = of.raw("model_type");
	if (typeof kind !== "string" || !Object.hasOwn(READERS, kind)) {
		const named = typeof kind === "string" && /^[\w.-]{1,40}$/.test(kind) ? kind : "something else";
		throw wrongConfig("model_type", `is ${named}; known are ${Object.keys(READERS).join(", ")}`, "MODEL_ARCHITECTURE");
	}
	const family = kind as Family;
	const classes = of.raw("architectures");
	const isKnown = (one: unknown) => typeof one === "string" && CLASSES[family].test(one);
	if (classes !== undefined && !(Array.isArray(classes) && classes.every(isKnown)))
		throw wrongConfig("architectures", `names a class that is not a plain ${family}`, "MODEL_ARCHITECTURE");
	of.only("is_encoder_decoder", false);
	of.only("add_cross_attention", false);
	const pruned = of.raw("pruned_heads");
	if (pruned !== undefined && !(typeof pruned === "object" && Object.keys(pruned as object).length === 0))
		throw wrongConfig("pruned_heads", "names heads that are missing, which is not computed here");
	const read = READERS[family](of);
	// The others are decoders anyway.
	of.raw("is_decoder");
	of.end();
	return { family, ...read };
}

/** The config.json of an architecture that `readConfig` reads back. */
export function writeConfig(of: Architecture): Record<string, unknown> {
	const { family, width, hidden, layers, heads, vocabulary, context, normEpsilon, activation } = of;
	const isTanh = activation === "gelu-tanh";
	if (family === "gpt2")
		return {
			architectures: ["GPT2LMHeadModel"],
			model_type: family,
			...{
				n_layer: layers,
				n_embd: width,
				n_head: heads,
				n_inner: hidden,
				n_positions: context,
				vocab_size: vocabulary,
			},
			layer_norm_epsilon: normEpsilon,
			activation_function: isTanh ? "gelu_new" : "gelu",
			tie_word_embeddings: of.isTied,
		};
	const size = {
		model_type: family,
		...{ num_hidden_layers: layers, hidden_size: width, num_attention_heads: heads, intermediate_size: hidden },
		...{ vocab_size: vocabulary, max_position_embeddings: context },
	};
	if (family === "bert")
		return {
			architectures: ["BertModel"],
			...size,
			type_vocab_size: of.segments,
			layer_norm_eps: normEpsilon,
			hidden_act: isTanh ? "gelu_new" : "gelu",
		};
	return {
		architectures: [family === "llama" ? "LlamaForCausalLM" : "Qwen2ForCausalLM"],
		...size,
		num_key_value_heads: of.kvHeads,
		head_dim: of.headWidth,
		rms_norm_eps: normEpsilon,
		rope_theta: of.ropeTheta,
		hidden_act: "silu",
		...(family === "llama" ? { attention_bias: of.hasBias.qkv, mlp_bias: of.hasBias.mlp } : {}),
		tie_word_embeddings: of.isTied,
	};
}

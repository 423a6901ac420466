// config.json: the files of well-known models give their architectures; every field that would change the
// computation is refused by name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { parameterCount } from "./architecture.ts";
import { readConfig, writeConfig } from "./read-config.ts";
import { TINY } from "./tiny-models.ts";

/** Fields as the published files have them. */
const GPT2 = {
	activation_function: "gelu_new",
	architectures: ["GPT2LMHeadModel"],
	attn_pdrop: 0.1,
	bos_token_id: 50_256,
	embd_pdrop: 0.1,
	eos_token_id: 50_256,
	initializer_range: 0.02,
	layer_norm_epsilon: 1e-5,
	model_type: "gpt2",
	n_ctx: 1024,
	n_embd: 768,
	n_head: 12,
	n_layer: 12,
	n_positions: 1024,
	resid_pdrop: 0.1,
	summary_activation: null,
	summary_first_dropout: 0.1,
	summary_proj_to_labels: true,
	summary_type: "cls_index",
	summary_use_proj: true,
	task_specific_params: { "text-generation": { do_sample: true, max_length: 50 } },
	vocab_size: 50_257,
};
const SMOLLM = {
	_name_or_path: "HuggingFaceTB/SmolLM-135M",
	architectures: ["LlamaForCausalLM"],
	attention_bias: false,
	attention_dropout: 0,
	bos_token_id: 0,
	eos_token_id: 0,
	hidden_act: "silu",
	hidden_size: 576,
	initializer_range: 0.02,
	intermediate_size: 1536,
	max_position_embeddings: 2048,
	model_type: "llama",
	num_attention_heads: 9,
	num_hidden_layers: 30,
	num_key_value_heads: 3,
	pretraining_tp: 1,
	rms_norm_eps: 1e-5,
	rope_scaling: null,
	rope_theta: 10_000,
	tie_word_embeddings: true,
	torch_dtype: "float32",
	transformers_version: "4.42.3",
	use_cache: true,
	vocab_size: 49_152,
};
const TINYLLAMA = {
	...{ architectures: ["LlamaForCausalLM"], bos_token_id: 1, eos_token_id: 2, hidden_act: "silu", hidden_size: 2048 },
	...{ initializer_range: 0.02, intermediate_size: 5632, max_position_embeddings: 2048, model_type: "llama" },
	...{ num_attention_heads: 32, num_hidden_layers: 22, num_key_value_heads: 4, pretraining_tp: 1, rms_norm_eps: 1e-5 },
	...{ rope_scaling: null, tie_word_embeddings: false, torch_dtype: "bfloat16", use_cache: true, vocab_size: 32_000 },
};
const QWEN2 = {
	...{ architectures: ["Qwen2ForCausalLM"], attention_dropout: 0, bos_token_id: 151_643, eos_token_id: 151_643 },
	...{ hidden_act: "silu", hidden_size: 896, initializer_range: 0.02, intermediate_size: 4864, model_type: "qwen2" },
	...{ max_position_embeddings: 131_072, max_window_layers: 24, num_attention_heads: 14, num_hidden_layers: 24 },
	...{ num_key_value_heads: 2, rms_norm_eps: 1e-6, rope_theta: 1_000_000, sliding_window: 131_072 },
	...{ tie_word_embeddings: true, torch_dtype: "bfloat16", use_cache: true, use_mrope: false },
	...{ use_sliding_window: false, vocab_size: 151_936 },
};
const BERT = {
	...{ architectures: ["BertForMaskedLM"], attention_probs_dropout_prob: 0.1, gradient_checkpointing: false },
	...{ hidden_act: "gelu", hidden_dropout_prob: 0.1, hidden_size: 768, initializer_range: 0.02 },
	...{ intermediate_size: 3072, layer_norm_eps: 1e-12, max_position_embeddings: 512, model_type: "bert" },
	...{ num_attention_heads: 12, num_hidden_layers: 12, pad_token_id: 0, position_embedding_type: "absolute" },
	...{ type_vocab_size: 2, use_cache: true, vocab_size: 30_522 },
};

test("published models have the parameters that they are known by", () => {
	assert.equal(parameterCount(readConfig(GPT2)), 124_439_808);
	assert.equal(parameterCount(readConfig(SMOLLM)), 134_515_008);
	assert.equal(parameterCount(readConfig(TINYLLAMA)), 1_100_048_384);
	assert.equal(parameterCount(readConfig(QWEN2)), 494_032_768);
	// bert-base without its pooler.
	assert.equal(parameterCount(readConfig(BERT)), 109_482_240 - 768 * 769);
});

test("an architecture's own config.json is read as the same architecture", () => {
	for (const architecture of Object.values(TINY)) assert.deepEqual(readConfig(writeConfig(architecture)), architecture);
	const odd = { ...TINY.llama, headWidth: 32, isTied: false, hasBias: { qkv: true, out: true, mlp: true } };
	assert.deepEqual(readConfig(writeConfig(odd)), odd);
	const gelu = { ...TINY.gpt2, activation: "gelu", isTied: false } as const;
	assert.deepEqual(readConfig(writeConfig(gelu)), gelu);
});

test("defaults are those of the families", () => {
	const { rope_scaling: _, pretraining_tp: __, ...bare } = TINYLLAMA;
	const read = readConfig(bare);
	assert.deepEqual([read.ropeTheta, read.kvHeads, read.headWidth, read.isTied], [10_000, 4, 64, false]);
	const { num_key_value_heads: ___, ...many } = TINYLLAMA;
	assert.equal(readConfig(many).kvHeads, 32);
	assert.equal(readConfig(GPT2).hidden, 3072);
	assert.equal(readConfig(GPT2).isTied, true);
	assert.equal(
		readConfig({ ...SMOLLM, rope_theta: undefined, rope_parameters: { rope_type: "default", rope_theta: 5e5 } })
			.ropeTheta,
		5e5,
	);
});

const REFUSED: readonly [what: string, config: unknown, field: RegExp, code?: string][] = [
	["a list", [], /the file/],
	["nothing", null, /the file/],
	["another family", { ...SMOLLM, model_type: "mistral" }, /model_type is mistral/, "MODEL_ARCHITECTURE"],
	[
		"a family that a terminal would obey",
		{ model_type: "\u001b[2J" },
		/model_type is something else/,
		"MODEL_ARCHITECTURE",
	],
	["a family named like a method", { ...SMOLLM, model_type: "constructor" }, /model_type/, "MODEL_ARCHITECTURE"],
	["no family", { ...SMOLLM, model_type: undefined }, /model_type/, "MODEL_ARCHITECTURE"],
	[
		"another head",
		{ ...SMOLLM, architectures: ["LlamaForSequenceClassification"] },
		/architectures/,
		"MODEL_ARCHITECTURE",
	],
	["code of its own", { ...SMOLLM, auto_map: { AutoModel: "x.py" } }, /auto_map/],
	["an unknown activation", { ...SMOLLM, hidden_act: "relu2" }, /hidden_act .*silu.*relu2/],
	["an unknown GELU", { ...GPT2, activation_function: "quick_gelu" }, /activation_function/],
	["scaled positions", { ...SMOLLM, rope_scaling: { type: "linear", factor: 2 } }, /rope_scaling/],
	[
		"scaled positions, new style",
		{ ...SMOLLM, rope_parameters: { rope_type: "llama3", factor: 8 } },
		/rope_parameters/,
	],
	["scaled positions by a factor alone", { ...SMOLLM, rope_scaling: { factor: 2 } }, /rope_scaling/],
	["two thetas", { ...SMOLLM, rope_parameters: { rope_theta: 5 } }, /rope_parameters.rope_theta/],
	["turned in pairs", { ...SMOLLM, rope_interleaved: true }, /rope_interleaved/],
	["turned in part", { ...SMOLLM, partial_rotary_factor: 0.5 }, /partial_rotary_factor/],
	["a sliding window in use", { ...QWEN2, use_sliding_window: true }, /use_sliding_window/],
	["a sliding window of a llama", { ...SMOLLM, sliding_window: 4096 }, /sliding_window/],
	["layers of other kinds", { ...QWEN2, layer_types: ["full_attention", "sliding_attention"] }, /layer_types/],
	["a qwen2 without biases", { ...QWEN2, attention_bias: false }, /attention_bias/],
	["heads that do not divide", { ...SMOLLM, num_attention_heads: 10, num_key_value_heads: 2 }, /num_attention_heads/],
	["key heads that do not divide", { ...SMOLLM, num_key_value_heads: 2 }, /num_key_value_heads/],
	["an odd head", { ...SMOLLM, head_dim: 63 }, /head_dim/],
	["half a layer", { ...SMOLLM, num_hidden_layers: 1.5 }, /num_hidden_layers/],
	["no layers", { ...SMOLLM, num_hidden_layers: 0 }, /num_hidden_layers/],
	["a billion layers", { ...SMOLLM, num_hidden_layers: 1e9 }, /num_hidden_layers/],
	["a width as text", { ...SMOLLM, hidden_size: "576" }, /hidden_size/],
	["no width", { ...SMOLLM, hidden_size: undefined }, /hidden_size is missing/],
	["an epsilon of 0", { ...SMOLLM, rms_norm_eps: 0 }, /rms_norm_eps/],
	["tied as text", { ...SMOLLM, tie_word_embeddings: "yes" }, /tie_word_embeddings/],
	["quantised weights", { ...SMOLLM, quantization_config: { bits: 4 } }, /quantization_config/],
	["a field nobody knows", { ...SMOLLM, residual_multiplier: 0.22 }, /residual_multiplier is not known/],
	["a switch nobody knows", { ...SMOLLM, is_causal: false }, /is_causal is not known/],
	["a field that a terminal would obey", { ...SMOLLM, "\u001b[2J": 1 }, /a field with a strange name/],
	["attention without its scale", { ...GPT2, scale_attn_weights: false }, /scale_attn_weights/],
	["attention scaled by layer", { ...GPT2, scale_attn_by_inverse_layer_idx: true }, /scale_attn_by_inverse_layer_idx/],
	["attention to another text", { ...GPT2, add_cross_attention: true }, /add_cross_attention/],
	["positions relative to each other", { ...BERT, position_embedding_type: "relative_key" }, /position_embedding_type/],
	["a bert that writes", { ...BERT, is_decoder: true }, /is_decoder/],
	["heads cut away", { ...BERT, pruned_heads: { 0: [1] } }, /pruned_heads/],
	["a bert with relu", { ...BERT, hidden_act: "relu" }, /hidden_act/],
];
test("a field nested a hundred thousand deep is refused like any other", () => {
	const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
	const fields = ["model_type", "architectures", "hidden_size", "rms_norm_eps", "tie_word_embeddings", "hidden_act"];
	for (const field of [...fields, "sliding_window", "rope_scaling", "layer_types", "pruned_heads", "is_decoder_of"]) {
		const text = JSON.stringify({ ...SMOLLM, [field]: "DEEP" }).replace('"DEEP"', deep);
		assert.throws(
			() => readConfig(JSON.parse(text)),
			(error) => error instanceof AssayError && error.message.includes(field),
			field,
		);
	}
});

for (const [what, config, field, code = "MODEL_CONFIG"] of REFUSED)
	test(`refused: ${what}`, () => {
		const plain = config === null || Array.isArray(config) ? config : JSON.parse(JSON.stringify(config));
		assert.throws(
			() => readConfig(plain),
			(error) => error instanceof AssayError && error.code === code && error.hint !== "" && field.test(error.message),
		);
	});

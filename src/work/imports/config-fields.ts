// A config.json taken apart field by field: what is asked for is checked, and what nobody asked for is
// refused unless it is known to change nothing. Fields come from strangers and from versions to come: one
// that is not understood might change what the model computes.

import { isSafeText } from "../../protocol/bytes/safe-text.ts";
import { codedError } from "../../protocol/coded-error.ts";

/** How a model was trained, is stored or is used; not what it computes. */
const HARMLESS = new Set(
	`architectures model_type torch_dtype dtype transformers_version use_cache initializer_range initializer_factor tokenizer_class
	attention_dropout attention_probs_dropout_prob hidden_dropout_prob classifier_dropout embd_pdrop resid_pdrop attn_pdrop
	bos_token_id eos_token_id pad_token_id unk_token_id sep_token_id cls_token_id mask_token_id decoder_start_token_id
	forced_bos_token_id forced_eos_token_id begin_suppress_tokens suppress_tokens bad_words_ids prefix
	do_sample early_stopping num_beams num_beam_groups diversity_penalty temperature top_k top_p typical_p repetition_penalty
	length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size num_return_sequences exponential_decay_length_penalty
	max_length min_length max_new_tokens remove_invalid_values output_scores return_dict_in_generate
	output_attentions output_hidden_states return_dict task_specific_params problem_type id2label label2id finetuning_task
	gradient_checkpointing pretraining_tp chunk_size_feed_forward directionality pooler_fc_size pooler_num_attention_heads
	pooler_num_fc_layers pooler_size_per_head pooler_type summary_type summary_use_proj summary_activation summary_proj_to_labels
	summary_first_dropout is_llama_config reorder_and_upcast_attn max_window_layers n_ctx name_or_path tie_encoder_decoder
	unsloth_fixed unsloth_version use_bfloat16 torchscript output_past`.split(/\s+/),
);

export interface ConfigFields {
	/** A whole number; null or missing gives `fallback`, and without one is refused. */
	whole(name: string, min: number, max: number, fallback?: number): number;
	real(name: string, min: number, max: number, fallback?: number): number;
	flag(name: string, fallback: boolean): boolean;
	word<T>(name: string, known: Readonly<Record<string, T>>, fallback?: string): T;
	/** Refused unless missing, null or one of these. */
	only(name: string, ...allowed: readonly unknown[]): void;
	/** The field as it is: whoever asks checks it. */
	raw(name: string): unknown;
	/** Refuses fields that nobody asked for. */
	end(): void;
}

/**
 * What a message may repeat of a stranger's field. Lists and objects are not: they may be nested deeper than
 * any stack.
 */
function shown(value: unknown): string {
	if (typeof value === "object") return Array.isArray(value) ? "a list" : "an object";
	const text = JSON.stringify(value);
	return isSafeText(text) && text.length <= 80 ? text : "something else";
}

export function wrongConfig(
	field: string,
	detail: string,
	code: "MODEL_CONFIG" | "MODEL_ARCHITECTURE" = "MODEL_CONFIG",
) {
	return codedError(code, `config.json: ${field} ${detail}`);
}

export function configFields(config: unknown): ConfigFields {
	if (typeof config !== "object" || config === null || Array.isArray(config))
		throw wrongConfig("the file", "must be one JSON object");
	const held = new Map<string, unknown>(Object.entries(config));
	const asked = new Set<string>();
	const raw = (name: string): unknown => {
		asked.add(name);
		return held.get(name) ?? undefined;
	};
	const number = (name: string, fallback: number | undefined, words: string, isRight: (value: number) => boolean) => {
		const value = raw(name) ?? fallback;
		if (value === undefined) throw wrongConfig(name, "is missing");
		if (typeof value !== "number" || !isRight(value)) throw wrongConfig(name, `must be ${words}, not ${shown(value)}`);
		return value;
	};
	return {
		raw,
		whole: (name, min, max, fallback) =>
			number(name, fallback, `a whole number from ${min} to ${max}`, (value) => {
				return Number.isInteger(value) && value >= min && value <= max;
			}),
		real: (name, min, max, fallback) =>
			number(name, fallback, `a number from ${min} to ${max}`, (value) => value >= min && value <= max),
		flag(name, fallback) {
			const value = raw(name) ?? fallback;
			if (typeof value !== "boolean") throw wrongConfig(name, `must be true or false, not ${shown(value)}`);
			return value;
		},
		word(name, known, fallback) {
			const value = raw(name) ?? fallback;
			if (value === undefined) throw wrongConfig(name, "is missing");
			if (typeof value !== "string" || !Object.hasOwn(known, value))
				throw wrongConfig(name, `must be one of ${Object.keys(known).join(", ")}, not ${shown(value)}`);
			return known[value]!;
		},
		only(name, ...allowed) {
			const value = raw(name);
			if (value !== undefined && !allowed.includes(value))
				throw wrongConfig(name, `is ${shown(value)}, which is not computed here`);
		},
		end() {
			for (const [name, value] of held) {
				if (asked.has(name) || HARMLESS.has(name) || name.startsWith("_") || value === null) continue;
				const plain = /^\w{1,64}$/.test(name) ? name : "a field with a strange name";
				throw wrongConfig(plain, "is not known: it might change what the model computes");
			}
		},
	};
}

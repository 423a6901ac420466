// How the files of each family name the tensors of architecture.ts, and how they lie there. docs/models.md
// §2.
import { type Architecture, modelTensors, type TensorPlace } from "./architecture.ts";

/** Where a tensor of ours is found. */
export interface TensorSource extends TensorPlace {
	/** In the file, without the family's prefix; the first that is there. */
	readonly names: readonly string[];
	/** Dims in the file. */
	readonly fileDims: readonly number[];
	/** The file has [inputs, outputs]: GPT-2's Conv1D. */
	readonly isTurned: boolean;
	/** The part of this number (of q, k and v) of a tensor that holds three. */
	readonly third: 0 | 1 | 2 | null;
}

interface Family {
	/** Before every name but the head's, or missing everywhere. */
	readonly prefix: string;
	/** The head's name, which never has the prefix; "": none is computed here. */
	readonly head: string;
	/** Our name, without `layers.N.`, to the file's, without `blockN.`. */
	readonly names: Readonly<Record<string, string>>;
	/** What stands before the tensors of block N. */
	readonly block: string;
	/** Tensors that other programs keep beside the weights, and parts that are not computed here. */
	readonly unused: RegExp;
}

const llama: Family = {
	prefix: "model.",
	head: "lm_head.weight",
	block: "layers.",
	names: {
		"embed.tokens": "embed_tokens.weight",
		norm: "norm",
		attentionNorm: "input_layernorm",
		q: "self_attn.q_proj",
		k: "self_attn.k_proj",
		v: "self_attn.v_proj",
		out: "self_attn.o_proj",
		mlpNorm: "post_attention_layernorm",
		gate: "mlp.gate_proj",
		up: "mlp.up_proj",
		down: "mlp.down_proj",
	},
	unused: /^layers\.\d+\.self_attn\.rotary_emb\.inv_freq$/,
};

export const FAMILIES: Readonly<Record<Architecture["family"], Family>> = {
	llama,
	qwen2: llama,
	gpt2: {
		prefix: "transformer.",
		head: "lm_head.weight",
		block: "h.",
		names: {
			"embed.tokens": "wte.weight",
			"embed.positions": "wpe.weight",
			norm: "ln_f",
			attentionNorm: "ln_1",
			q: "attn.c_attn",
			k: "attn.c_attn",
			v: "attn.c_attn",
			out: "attn.c_proj",
			mlpNorm: "ln_2",
			up: "mlp.c_fc",
			down: "mlp.c_proj",
		},
		unused: /^h\.\d+\.attn\.(bias|masked_bias)$/,
	},
	bert: {
		prefix: "bert.",
		head: "",
		block: "encoder.layer.",
		names: {
			"embed.tokens": "embeddings.word_embeddings.weight",
			"embed.positions": "embeddings.position_embeddings.weight",
			"embed.segments": "embeddings.token_type_embeddings.weight",
			"embed.norm": "embeddings.LayerNorm",
			attentionNorm: "attention.output.LayerNorm",
			q: "attention.self.query",
			k: "attention.self.key",
			v: "attention.self.value",
			out: "attention.output.dense",
			mlpNorm: "output.LayerNorm",
			up: "intermediate.dense",
			down: "output.dense",
		},
		unused: /^(embeddings\.position_ids|pooler\.dense\.(weight|bias)|cls\.(predictions|seq_relationship)\.[\w.]+)$/,
	},
};

/** The first files of bert call a norm's weight and bias by other names. */
const OLD: Readonly<Record<string, string>> = { weight: "gamma", bias: "beta" };

function sourceOf({ family }: Architecture, { name, dims }: TensorPlace): TensorSource {
	const { names, block, head } = FAMILIES[family];
	const plain = { name, dims, fileDims: dims, isTurned: false, third: null };
	if (name === "head.weight") return { ...plain, names: [head] };
	if (Object.hasOwn(names, name)) return { ...plain, names: [names[name]!] };
	const [, layer, part, end] = /^(?:layers\.(\d+)\.)?(.+)\.(weight|bias)$/.exec(name)!;
	const file = `${layer === undefined ? "" : `${block}${layer}.`}${names[part!]!}`;
	const isNorm = /norm$/i.test(part!);
	const all = [`${file}.${end}`, ...(family === "bert" && isNorm ? [`${file}.${OLD[end!]}`] : [])];
	if (family !== "gpt2" || isNorm) return { ...plain, names: all };
	const third = part === "q" ? 0 : part === "k" ? 1 : part === "v" ? 2 : null;
	const outputs = dims[0]! * (third === null ? 1 : 3);
	const isTurned = end === "weight";
	return { ...plain, names: all, isTurned, third, fileDims: isTurned ? [dims[1]!, outputs] : [outputs] };
}

/** For every tensor of the model, in their order. */
export const tensorSources = (of: Architecture): TensorSource[] => modelTensors(of).map((place) => sourceOf(of, place));

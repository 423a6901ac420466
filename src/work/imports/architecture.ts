// What an imported model computes, in one form for all families, and the list of its tensors under our own
// names. docs/models.md. Not here: how a family's config.json says it (read-config.ts), and how its files
// name the tensors (families.ts).

export interface Architecture {
	readonly family: "gpt2" | "llama" | "qwen2" | "bert";
	readonly layers: number;
	readonly width: number;
	readonly heads: number;
	/** Heads of keys and values: heads / kvHeads queries share one. */
	readonly kvHeads: number;
	readonly headWidth: number;
	/** Units of a block's MLP. */
	readonly hidden: number;
	readonly vocabulary: number;
	/** The most tokens of one sequence. */
	readonly context: number;
	readonly norm: "layer" | "rms";
	readonly normEpsilon: number;
	/**
	 * pre: norms before attention and MLP, and one at the end. post: after each sum, and one after the
	 * embeddings.
	 */
	readonly order: "pre" | "post";
	/** rope: pairs (i, i + headWidth/2) of a head are turned by position · ropeTheta^(−2i/headWidth). */
	readonly positions: "learned" | "rope";
	readonly ropeTheta: number;
	/** Token types that are added to the embeddings (bert); 0: none. */
	readonly segments: number;
	/** silu-glu: down(silu(gate(x)) · up(x)); else down(activation(up(x))). */
	readonly activation: "gelu" | "gelu-tanh" | "silu-glu";
	readonly hasBias: { readonly qkv: boolean; readonly out: boolean; readonly mlp: boolean };
	/** The head is embed.tokens once more. A model without a head (bert) is tied, too: nobody asks for it. */
	readonly isTied: boolean;
}

export interface ModelTensor {
	readonly dims: readonly number[];
	readonly values: Float32Array;
}

export interface ImportedModel {
	readonly architecture: Architecture;
	/**
	 * By a name of `modelTensors`; `head.weight` of a tied model is embed.tokens. Made anew at each call:
	 * nothing large is kept.
	 */
	tensor(name: string): ModelTensor;
}

export interface TensorPlace {
	readonly name: string;
	readonly dims: readonly number[];
}

function linear(name: string, out: number, into: number, hasBias: boolean): TensorPlace[] {
	const weight = { name: `${name}.weight`, dims: [out, into] };
	return hasBias ? [weight, { name: `${name}.bias`, dims: [out] }] : [weight];
}

function normPlaces({ norm, width }: Architecture, name: string): TensorPlace[] {
	const weight = { name: `${name}.weight`, dims: [width] };
	return norm === "layer" ? [weight, { name: `${name}.bias`, dims: [width] }] : [weight];
}

/**
 * Tensors of block i: `attentionNorm` and `mlpNorm` stand before or after their part, by `order`. Weights are
 * [outputs, inputs].
 */
function blockTensors(of: Architecture, i: number): TensorPlace[] {
	const { width, heads, kvHeads, headWidth, hidden, hasBias, activation } = of;
	const at = (name: string) => `layers.${i}.${name}`;
	return [
		...normPlaces(of, at("attentionNorm")),
		...linear(at("q"), heads * headWidth, width, hasBias.qkv),
		...linear(at("k"), kvHeads * headWidth, width, hasBias.qkv),
		...linear(at("v"), kvHeads * headWidth, width, hasBias.qkv),
		...linear(at("out"), width, heads * headWidth, hasBias.out),
		...normPlaces(of, at("mlpNorm")),
		...(activation === "silu-glu" ? linear(at("gate"), hidden, width, hasBias.mlp) : []),
		...linear(at("up"), hidden, width, hasBias.mlp),
		...linear(at("down"), width, hidden, hasBias.mlp),
	];
}

/** Every tensor of the model, once, in the order in which it computes; a tied head is not listed. */
export function modelTensors(of: Architecture): TensorPlace[] {
	const { layers, width, vocabulary, context, positions, segments, order, isTied } = of;
	return [
		{ name: "embed.tokens", dims: [vocabulary, width] },
		...(positions === "learned" ? [{ name: "embed.positions", dims: [context, width] }] : []),
		...(segments > 0 ? [{ name: "embed.segments", dims: [segments, width] }] : []),
		...(order === "post" ? normPlaces(of, "embed.norm") : []),
		...Array.from({ length: layers }, (_, i) => blockTensors(of, i)).flat(),
		...(order === "pre" ? normPlaces(of, "norm") : []),
		...(isTied ? [] : [{ name: "head.weight", dims: [vocabulary, width] }]),
	];
}

export const parameterCount = (of: Architecture): number =>
	modelTensors(of).reduce((sum, { dims }) => sum + dims.reduce((product, dim) => product * dim, 1), 0);

// The smallest models that have every part of their family: for samples and tests. Tokens are bytes.
import type { Architecture } from "./architecture.ts";

const NONE = { qkv: false, out: false, mlp: false };
const ALL = { qkv: true, out: true, mlp: true };
const SIZE = { layers: 2, width: 64, heads: 4, kvHeads: 4, headWidth: 16, hidden: 128, vocabulary: 256, context: 128 };

const gpt2: Architecture = {
	...SIZE,
	family: "gpt2",
	norm: "layer",
	normEpsilon: 1e-5,
	order: "pre",
	positions: "learned",
	ropeTheta: 0,
	segments: 0,
	activation: "gelu-tanh",
	hasBias: ALL,
	isTied: true,
};
const llama: Architecture = {
	...SIZE,
	family: "llama",
	kvHeads: 2,
	norm: "rms",
	normEpsilon: 1e-5,
	order: "pre",
	positions: "rope",
	ropeTheta: 10_000,
	segments: 0,
	activation: "silu-glu",
	hasBias: NONE,
	isTied: true,
};

export const TINY = {
	gpt2,
	llama,
	qwen2: { ...llama, family: "qwen2", normEpsilon: 1e-6, ropeTheta: 1e6, hasBias: { ...NONE, qkv: true } },
	bert: { ...gpt2, family: "bert", normEpsilon: 1e-12, order: "post", segments: 2, activation: "gelu" },
} as const satisfies Record<string, Architecture>;

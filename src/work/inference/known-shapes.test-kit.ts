// Shapes of models that people bring, without their weights: what programs must plan for.
import type { Architecture } from "../imports/architecture.ts";
import { TINY } from "../imports/tiny-models.ts";

export const KNOWN: Readonly<Record<string, Architecture>> = {
	"GPT-2 124M": {
		...TINY.gpt2,
		...{
			layers: 12,
			width: 768,
			heads: 12,
			kvHeads: 12,
			headWidth: 64,
			hidden: 3072,
			vocabulary: 50_257,
			context: 1024,
		},
	},
	"SmolLM-135M": {
		...TINY.llama,
		...{ layers: 30, width: 576, heads: 9, kvHeads: 3, headWidth: 64, hidden: 1536, vocabulary: 49_152, context: 2048 },
	},
	"Qwen2-0.5B": {
		...TINY.qwen2,
		...{
			layers: 24,
			width: 896,
			heads: 14,
			kvHeads: 2,
			headWidth: 64,
			hidden: 4864,
			vocabulary: 151_936,
			context: 32_768,
		},
	},
	"BERT base": {
		...TINY.bert,
		...{
			layers: 12,
			width: 768,
			heads: 12,
			kvHeads: 12,
			headWidth: 64,
			hidden: 3072,
			vocabulary: 30_522,
			context: 512,
		},
	},
};

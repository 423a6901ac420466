// `assay model import|report|tokens|text`: models from outside, docs/models.md. Each verb's code is loaded
// when it is used.
import { command, later } from "../command.ts";
import { engineOptions } from "../job-engine.ts";
import { choice, flag, text, whole } from "../options.ts";

export const modelCommand = command({
	name: "model",
	about: `Looks at a model from outside (docs/models.md): a folder with config.json and safetensors files, as models are downloaded. gpt2, llama,
qwen2 and bert are known. Whatever would change what the model computes and is not known is refused with its field or tensor.`,
	options: {
		out: text(
			"PATH",
			"import: write the model there as one file; tokens, text: the file (default: FILE.tokens; the terminal)",
		),
		weights: choice(
			"KIND",
			["f32", "i16", "i8"] as const,
			"import: with --out, weights as they are or rounded as jobs round them",
			"f32",
		),
		text: text("FILE", "report: the text"),
		tokens: whole("N", "report: so many tokens of it at most", [2, 65_536], 512),
		json: flag("print as JSON"),
		...engineOptions,
	},
	exits: {
		1: "refused, with code and place",
		66: "a file that cannot be read or used",
		69: "no engine",
		74: "file not writable",
	},
	verbs: {
		import: {
			takes: "DIR",
			does: "may it run? its architecture, tensors and size, and what whole-number weights cost",
			run: later(async () => (await import("../models/import-model.ts")).importModel),
		},
		report: {
			takes: "DIR",
			needs: "--text FILE",
			does: "what i16 and i8 weights cost on a text: signal to noise a block, perplexity, top-1 agreement, KL",
			run: later(async () => (await import("../models/report-model.ts")).reportModel),
		},
		tokens: {
			takes: "DIR FILE",
			does: "a text as token ids of the model's tokenizer, as jobs take them",
			run: later(async () => (await import("../models/token-files.ts")).encodeFile),
		},
		text: {
			takes: "DIR FILE",
			does: "token ids as text again",
			run: later(async () => (await import("../models/token-files.ts")).decodeFile),
		},
	},
});

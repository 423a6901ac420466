// What can be asked for, as the form shows it: six workloads, the samples of each, the fields that most
// people change, and the files that belong to it. Every other field of a job file (docs/workloads.md,
// docs/training.md) is in the text under the form. Data only.

export interface CardField {
	/** Where it stands in the job file: "optimizer.rate", "size.0". */
	readonly path: string;
	readonly label: string;
	readonly unit?: string;
	/** Whole numbers, unless it is real; words to choose from. */
	readonly kind?: "real" | readonly string[];
}

/** `model`: a folder of safetensors; `file`: one; `scene`: a scene with its meshes; `lines`: typed here. */
export interface CardSlot {
	readonly kind: "model" | "file" | "scene" | "lines";
	readonly path: string;
	readonly label: string;
	readonly hint: string;
}

export interface Card {
	readonly key: string;
	readonly title: string;
	readonly text: string;
	readonly samples: readonly (readonly [name: string, title: string])[];
	readonly slots: readonly CardSlot[];
	readonly fields: readonly CardField[];
}

const rate: CardField = { path: "optimizer.rate", label: "Learning rate", kind: "real" };
const steps: CardField = { path: "steps", label: "Steps" };
const batch: CardField = { path: "batch", label: "Batch", unit: "sequences a step" };
const weights: CardField = { path: "weights", label: "Weights", kind: ["i8", "i16"] };
const text: CardSlot = {
	...{ kind: "file", path: "data.text", label: "Training text" },
	hint: "One plain text file in UTF-8; its bytes are the tokens.",
};
const model: CardSlot = {
	...{ kind: "model", path: "model", label: "Model" },
	hint: "config.json, model.safetensors (or its shards and their index) and tokenizer.json, as Hugging Face has them.",
};
const prompts: CardSlot = {
	...{ kind: "lines", path: "prompts.text", label: "Prompts, one a line" },
	hint: "Plain text for models whose tokens are bytes; for others one JSON list of token ids a line.",
};

export const CARDS: readonly Card[] = [
	{
		...{ key: "lora", title: "Fine-tune with LoRA", text: "Train small adapters of your model on your text." },
		samples: [["lora", "A tiny Llama, on the Pentateuch"]],
		slots: [{ ...model, path: "model.base", label: "Base model" }, text],
		fields: [
			steps,
			batch,
			rate,
			{ path: "model.rank", label: "Rank" },
			{ path: "model.context", label: "Context", unit: "tokens" },
		],
	},
	{
		...{ key: "train", title: "Train", text: "Train a network from nothing: GPT, Llama, MLP or CNN." },
		samples: [
			["gpt-mini", "GPT, 2 layers of width 64"],
			["llama-mini", "Llama-like, 2 layers of width 64"],
			["mlp-adamw", "MLP on generated rows"],
			["cnn", "CNN on generated pictures"],
			["gpt-small", "GPT, 4 layers of width 256 (wants a GPU)"],
			["gpt2-124m", "The shape of GPT-2 124M (wants a GPU)"],
		],
		slots: [text],
		fields: [steps, batch, rate],
	},
	{
		...{ key: "generate", title: "Generate text", text: "Let a model continue your prompts." },
		samples: [["generate", "A tiny Llama, three prompts"]],
		slots: [model, prompts],
		fields: [
			{ path: "new", label: "New tokens", unit: "for each prompt" },
			{ path: "sampling.temperature", label: "Temperature", kind: "real" },
			{ ...batch, unit: "prompts together" },
			weights,
		],
	},
	{
		...{ key: "embed", title: "Embed", text: "Turn lines of text into vectors." },
		samples: [["embed", "A tiny BERT, three lines"]],
		slots: [model, { ...prompts, label: "Lines to embed, one a line" }],
		fields: [
			{ path: "pooling", label: "Pooling", kind: ["mean", "first", "last"] },
			{ ...batch, unit: "lines together" },
			weights,
		],
	},
	{
		...{ key: "render", title: "Render", text: "Trace paths of light through a scene." },
		samples: [
			["render-cornell", "A box with a glass and a metal sphere"],
			["render-spheres", "Spheres and crates under a sky"],
			["render-vase", "A vase before a mirror"],
		],
		slots: [
			{
				...{ kind: "scene", path: "scene", label: "Scene" },
				hint: "A scene file (JSON, docs/render.md) with the OBJ or glTF files it names.",
			},
		],
		fields: [
			{ path: "size.0", label: "Width", unit: "pixels" },
			{ path: "size.1", label: "Height", unit: "pixels" },
			{ path: "passes", label: "Passes", unit: "paths a pixel" },
			{ path: "bounces", label: "Bounces" },
		],
	},
	{
		...{ key: "simulate", title: "Simulate", text: "Let heat, waves, substances, cells, bodies or prices evolve." },
		samples: [
			["heat", "Heat that spreads in a box"],
			["wave", "Waves between walls"],
			["gray-scott", "Two substances that react"],
			["life", "Conway's life"],
			["nbody", "A turning disc of bodies"],
			["pricing", "A European call by random paths"],
		],
		slots: [],
		fields: [
			steps,
			{ path: "frames", label: "Frames", unit: "pictures on the way" },
			{ path: "size.0", label: "Height", unit: "cells" },
			{ path: "size.1", label: "Width", unit: "cells" },
			{ path: "bodies", label: "Bodies" },
			{ path: "paths", label: "Paths" },
		],
	},
];

type Json = Readonly<Record<string, unknown>>;

/** What stands at a path; undefined: nothing. */
export function valueAt(json: unknown, path: string): unknown {
	let at = json;
	for (const key of path.split(".")) at = typeof at === "object" && at !== null ? (at as Json)[key] : undefined;
	return at;
}

/** The same with something else there. What is on the way is made where it is missing. */
export function withValue(json: Json, path: string, value: unknown): Json {
	const [first = "", ...rest] = path.split(".");
	const old = (json as Record<string, unknown>)[first];
	const next = rest.length === 0 ? value : withValue((old ?? {}) as Json, rest.join("."), value);
	if (Array.isArray(json)) return json.with(Number(first), next) as unknown as Json;
	return { ...json, [first]: next };
}

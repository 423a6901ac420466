// LoRA jobs: adapters come out with PEFT's names and go in again; every refusal has its code and names the
// field or tensor.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { readSafetensors, writeSafetensors } from "../../formats/safetensors.ts";
import type { Architecture } from "../../imports/architecture.ts";
import { randomModel } from "../../imports/random-model.ts";
import { TINY } from "../../imports/tiny-models.ts";
import { configText, modelParts } from "../../imports/write-model.ts";
import { Trial } from "../../models/training.test-kit.ts";
import { buildWorkload } from "../build-workload.ts";
import { readJob } from "../read-job.ts";

const SEED = `0x${"05".repeat(32)}`;
const SIZE = { layers: 1, width: 16, heads: 4, kvHeads: 2, headWidth: 4, hidden: 24, vocabulary: 40, context: 8 };
const JOB = {
	workload: "train",
	model: { kind: "lora", base: "base/", rank: 2, alpha: 4, targets: ["q", "v", "down"], context: 6 },
	data: { tokens: "tokens.bin" },
	optimizer: { kind: "adamw", rate: 0.01 },
	batch: 2,
	steps: 3,
	seed: SEED,
};
type Files = Readonly<Record<string, Uint8Array>>;
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

function modelFiles(folder: string, architecture: Architecture): Files {
	const model = randomModel(architecture, new Uint8Array(32).fill(3));
	return {
		[`${folder}/config.json`]: utf8(configText(model)),
		[`${folder}/model.safetensors`]: new Uint8Array(Buffer.concat([...modelParts(model, "F32")])),
	};
}

const FILES: Files = {
	...modelFiles("base", { ...TINY.llama, ...SIZE }),
	...modelFiles("gpt2", { ...TINY.gpt2, ...SIZE, kvHeads: 4 }),
	...modelFiles("bert", { ...TINY.bert, ...SIZE, kvHeads: 4 }),
	"tokens.bin": new Uint8Array(Uint16Array.from({ length: 60 }, (_, i) => (i * 7) % 40).buffer),
};

const build = (job: object, files: Files = FILES) =>
	buildWorkload(readJob(job), (name) => {
		const bytes = files[name];
		if (bytes === undefined) throw new AssayError("FILE_UNREADABLE", name, { hint: "" });
		return bytes;
	});

const model = (of: object) => ({ ...JOB, model: { ...JOB.model, ...of } });

/** Runs the job to its end; its files by name. */
async function taken(job: object, files: Files = FILES): Promise<Files> {
	const work = await build(job, files);
	const trial = new Trial(work, work.seed);
	trial.losses(work.segments);
	const made = await Promise.all(
		work.files.map(async ({ name, make }) => [name, await make((one) => trial.tensor(one))]),
	);
	return Object.fromEntries(made);
}

const configOf = (files: Files) => JSON.parse(new TextDecoder().decode(files["adapter_config.json"]));

test("adapters come out as PEFT names them", async () => {
	const files = await taken(JOB);
	const tensors = readSafetensors(files["adapter_model.safetensors"]!, "adapter");
	assert.deepEqual(
		tensors.map(({ name, dims }) => [name.replace("base_model.model.model.layers.0.", ""), dims]),
		[
			["self_attn.q_proj.lora_A.weight", [2, 16]],
			["self_attn.q_proj.lora_B.weight", [16, 2]],
			["self_attn.v_proj.lora_A.weight", [2, 16]],
			["self_attn.v_proj.lora_B.weight", [8, 2]],
			["mlp.down_proj.lora_A.weight", [2, 24]],
			["mlp.down_proj.lora_B.weight", [16, 2]],
		],
	);
	// A begins inside ±1/√inputs, B at zero; after three steps B has moved.
	assert.ok(tensors[0]!.values.every((value) => Math.abs(value) < 0.25 + 0.04));
	assert.ok(tensors[1]!.values.some((value) => Math.abs(value) > 0.01));
	const { r, lora_alpha, target_modules, fan_in_fan_out, peft_type } = configOf(files);
	assert.deepEqual(
		{ r, lora_alpha, target_modules, fan_in_fan_out, peft_type },
		{
			r: 2,
			lora_alpha: 4,
			target_modules: ["self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj"],
			fan_in_fan_out: false,
			peft_type: "LORA",
		},
	);
});

test("every range and epsilon makes a program that may run, and metrics in the model's own numbers", async () => {
	const epsilons = [1e-15, 0.01].map((normEpsilon, i) => modelFiles(`e${i}`, { ...TINY.llama, ...SIZE, normEpsilon }));
	for (const base of ["e0", "e1"])
		for (const range of [64, 2 ** 24]) {
			const work = await build(model({ base, range, weights: "i8" }), Object.assign({}, FILES, ...epsilons));
			const trial = new Trial(work, work.seed);
			trial.losses(1);
			const [loss, clamped, peak] = work.metrics.map(({ name, read }) => read(trial.tensor(name)));
			assert.ok(loss! > 1 && clamped === 0 && peak! > 1 && peak! < 20, `${loss} ${clamped} ${peak}`);
		}
});

test("gpt2: q, k and v have one adapter, as PEFT has it", async () => {
	const files = await taken(model({ base: "gpt2/", targets: ["qkv", "o"] }));
	assert.deepEqual(
		readSafetensors(files["adapter_model.safetensors"]!, "adapter").map(({ name, dims }) => [name, dims]),
		[
			["base_model.model.transformer.h.0.attn.c_attn.lora_A.weight", [2, 16]],
			["base_model.model.transformer.h.0.attn.c_attn.lora_B.weight", [48, 2]],
			["base_model.model.transformer.h.0.attn.c_proj.lora_A.weight", [2, 16]],
			["base_model.model.transformer.h.0.attn.c_proj.lora_B.weight", [16, 2]],
		],
	);
	assert.equal(configOf(files).fan_in_fan_out, true);
});

const inFolder = (files: Files): Files =>
	Object.fromEntries(Object.entries(files).map(([name, bytes]) => [`mine/${name}`, bytes]));

test("a job goes on from an adapter: it begins with its numbers", async () => {
	const mine = inFolder(await taken(JOB));
	const work = await build(model({ adapter: "mine" }), { ...FILES, ...mine });
	const trial = new Trial(work, work.seed);
	const before = readSafetensors(mine["mine/adapter_model.safetensors"]!, "adapter");
	assert.deepEqual([...trial.floats("layers.0.q.lora_B", 2 ** 24)], [...before[1]!.values]);
	assert.deepEqual([...trial.floats("layers.0.down.lora_A", 2 ** 24)], [...before[4]!.values]);
});

const refused = (code: string, message: RegExp, job: object, files: Files = {}) =>
	assert.rejects(
		async () => build(job, { ...FILES, ...files }),
		(error) => {
			assert.ok(error instanceof AssayError, String(error));
			assert.deepEqual([error.code, message.test(error.message)], [code, true], error.message);
			return true;
		},
	);

const REFUSED: readonly [what: string, code: string, message: RegExp, job: object, files?: Files][] = [
	["an unknown target", "JOB_FIELD", /^model\.targets\[0\]/, model({ targets: ["w"] })],
	[
		"a target that the family does not have",
		"JOB_FIELD",
		/^model\.targets names qkv; a llama has q, k, v, o, gate, up, down/,
		model({ targets: ["qkv"] }),
	],
	["q of a gpt2", "JOB_FIELD", /a gpt2 has qkv, o, up, down/, model({ base: "gpt2" })],
	["a target twice", "JOB_FIELD", /^model\.targets/, model({ targets: ["q", "q"] })],
	["no target", "JOB_FIELD", /^model\.targets/, model({ targets: [] })],
	["a rank beyond the layer", "JOB_FIELD", /^model\.rank must be at most 8/, model({ rank: 9 })],
	["a rank of none", "JOB_FIELD", /^model\.rank/, model({ rank: 0 })],
	["an alpha without measure", "JOB_FIELD", /^model\.alpha/, model({ alpha: 60_000 })],
	["no base", "JOB_FIELD", /^model\.base is missing/, { ...JOB, model: { kind: "lora" } }],
	["a folder without a model", "MODEL_CONFIG", /config\.json/, model({ base: "nowhere/" })],
	["a model that predicts no text", "JOB_FIELD", /^model\.base is a bert/, model({ base: "bert" })],
	["a context beyond the model's", "JOB_FIELD", /^model\.context must be at most 8/, model({ context: 9 })],
	[
		"a token out of the vocabulary",
		"DATA_RANGE",
		/token 0 of tokens\.bin is 40/,
		JOB,
		{ "tokens.bin": Uint8Array.of(40, 0) },
	],
	["text for a model whose tokens are no bytes", "JOB_FIELD", /^data\.text/, { ...JOB, data: { text: "tokens.bin" } }],
	[
		"more layers and targets than a program holds",
		"JOB_FIELD",
		/^model\.targets makes a program of more than 1048576 bytes/,
		model({ base: "deep", targets: ["q", "k", "v", "o", "gate", "up", "down"], rank: 1 }),
		modelFiles("deep", { ...TINY.llama, ...SIZE, layers: 24, width: 8, heads: 2, kvHeads: 1, hidden: 8 }),
	],
	["less than a window", "DATA_SHORT", /less than one context/, JOB, { "tokens.bin": new Uint8Array(8) }],
	["pictures", "JOB_FIELD", /^data/, { ...JOB, data: { features: "x", labels: "y" } }],
	["exact SGD", "JOB_FIELD", /^optimizer\.kind/, { ...JOB, optimizer: { kind: "exact-sgd" } }],
	["a range that no model keeps", "JOB_FIELD", /^model\.range/, model({ range: 1 })],
	["a surplus field", "JOB_FIELD", /^model has a field/, model({ dropout: 0.1 })],
	["an adapter that is not there", "FILE_UNREADABLE", /mine/, model({ adapter: "mine/" })],
];

for (const [what, code, message, job, files] of REFUSED)
	test(`refused: ${what}`, () => refused(code, message, job, files));

test("refused: adapters of another model or another job", async () => {
	const mine = inFolder(await taken(JOB));
	const job = model({ adapter: "mine/" });
	await build(job, { ...FILES, ...mine });
	const config = configOf({ "adapter_config.json": mine["mine/adapter_config.json"]! });
	const with_ = (fields: object) => ({
		...mine,
		"mine/adapter_config.json": utf8(JSON.stringify({ ...config, ...fields })),
	});
	await refused("ADAPTER_CONFIG", /r is not 2/, job, with_({ r: 3 }));
	await refused("ADAPTER_CONFIG", /lora_alpha is not 4/, job, with_({ lora_alpha: 8 }));
	await refused("ADAPTER_CONFIG", /use_dora/, job, with_({ use_dora: true }));
	await refused("ADAPTER_CONFIG", /rank_pattern/, job, with_({ rank_pattern: { q_proj: 4 } }));
	await refused("ADAPTER_CONFIG", /bias/, job, with_({ bias: "all" }));
	await refused("ADAPTER_CONFIG", /not that of a LoRA/, job, with_({ peft_type: "IA3" }));
	await refused("ADAPTER_CONFIG", /no JSON/, job, { ...mine, "mine/adapter_config.json": utf8("{") });
	const tensors = readSafetensors(mine["mine/adapter_model.safetensors"]!, "adapter");
	const holding = (all: typeof tensors) => ({ ...mine, "mine/adapter_model.safetensors": writeSafetensors(all) });
	await refused("ADAPTER_TENSOR", /has no base_model/, job, holding(tensors.slice(1)));
	const surplus = { ...tensors[0]!, name: "base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight" };
	await refused("ADAPTER_TENSOR", /layers\.1.* belongs to no target/, job, holding([...tensors, surplus]));
	const wide = { ...tensors[0]!, dims: [2, 8], values: new Float32Array(16) };
	await refused("ADAPTER_TENSOR", /is \[2, 8\]; this job has \[2, 16\]/, job, holding(tensors.with(0, wide)));
	const large = { ...tensors[0]!, values: new Float32Array(32).fill(200) };
	await refused("ADAPTER_TENSOR", /beyond ±128/, job, holding(tensors.with(0, large)));
	await refused("WEIGHTS_FILE", /adapter_model/, job, { ...mine, "mine/adapter_model.safetensors": new Uint8Array(9) });
});

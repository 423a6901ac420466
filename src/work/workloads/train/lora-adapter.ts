// Adapters as PEFT keeps them: adapter_config.json and adapter_model.safetensors, written for the customer
// and read to go on from. Names, dims and scale are PEFT's: lora_A [rank, inputs], lora_B [outputs, rank], y
// += (alpha/rank)·B·A·x.
import { bytesToUtf8 } from "../../../protocol/bytes/bytes.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import { readSafetensors } from "../../formats/safetensors.ts";
import type { Architecture } from "../../imports/architecture.ts";
import { FAMILIES } from "../../imports/families.ts";
import type { AdapterPart } from "../../models/decoder/adapter.ts";
import { layersOf, type Target } from "../../models/decoder/block.ts";
import { I32, SCALE } from "../../models/numbers.ts";
import { type WorkloadWeight, weightsFile } from "../weights-file.ts";
import type { Files, WorkloadFile } from "../workload.ts";

export interface AdapterFiles {
	/** Where the base model came from; written into the config. */
	readonly base: string;
	readonly rank: number;
	readonly alpha: number;
	readonly targets: readonly Target[];
}

const WEIGHTS = "adapter_model.safetensors";
const CONFIG = "adapter_config.json";

/** What the family calls a layer; GPT-2's q, k and v are one. */
const moduleOf = ({ family }: Architecture, target: Target): string =>
	FAMILIES[family].names[target === "qkv" ? "q" : target]!;

function tensorName(architecture: Architecture, block: number, target: Target, part: "A" | "B"): string {
	const { prefix, block: blocks } = FAMILIES[architecture.family];
	return `base_model.model.${prefix}${blocks}${block}.${moduleOf(architecture, target)}.lora_${part}.weight`;
}

/** Every tensor of the adapters: PEFT's name, ours, dims. */
function tensorsOf(architecture: Architecture, { rank, targets }: Pick<AdapterFiles, "rank" | "targets">) {
	const layers = layersOf(architecture).filter(({ target }) => targets.includes(target));
	return Array.from({ length: architecture.layers }, (_, block) =>
		layers.flatMap(({ target, inputs, outputs }) =>
			(["A", "B"] as const).map((part) => ({
				name: tensorName(architecture, block, target, part),
				tensor: `layers.${block}.${target}.lora_${part}`,
				dims: part === "A" ? [rank, inputs] : [outputs, rank],
			})),
		),
	).flat();
}

/** What `PeftModel.from_pretrained` reads. */
export function adapterFiles(architecture: Architecture, of: AdapterFiles): WorkloadFile[] {
	const weights: WorkloadWeight[] = tensorsOf(architecture, of).map((one) => ({
		...one,
		first: 0,
		scale: 2 ** SCALE.weight,
	}));
	const config = {
		base_model_name_or_path: of.base,
		bias: "none",
		fan_in_fan_out: architecture.family === "gpt2",
		inference_mode: true,
		init_lora_weights: true,
		lora_alpha: of.alpha,
		lora_dropout: 0,
		modules_to_save: null,
		peft_type: "LORA",
		r: of.rank,
		target_modules: of.targets.map((target) => moduleOf(architecture, target)),
		task_type: "CAUSAL_LM",
		use_rslora: false,
	};
	const text = new TextEncoder().encode(`${JSON.stringify(config, null, 2)}\n`);
	return [weightsFile(weights, WEIGHTS), { name: CONFIG, tensors: [], isPreview: false, make: () => text }];
}

/** Fields of a LoRA that is computed as ours is. */
function checkConfig(bytes: Uint8Array, { rank, alpha }: AdapterFiles): void {
	let config: Record<string, unknown>;
	try {
		config = JSON.parse(bytesToUtf8(bytes) ?? "");
	} catch {
		throw codedError("ADAPTER_CONFIG", `${CONFIG} is no JSON`);
	}
	if (typeof config !== "object" || config === null || config.peft_type !== "LORA")
		throw codedError("ADAPTER_CONFIG", `${CONFIG} is not that of a LoRA adapter`);
	for (const [name, wanted] of [
		["r", rank],
		["lora_alpha", alpha],
	] as const)
		if (config[name] !== wanted) throw codedError("ADAPTER_CONFIG", `${name} is not ${wanted}, which the job has`);
	for (const name of [
		"use_rslora",
		"use_dora",
		"rank_pattern",
		"alpha_pattern",
		"modules_to_save",
		"layers_to_transform",
	])
		if (!isNothing(config[name])) throw codedError("ADAPTER_CONFIG", `${name} asks for what is not computed here`);
	if (config.bias !== undefined && config.bias !== "none") throw codedError("ADAPTER_CONFIG", "bias is not none");
}

const isNothing = (value: unknown): boolean =>
	value === undefined ||
	value === null ||
	value === false ||
	(typeof value === "object" && Object.keys(value).length === 0);

/** Reads adapters to go on from. Exactly those that the job trains. */
export async function readAdapter(
	folder: string,
	files: Files,
	architecture: Architecture,
	of: AdapterFiles,
): Promise<(block: number, target: Target) => NonNullable<AdapterPart["start"]>> {
	const at = (name: string) => `${folder.replace(/\/+$/, "")}/${name}`;
	checkConfig(await files(at(CONFIG)), of);
	const held = new Map(readSafetensors(await files(at(WEIGHTS)), WEIGHTS).map((tensor) => [tensor.name, tensor]));
	const elements = new Map<string, Int32Array>();
	for (const { name, tensor, dims } of tensorsOf(architecture, of)) {
		const found = held.get(name);
		if (found === undefined) throw codedError("ADAPTER_TENSOR", `${WEIGHTS} has no ${name}`);
		if (found.dims.join() !== dims.join())
			throw codedError("ADAPTER_TENSOR", `${name} is [${found.dims.join(", ")}]; this job has [${dims.join(", ")}]`);
		held.delete(name);
		const whole = found.values.map((value) => Math.round(value * 2 ** SCALE.weight));
		if (whole.some((value) => Math.abs(value) > I32))
			throw codedError("ADAPTER_TENSOR", `${name} has values beyond ±128`);
		elements.set(tensor, Int32Array.from(whole));
	}
	const [surplus] = held.keys();
	if (surplus !== undefined) throw codedError("ADAPTER_TENSOR", `${surplus} belongs to no target of this job`);
	const part = (block: number, target: Target, letter: string): Int32Array =>
		elements.get(`layers.${block}.${target}.lora_${letter}`)!;
	return (block, target) => ({ a: part(block, target, "A"), b: part(block, target, "B") });
}

// An imported or generated model as the files that other programs read: config.json and one model.safetensors
// with the family's names. Tensors come one after the other, so that a model is never held whole.
import { safetensorsHead, tensorBytes } from "../formats/safetensors.ts";
import type { ImportedModel } from "./architecture.ts";
import { FAMILIES, type TensorSource, tensorSources } from "./families.ts";
import { writeConfig } from "./read-config.ts";

/** The tensors of one file tensor: q, k and v of GPT-2 together, else one. */
interface FileTensor {
	readonly name: string;
	readonly dims: readonly number[];
	readonly sources: readonly TensorSource[];
}

function fileTensors({ architecture }: ImportedModel): FileTensor[] {
	const { prefix, head } = FAMILIES[architecture.family];
	const byName = new Map<string, TensorSource[]>();
	for (const source of tensorSources(architecture)) {
		const name = source.names[0] === head ? head : `${prefix}${source.names[0]}`;
		byName.set(name, [...(byName.get(name) ?? []), source]);
	}
	return [...byName].map(([name, sources]) => ({ name, dims: sources[0]!.fileDims, sources }));
}

function valuesOf({ dims, sources }: FileTensor, model: ImportedModel): Float32Array {
	if (sources.length === 1 && !sources[0]!.isTurned) return model.tensor(sources[0]!.name).values;
	const out = new Float32Array(dims.reduce((product, dim) => product * dim, 1));
	const columns = dims.at(-1)!;
	for (const { name, third, isTurned } of sources) {
		const { values, dims: own } = model.tensor(name);
		const [outputs = 1, inputs = 1] = own;
		const first = (third ?? 0) * outputs;
		if (!isTurned) out.set(values, first);
		else
			for (let o = 0; o < outputs; o++)
				for (let i = 0; i < inputs; i++) out[i * columns + first + o] = values[o * inputs + i]!;
	}
	return out;
}

/** model.safetensors, part by part. */
export function* modelParts(model: ImportedModel, type: "F32" | "BF16"): Generator<Uint8Array> {
	const tensors = fileTensors(model);
	yield safetensorsHead(tensors, type);
	for (const tensor of tensors) yield tensorBytes(valuesOf(tensor, model), type);
}

export const configText = ({ architecture }: ImportedModel): string =>
	`${JSON.stringify(writeConfig(architecture), null, "\t")}\n`;

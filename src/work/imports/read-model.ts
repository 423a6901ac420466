// A model's files → ImportedModel: every tensor that the architecture has is there once, with its shape, and
// none besides. docs/models.md. Numbers are read when they are asked for. Not here: where files lie
// (open-model.ts; the command line).
import { codedError } from "../../protocol/coded-error.ts";
import { openSafetensors, type PartFile, type SafetensorsFile, type TensorEntry } from "../formats/safetensors.ts";
import type { Architecture, ImportedModel, ModelTensor } from "./architecture.ts";
import { FAMILIES, type TensorSource, tensorSources } from "./families.ts";
import { MOST_WEIGHT } from "./quantise-rows.ts";
import { readConfig } from "./read-config.ts";
import { shardOfTensors } from "./shards.ts";

export interface ModelFiles {
	/** Parsed config.json. */
	readonly config: unknown;
	/** Parsed model.safetensors.index.json; undefined: the model is in one file. */
	readonly index?: unknown;
	readonly shards: readonly PartFile[];
}

interface Held {
	readonly file: SafetensorsFile;
	readonly entry: TensorEntry;
}

/** A model with what is to be said of its files. */
export interface OpenedModel extends ImportedModel {
	/** Tensors that the files have and the model does not use. */
	readonly unused: readonly string[];
	/** Number types of the tensors that are used, with how many there are. */
	readonly types: Readonly<Record<string, number>>;
}

function heldTensors({ shards, index }: ModelFiles): Map<string, Held> {
	const wanted = index === undefined ? null : shardOfTensors(index);
	const held = new Map<string, Held>();
	for (const shard of shards) {
		const file = openSafetensors(shard);
		for (const entry of file.entries) {
			if (held.has(entry.name))
				throw codedError("MODEL_SHARDS", `${entry.name} is in ${held.get(entry.name)!.file.name} and in ${file.name}`);
			if (wanted !== null && wanted.get(entry.name) !== file.name)
				throw codedError("MODEL_SHARDS", `${entry.name} is in ${file.name}, where the index does not say so`);
			held.set(entry.name, { file, entry });
		}
	}
	for (const [name, file] of wanted ?? [])
		if (!held.has(name)) throw codedError("MODEL_SHARDS", `the index says that ${name} is in ${file}, and it is not`);
	return held;
}

/** [inputs, outputs] as [outputs, inputs], of the columns from `first` on. */
function turned(values: Float32Array, columns: number, first: number, outputs: number): Float32Array {
	const inputs = values.length / columns;
	const out = new Float32Array(inputs * outputs);
	for (let i = 0; i < inputs; i++)
		for (let o = 0; o < outputs; o++) out[o * inputs + i] = values[i * columns + first + o]!;
	return out;
}

/** A tensor of ours from the file's numbers. */
function valuesOf({ dims, isTurned, third }: TensorSource, { file, entry }: Held): Float32Array {
	const values = file.values(entry);
	for (let i = 0; i < values.length; i++)
		if (Math.abs(values[i]!) > MOST_WEIGHT)
			throw codedError(
				"WEIGHTS_NUMBER",
				`${file.name}: element ${i} of ${entry.name} is ${values[i]}, beyond ±${MOST_WEIGHT}`,
			);
	const first = (third ?? 0) * dims[0]!;
	if (isTurned) return turned(values, entry.dims[1]!, first, dims[0]!);
	return third === null ? values : values.slice(first, first + dims[0]!);
}

const dimsText = (dims: readonly number[]): string => `[${dims.join(", ")}]`;

/** Every tensor of ours with where it lies; what is left over is known to be unused. */
function matched(architecture: Architecture, held: ReadonlyMap<string, Held>) {
	const { prefix, head, names, unused } = FAMILIES[architecture.family];
	const before = held.has(`${prefix}${names["embed.tokens"]!}`) ? prefix : "";
	const inFile = (name: string) => (name === head ? name : `${before}${name}`);
	const left = new Set(held.keys());
	const found = tensorSources(architecture).map((source) => {
		const name = source.names.map(inFile).find((one) => held.has(one));
		if (name === undefined)
			throw codedError("MODEL_TENSOR_MISSING", `no file has ${inFile(source.names[0]!)} (${source.name})`);
		const { file, entry } = held.get(name)!;
		if (dimsText(entry.dims) !== dimsText(source.fileDims))
			throw codedError(
				"MODEL_TENSOR_SHAPE",
				`${file.name}: ${name} is ${dimsText(entry.dims)}; config.json makes it ${dimsText(source.fileDims)}`,
			);
		left.delete(name);
		return [source.name, { source, held: { file, entry } }] as const;
	});
	const places = new Map(found);
	const tokens = places.get("embed.tokens")!.held;
	for (const name of left) {
		const plain = name.startsWith(before) ? name.slice(before.length) : name;
		const { file } = held.get(name)!;
		if (name === head && architecture.isTied) checkTied(held.get(name)!, tokens);
		else if (!unused.test(plain) && !unused.test(name))
			throw codedError(
				"MODEL_TENSOR_SURPLUS",
				`${file.name}: ${name} belongs to no part of this ${architecture.family}`,
			);
	}
	return { places, unused: [...left] };
}

/** A tied head that is in the file nevertheless must be what it is tied to. */
function checkTied(head: Held, tokens: Held): void {
	const [a, b] = [head.file.bytes(head.entry), tokens.file.bytes(tokens.entry)];
	const isSame = head.entry.type === tokens.entry.type && a.length === b.length && a.every((byte, i) => byte === b[i]);
	if (!isSame)
		throw codedError(
			"MODEL_TENSOR_SURPLUS",
			`${head.file.name}: ${head.entry.name} differs from ${tokens.entry.name}, and tie_word_embeddings says that they are one`,
		);
}

/** Refuses with code and tensor or field. Headers are checked here, numbers when a tensor is asked for. */
export function readModel(files: ModelFiles): OpenedModel {
	const architecture = readConfig(files.config);
	const { places, unused } = matched(architecture, heldTensors(files));
	const types: Record<string, number> = {};
	for (const { held } of places.values()) types[held.entry.type] = (types[held.entry.type] ?? 0) + 1;
	const tensor = (asked: string): ModelTensor => {
		const name = asked === "head.weight" && architecture.isTied ? "embed.tokens" : asked;
		const place = places.get(name);
		if (place === undefined) throw new RangeError(`this ${architecture.family} has no tensor ${name}`);
		return { dims: place.source.dims, values: valuesOf(place.source, place.held) };
	};
	return { architecture, tensor, unused, types };
}

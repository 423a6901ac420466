// model.safetensors.index.json: which file holds which tensor. File names come from a stranger: plain names
// only, nothing that leads out of the model's folder.
import type { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";

const FILE = /^[\w-][\w.-]{0,120}\.safetensors$/;
const MOST_SHARDS = 1024;

const wrong = (why: string): AssayError => codedError("MODEL_SHARDS", `model.safetensors.index.json: ${why}`);

/** Tensor name to file name. */
export function shardOfTensors(index: unknown): ReadonlyMap<string, string> {
	const map = typeof index === "object" && index !== null ? (index as Record<string, unknown>).weight_map : undefined;
	if (typeof map !== "object" || map === null || Array.isArray(map)) throw wrong("has no weight_map");
	const entries = Object.entries(map);
	if (entries.length === 0) throw wrong("its weight_map is empty");
	for (const [name, file] of entries) {
		if (!/^[\w./-]{1,256}$/.test(name)) throw wrong("names a tensor whose name is not plain");
		if (typeof file !== "string" || !FILE.test(file)) throw wrong(`${name} is in no plain .safetensors file`);
	}
	return new Map(entries as [string, string][]);
}

/** The files that the index names, each once. */
export function shardNames(index: unknown): string[] {
	const names = [...new Set(shardOfTensors(index).values())];
	if (names.length > MOST_SHARDS) throw wrong(`names more than ${MOST_SHARDS} files`);
	return names.sort();
}

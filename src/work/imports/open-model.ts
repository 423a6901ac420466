// The files of a model's folder: config.json, and model.safetensors or the shards that its index names. How a
// file is read is the caller's.
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToUtf8 } from "../../protocol/bytes/bytes.ts";
import { hasDoubleKeys } from "../../protocol/bytes/double-keys.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { heldFile, type PartFile } from "../formats/safetensors.ts";
import { type OpenedModel, readModel } from "./read-model.ts";
import { shardNames } from "./shards.ts";

const INDEX = "model.safetensors.index.json";
const MOST_JSON = 16 * 2 ** 20;

/** Files by their names inside the folder. */
export interface ModelFolder {
	/** As it was named, for messages. */
	readonly name: string;
	/** The whole of a small file; null when there is none. */
	text(name: string): Promise<Uint8Array | null> | Uint8Array | null;
	/** Throws when there is none. */
	part(name: string): Promise<PartFile> | PartFile;
}

function parsed(name: string, code: "MODEL_CONFIG" | "MODEL_SHARDS", bytes: Uint8Array): unknown {
	const wrong = (why: string, cause?: unknown) => codedError(code, `${name}: ${why}`, { cause });
	if (bytes.length > MOST_JSON) throw wrong(`has more than ${MOST_JSON} bytes`);
	const text = bytesToUtf8(bytes);
	let json: unknown;
	try {
		json = JSON.parse(text ?? "");
	} catch (cause) {
		throw wrong("is no JSON", cause);
	}
	if (hasDoubleKeys(text!, json)) throw wrong("names a field twice");
	return json;
}

export async function openModel(folder: ModelFolder): Promise<OpenedModel> {
	const bytes = await folder.text("config.json");
	if (bytes === null)
		throw new AssayError("MODEL_CONFIG", `there is no config.json in ${folder.name.slice(0, 200)}`, {
			hint: "Give the model's folder, with config.json and its safetensors files.",
		});
	const config = parsed("config.json", "MODEL_CONFIG", bytes);
	const listed = await folder.text(INDEX);
	const index = listed === null ? undefined : parsed(INDEX, "MODEL_SHARDS", listed);
	const names = index === undefined ? ["model.safetensors"] : shardNames(index);
	return readModel({ config, index, shards: await Promise.all(names.map((name) => folder.part(name))) });
}

/**
 * A folder of files that a job names: `files` gives the bytes of a path, and refuses what is not there with
 * FILE_UNREADABLE.
 */
export function jobModel(
	path: string,
	files: (name: string) => Promise<Uint8Array> | Uint8Array,
): Promise<OpenedModel> {
	const at = (name: string) => `${path.replace(/\/+$/, "")}/${name}`;
	return openModel({
		name: path,
		async text(name) {
			try {
				return await files(at(name));
			} catch (error) {
				if (error instanceof AssayError && error.code === "FILE_UNREADABLE") return null;
				throw error;
			}
		},
		part: async (name) => heldFile(name, await files(at(name))),
	});
}

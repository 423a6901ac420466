// A model's folder on this machine: config.json, safetensors files read in parts, tokenizer.json if there is
// one.
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import type { PartFile } from "../../work/formats/safetensors.ts";
import { openModel } from "../../work/imports/open-model.ts";
import type { OpenedModel } from "../../work/imports/read-model.ts";
import { readInput } from "../evidence-file.ts";
import { openTokenizer, type Tokenizer } from "./tokenizer.ts";

const HINT = "Give a folder with config.json and model.safetensors, as models are downloaded.";
/** The largest tokenizer.json of a published model has some 35 MB. */
const MOST_JSON = 128 * 2 ** 20;

export interface LocalModel {
	readonly model: OpenedModel;
	/** Of its files of weights. */
	readonly bytes: number;
	/** Null without tokenizer.json. */
	readonly tokenizer: Tokenizer | null;
	close(): void;
}

function unreadable(path: string, cause: unknown): AssayError {
	const why = cause instanceof Error ? cause.message : String(cause);
	return new AssayError("FILE_UNREADABLE", `cannot read ${path}: ${why}`, { hint: HINT, cause });
}

function smallFile(path: string): Uint8Array | null {
	try {
		return readInput(path, MOST_JSON, HINT);
	} catch (error) {
		const { code } = ((error as AssayError).cause ?? {}) as { code?: string };
		if (code === "ENOENT") return null;
		throw error;
	}
}

/** Bytes are read where they are asked for. */
function partFile(path: string, name: string): PartFile & { close(): void } {
	let file: number;
	try {
		file = openSync(path, "r");
	} catch (cause) {
		throw unreadable(path, cause);
	}
	return {
		name,
		size: fstatSync(file).size,
		read(begin, end) {
			const bytes = new Uint8Array(end - begin);
			let at = 0;
			while (at < bytes.length) {
				const got = readSync(file, bytes, at, Math.min(bytes.length - at, 2 ** 30), begin + at);
				if (got === 0) throw unreadable(path, new Error("it was cut while it was read"));
				at += got;
			}
			return bytes;
		},
		close: () => closeSync(file),
	};
}

/** Refuses with code and tensor or field; the tokenizer, too, if there is one. */
export async function openModelFolder(folder: string): Promise<LocalModel> {
	const parts: ReturnType<typeof partFile>[] = [];
	const close = () => {
		for (const part of parts.splice(0)) part.close();
	};
	try {
		const model = await openModel({
			name: folder,
			text: (name) => smallFile(join(folder, name)),
			part: (name) => {
				parts.push(partFile(join(folder, name), name));
				return parts.at(-1)!;
			},
		});
		const json = smallFile(join(folder, "tokenizer.json"));
		const tokenizer = json === null ? null : await openTokenizer(json, model.architecture.vocabulary);
		return { model, tokenizer, bytes: parts.reduce((sum, { size }) => sum + size, 0), close };
	} catch (error) {
		close();
		throw error;
	}
}

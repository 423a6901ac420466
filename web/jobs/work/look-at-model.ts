// A model that somebody dropped, looked at before a byte is sent: headers only, by the rules of
// docs/models.md. What will not map is said with its code; the tensors are listed either way. Runs in the
// worker, where a file can be read in parts at once.
import { AssayError } from "../../../src/protocol/assay-error.ts";
import { openSafetensors, type PartFile } from "../../../src/work/formats/safetensors.ts";
import { openModel } from "../../../src/work/imports/open-model.ts";

export interface LookedModel {
	readonly trouble: { readonly code: string; readonly detail: string; readonly hint: string } | null;
	/** What it is, in words: "llama, 2 layers of width 64, 256 tokens". */
	readonly what: string | null;
	readonly vocabulary: number | null;
	readonly context: number | null;
	readonly parameters: number;
	readonly tensors: readonly { readonly name: string; readonly type: string; readonly dims: readonly number[] }[];
	readonly unused: readonly string[];
}

interface SyncReader {
	readAsArrayBuffer(blob: Blob): ArrayBuffer;
}
declare const FileReaderSync: new () => SyncReader;

function partOf(name: string, blob: Blob): PartFile {
	const reader = new FileReaderSync();
	return {
		...{ name, size: blob.size },
		read: (begin, end) => new Uint8Array(reader.readAsArrayBuffer(blob.slice(begin, end))),
	};
}

const troubleOf = (error: unknown) => {
	if (!(error instanceof AssayError)) throw error;
	return { code: error.code, detail: error.message, hint: error.hint ?? "" };
};

/** `files` by their plain names. */
export async function lookAtModel(files: Readonly<Record<string, Blob>>): Promise<LookedModel> {
	const tensors: LookedModel["tensors"][number][] = [];
	let trouble: LookedModel["trouble"] = null;
	for (const [name, blob] of Object.entries(files)) {
		if (!name.endsWith(".safetensors")) continue;
		try {
			tensors.push(
				...openSafetensors(partOf(name, blob)).entries.map(({ name: of, type, dims }) => ({ name: of, type, dims })),
			);
		} catch (error) {
			trouble ??= troubleOf(error);
		}
	}
	const parameters = tensors.reduce((sum, { dims }) => sum + dims.reduce((count, dim) => count * dim, 1), 0);
	const nothing = { what: null, vocabulary: null, context: null, unused: [] };
	if (trouble !== null) return { trouble, tensors, parameters, ...nothing };
	try {
		const model = await openModel({
			name: "what was dropped",
			text: async (name) => (files[name] === undefined ? null : new Uint8Array(await files[name].arrayBuffer())),
			part(name) {
				if (files[name] !== undefined) return partOf(name, files[name]);
				throw new AssayError("FILE_UNREADABLE", `${name} is not among the files`, {
					hint: "Drop all files of the model.",
				});
			},
		});
		const { family, layers, width, vocabulary, context } = model.architecture;
		const what = `${family}, ${layers} layers of width ${width}, ${vocabulary} tokens, context ${context}`;
		return { trouble: null, tensors, parameters, what, vocabulary, context, unused: model.unused };
	} catch (error) {
		return { trouble: troubleOf(error), tensors, parameters, ...nothing };
	}
}

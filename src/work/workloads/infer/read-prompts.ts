// The prompts of a job: token ids (JSON lines, an array of NumPy, or one sequence of little-endian numbers)
// or lines of text, whose bytes are tokens. Not here: tokenizers, which are the customer's affair (`assay
// model tokens`).

import { bytesToUtf8, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import { readNpy } from "../../formats/npy.ts";
import { readTokens } from "../../formats/tokens.ts";
import { wrongField } from "../job-fields.ts";
import type { Files } from "../workload.ts";

export interface PromptFiles {
	readonly tokens?: string;
	readonly text?: string;
}

const MOST_SEQUENCES = 2 ** 20;

function ofLines(text: string, file: string): number[][] {
	return text
		.split("\n")
		.map((line) => line.trim())
		.filter((line) => line !== "")
		.map((line, i) => {
			let json: unknown;
			try {
				json = JSON.parse(line);
			} catch {
				json = null;
			}
			if (!Array.isArray(json) || json.some((token) => !Number.isSafeInteger(token)))
				throw codedError("DATA_FORMAT", `line ${i + 1} of ${file} is no list of token ids`);
			return json as number[];
		});
}

/** Rows of an array; what is below 0 fills up. */
function ofArray(bytes: Uint8Array, file: string): number[][] {
	const { dims, values } = readNpy(bytes, file);
	if (dims.length !== 2) throw codedError("DATA_FORMAT", `${file} has ${dims.length} axes; prompts have two`);
	const [rows, columns] = dims as [number, number];
	return Array.from({ length: rows }, (_, r) =>
		Array.from({ length: columns }, (__, c) => Number(values[r * columns + c])).filter((token) => token >= 0),
	);
}

/** Refused: none, an empty one, and a token that the vocabulary does not have. */
export async function readPrompts(
	{ tokens, text }: PromptFiles,
	vocabulary: number,
	files: Files,
): Promise<number[][]> {
	const file = (text ?? tokens)!;
	const bytes = await files(file);
	let all: number[][];
	if (text !== undefined) {
		if (vocabulary !== 256)
			throw wrongField("prompts.text", "is for models whose tokens are bytes; give prompts.tokens", HINT);
		const held = bytesToUtf8(bytes);
		if (held === null) throw codedError("DATA_FORMAT", `${file} is no text in UTF-8`);
		all = held
			.split("\n")
			.filter((line) => line.trim() !== "")
			.map((line) => [...utf8ToBytes(line.replace(/\r$/, ""))]);
	} else if (bytes[0] === 0x93) all = ofArray(bytes, file);
	else if (bytes[0] === 0x5b) all = ofLines(bytesToUtf8(bytes) ?? "", file);
	else all = [[...readTokens(bytes, vocabulary <= 65_536 ? 2 : 4, vocabulary, file)]];
	if (all.length === 0) throw codedError("DATA_SHORT", `${file} has no prompt`);
	if (all.length > MOST_SEQUENCES) throw codedError("DATA_FORMAT", `${file} has more than ${MOST_SEQUENCES} prompts`);
	for (const [i, prompt] of all.entries()) {
		if (prompt.length === 0) throw codedError("DATA_SHORT", `prompt ${i} of ${file} is empty`);
		const wrong = prompt.find((token) => !(token >= 0 && token < vocabulary));
		if (wrong !== undefined)
			throw codedError("DATA_RANGE", `prompt ${i} of ${file} has token ${wrong}; the vocabulary has ${vocabulary}`);
	}
	return all;
}

const HINT = "A model with a tokenizer takes token ids: `assay model tokens` makes them.";

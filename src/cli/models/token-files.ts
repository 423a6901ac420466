// `assay model tokens DIR FILE` and `assay model text DIR FILE`: a text as the token ids that jobs take, and
// ids as text again.
import { resolve } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToUtf8 } from "../../protocol/bytes/bytes.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { readTokens } from "../../work/formats/tokens.ts";
import type { CliIo } from "../command.ts";
import { readInput, writeNamedFile } from "../evidence-file.ts";
import { printResult } from "../print/print-result.ts";
import { type LocalModel, openModelFolder } from "./model-folder.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** Text is split in memory, many times its size. */
const MOST_TEXT = 256 * 2 ** 20;

interface TokenValues {
	readonly out: string | undefined;
	readonly json: boolean;
}

async function withTokenizer<T>(folder: string, run: (tokenizer: Tokenizer, of: LocalModel) => T): Promise<T> {
	const local = await openModelFolder(folder);
	try {
		if (local.tokenizer === null) throw codedError("TOKENIZER_FILE", `there is no tokenizer.json in ${folder}`);
		return run(local.tokenizer, local);
	} finally {
		local.close();
	}
}

/** Two bytes a token where they hold the vocabulary. */
const bytesPerToken = (vocabulary: number): 2 | 4 => (vocabulary <= 65_536 ? 2 : 4);

export function readText(path: string): string {
	const text = bytesToUtf8(readInput(path, MOST_TEXT, "Give a text file in UTF-8."));
	if (text === null)
		throw new AssayError("DATA_FORMAT", `${path} is no text in UTF-8`, { hint: "Give a text file in UTF-8." });
	return text;
}

export const encodeFile = (values: TokenValues, io: CliIo, folder: string, path: string): Promise<number> =>
	withTokenizer(folder, (tokenizer, { model: { architecture } }) => {
		const tokens = tokenizer.encode(readText(path));
		const size = bytesPerToken(architecture.vocabulary);
		const out = resolve(io.cwd, values.out ?? `${path}.tokens`);
		const bytes = new Uint8Array((size === 2 ? Uint16Array : Uint32Array).from(tokens).buffer);
		writeNamedFile(out, bytes, "--out");
		return printResult(values, io, { tokens: tokens.length, bytesPerToken: size, file: out }, () => {
			return `${out}: ${tokens.length} tokens of ${size} bytes\n`;
		});
	});

export const decodeFile = (values: TokenValues, io: CliIo, folder: string, path: string): Promise<number> =>
	withTokenizer(folder, (tokenizer, { model: { architecture } }) => {
		const { vocabulary } = architecture;
		const bytes = readInput(path, MOST_TEXT, "Give a file of token ids, as `assay model tokens` writes it.");
		const text = tokenizer.decode([...readTokens(bytes, bytesPerToken(vocabulary), vocabulary, path)]);
		if (values.out !== undefined) writeNamedFile(resolve(io.cwd, values.out), text, "--out");
		return printResult(values, io, { text }, () => (values.out === undefined ? `${text}\n` : `${values.out}\n`));
	});

// tokenizer.json beside a model: text to token ids and back, on the customer's side. Trust begins at the ids:
// jobs and proofs know nothing of text. The package does the work; here is what may go wrong with a file of
// another model.
import type { Tokenizer as Package } from "@huggingface/tokenizers";
import type { AssayError } from "../../protocol/assay-error.ts";
import { bytesToUtf8 } from "../../protocol/bytes/bytes.ts";
import { codedError } from "../../protocol/coded-error.ts";

export interface Tokenizer {
	/** Tokens that it can name. */
	readonly size: number;
	encode(text: string): number[];
	decode(tokens: readonly number[]): string;
}

function wrong(code: "TOKENIZER_FILE" | "TOKENIZER_OTHER", why: string, cause?: unknown): AssayError {
	return codedError(code, `tokenizer.json ${why}`, { cause });
}

/** What the package throws of a stranger's file is no bug of ours. */
function guarded<T>(what: string, run: () => T): T {
	try {
		return run();
	} catch (cause) {
		throw wrong("TOKENIZER_FILE", `cannot be used: ${what}`, cause);
	}
}

/**
 * A model has some rows more than its tokenizer has tokens, for speed; never fewer. With far fewer tokens
 * than rows it is another model's, too: the largest spare part of a published model is a fortieth.
 */
function checkSize(size: number, largest: number, vocabulary: number): void {
	if (largest >= vocabulary)
		throw wrong("TOKENIZER_OTHER", `names token ${largest}; the model has ${vocabulary}: it is of another model`);
	if (size < vocabulary - vocabulary / 8)
		throw wrong("TOKENIZER_OTHER", `names ${size} tokens of the model's ${vocabulary}: it is of another model`);
}

/**
 * The ids that the file gives its tokens, before the package sees them: it makes lists as long as the
 * largest. A vocabulary is an object (token to id) or a list (the place is the id).
 */
function idsOf(json: unknown): Set<number> {
	const { model, added_tokens: added = [] } = (json ?? {}) as { model?: { vocab?: unknown }; added_tokens?: unknown };
	const vocab = model?.vocab;
	if (typeof vocab !== "object" || vocab === null || !Array.isArray(added))
		throw wrong("TOKENIZER_FILE", "has no vocabulary");
	const ids: unknown[] = Array.isArray(vocab) ? vocab.map((_, i) => i) : Object.values(vocab);
	for (const one of added) ids.push((one as { id?: unknown } | null)?.id);
	if (ids.length === 0 || !ids.every((id) => Number.isSafeInteger(id) && (id as number) >= 0))
		throw wrong("TOKENIZER_FILE", "has a vocabulary whose ids are not whole numbers");
	return new Set(ids as number[]);
}

/** `vocabulary`: of the model that it is for. */
export async function openTokenizer(bytes: Uint8Array, vocabulary: number): Promise<Tokenizer> {
	const { Tokenizer } = await import("@huggingface/tokenizers");
	const json = guarded("it is no JSON", () => JSON.parse(bytesToUtf8(bytes) ?? ""));
	const ids = idsOf(json);
	const largest = [...ids].reduce((a, b) => Math.max(a, b), 0);
	checkSize(ids.size, largest, vocabulary);
	const tokenizer: Package = guarded("it is no tokenizer that is known", () => new Tokenizer(json, {}));
	return {
		size: ids.size,
		encode(text) {
			const found: number[] = guarded("the text could not be split", () => tokenizer.encode(text).ids);
			const isKnown = found.every((id) => Number.isInteger(id) && id >= 0 && id < vocabulary);
			if (!isKnown) throw wrong("TOKENIZER_OTHER", "gives a token that the model does not have");
			return found;
		},
		decode(tokens) {
			const outside = tokens.find((id) => id >= vocabulary);
			if (outside !== undefined) throw codedError("DATA_RANGE", `token ${outside} is beyond the model's ${vocabulary}`);
			// Rows of the model that no token has are spare: nothing is shown for them.
			const named = tokens.filter((id) => tokenizer.id_to_token(id) !== undefined);
			return guarded("the tokens could not be put together", () => tokenizer.decode(named));
		},
	};
}

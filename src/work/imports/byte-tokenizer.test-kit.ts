// A tokenizer.json whose tokens are the bytes of the text, as the tiny models take them. Run by itself it
// writes those of samples/:
//   node src/work/imports/byte-tokenizer.test-kit.ts
import { writeFileSync } from "node:fs";

/**
 * The letter that stands for a byte in GPT-2's vocabulary: itself where it can be seen, else the next free
 * one from 256 on.
 */
function letters(): string[] {
	const isSeen = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
	let next = 256;
	return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isSeen(byte) ? byte : next++));
}

/** With `size` tokens: the first bytes, or all of them and more. */
export function byteTokenizer(size: number) {
	const of = letters();
	const more = (i: number) => `${of[97]!}${of[97 + (i % 26)]!}`;
	const vocab = Object.fromEntries(Array.from({ length: size }, (_, i) => [of[i] ?? more(i), i]));
	const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };
	return {
		version: "1.0",
		...{ truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: bytes },
		...{ post_processor: null, decoder: bytes },
		model: {
			type: "BPE",
			...{ dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null },
			...{ fuse_unk: false, byte_fallback: false, vocab, merges: [] },
		},
	};
}

if (import.meta.main)
	for (const family of ["llama", "gpt2", "bert"])
		writeFileSync(
			new URL(`../../../samples/tiny-${family}/tokenizer.json`, import.meta.url),
			`${JSON.stringify(byteTokenizer(256))}\n`,
		);

// Tokens of a file: bytes of a text, or little-endian u16 or u32 numbers. A file that is cut and a token that
// no vocabulary has are refused. Not here: how text becomes tokens, which is the customer's.
import { codedError } from "../../protocol/coded-error.ts";

/** i16 where the vocabulary allows. */
export type Tokens = Int16Array | Int32Array;

export function createTokens(count: number, vocabulary: number): Tokens {
	return vocabulary <= 2 ** 15 ? new Int16Array(count) : new Int32Array(count);
}

/** `file` is what messages call it. */
export function readTokens(bytes: Uint8Array, bytesPerToken: 1 | 2 | 4, vocabulary: number, file: string): Tokens {
	if (bytes.length % bytesPerToken !== 0)
		throw codedError("DATA_CUT", `${file} has ${bytes.length} bytes, not a multiple of ${bytesPerToken}`);
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const tokens = createTokens(bytes.length / bytesPerToken, vocabulary);
	if (bytesPerToken === 1 && vocabulary >= 256) {
		tokens.set(bytes);
		return tokens;
	}
	for (let i = 0; i < tokens.length; i++) {
		const token =
			bytesPerToken === 1 ? bytes[i]! : bytesPerToken === 2 ? view.getUint16(2 * i, true) : view.getUint32(4 * i, true);
		if (token >= vocabulary)
			throw codedError("DATA_RANGE", `token ${i} of ${file} is ${token}; the vocabulary has ${vocabulary}`);
		tokens[i] = token;
	}
	return tokens;
}

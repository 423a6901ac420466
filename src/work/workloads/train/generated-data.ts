// Data made from a job's seed, for trials and measurements: a language with something to learn, and classes
// that can be told apart. The rule is part of docs/training.md §7: anyone makes the same numbers.
import { philoxBlock, philoxKey } from "../../../protocol/hash/philox.ts";
import { createTokens, type Tokens } from "../../formats/tokens.ts";
import type { Images } from "../../models/cnn/images.ts";
import type { Picture } from "../../models/cnn/layers.ts";
import type { Samples } from "../../models/mlp.ts";
import { I16 } from "../../models/numbers.ts";

/** Fourth word of Philox's counter. */
const DOMAIN = {
	tokens: 0x746f_6b73,
	centres: 0x6365_6e74,
	features: 0x6665_6174,
	patterns: 0x7061_7474,
	places: 0x706c_6163,
	noise: 0x6e6f_6973,
} as const;

function wordsOf(seed: Uint8Array, domain: number): (i: number) => number {
	const key = philoxKey(seed);
	const block = new Uint32Array(4);
	let held = -1;
	return (i) => {
		const number = Math.floor(i / 4);
		if (number !== held) philoxBlock(key, number, 0, 0, domain, block, 0);
		held = number;
		return block[i % 4]!;
	};
}

/**
 * Token i from words 2i and 2i + 1: in five cases of eight (word 2i below 5·2^29) it follows from the token
 * before it, (5·before + 17·(word 2i + 1 mod 4)) mod V; else it is a rare or a frequent one, ⌊V·u³⌋ with u =
 * word 2i + 1 / 2^32.
 */
export function generatedTokens(seed: Uint8Array, count: number, vocabulary: number): Tokens {
	const word = wordsOf(seed, DOMAIN.tokens);
	const tokens = createTokens(count, vocabulary);
	let before = 0;
	for (let i = 0; i < count; i++) {
		const follows = word(2 * i) < 5 * 2 ** 29;
		const drawn = word(2 * i + 1);
		// ⌊V·u³⌋ in whole numbers.
		const any = () => Number((BigInt(vocabulary) * BigInt(drawn) ** 3n) >> 96n);
		before = follows ? (5 * before + 17 * (drawn % 4)) % vocabulary : any();
		tokens[i] = before;
	}
	return tokens;
}

/**
 * Row i has class i mod the classes; a feature is its class's centre (one at ±1, drawn once) plus noise
 * between −2 and 2, at 2^11.
 */
export function generatedSamples(seed: Uint8Array, count: number, inputs: number, classes: number): Samples {
	const [centre, noise] = [wordsOf(seed, DOMAIN.centres), wordsOf(seed, DOMAIN.features)];
	const labels = classes <= 2 ** 15 ? new Int16Array(count) : new Int32Array(count);
	const centres = Int16Array.from({ length: inputs * classes }, (_, i) => (centre(i) % 2 === 0 ? 2048 : -2048));
	const features = new Int16Array(count * inputs);
	for (let i = 0; i < count; i++) {
		labels[i] = i % classes;
		for (let c = 0; c < inputs; c++)
			features[i * inputs + c] = Math.max(
				-I16,
				Math.min(I16, centres[labels[i]! * inputs + c]! + (noise(i * inputs + c) >>> 19) - 4096),
			);
	}
	return { features, labels };
}

/**
 * Image i has class i mod the classes: its class's pattern, half as wide as the picture, somewhere in noise.
 * Pixels are p − 128.
 */
export function generatedImages(seed: Uint8Array, count: number, picture: Picture, classes: number): Images {
	const { channels, height, width } = picture;
	const [pattern, place, noise] = [
		wordsOf(seed, DOMAIN.patterns),
		wordsOf(seed, DOMAIN.places),
		wordsOf(seed, DOMAIN.noise),
	];
	const side = Math.ceil(Math.min(height, width) / 2);
	/** Of squares of 2 x 2 pixels. */
	const squares = Math.ceil(side / 2);
	const labels = createTokens(count, classes);
	const size = channels * height * width;
	const pixels = new Int8Array(count * size);
	for (let n = 0; n < count; n++) {
		labels[n] = n % classes;
		const own = pixels.subarray(n * size, (n + 1) * size);
		for (let i = 0; i < size; i++) own[i] = (noise(n * size + i) >>> 25) - 64;
		const [top, left] = [place(2 * n) % (height - side + 1), place(2 * n + 1) % (width - side + 1)];
		for (let i = 0; i < channels * side * side; i++) {
			const [c, row, column] = [Math.floor(i / side / side), Math.floor(i / side) % side, i % side];
			const square = ((labels[n]! * channels + c) * squares + (row >> 1)) * squares + (column >> 1);
			const at = (c * height + top + row) * width + left + column;
			own[at] = own[at]! + (pattern(square) % 2 === 0 ? 64 : -64);
		}
	}
	return { pixels, labels };
}

// Models made from a seed: weights of the usual sizes, so that programs, plans and samples have something to
// run that nobody had to train. The same seed gives the same floats on every machine: only whole numbers, one
// product and √ enter.
import { philoxBlock, philoxKey } from "../../protocol/hash/philox.ts";
import { type Architecture, type ImportedModel, type ModelTensor, modelTensors } from "./architecture.ts";

/** Fourth word of Philox's counter. */
const DOMAIN = 0x6d6f_6465;
/** The sum of four bytes: mean and standard deviation. */
const MEAN = 510;
const DEVIATION = Math.sqrt((4 * (256 ** 2 - 1)) / 12);

/**
 * Mean and standard deviation of a tensor's values: inputs of deviation 1 give outputs of about 1, norms are
 * near 1.
 */
function spreadOf(name: string, dims: readonly number[]): readonly [mean: number, deviation: number] {
	if (/norm\.weight$/i.test(name)) return [1, 0.1];
	if (dims.length === 1 || name === "embed.positions" || name === "embed.segments") return [0, 0.1];
	return [0, name === "embed.tokens" ? 1 : 1 / Math.sqrt(dims.at(-1)!)];
}

/** `seed`: 8 bytes or more. Tensors are made when they are asked for. */
export function randomModel(architecture: Architecture, seed: Uint8Array): ImportedModel {
	const key = philoxKey(seed);
	const places = new Map(modelTensors(architecture).map(({ name, dims }, i) => [name, { dims, i }]));
	const tensor = (asked: string): ModelTensor => {
		const name = asked === "head.weight" && architecture.isTied ? "embed.tokens" : asked;
		const place = places.get(name);
		if (place === undefined) throw new RangeError(`this ${architecture.family} has no tensor ${name}`);
		const { dims, i } = place;
		const values = new Float32Array(dims.reduce((product, dim) => product * dim, 1));
		const [mean, deviation] = spreadOf(name, dims);
		const words = new Uint32Array(4);
		for (let at = 0; at < values.length; at++) {
			if (at % 4 === 0) philoxBlock(key, at / 4, i, 0, DOMAIN, words, 0);
			const word = words[at % 4]!;
			const sum = (word & 255) + ((word >>> 8) & 255) + ((word >>> 16) & 255) + (word >>> 24);
			values[at] = mean + ((sum - MEAN) * deviation) / DEVIATION;
		}
		return { dims, values };
	};
	return { architecture, tensor };
}

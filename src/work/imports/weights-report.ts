// What whole-number weights cost a model, by its numbers alone: bytes, and the signal to noise of rounding,
// tensor by tensor. Not here: what that does to its answers, which only running it shows.
import { type Architecture, type ImportedModel, type ModelTensor, modelTensors } from "./architecture.ts";
import { quantiseRows } from "./quantise-rows.ts";

export interface TensorReport {
	readonly name: string;
	readonly dims: readonly number[];
	readonly largest: number;
	/** Of matrices; null for vectors, which keep 32 bits. */
	readonly i8Db: number | null;
	readonly i16Db: number | null;
}

/** 10·log10 of signal over noise; null where there is nothing to compare, infinity without noise. */
function decibels(signal: number, noise: number): number | null {
	if (signal === 0) return null;
	return noise === 0 ? Number.POSITIVE_INFINITY : 10 * Math.log10(signal / noise);
}

/** Values as the program sees them: element · multiplier / 2^shift, to the nearest float32. Vectors stay. */
function roundedTensor({ dims, values }: ModelTensor, bits: 8 | 16): ModelTensor {
	if (dims.length !== 2) return { dims, values };
	const [rows = 1, columns = 1] = dims;
	const { elements, multipliers, shift } = quantiseRows(values, rows, columns, bits);
	const rounded = new Float32Array(values.length);
	for (let r = 0; r < rows; r++) {
		const unit = multipliers[r]! / 2 ** shift;
		for (let i = r * columns; i < (r + 1) * columns; i++) rounded[i] = elements[i]! * unit;
	}
	return { dims, values: rounded };
}

function noiseDb(tensor: ModelTensor, bits: 8 | 16): number | null {
	if (tensor.dims.length !== 2) return null;
	const { values } = tensor;
	const rounded = roundedTensor(tensor, bits).values;
	let [signal, noise] = [0, 0];
	for (let i = 0; i < values.length; i++) {
		const [value, error] = [values[i]!, rounded[i]! - values[i]!];
		signal += value * value;
		noise += error * error;
	}
	return decibels(signal, noise);
}

/** Reads every number of the model once. Refuses NaN and what is no weight. */
export function* weightsReport(model: ImportedModel): Generator<TensorReport> {
	for (const { name, dims } of modelTensors(model.architecture)) {
		const tensor = model.tensor(name);
		let largest = 0;
		for (const value of tensor.values) largest = Math.max(largest, Math.abs(value));
		yield { name, dims, largest, i8Db: noiseDb(tensor, 8), i16Db: noiseDb(tensor, 16) };
	}
}

/**
 * What the weights take in a program: matrices by rows, each with its multiplier, vectors at 32 bits.
 * Embeddings have 16 bits at least.
 */
export function weightBytes(of: Architecture, bits: 8 | 16): number {
	return modelTensors(of).reduce((sum, { name, dims }) => {
		const count = dims.reduce((product, dim) => product * dim, 1);
		const size = dims.length === 1 ? 4 : name.startsWith("embed.") ? 2 : bits / 8;
		return sum + count * size + (dims.length === 2 ? 4 * dims[0]! : 0);
	}, 0);
}

/** The model with rounded matrices: for other programs to judge. */
export const roundedModel = (model: ImportedModel, bits: 8 | 16): ImportedModel => ({
	architecture: model.architecture,
	tensor: (name) => roundedTensor(model.tensor(name), bits),
});

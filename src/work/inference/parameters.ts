// A model's weights as inputs of a program, docs/inference.md §3: which tensors there are, and their elements
// from an imported model. Rows of layers that read the same input are stacked: q, k and v are one product,
// gate and up another.
import { codedError } from "../../protocol/coded-error.ts";
import type { ProgramBuilder, TensorHandle } from "../builder/build-program.ts";
import { at, type Expression, type Index, type Value } from "../builder/expression.ts";
import type { ImportedModel } from "../imports/architecture.ts";
import { quantiseRows } from "../imports/quantise-rows.ts";
import { createElements, type Elements, type TensorType } from "../operators/tensor-type.ts";
import type { Numbers } from "./numbers.ts";

/** A matrix by rows: value = element · multiplier / 2^shift; and what is added to each output. */
export interface Matrix {
	/** [rows, columns]. */
	readonly weight: Value;
	readonly multiplier: (row: Index | Expression) => Expression;
	readonly shift: (row: Index | Expression) => Expression;
	/** At the fixed scale; null: none. */
	readonly bias: ((row: Index | Expression) => Expression) | null;
}

export interface Gain {
	/** At 2^24, inside ±128. */
	readonly gain: (column: Index) => Expression;
	/** At the fixed scale. */
	readonly bias: ((column: Index) => Expression) | null;
}

/** Bits of the largest multiplier, 2^16. */
export const MULTIPLIER_BITS = 17;
export const GAIN = 24;
const GAIN_LIMIT = 2 ** 31 - 1;

type Fill = (model: ImportedModel) => Record<string, Elements>;

interface Part {
	/** `layers.0.q`: has `.weight`, and `.bias` where the layer has one. */
	readonly name: string;
	readonly rows: number;
}

const WIDTHS = { i8: 8, i16: 16, i32: 24 } as const;

export class ModelInputs {
	readonly b: ProgramBuilder;
	readonly numbers: Numbers;
	private readonly fills: Fill[] = [];

	constructor(b: ProgramBuilder, numbers: Numbers) {
		this.b = b;
		this.numbers = numbers;
	}

	private input(name: string, type: TensorType, dims: readonly number[], limit: number): TensorHandle {
		return this.b.tensor("input", name, type, dims, -limit, limit);
	}

	/**
	 * Parts one under the other. `isTable`: rows are looked up, not multiplied; an i8 build keeps them as i16.
	 */
	matrix(
		name: string,
		parts: readonly Part[],
		columns: number,
		{ hasBias = false, isTable = false }: { readonly hasBias?: boolean; readonly isTable?: boolean } = {},
	): Matrix {
		const { weights, fixed, limit } = this.numbers;
		const type = weights === "wide" ? "i32" : weights === "i8" && !isTable ? "i8" : "i16";
		const bits = WIDTHS[type];
		const count = parts.reduce((sum, { rows }) => sum + rows, 0);
		const weight = this.input(`${name}.weight`, type, [count, columns], 2 ** (bits - 1) - 1);
		// Multiplier and shift in one number: four bytes a row are read with every sum.
		const scales = this.b.tensor("input", `${name}.scales`, "i32", [count], 0, 2 ** (MULTIPLIER_BITS - 1 + 6) + 62);
		const biases = hasBias ? this.input(`${name}.bias`, "i64", [count], limit) : null;
		this.fills.push((model) => {
			const elements = createElements(type, count * columns) as Int32Array;
			const [scale, added] = [new Int32Array(count), new BigInt64Array(count)];
			let row = 0;
			for (const part of parts) {
				const { values } = model.tensor(part.name.startsWith("embed.") ? part.name : `${part.name}.weight`);
				const quantised = quantiseRows(values, part.rows, columns, bits);
				elements.set(quantised.elements, row * columns);
				const bias = hasBias ? model.tensor(`${part.name}.bias`).values : null;
				for (const [i, by] of quantised.multipliers.entries()) scale[row + i] = 64 * by + quantised.shift;
				bias?.forEach((x, i) => {
					added[row + i] = fixedOf(`${part.name}.bias`, x, fixed, limit);
				});
				row += part.rows;
			}
			return {
				...{ [`${name}.weight`]: elements, [`${name}.scales`]: scale },
				...(hasBias && { [`${name}.bias`]: added }),
			};
		});
		return {
			weight,
			multiplier: (row) => at(scales, row).shr(6),
			shift: (row) => at(scales, row).and(63),
			bias: biases && ((row) => at(biases, row)),
		};
	}

	/** Of a norm. */
	gain(name: string, width: number, hasBias: boolean): Gain {
		const { fixed, limit } = this.numbers;
		const gains = this.input(`${name}.weight`, "i32", [width], GAIN_LIMIT);
		const biases = hasBias ? this.input(`${name}.bias`, "i64", [width], limit) : null;
		const read = (model: ImportedModel, part: string, scale: number, most: number): bigint[] =>
			Array.from(model.tensor(part).values, (x) => fixedOf(part, x, scale, most));
		this.fills.push((model) => ({
			[`${name}.weight`]: Int32Array.from(read(model, `${name}.weight`, GAIN, GAIN_LIMIT), Number),
			...(biases && { [`${name}.bias`]: BigInt64Array.from(read(model, `${name}.bias`, fixed, limit)) }),
		}));
		return { gain: (c) => at(gains, c), bias: biases && ((c) => at(biases, c)) };
	}

	elements(model: ImportedModel): Record<string, Elements> {
		return Object.assign({}, ...this.fills.map((fill) => fill(model)));
	}
}

/** To the nearest; halves upwards, as everywhere in programs. */
function fixedOf(tensor: string, x: number, scale: number, limit: number): bigint {
	const value = Math.floor(x * 2 ** scale + 0.5);
	if (!(Math.abs(value) <= limit)) throw codedError("MODEL_RANGE", `${tensor} holds ${x}`);
	return BigInt(value);
}

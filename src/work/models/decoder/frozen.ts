// The weights of an imported model as inputs of a program: matrices in whole numbers by row, vectors as i32.
// They stand still; their roots are part of what a claim commits to.
import { codedError } from "../../../protocol/coded-error.ts";
import { at, type Expression, type Index, type Value } from "../../builder/expression.ts";
import type { ImportedModel } from "../../imports/architecture.ts";
import { type QuantisedRows, quantiseRows } from "../../imports/quantise-rows.ts";
import { I32, type Net, rescale, turned } from "../numbers.ts";
import type { Matrix } from "./linear.ts";
import { GAIN, type NormSpec } from "./norm.ts";
import type { Weights } from "./weights.ts";

/** Shifts that every product can undo. */
const LEAST_SHIFT = 15;
const MOST_SHIFT = 44;

/** A matrix of zeros has no scale: any will do. One of numbers below 10⁻⁵ keeps fewer digits of them. */
function settled({ elements, multipliers, shift }: QuantisedRows): QuantisedRows {
	const next = multipliers.every((one) => one === 0) ? LEAST_SHIFT : Math.min(MOST_SHIFT, shift);
	const lost = 2 ** Math.max(0, shift - next);
	return { elements, multipliers: multipliers.map((one) => Math.round(one / lost)), shift: next };
}

export class Frozen implements Weights {
	readonly net: Net;
	readonly model: ImportedModel;
	readonly bits: 8 | 16;

	constructor(net: Net, model: ImportedModel, bits: 8 | 16) {
		this.net = net;
		this.model = model;
		this.bits = bits;
	}

	/** Tensors one below the other; `rows`: as many as these, with zeros after the last. */
	matrix(name: string, parts: readonly string[], rows = 0): Matrix {
		const { net, model, bits } = this;
		const all = parts.map((part) => model.tensor(part));
		const columns = all[0]!.dims[1]!;
		const own = all.reduce((sum, { dims }) => sum + dims[0]!, 0);
		const outputs = Math.max(rows, own);
		const values = new Float32Array(outputs * columns);
		let place = 0;
		for (const { values: part } of all) {
			values.set(part, place);
			place += part.length;
		}
		const { elements, multipliers, shift } = settled(quantiseRows(values, outputs, columns, bits));
		const most = 2 ** (bits - 1) - 1;
		net.given[name] = elements as Int16Array;
		net.given[`${name}.scale`] = multipliers;
		const type = bits === 8 ? "i8" : "i16";
		const scale = net.b.tensor("input", `${name}.scale`, "i32", [outputs], 0, 2 ** 16);
		const weight = net.b.tensor("input", name, type, [outputs, columns], -most, most);
		return {
			rows: weight,
			turned: () => turned(net, weight),
			times: (row) => at(scale, row),
			shift,
			element: (row, column, to) => rescale(at(weight, row, column).mul(at(scale, row)), shift, to),
			learn: null,
		};
	}

	/** Elements at 2^scale, the first `rows` along the first axis. */
	table(name: string, parts: readonly string[], scale: number, rows?: number): Value {
		const { net, model } = this;
		const all = parts.map((part) => model.tensor(part));
		const [count, ...rest] = all[0]!.dims as [number, ...number[]];
		const dims = [rows ?? count * all.length, ...rest];
		const size = dims.reduce((product, dim) => product * dim, 1);
		const elements = new Int32Array(size);
		let place = 0;
		for (const [i, { values }] of all.entries())
			for (const value of values) {
				if (place === size) break;
				const element = Math.round(value * 2 ** scale);
				if (Math.abs(element) > I32)
					throw codedError("WEIGHTS_NUMBER", `${parts[i]} holds ${value}, outside ±${2 ** (31 - scale)}`);
				elements[place++] = element;
			}
		net.given[name] = elements;
		return net.b.tensor("input", name, "i32", dims, -I32, I32);
	}

	vector(name: string, parts: readonly string[], scale: number): (column: Index) => Expression {
		const table = this.table(name, parts, scale);
		return (column) => at(table, column);
	}

	get end(): null {
		return null;
	}

	gain(name: string): Pick<NormSpec, "gain" | "learn"> {
		return { gain: this.vector(name, [name], GAIN), learn: null };
	}
}

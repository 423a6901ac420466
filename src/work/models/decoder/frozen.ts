// The weights of an imported model as inputs of a program: matrices in whole numbers by row, vectors as i32. They stand still; their roots
// are part of what a claim commits to.
import { AssayError } from "../../../protocol/assay-error.ts";
import { codes } from "../../../protocol/codes.ts";
import { at, type Expression, type Index, type Value } from "../../builder/expression.ts";
import type { ImportedModel } from "../../imports/architecture.ts";
import { quantiseRows } from "../../imports/quantise-rows.ts";
import { I32, type Net } from "../numbers.ts";
import type { Matrix } from "./linear.ts";

export class Frozen {
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
		const { elements, multipliers, shift } = quantiseRows(values, outputs, columns, bits);
		const most = 2 ** (bits - 1) - 1;
		net.given[name] = elements as Int16Array;
		net.given[`${name}.scale`] = multipliers;
		const type = bits === 8 ? "i8" : "i16";
		const scale = net.b.tensor("input", `${name}.scale`, "i32", [outputs], 0, 2 ** 16);
		return {
			rows: net.b.tensor("input", name, type, [outputs, columns], -most, most),
			times: (row) => at(scale, row),
			shift,
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
					throw new AssayError("DATA_RANGE", `${parts[i]} holds ${value}, outside ±${2 ** (31 - scale)}`, {
						hint: codes.DATA_RANGE.hint,
					});
				elements[place++] = element;
			}
		net.given[name] = elements;
		return net.b.tensor("input", name, "i32", dims, -I32, I32);
	}

	vector(name: string, parts: readonly string[], scale: number): (column: Index) => Expression {
		const table = this.table(name, parts, scale);
		return (column) => at(table, column);
	}
}

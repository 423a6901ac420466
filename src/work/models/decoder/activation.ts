// What stands between the layers of a block's MLP, in wide numbers: silu(gate)·up, or GELU. docs/training.md
// §9.
import { at, type Expression, type Index, type Value } from "../../builder/expression.ts";
import { lookUp } from "../activation.ts";
import { clampI32, constantOf, type Net } from "../numbers.ts";
import { geluSlopeTable, geluTable, geluTanhSlopeTable, geluTanhTable, sigmoidTable } from "../tables.ts";
import { WIDE } from "./wide.ts";

/** Of a sigmoid, and of GELU's tables. */
const SIGMOID = 20;
const GELU = 15;

/** `x`: what the layers before it gave, i32 [rows, layers, hidden] at 2^16. */
export interface WideActivations {
	/** [rows, hidden] at 2^16. */
	forward(x: Value, r: Index, c: Index): Expression;
	/** `d`: gradient of the output, i32 [rows, hidden] at 2^24. Gives that of x, at layer n. */
	backward(x: Value, d: Value, r: Index, n: Index, c: Index): Expression;
}

function siluGlu(net: Net): WideActivations {
	const table = constantOf(net, "sigmoid", sigmoidTable);
	const sigmoid = (x: Expression): Expression => lookUp(table, x, WIDE, SIGMOID);
	const silu = (x: Expression): Expression => x.mul(sigmoid(x)).rsh(SIGMOID);
	return {
		forward: (x, r, c) =>
			clampI32(
				silu(at(x, r, 0, c))
					.mul(at(x, r, 1, c))
					.rsh(WIDE),
			),
		backward(x, d, r, n, c) {
			const gate = at(x, r, 0, c);
			const y = sigmoid(gate);
			// σ + x·σ·(1 − σ)
			const slope = y.add(gate.mul(y.mul(y.neg().add(2 ** SIGMOID)).rsh(SIGMOID)).rsh(WIDE));
			const ofGate = clampI32(
				at(d, r, c)
					.mul(at(x, r, 1, c))
					.rsh(WIDE),
			)
				.mul(slope.clamp(-(2 ** 21), 2 ** 21))
				.rsh(SIGMOID);
			return clampI32(n.value().select(at(d, r, c).mul(silu(gate)).rsh(WIDE), ofGate));
		},
	};
}

function gelu(net: Net, kind: "gelu" | "gelu-tanh"): WideActivations {
	const [name, below, slope] =
		kind === "gelu"
			? (["gelu", geluTable, geluSlopeTable] as const)
			: (["gelu_tanh", geluTanhTable, geluTanhSlopeTable] as const);
	const [value, rise] = [constantOf(net, name, below), constantOf(net, `${name}_slope`, slope)];
	const look = (table: Value, x: Expression): Expression => lookUp(table, x, WIDE, GELU);
	return {
		forward: (x, r, c) =>
			clampI32(
				at(x, r, 0, c)
					.mul(look(value, at(x, r, 0, c)))
					.rsh(GELU),
			),
		backward: (x, d, r, n, c) =>
			clampI32(
				at(d, r, c)
					.mul(look(rise, at(x, r, n, c)))
					.rsh(GELU),
			),
	};
}

export const activations = (net: Net, kind: "gelu" | "gelu-tanh" | "silu-glu"): WideActivations =>
	kind === "silu-glu" ? siluGlu(net) : gelu(net, kind);

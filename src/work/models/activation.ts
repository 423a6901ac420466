// GELU by a table of 257 with straight lines between, and its slope; docs/training.md §4. At |x| ≥ 8 it is x
// or 0 to the last bit.
import { at, constant, type Expression, type Value } from "../builder/expression.ts";
import { clampI16, constantOf, type Net, SCALE } from "./numbers.ts";
import { geluSlopeTable, geluTable } from "./tables.ts";

export interface GeluTables {
	readonly below: Value;
	readonly slope: Value;
}

export const geluTables = (net: Net): GeluTables => ({
	below: constantOf(net, "gelu", geluTable),
	slope: constantOf(net, "gelu_slope", geluSlopeTable),
});

/** f(x) at 2^bits for a table of f(i/32) at 2^bits, where f(−x) = 1 − f(x); x at 2^scale. */
export function lookUp(table: Value, x: Expression, scale: number = SCALE.activation, bits = 15): Expression {
	const [between, entries] = [scale - 5, table.dims[0]!];
	const size = x.abs().min((entries - 1) * 2 ** between - 1);
	const [low, part] = [size.shr(between), size.and(2 ** between - 1)];
	const value = at(table, low)
		.mul(constant(2 ** between).sub(part))
		.add(at(table, low.add(1)).mul(part))
		.rsh(between);
	return x.lt(0).select(constant(2 ** bits).sub(value), value);
}

/** x·Φ(x), in and out at 2^11. */
export const gelu = ({ below }: GeluTables, x: Expression): Expression => clampI16(x.mul(lookUp(below, x)).rsh(15));

/** A gradient times GELU's slope at x. */
export const geluBackward = ({ slope }: GeluTables, x: Expression, d: Expression): Expression =>
	d.mul(lookUp(slope, x)).rsh(15);

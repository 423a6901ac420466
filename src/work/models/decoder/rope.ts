// Rotary positions: pairs (i, i + size/2) of a head turn by an angle that grows with the place; backwards
// they turn the other way.
import { at, type Expression, type Index, type Value, view } from "../../builder/expression.ts";
import { constantOf, type Net } from "../numbers.ts";
import { ropeTables } from "../tables.ts";

/** Of cos and sin. */
const BITS = 24;

export interface Rope {
	readonly cos: Value;
	readonly sin: Value;
	readonly size: number;
}

export function rope(net: Net, theta: number, size: number, context: number): Rope {
	const { cos, sin } = ropeTables(theta, size, context, BITS);
	const table = (name: string, elements: Int32Array): Value =>
		view(
			constantOf(net, name, () => elements),
			context,
			size / 2,
		);
	return { cos: table("rope_cos", cos), sin: table("rope_sin", sin), size };
}

/**
 * `x`: one of a head's numbers, as an expression of its place in the head; `t`: the token's place, `c`: the
 * number's.
 */
export function turnedBy(
	{ cos, sin, size }: Rope,
	direction: "forwards" | "backwards",
	x: (c: Index) => Expression,
	t: Index,
	c: Index,
): Expression {
	const isFirst = c.value().lt(size / 2);
	const part = x(c.plus(size / 2).wrap()).mul(at(sin, t, c.wrap()));
	const [less, more] = [part.neg(), part];
	const side = direction === "forwards" ? isFirst.select(less, more) : isFirst.select(more, less);
	return x(c)
		.mul(at(cos, t, c.wrap()))
		.add(side)
		.rsh(BITS);
}

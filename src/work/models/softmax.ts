// exp by two tables, and the cross-entropy of a batch with its gradient, docs/training.md §4.
import { at, constant, type Expression, type Index, type Value, view } from "../builder/expression.ts";
import { constantOf, type Net, SCALE } from "./numbers.ts";
import { expCoarse, expFine, logTable } from "./tables.ts";

export interface ExpTables {
	readonly coarse: Value;
	readonly fine: Value;
}

export const expTables = (net: Pick<Net, "b" | "given">): ExpTables => ({
	coarse: constantOf(net, "exp_coarse", expCoarse),
	fine: constantOf(net, "exp_fine", expFine),
});

/** exp(−x) at 2^bits, x from 0 at 2^12. */
export function expOf({ coarse, fine }: ExpTables, x: Expression, bits: number): Expression {
	const inside = x.clamp(0, 65_535);
	return at(coarse, inside.shr(8))
		.mul(at(fine, inside.and(255)))
		.rsh(60 - bits);
}

/** Of p − onehot. Many small probabilities weigh something together: 15 bits would lose them. */
const GRADIENT = 23;

/** 2^30 as a sum's unit. */
export const LOG_UNIT = 30;
const UNIT = LOG_UNIT;

/**
 * ln of a sum at 2^30, one at least, at 2^16: digits of the sum, then a table with straight lines between.
 */
export function logOf(table: Value, sum: Expression): Expression {
	const digits = sum.bitlen();
	const rest = sum.rshv(digits.sub(17).clamp(0, 46)).sub(65_536).clamp(0, 65_535);
	const [low, part] = [rest.shr(8), rest.and(255)];
	const line = at(table, low)
		.mul(constant(256).sub(part))
		.add(at(table, low.add(1)).mul(part))
		.rsh(12);
	// ln 2 at 2^16 is 45,426.09.
	return digits
		.sub(UNIT + 1)
		.mul(45_426)
		.add(line);
}

export interface CrossEntropy {
	/** Gradient of the summed loss, [rows, columns]: an operand of products. */
	readonly gradient: Value;
	/** Scale of the gradient. */
	readonly scale: number;
	/** [rows, columns] at 2^12. */
	readonly logits: Value;
}

/** Columns for so many classes: products want whole tiles. */
export const paddedTo64 = (classes: number): number => (classes < 256 ? classes : Math.ceil(classes / 64) * 64);

/**
 * `logit`: at 2^12, as an expression of row and column; `label`: class of a row. Columns beyond the classes
 * count for nothing. Writes the metric `loss`: the sum at 2^16.
 */
export function crossEntropy(
	net: Net,
	tables: ExpTables,
	{ classes, columns }: { readonly classes: number; readonly columns: number },
	logit: (row: Index, column: Index) => Expression,
	label: Value,
): CrossEntropy {
	const { b, s, rows } = net;
	const logs = constantOf(net, "log", logTable);
	const scale = GRADIENT;
	const limit = 2 ** 23;
	// What is beyond the classes is so small that its exponential is zero.
	const l = s.map([rows, columns], (r, c) => {
		const x = logit(r!, c!).clamp(-limit, limit);
		return columns === classes
			? x
			: c!
					.value()
					.lt(classes)
					.select(x, -2 * limit);
	});
	const top = s.reduce("max", l);
	const e = (r: Index, c: Index) => expOf(tables, at(top, r).sub(at(l, r, c)), UNIT);
	const sum = s.reduce(
		"sum",
		s.map([rows, columns], (r, c) => e(r!, c!)),
	);
	const inverse = s.map([rows], (r) => constant(2n ** 62n).div(at(sum, r!).max(2 ** UNIT)));
	const gradient = s.map([rows, columns], (r, c) =>
		e(r!, c!)
			.mul(at(inverse, r!))
			.rsh(62 - scale)
			.sub(c!.value().eq(at(label, r!)).shl(scale))
			.clamp(-(2 ** scale) + 1, 2 ** scale - 1),
	);
	const losses = s.map([rows], (r) =>
		at(top, r!)
			.sub(at(l, r!, at(label, r!)))
			.shl(SCALE.loss - SCALE.exponent)
			.add(logOf(logs, at(sum, r!).max(2 ** UNIT)))
			.clamp(0, 2 ** 30),
	);
	const loss = b.tensor("metric", "loss", "i64", [1], 0, BigInt(rows) << 30n);
	s.reduce("sum", view(losses, rows), { to: loss });
	return { gradient, scale, logits: l };
}

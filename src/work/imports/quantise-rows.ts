// Weights as whole numbers, docs/models.md §3: every output row has a scale of its own, so that one large row
// costs the others nothing. value ≈ element · multiplier[row] / 2^shift, where the largest multiplier is in
// [2^15, 2^16]. The same bits on every machine: whoever builds the program again gets the same constants.

/**
 * Of the largest multiplier: `sum · multiplier` of a product with i8 or i16 operands stays inside 64 bits.
 */
const MULTIPLIER_BITS = 15;
/** Shifts that a program has; values beyond are all but zero, or no weights. */
const MOST_SHIFT = 62;
/** No trained weight comes near; what does is refused when it is read. */
export const MOST_WEIGHT = 2 ** 15;

export interface QuantisedRows {
	readonly elements: Int8Array | Int16Array | Int32Array;
	/** 0 for a row of zeros. */
	readonly multipliers: Int32Array;
	readonly shift: number;
}

/** The exponent e of x = m·2^e, 1 ≤ m < 2; x is a normal number above 0. Math.log2 may differ by machine. */
const exponentOf = (x: number): number => (new Uint32Array(new Float64Array([x]).buffer)[1]! >>> 20) - 1023;

const createElements = (bits: 8 | 16 | 24, count: number) =>
	bits === 8 ? new Int8Array(count) : bits === 16 ? new Int16Array(count) : new Int32Array(count);

/** `values` are inside ±MOST_WEIGHT. Elements stay inside ±(2^(bits−1) − 1). */
export function quantiseRows(values: Float32Array, rows: number, columns: number, bits: 8 | 16 | 24): QuantisedRows {
	if (values.length !== rows * columns) throw new RangeError(`${values.length} values are not ${rows} × ${columns}`);
	const most = 2 ** (bits - 1) - 1;
	const largest = new Float64Array(rows);
	for (let r = 0; r < rows; r++)
		for (let c = 0; c < columns; c++) largest[r] = Math.max(largest[r]!, Math.abs(values[r * columns + c]!));
	const top = largest.reduce((a, b) => Math.max(a, b), 0) / most;
	if (!(top * most <= MOST_WEIGHT)) throw new RangeError(`weights are at most ${MOST_WEIGHT}`);
	const shift = top === 0 ? 0 : Math.min(MOST_SHIFT, MULTIPLIER_BITS - exponentOf(top));
	const elements = createElements(bits, values.length);
	const multipliers = new Int32Array(rows);
	for (let r = 0; r < rows; r++) {
		// Rounded up, so that the row's largest value does not leave the elements' interval.
		const multiplier = Math.ceil((largest[r]! / most) * 2 ** shift);
		multipliers[r] = multiplier;
		const scale = 2 ** shift / multiplier;
		if (multiplier !== 0)
			for (let c = 0; c < columns; c++) elements[r * columns + c] = Math.round(values[r * columns + c]! * scale);
	}
	return { elements, multipliers, shift };
}

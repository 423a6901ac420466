// Sequences of different lengths as one tensor of rows.

/** [rows, columns], filled up with 0. */
export function paddedRows(all: readonly ArrayLike<number>[], rows: number, columns: number): Int32Array {
	const elements = new Int32Array(rows * columns);
	for (const [i, one] of all.entries()) elements.set(one, i * columns);
	return elements;
}

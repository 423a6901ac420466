// Rows as whole numbers: within half a step of every value, whatever the sizes of the other rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../../tests/fuzz.test-kit.ts";
import { MOST_WEIGHT, quantiseRows } from "./quantise-rows.ts";

const BITS = [8, 16, 24] as const;

/**
 * Every value comes back within half an element of its row; the row's largest fills the elements but for a
 * multiplier's rounding.
 */
function check(values: Float32Array, rows: number, bits: (typeof BITS)[number]): void {
	const columns = values.length / rows;
	const { elements, multipliers, shift } = quantiseRows(values, rows, columns, bits);
	const most = 2 ** (bits - 1) - 1;
	assert.ok(shift >= 0 && shift <= 62);
	for (let r = 0; r < rows; r++) {
		const unit = multipliers[r]! / 2 ** shift;
		assert.ok(multipliers[r]! >= 0 && multipliers[r]! <= 65_536);
		for (let i = r * columns; i < (r + 1) * columns; i++) {
			assert.ok(Math.abs(elements[i]!) <= most);
			assert.ok(
				Math.abs(elements[i]! * unit - values[i]!) <= 0.5000001 * unit,
				`${values[i]} as ${elements[i]} · ${unit}`,
			);
		}
	}
}

test("any rows of any sizes", () => {
	const size = fc.record({ rows: fc.integer({ min: 1, max: 5 }), columns: fc.integer({ min: 1, max: 9 }) });
	const cases = size.chain(({ rows, columns }) =>
		fc.record({
			rows: fc.constant(rows),
			bits: fc.constantFrom(...BITS),
			values: fc.float32Array({
				minLength: rows * columns,
				maxLength: rows * columns,
				noNaN: true,
				min: -MOST_WEIGHT,
				max: MOST_WEIGHT,
			}),
		}),
	);
	fc.assert(fc.property(cases, ({ rows, bits, values }) => check(values, rows, bits)));
});

test("known numbers: the largest of each row is the largest element, a row of zeros has no scale", () => {
	const { elements, multipliers, shift } = quantiseRows(Float32Array.of(127, -63.5, 0, 0, 0.5, 1), 3, 2, 8);
	assert.deepEqual([...elements], [127, -63, 0, 0, 63, 127]);
	assert.deepEqual([...multipliers], [32_768, 0, 259]);
	assert.equal(shift, 15);
	assert.deepEqual([...quantiseRows(new Float32Array(4), 2, 2, 16).multipliers], [0, 0]);
});

test("refused: values that no weight has, and a shape of another size", () => {
	for (const wrong of [2 * MOST_WEIGHT, Number.POSITIVE_INFINITY, Number.NaN])
		assert.throws(() => quantiseRows(Float32Array.of(0, wrong), 1, 2, 16), RangeError);
	assert.throws(() => quantiseRows(new Float32Array(5), 2, 2, 8), RangeError);
});

// 64-bit elements by their halves, at every border of a half and of a double; whole roots at every border of
// a square.
import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluate } from "./evaluate.ts";
import { gatherWide, numbersToWide } from "./wide-numbers.ts";

test("numbers below 2^53 go there and back", () => {
	const sizes = [0, 1, 2, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 52, 2 ** 53 - 1];
	const numbers = Float64Array.from([...sizes, ...sizes.map((size) => -size)]);
	const count = numbers.length;
	// At an offset of a buffer, and of the elements.
	const elements = new BigInt64Array(new ArrayBuffer(8 * (count + 4)), 8, count + 2);
	numbersToWide(numbers, elements, 2, count);
	assert.deepEqual([...elements.slice(2)], [...numbers].map(BigInt));
	const back = new Float64Array(count + 1);
	gatherWide(elements, Float64Array.from([-1, ...numbers.keys()].map((at) => (at < 0 ? at : at + 2))), back, count + 1);
	assert.deepEqual(
		[...back].map((one) => one + 0),
		[0, ...[...numbers].map((one) => one + 0)],
	);
});

test("the whole root of every number beside a square", () => {
	for (const root of [1n, 2n, 3n, 46341n, 2n ** 26n + 1n, 94906266n, 2n ** 31n, 3037000498n, 3037000499n, 2n ** 40n])
		for (const beside of [-1n, 0n, 1n]) {
			const x = root * root + beside;
			const found = evaluate("isqrt", 0, x, 0n, 0n)!;
			assert.ok(found * found <= x && (found + 1n) * (found + 1n) > x, `√${x}: ${found}`);
		}
});

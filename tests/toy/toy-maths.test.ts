// The toys' product, two columns in a double: the same bytes as one element after the other, for every
// precision and any shape.
import assert from "node:assert/strict";
import { test } from "node:test";
import { writeU16 } from "../../src/protocol/bytes/bytes.ts";
import { DOMAIN, philoxKey } from "../../src/protocol/hash/philox.ts";
import { fillRow } from "../../src/protocol/maths/entries.ts";
import { GEMM_PRECISIONS } from "../../src/protocol/maths/precision.ts";
import { productOf, type Shape } from "./toy-maths.ts";

function plainProduct({ precision, m, n, k }: Shape, seed: Uint8Array): Uint8Array {
	const rows = (domain: number, count: number) =>
		Array.from({ length: count }, (_, row) => {
			const out = new Int16Array(k);
			fillRow(precision, philoxKey(seed), domain, row, k, out);
			return out;
		});
	const b = rows(DOMAIN.b, n);
	const bytes = new Uint8Array(2 * m * n);
	for (const [row, a] of rows(DOMAIN.a, m).entries())
		for (const [column, other] of b.entries()) {
			let sum = 0;
			for (let i = 0; i < k; i++) sum = (sum + Math.imul(a[i]!, other[i]!)) | 0;
			writeU16(bytes, 2 * (row * n + column), sum & 0xffff);
		}
	return bytes;
}

test("two columns in a double are the product, also where rows, columns or sums do not come out even", () => {
	const shapes = [
		[16, 24, 128],
		[1, 1, 16],
		[3, 5, 32],
		[7, 9, 2048],
		[2, 8, 4112],
	] as const;
	for (const precision of GEMM_PRECISIONS)
		for (const [m, n, k] of shapes) {
			const seed = new Uint8Array(32).fill(m + n + k);
			const product = productOf({ precision, m, n, k }, seed);
			assert.ok(Buffer.from(plainProduct({ precision, m, n, k }, seed)).equals(product), `${precision} ${m}×${n}×${k}`);
		}
});

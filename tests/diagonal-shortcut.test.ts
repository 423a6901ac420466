// The forgery that broke other systems: matrices whose entries depend on i + j alone. It works there, with
// two multiplications an element, and gives nothing on entries from Philox.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DOMAIN, philoxKey } from "../src/protocol/hash/philox.ts";
import { fillRow } from "../src/protocol/maths/entries.ts";
import { diagonalProduct } from "./toy/diagonal-shortcut.ts";
import { productOf } from "./toy/toy-maths.ts";

const SHAPE = { m: 128, n: 512, k: 256 };

/** Entries as those systems made them: some function of i + j. */
function hankel(rows: number, salt: number): Int16Array[] {
	const entry = (x: number) => ((Math.imul(x + salt, 0x9e3779b1) >>> 24) & 0xff) - 128;
	return Array.from({ length: rows }, (_, i) => Int16Array.from({ length: SHAPE.k }, (_, j) => entry(i + j)));
}

function philox(rows: number, domain: number, seed: Uint8Array): Int16Array[] {
	return Array.from({ length: rows }, (_, row) => {
		const out = new Int16Array(SHAPE.k);
		fillRow("int8", philoxKey(seed), domain, row, SHAPE.k, out);
		return out;
	});
}

function plainProduct(a: readonly Int16Array[], b: readonly Int16Array[]): Uint16Array {
	return Uint16Array.from({ length: SHAPE.m * SHAPE.n }, (_, at) => {
		const [row, column] = [a[Math.floor(at / SHAPE.n)]!, b[at % SHAPE.n]!];
		let sum = 0;
		for (let x = 0; x < SHAPE.k; x++) sum = (sum + row[x]! * column[x]!) | 0;
		return sum & 0xffff;
	});
}

const wordsOf = (bytes: Uint8Array) => new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);

test("on i + j matrices the shortcut is exact, at two multiplications an element", () => {
	const [a, b] = [hankel(SHAPE.m, 1), hankel(SHAPE.n, 77)];
	const forged = diagonalProduct(SHAPE, a, b);
	assert.deepEqual(wordsOf(forged.bytes), plainProduct(a, b));
	const border = SHAPE.m + SHAPE.n - 1;
	assert.equal(forged.multiplications, border * SHAPE.k + 2 * (SHAPE.m * SHAPE.n - border));
	assert.ok(forged.multiplications < (SHAPE.m * SHAPE.n * SHAPE.k) / 40);
});

test("on our matrices it is right where it did the whole work and nowhere else but by chance", () => {
	const seed = new Uint8Array(32).fill(9);
	const forged = diagonalProduct(SHAPE, philox(SHAPE.m, DOMAIN.a, seed), philox(SHAPE.n, DOMAIN.b, seed));
	const honest = wordsOf(productOf({ precision: "int8", ...SHAPE }, seed));
	const right = wordsOf(forged.bytes).reduce((count, word, at) => {
		const border = at < SHAPE.n || at % SHAPE.n === 0;
		assert.ok(!border || word === honest[at]);
		return count + (!border && word === honest[at] ? 1 : 0);
	}, 0);
	// 65,000 elements, each right with probability 2⁻¹⁶ if the shortcut says nothing about ours: ten would be a
	// miracle.
	assert.ok(right < 10, `${right} of ${SHAPE.m * SHAPE.n} right`);
});

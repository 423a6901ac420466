// The WebAssembly program against the plain JavaScript, function by function and as a whole.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { DOMAIN, philoxFill } from "../hash/philox.ts";
import { fillRow } from "./entries.ts";
import { createRowScratch, gemmElements } from "./gemm-element.ts";
import { entriesPerBlock, GEMM_PRECISIONS } from "./precision.ts";
import { codeFile, rowProgramCode } from "./row-program.test-kit.ts";
import { MAX_PROGRAM_K, rowProgramBytes, startRowProgram } from "./row-program.ts";

const program = startRowProgram()!;

test("the program is valid WebAssembly, small, and runs here", () => {
	const bytes = rowProgramBytes();
	assert.ok(WebAssembly.validate(bytes));
	assert.ok(bytes.length < 4096, "browsers compile that much at once on their main thread");
	assert.notEqual(program, null);
	const spoiled = bytes.slice();
	spoiled[spoiled.length - 2]! ^= 0xff;
	assert.ok(!WebAssembly.validate(spoiled));
});

test("the committed code is what its source assembles to", async () => {
	assert.equal(readFileSync(codeFile, "utf8"), await rowProgramCode());
});

test("blocks are Philox's, also where the counter wraps", () => {
	for (const [k0, k1, block, domain] of [
		[0, 0, 0, 0],
		[0xdeadbeef, 0x12345678, 0xfffffffe, 1],
		[0xffffffff, 0xffffffff, 0x80000000, 0],
	] as const) {
		const words = new Uint32Array(4 * 37);
		philoxFill({ k0, k1 }, block, domain, words);
		program.blocks(k0, k1, block, domain, 0, 37);
		assert.deepEqual(new Uint32Array(program.memory.buffer, 0, words.length), words);
	}
});

test("entries of every precision, every draw", () => {
	for (const precision of GEMM_PRECISIONS) {
		const k = 4096;
		const per = entriesPerBlock(precision);
		for (let row = 0; row < 8; row++) {
			const entries = new Int16Array(k);
			fillRow(precision, { k0: 7, k1: row }, DOMAIN.b, row, k, entries);
			program.blocks(7, row, (row * k) / per, DOMAIN.b, 0, k / per);
			const convert = precision === "int8" ? program.bytes : precision === "fp8" ? program.small : program.wide;
			convert(0, 2 * k, k);
			assert.deepEqual(new Int16Array(program.memory.buffer, 2 * k, k), entries, precision);
		}
	}
	// All 65,536 draws of 16 bits, not only those that Philox gave.
	const draws = new Uint16Array(program.memory.buffer, 0, 65536);
	for (let u = 0; u < 65536; u++) draws[u] = u;
	program.wide(0, 131072, 65536);
	const wide = new Int16Array(program.memory.buffer, 131072, 65536);
	for (let u = 0; u < 65536; u++) if (wide[u] !== ((u * 363) >> 16) - 181) assert.fail(`draw ${u} gives ${wide[u]}`);
});

test("elements are the same either way, at every size and at the largest values", () => {
	const plain = createRowScratch(null);
	const quick = createRowScratch();
	assert.equal(plain.program, null);
	assert.notEqual(quick.program, null);
	const seed = Uint8Array.from({ length: 32 }, (_, i) => 31 * i + 5);
	for (const precision of GEMM_PRECISIONS)
		for (const k of [128, 640, 16384, ...(precision === "int8" || precision === "fp8" ? [MAX_PROGRAM_K] : [])])
			for (const row of [0, 1, 65535]) {
				const columns = [0, 17, 65535];
				assert.deepEqual(
					gemmElements(precision, seed, k, row, columns, quick),
					gemmElements(precision, seed, k, row, columns, plain),
					`${precision} k=${k} row=${row}`,
				);
			}
	// The largest sum there is: 65536 · (−128)² = 2^30.
	new Int16Array(program.memory.buffer, 0, 65536).fill(-128);
	assert.equal(program.dot(0, 0, 65536), 2 ** 30);
});
